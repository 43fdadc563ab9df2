"""Loops that do what other kernels did: launches in them, and elements that they load."""
