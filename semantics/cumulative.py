"""`graph.cumulate` on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..dialects.graph import CumulateKind, ReduceKind
from . import numerics
from .numpy_types import Array, widened
from .reductions import identity_of

_COMBINE: dict[CumulateKind, Callable[[Array, Array], Array]] = {
    CumulateKind.ADD: np.add,
    CumulateKind.MUL: np.multiply,
    CumulateKind.MAX: numerics.maximum,
    CumulateKind.MIN: numerics.minimum,
}


def cumulate(kind: CumulateKind, source: Array, axis: int, reverse: bool, exclusive: bool) -> Array:
    """
    Returns each element combined with those before it along `axis`, in their order.

    Floats narrower than f32 are combined in f32, and each result is rounded once; integers wrap.
    """
    dtype = source.dtype
    wide = widened(source)
    result = np.moveaxis(np.empty(wide.shape, wide.dtype), axis, 0)
    elements = np.moveaxis(np.flip(wide, axis) if reverse else wide, axis, 0)
    combine = _COMBINE[kind]
    total: Array | None = None
    for number, element in enumerate(elements):
        after = np.asarray(element) if total is None else np.asarray(combine(total, element))
        if exclusive:
            result[number] = identity_of(ReduceKind(kind.value), wide.dtype) if total is None else total
        else:
            result[number] = after
        total = after
    moved = np.moveaxis(result, 0, axis)
    return (np.flip(moved, axis) if reverse else moved).astype(dtype)
