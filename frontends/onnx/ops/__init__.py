"""What ops on tensors are, a file for each family; importing the room registers them."""

from . import (
    comparisons,
    control_flow,
    elementwise,
    features,
    indexing,
    known_values,
    optimizers,
    products,
    random_numbers,
    reductions,
    selection,
    sequences,
    shapes,
    sources,
    types,
)

__all__ = [
    "comparisons",
    "control_flow",
    "elementwise",
    "features",
    "indexing",
    "known_values",
    "optimizers",
    "products",
    "random_numbers",
    "reductions",
    "selection",
    "sequences",
    "shapes",
    "sources",
    "types",
]
