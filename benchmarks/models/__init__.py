"""Whole models, each written once over the layers that a library has, and run by every one of them."""
