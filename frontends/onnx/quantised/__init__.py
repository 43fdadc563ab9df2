"""What ops on quantised tensors are: numbers of few bits with a scale; importing the room registers them."""

from . import convolutions, elements, form_rules, linear, packed_weights, products, recurrent

__all__ = ["convolutions", "elements", "form_rules", "linear", "packed_weights", "products", "recurrent"]
