"""Sums of products as `graph.contract`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.dims.expressions import Extent
from ..dialects.graph import tensor_of
from ..dialects.graph.types import check_axes
from .emitter import Emitter


def dot(
    c: Emitter,
    x: SSAValue,
    y: SSAValue,
    batch: tuple[Sequence[int], Sequence[int]],
    contracted: tuple[Sequence[int], Sequence[int]],
    element: Attribute,
) -> SSAValue:
    """Returns sums of products: batches first, then what is left of `x` and of `y`."""
    for pairs, what in ((batch, "batching"), (contracted, "contracting")):
        if len(pairs[0]) != len(pairs[1]):
            raise VerifyException(f"{c.who}: {what} dims are {list(pairs[0])} and {list(pairs[1])}")
    for value, dims in zip((x, y), ((*batch[0], *contracted[0]), (*batch[1], *contracted[1])), strict=True):
        check_axes(c.who, dims, c.type(value), "operand")
    n_batch, shapes = len(batch[0]), (c.shape(x), c.shape(y))
    free = [
        [axis for axis in range(len(shape)) if axis not in (*batch[side], *contracted[side])]
        for side, shape in enumerate(shapes)
    ]
    n_free = len(free[0]) + len(free[1])
    total = n_batch + n_free + len(contracted[0])
    maps: list[AffineMap] = []
    for side, begin in ((0, n_batch), (1, n_batch + len(free[0]))):
        place = dict(zip(batch[side], range(n_batch), strict=True))
        place |= {axis: begin + k for k, axis in enumerate(free[side])}
        place |= {axis: n_batch + n_free + k for k, axis in enumerate(contracted[side])}
        maps.append(map_of_sums(total, [[(place[axis], 1)] for axis in range(len(shapes[side]))]))
    shape = [shapes[0][axis] for axis in (*batch[0], *free[0])] + [shapes[1][axis] for axis in free[1]]
    maps.append(map_of_sums(total, [[(k, 1)] for k in range(n_batch + n_free)]))
    return contracted_with(c, (x, y), maps, element, shape)


def contracted_with(
    c: Emitter,
    inputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    element: Attribute,
    shape: Sequence[Extent],
    bounds: Sequence[Extent] | None = None,
) -> SSAValue:
    # Products of booleans are conjunctions, and their sum tells whether one holds.
    counted = i32 if element == i1 else element
    values = [c.cast(value, i32) if c.element(value) == i1 else value for value in inputs]
    type = tensor_of(counted, tuple(shape))
    return c.cast(c.add(graph.ContractOp(values, maps, type, bounds=bounds)), element)


def map_of_sums(n_dims: int, indices: Sequence[Sequence[tuple[int, int]]]) -> AffineMap:
    """Returns the map of sums of dims, each with its factor."""
    results: list[AffineExpr] = []
    for terms in indices:
        total: AffineExpr | None = None
        for dim, factor in terms:
            term = AffineExpr.dimension(dim) if factor == 1 else AffineExpr.dimension(dim) * factor
            total = term if total is None else total + term
        results.append(AffineExpr.constant(0) if total is None else total)
    return AffineMap(n_dims, 0, tuple(results))
