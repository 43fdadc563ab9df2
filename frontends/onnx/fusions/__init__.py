"""Several ops as one, which onnxruntime's optimisers write; importing the room registers them."""

from . import activations, attention, normalisation, positions, products

__all__ = ["activations", "attention", "normalisation", "positions", "products"]
