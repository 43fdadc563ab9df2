"""Operands copied into the order that a tile reads."""
