"""A host program as data."""
