"""
Which axes a kernel has for a result: one for each dim, or others.

Some are unrolled, so that an iteration makes several elements: sums of a tile are made of the same ones
(`tile_sums.py`), and elements that are neighbours in one array may not be so in another (`interleaved.py`).
The last one may be several, of which each goes on in equal steps in what is loaded (`pieces.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from xdsl.ir import Operation

from .....dialects import graph
from .....dialects.dims.expressions import exact_quotient, row_major, without_ones
from ....indices.access import Indices, shape_of
from ....indices.expressions import Axis, IndexExpr, constant, linearize, variable
from .elements import COMPUTED, MOST_OPS, elements_of
from .interleaved import fit_one_kernel, interleaved_steps, is_short
from .pieces import piece_extents
from .tile_sums import tile_steps

Chosen = tuple[tuple[Axis, ...], list[Indices]]
"""Axes, and the indices of the elements that each of their iterations makes."""


def chosen_axes(op: Operation, axes: tuple[Axis, ...]) -> Chosen | None:
    """
    Returns other axes for a result with an axis for each dim, and the indices of the elements that each of
    their iterations makes; None where nothing is gained.
    """
    indices = tuple(map(variable, axes))
    if steps := tile_steps(op, indices):
        return _elements_of(axes, steps, {})
    last = next((axis for axis in reversed(axes) if axis.extent != 1), None)
    if last is None or not _may_gain(op, axes):
        return None
    found = elements_of(op, indices)
    if found is None:
        return None
    computed, loaded = found
    addresses = [(each, linearize(at, row_major(shape_of(each, op.name)))) for each, at in loaded]
    pieces = piece_extents(last, [address for _, address in addresses])
    steps = interleaved_steps(axes, last, computed, addresses, pieces)
    if steps:
        chosen = _elements_of(axes, steps, {last: pieces})
        if fit_one_kernel(op, chosen[1]):
            return chosen
    return _elements_of(axes, {}, {last: pieces}) if pieces else None


def _may_gain(op: Operation, axes: Sequence[Axis]) -> bool:
    """Returns whether other axes may be worth it, by the shapes of what a result is made of: few are."""
    has_short_axis = any(is_short(axis.extent) for axis in axes)
    waiting, seen = [op], 0
    while waiting and seen < MOST_OPS:
        op = waiting.pop()
        seen += 1
        if isinstance(op, graph.ConcatOp):
            if is_short(shape_of(op.result, op.name)[op.axis.data]):
                return True
        elif isinstance(op, graph.ReshapeOp):
            source, result = shape_of(op.source, op.name), shape_of(op.result, op.name)
            if without_ones(source) != without_ones(result):
                return True
        elif isinstance(op, graph.PermuteOp):
            if has_short_axis:
                return True
        elif not isinstance(op, COMPUTED):
            continue
        waiting += [
            value.owner for value in op.operands if isinstance(value.owner, Operation) and value.has_one_use()
        ]
    return False


def _elements_of(
    axes: tuple[Axis, ...], steps: Mapping[Axis, int], pieces: Mapping[Axis, tuple[int, ...]]
) -> Chosen:
    """Returns axes that take steps, or are cut into pieces, and the indices of what each iteration makes."""
    outer: list[Axis] = []
    choices: list[list[IndexExpr]] = []
    for axis in axes:
        start, rest = constant(0), axis.extent
        step = steps.get(axis, 1)
        if exact_quotient(rest, step) is None and not isinstance(rest, int):
            step = 1
        for size in (*reversed(pieces.get(axis, ())), step):
            count = exact_quotient(rest, size)
            if size % step or count is None:
                continue
            if count != 1:
                outer.append(axis if size == 1 and rest == axis.extent else Axis(count, axis.hint))
                start = start + variable(outer[-1]) * size
            rest = size
        if rest != step and isinstance(rest, int):
            # Of the last ones, those that are missing are made again of the last.
            outer.append(Axis(-(-rest // step), axis.hint))
            start = start + variable(outer[-1]) * step
        choices.append([(start + number).clamp(axis.extent - 1) for number in range(step)])
    return tuple(outer), list(dict.fromkeys(product(*choices)))
