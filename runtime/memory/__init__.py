"""Pools, and what lies in them."""
