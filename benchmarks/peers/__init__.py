"""Tenon and other libraries doing the same work, one file each."""
