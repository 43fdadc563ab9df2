"""Elementwise ops: arithmetic, functions of floats, predicates, and how they are written."""
