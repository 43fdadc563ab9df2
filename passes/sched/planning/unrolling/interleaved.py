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

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import exact_quotient, row_major
from .....dialects.element_types import NBYTES, element_type_of
from ....indices.access import Indices, joined_at, operand_indices, shape_of
from ....indices.expressions import Axis, FloorDiv, IndexExpr, Mod, linearize, variable
from ....indices.lanes import LEAST_LANES

MOST_TOGETHER = 8
"""The most elements of one iteration: as many as LLVM interleaves."""

MOST_APART = 7
"""
The most that are no parts of a concatenation. 512x1024 f32, each seven times in a row, take 0.16 of the time
that a division for each element takes, eight times, which is a shift, 1.1 to 2.7 (f64 5.3); 8 channels that
become the first ones 1.0 to 1.4 (f64 4.3), as they are transposed in registers otherwise.
"""

# By design: what is looked at for each result is a few ops.
MOST_OPS = 32
"""How many ops are followed from a result."""

MOST_HEAVY, MOST_LIGHT = 2, 4
"""In how many ways an elementwise op is read by the kernel that computes it (`fusion_rules.py`)."""

_COMPUTED = (
    graph.ElementwiseOp,
    graph.ReshapeOp,
    graph.PermuteOp,
    graph.BroadcastOp,
    graph.SliceOp,
    graph.FlipOp,
)
_Read = tuple[SSAValue, Indices]


def interleaved_steps(op: Operation, axes: Sequence[Axis]) -> dict[Axis, int]:
    """
    Returns the axes of a result, which has one for each dim, that are to be unrolled, and how many elements
    along each are made at once; none where nothing is gained.
    """
    last = next((axis for axis in reversed(axes) if axis.extent != 1), None)
    if last is None or not _has_short_dims(op, axes):
        return {}
    found = _elements(op, tuple(map(variable, axes)))
    if found is None:
        return {}
    computed, loaded = found
    steps: dict[Axis, int] = {}
    for joined, indices in computed:
        if isinstance(joined, graph.ConcatOp):
            dim = joined.axis.data
            _note(steps, last, _period(indices[dim], last, shape_of(joined.result, joined.name)[dim]))
    for value, indices in loaded:
        address = linearize(indices, row_major(shape_of(value, op.name)))
        for atom in address.terms:
            if isinstance(atom, FloorDiv | Mod) and atom.operand == variable(last):
                _note(steps, last, atom.divisor, MOST_APART)
        apart = address.stride(last)
        if isinstance(apart, int) and 1 < apart <= MOST_TOGETHER:
            for axis in axes:
                if axis is not last and address.stride(axis) == 1 and axis.extent != _square_of(value):
                    _note(steps, axis, axis.extent, MOST_APART)
    return steps if prod(steps.values()) <= MOST_TOGETHER else {}


def is_computed_once(op: Operation, elements: Sequence[Indices]) -> bool:
    """
    Returns whether one kernel can make these elements of a result: what is computed in many ways by one is
    computed before it, by way of a buffer.
    """
    ways: dict[Operation, set[Indices]] = {}
    for indices in elements:
        found = _elements(op, indices)
        if found is None:
            return False
        for computed, at in found[0]:
            ways.setdefault(computed, set()).add(at)
    return all(
        len(places) <= (MOST_HEAVY if each.IS_HEAVY else MOST_LIGHT)
        for each, places in ways.items()
        if each is not op and isinstance(each, graph.ElementwiseOp)
    )


def _has_short_dims(op: Operation, axes: Sequence[Axis]) -> bool:
    """Returns whether a result may have axes to unroll, by the shapes of what it is made of: few have."""
    has_short_axis = any(_is_short(axis.extent) for axis in axes)
    waiting, seen = [op], 0
    while waiting and seen < MOST_OPS:
        op = waiting.pop()
        seen += 1
        if isinstance(op, graph.ConcatOp):
            if _is_short(shape_of(op.result, op.name)[op.axis.data]):
                return True
        elif isinstance(op, graph.ReshapeOp):
            if _is_short(next((n for n in reversed(shape_of(op.source, op.name)) if n != 1), 1)):
                return True
        elif isinstance(op, graph.PermuteOp):
            if has_short_axis:
                return True
        elif not isinstance(op, _COMPUTED):
            continue
        waiting += [
            value.owner for value in op.operands if isinstance(value.owner, Operation) and value.has_one_use()
        ]
    return False


def _is_short(extent: object) -> bool:
    return isinstance(extent, int) and 1 < extent <= MOST_TOGETHER


def _note(steps: dict[Axis, int], axis: Axis, step: object, most: int = MOST_TOGETHER) -> None:
    """Notes that so many elements along an axis are made at once, if these are a few and fill the axis."""
    if isinstance(step, int) and _is_short(step) and step <= most and exact_quotient(axis.extent, step):
        steps.setdefault(axis, step)


def _square_of(value: SSAValue) -> int | None:
    """Returns how many channels of a value `map-axes` transposes in registers as fast, in less code."""
    return LEAST_LANES if NBYTES[element_type_of(value.type)] >= 4 else None


def _period(index: IndexExpr, axis: Axis, extent: object) -> object:
    """Returns the extent of a dim that an axis runs along, from its begin to its end, again and again."""
    if not isinstance(extent, int) or extent == 0:
        return None
    return extent if index in (variable(axis), variable(axis).mod(extent)) else None


def _elements(op: Operation, indices: Indices) -> tuple[list[tuple[Operation, Indices]], list[_Read]] | None:
    """
    Returns the ops that an element of a result is computed by, each with the index of its own element, and
    what these load; None where it is more than elementwise ops and views of what is read by nothing else, or
    what other ranks send.
    """
    computed: list[tuple[Operation, Indices]] = []
    loaded: list[_Read] = []
    waiting = [(op, indices)]
    while waiting:
        op, indices = waiting.pop()
        if len(computed) == MOST_OPS:
            return None
        computed.append((op, indices))
        if isinstance(op, graph.ConcatOp):
            reads = [(operand, inside) for _, operand, inside in joined_at(op, indices)]
        elif isinstance(op, _COMPUTED):
            reads = [*zip(op.operands, operand_indices(op, indices), strict=True)]
        else:
            return None
        for value, at in reads:
            owner = value.owner
            if isinstance(owner, graph.ConstantOp | graph.IotaOp):
                continue
            if isinstance(owner, graph.CollectiveOp):
                # The inside does not wait for what other ranks send: split-halos cuts the kernel by indices.
                return None
            if not isinstance(owner, Operation) or not value.has_one_use():
                if isinstance(value.type, TensorType):
                    loaded.append((value, at))
            elif isinstance(owner, graph.ReadOp | graph.ControlOp):
                loaded.append((value, at))
            else:
                waiting.append((owner, at))
    return computed, loaded
