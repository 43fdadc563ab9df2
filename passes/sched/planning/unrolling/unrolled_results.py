"""
Which axes of a result a kernel unrolls, so that it makes several elements in one iteration.

Sums of a tile are made of the same elements (`tile_sums.py`), and elements that are neighbours in one array
may not be so in another (`interleaved.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from xdsl.ir import Operation

from .....dialects.dims.expressions import exact_quotient
from ....indices.access import Indices
from ....indices.expressions import Axis, IndexExpr, constant, variable
from ....machine.target import Target
from .interleaved import interleaved_steps, is_computed_once
from .tile_sums import tile_steps


def unrolled(
    op: Operation, axes: tuple[Axis, ...], target: Target
) -> tuple[tuple[Axis, ...], list[Indices]] | None:
    """
    Returns other axes for a result with an axis for each dim, and the indices of the elements that each of
    their iterations makes; None where nothing is gained.
    """
    if steps := tile_steps(op, tuple(map(variable, axes))):
        return _elements_of(axes, steps)
    # On GPUs, where neighbours are other work-items, an iteration is an element.
    if target.groups is not None or not (steps := interleaved_steps(op, axes)):
        return None
    found = _elements_of(axes, steps)
    return found if is_computed_once(op, found[1]) else None


def _elements_of(axes: tuple[Axis, ...], steps: Mapping[Axis, int]) -> tuple[tuple[Axis, ...], list[Indices]]:
    """Returns axes that take steps, and the indices of what each of their iterations makes."""
    outer: list[Axis] = []
    choices: list[list[IndexExpr]] = []
    for axis in axes:
        extent, step = axis.extent, steps.get(axis)
        count = None if step is None else exact_quotient(extent, step)
        if step is None or (count is None and not isinstance(extent, int)):
            outer.append(axis)
            choices.append([variable(axis)])
            continue
        count = count or -(-extent // step)
        start = constant(0)
        if count != 1:
            outer.append(Axis(count, axis.hint))
            start = variable(outer[-1]) * step
        # Of the last ones, those that are missing are made again of the last.
        choices.append([(start + number).clamp(extent - 1) for number in range(step)])
    return tuple(outer), list(dict.fromkeys(product(*choices)))
