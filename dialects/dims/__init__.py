"""Extents that are not numbers: the algebra, its text, its attributes."""
