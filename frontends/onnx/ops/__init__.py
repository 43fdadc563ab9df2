"""What ops are, a file for each family; importing the room registers them."""

from . import (
    activations,
    comparisons,
    convolutions,
    elementwise,
    indexing,
    known_values,
    normalisation,
    pools,
    products,
    reductions,
    selection,
    shapes,
    sources,
    types,
)

__all__ = [
    "activations",
    "comparisons",
    "convolutions",
    "elementwise",
    "indexing",
    "known_values",
    "normalisation",
    "pools",
    "products",
    "reductions",
    "selection",
    "shapes",
    "sources",
    "types",
]
