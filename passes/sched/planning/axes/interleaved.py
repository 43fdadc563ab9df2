"""
Which short axes of a result a kernel unrolls, so that one iteration loads, or stores, neighbours in memory.

    stack([x, y], -1), of 1000 each         for i: z[i, 0] = x[i]; z[i, 1] = y[i]
    repeat(x, 2), of 1000                   for i: z[2 i] = x[i]; z[2 i + 1] = x[i]
    permute_dims(x, (1, 0)), of 1000x3      for i: z[0, i] = x[i, 0]; z[1, i] = x[i, 1]; z[2, i] = x[i, 2]

Where an iteration makes one element, the next one is some elements away in one of the arrays: there are no
vectors, and each line of the cache is touched once for each of the parts. Of iterations that have a group of
neighbours LLVM makes vectors, whose lanes it interleaves (the interleaved accesses of its loop vectorizer).

Least times on a Zen 4 before and with it, f32: two arrays of 1000x1000 stacked 1.53 and 0.21 ms, an image of
512x512 repeated along both axes 0.40 and 0.06, 512x512x3 with its channels first 0.14 and 0.07.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import exact_quotient
from .....dialects.element_types import NBYTES, element_type_of
from ....indices.access import Indices, shape_of
from ....indices.expressions import Axis, IndexExpr, variable
from ....indices.lanes import LEAST_LANES
from ..fusion_rules import RECOMPUTE_LIMIT
from .elements import Computed, elements_of

MOST_TOGETHER = 8
"""The most elements of one iteration: as many as LLVM interleaves."""

MOST_APART = 7
"""
The most that are no parts of a concatenation. 512x1024 f32, each seven times in a row, take 0.16 of the time
that a division for each element takes, eight times, which is a shift, 1.1 to 2.7 (f64 5.3); 8 channels that
become the first ones 1.0 to 1.4 (f64 4.3), as they are transposed in registers otherwise.
"""

MOST_HEAVY = 2
"""In how many ways a kernel reads a heavy op that it computes (`computed-twice` in `fusion_rules.py`)."""


def interleaved_steps(
    axes: Sequence[Axis],
    last: Axis,
    computed: Computed,
    addresses: Sequence[tuple[SSAValue, IndexExpr]],
    pieces: Sequence[int],
) -> dict[Axis, int]:
    """
    Returns the axes of a result, which has one for each dim, that are to be unrolled, and how many elements
    along each are made at once; none where nothing is gained. `computed` and `addresses` are what an element
    is computed by, and where it is loaded from; neighbours of the result are along the `last` axis, which has
    these `pieces`.
    """
    steps: dict[Axis, int] = {}
    for joined, indices in computed:
        if isinstance(joined, graph.ConcatOp):
            dim = joined.axis.data
            _note(steps, last, _period(indices[dim], last, shape_of(joined.result, joined.name)[dim]))
    if pieces:
        _note(steps, last, pieces[0], MOST_APART)
    for value, address in addresses:
        apart = address.stride(last)
        if isinstance(apart, int) and 1 < apart <= MOST_TOGETHER:
            for axis in axes:
                if axis is not last and address.stride(axis) == 1 and axis.extent != _square_of(value):
                    _note(steps, axis, axis.extent, MOST_APART)
    return steps if prod(steps.values()) <= MOST_TOGETHER else {}


def fit_one_kernel(op: Operation, elements: Sequence[Indices]) -> bool:
    """
    Returns whether one kernel can make these elements of a result: what is computed in many ways by one is
    computed before it, by way of a buffer.
    """
    ways: dict[Operation, set[Indices]] = {}
    for indices in elements:
        found = elements_of(op, indices)
        if found is None:
            return False
        for computed, at in found[0]:
            ways.setdefault(computed, set()).add(at)
    return all(
        len(places) <= (MOST_HEAVY if each.IS_HEAVY else RECOMPUTE_LIMIT)
        for each, places in ways.items()
        if each is not op and isinstance(each, graph.ElementwiseOp)
    )


def is_short(extent: object) -> bool:
    """Returns whether so many elements may be made at once."""
    return isinstance(extent, int) and 1 < extent <= MOST_TOGETHER


def _note(steps: dict[Axis, int], axis: Axis, step: object, most: int = MOST_TOGETHER) -> None:
    """Notes that so many elements along an axis are made at once, if these are a few and fill the axis."""
    if isinstance(step, int) and is_short(step) and step <= most and exact_quotient(axis.extent, step):
        steps.setdefault(axis, step)


def _square_of(value: SSAValue) -> int | None:
    """Returns how many channels of a value `map-axes` transposes in registers as fast, in less code."""
    return LEAST_LANES if NBYTES[element_type_of(value.type)] >= 4 else None


def _period(index: IndexExpr, axis: Axis, extent: object) -> object:
    """Returns the extent of a dim that an axis runs along, from its begin to its end, again and again."""
    if not isinstance(extent, int) or extent == 0:
        return None
    return extent if index in (variable(axis), variable(axis).mod(extent)) else None
