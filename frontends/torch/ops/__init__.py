"""ATen's ops by functions of `tenon.numpy` and `tenon.nn`, a file for each family; see `table.py`."""

from __future__ import annotations

from . import (
    binary,
    convolutions,
    creation,
    indexing,
    movement,
    pooling,
    products,
    reductions,
    sorting,
    unary,
)

__all__ = [
    "binary",
    "convolutions",
    "creation",
    "indexing",
    "movement",
    "pooling",
    "products",
    "reductions",
    "sorting",
    "unary",
]
