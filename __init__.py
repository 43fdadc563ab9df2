"""Tenon: an array compiler you can read."""
