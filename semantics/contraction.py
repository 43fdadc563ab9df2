"""
`graph.contract` on numpy arrays.

Every operand becomes a view with one axis for each iteration dim, with steps that are sums of the operand's
own: windows are read where they are. Sums of products are one matrix product; any other contraction is
combined and reduced piece by piece, so that no piece is larger than `PIECE_ELEMENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX

from ..dialects import graph
from ..dialects.graph import Combination, LinearIndex, ReduceKind
from ..dialects.graph.types import shape_of, tensor_type_of
from . import numerics
from .errors import InterpreterError, describe
from .numpy_types import F32, Array, is_narrow, strided_view
from .reductions import reduce

PIECE_ELEMENTS = 1 << 20
"""The most points of the iteration space that are combined at once."""

_COMBINE: dict[Combination, Callable[[Array, Array], Array]] = {
    Combination.MUL: numerics.multiply,
    Combination.ADD: numerics.add,
    Combination.SUB: numerics.subtract,
    Combination.MAX: numerics.maximum,
    Combination.MIN: numerics.minimum,
    Combination.AND: np.bitwise_and,
    Combination.OR: np.bitwise_or,
    Combination.XOR: np.bitwise_xor,
}


def contract(op: graph.ContractOp, operands: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """
    Returns what `op` makes of `operands`, with elements of `dtype`.

    Operands are cast to `dtype` first; what is narrower than f32 is computed in f32 and rounded once;
    integers wrap. Raises InterpreterError, naming the op, where extents at run time do not fit one another.
    """
    indices = [[LinearIndex.of(expr) for expr in map.results] for map in op.operand_maps]
    extents = _run_time_extents(op, operands, indices)
    wide = F32 if is_narrow(dtype) else dtype
    views = [
        _over_dims(numerics.cast(operand, dtype).astype(wide), index, extents)
        for operand, index in zip(operands, indices, strict=True)
    ]
    kind, combine = op.accumulate.data, op.combine.data
    if len(views) == 2 and kind is ReduceKind.ADD and combine is Combination.MUL:
        used = [{dim for index in each for dim, _ in index.factors} for each in indices]
        return _sum_of_products(views, used, extents, op.result_dims).astype(dtype)
    kept = sorted(op.result_dims)
    folded = tuple(dim for dim in range(len(extents)) if dim not in kept)
    total = _accumulated(kind, combine, views, extents, folded)
    order = [kept.index(dim) for dim in op.result_dims]
    return np.transpose(total, order).astype(dtype)


def _run_time_extents(
    op: graph.ContractOp, operands: Sequence[Array], indices: Sequence[Sequence[LinearIndex]]
) -> tuple[int, ...]:
    """Returns the extent of each dim, having checked that no index lies outside of its operand."""
    known: dict[int, int] = {}

    def note(dim: int, extent: int) -> None:
        if known.setdefault(dim, extent) != extent:
            raise InterpreterError(
                f"{describe(op)}: dim d{dim} is both {known[dim]} and {extent} at run time"
            )

    for index, operand in zip(indices, operands, strict=True):
        for each, extent in zip(index, operand.shape, strict=True):
            if each.plain_dim is not None:
                note(each.plain_dim, extent)
    written = shape_of(tensor_type_of(op.result, op.name))
    bounds = () if op.bounds is None else op.bounds.data
    for dim, extent in (*enumerate(bounds), *zip(op.result_dims, written, strict=True)):
        if isinstance(extent, int) and extent != DYNAMIC_INDEX:
            note(dim, extent)
    num_dims = op.result_map.num_dims
    for dim in range(num_dims):
        if dim not in known:
            raise InterpreterError(f"{describe(op)}: nothing tells the extent of dim d{dim} at run time")
    extents = tuple(known[dim] for dim in range(num_dims))
    if 0 not in extents:
        for index, operand in zip(indices, operands, strict=True):
            for axis, (each, extent) in enumerate(zip(index, operand.shape, strict=True)):
                low, high = each.range(extents)
                assert isinstance(low, int) and isinstance(high, int)
                if low < 0 or high >= extent:
                    raise InterpreterError(
                        f"{describe(op)}: axis {axis} is read from {low} to {high} of {extent} at run time"
                    )
    return extents


def _over_dims(operand: Array, indices: Sequence[LinearIndex], extents: tuple[int, ...]) -> Array:
    """Returns what `operand` has at each point of the iteration space, without copying it."""
    if 0 in extents:
        return np.broadcast_to(np.zeros((), operand.dtype), extents)
    steps = [0] * len(extents)
    for index, step in zip(indices, operand.strides, strict=True):
        for dim, factor in index.factors:
            steps[dim] += factor * step
    first = operand[(*(slice(index.constant, None) for index in indices), ...)]
    return strided_view(first, extents, steps, writeable=False)


def _sum_of_products(
    views: Sequence[Array], used: Sequence[set[int]], extents: tuple[int, ...], result_dims: Sequence[int]
) -> Array:
    """Returns the sums of products as one batched matrix product."""
    lhs_dims, rhs_dims = used
    both = [dim for dim in result_dims if dim in lhs_dims and dim in rhs_dims]
    only_lhs = [dim for dim in result_dims if dim not in rhs_dims]
    only_rhs = [dim for dim in result_dims if dim not in lhs_dims]
    summed = [dim for dim in range(len(extents)) if dim not in result_dims]

    def matrices(view: Array, rows: Sequence[int], columns: Sequence[int]) -> Array:
        order = [*both, *rows, *columns]
        others = [dim for dim in range(len(extents)) if dim not in order]
        present = np.transpose(view, [*order, *others])[(..., *[0] * len(others))]
        return present.reshape([prod(extents[dim] for dim in part) for part in (both, rows, columns)])

    if 0 in extents:
        return np.zeros([extents[dim] for dim in result_dims], views[0].dtype)
    products = np.matmul(matrices(views[0], only_lhs, summed), matrices(views[1], summed, only_rhs))
    order = [*both, *only_lhs, *only_rhs]
    shaped = products.reshape([extents[dim] for dim in order])
    return np.transpose(shaped, [order.index(dim) for dim in result_dims])


def _accumulated(
    kind: ReduceKind,
    combine: Combination,
    views: Sequence[Array],
    extents: tuple[int, ...],
    folded: tuple[int, ...],
) -> Array:
    """Returns what is accumulated over the dims `folded`; halves of a large space are taken one by one."""
    if prod(extents) <= PIECE_ELEMENTS:
        points = views[0] if len(views) == 1 else _COMBINE[combine](*views)
        return reduce(kind, np.asarray(points), folded, False)
    longest = max(range(len(extents)), key=lambda dim: extents[dim])
    half = extents[longest] // 2
    parts: list[Array] = []
    for span in (slice(0, half), slice(half, extents[longest])):
        taken = [view[(*[slice(None)] * longest, span)] for view in views]
        parts.append(_accumulated(kind, combine, taken, taken[0].shape, folded))
    if longest in folded:
        return reduce(kind, np.stack(parts), (0,), False)
    return np.concatenate(parts, sum(dim not in folded for dim in range(longest)))
