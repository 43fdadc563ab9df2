"""The transforms of Winograd's convolutions, on whole arrays; the order of adding is that of the program."""

from __future__ import annotations

import numpy as np

from ..dialects import graph
from .numpy_types import Array


def winograd_transform(op: graph.WinogradTransformOp, source: Array) -> Array:
    """Returns the sums that a transform makes along its axis."""
    axis = op.axis.data
    match op:
        case graph.WinogradInputTransformOp():
            count = source.shape[axis] // 2 - 1
            whole = (slice(None),) * axis
            parts = [source[(*whole, slice(offset, offset + 2 * count - 1, 2))] for offset in range(4)]
        case graph.WinogradFilterTransformOp():
            parts = list(np.moveaxis(source, axis, 0))
        case _:
            parts = list(source)
    sums = [_sum(op, number, parts) for number in range(len(op.SUMS))]
    if not isinstance(op, graph.WinogradOutputTransformOp):
        return np.stack(sums)
    shape = source.shape[1:]
    return np.stack(sums, axis + 1).reshape(*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])


def _sum(op: graph.WinogradTransformOp, number: int, parts: list[Array]) -> Array:
    (first, _), *rest = op.SUMS[number]
    total = parts[first]
    for part, sign in rest:
        total = total + parts[part] if sign > 0 else total - parts[part]
    scale = op.SCALES[number]
    return total if scale == 1.0 else total * total.dtype.type(scale)
