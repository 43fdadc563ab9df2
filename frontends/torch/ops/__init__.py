"""ATen's ops by functions of `tenon.numpy` and `tenon.nn`, a file for each family; see `table.py`."""

from __future__ import annotations

from . import (
    adaptive_pooling,
    bags,
    binary,
    convolutions,
    creation,
    indexing,
    movement,
    pooling,
    products,
    recurrent,
    reductions,
    sorting,
    strided,
    unary,
)

__all__ = [
    "adaptive_pooling",
    "bags",
    "binary",
    "convolutions",
    "creation",
    "indexing",
    "movement",
    "pooling",
    "products",
    "recurrent",
    "reductions",
    "sorting",
    "strided",
    "unary",
]
