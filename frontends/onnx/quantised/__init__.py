"""What ops on quantised tensors are: numbers of few bits with a scale; importing the room registers them."""

from . import elements, linear, packed_weights, products

__all__ = ["elements", "linear", "packed_weights", "products"]
