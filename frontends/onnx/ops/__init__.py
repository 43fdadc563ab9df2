"""What ops are, a file for each family; importing the room registers them."""

from . import (
    activations,
    comparisons,
    control_flow,
    convolutions,
    elementwise,
    indexing,
    known_values,
    normalisation,
    pools,
    products,
    reductions,
    selection,
    sequences,
    shapes,
    sources,
    types,
)

__all__ = [
    "activations",
    "comparisons",
    "control_flow",
    "convolutions",
    "elementwise",
    "indexing",
    "known_values",
    "normalisation",
    "pools",
    "products",
    "reductions",
    "selection",
    "sequences",
    "shapes",
    "sources",
    "types",
]
