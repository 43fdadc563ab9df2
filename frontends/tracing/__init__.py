"""A function that is being written."""
