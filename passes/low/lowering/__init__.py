"""Axes become loops, vectors and linear indices."""
