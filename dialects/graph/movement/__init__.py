"""Ops that put elements at other places: views, indexing by values, padding, sorting."""
