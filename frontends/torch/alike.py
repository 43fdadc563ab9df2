"""
Extents of an op that torch writes in several ways and sees to it that they are the same, as `n // 2` and
`2 * (n // 4)` where a net joins what was halved and what was halved twice and doubled, or `n` and
`4 * (n // 4)` where it is cut into windows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..tracing.trace import TracedArray
from .extents import Dims, is_symbolic
from .graph_nodes import Node, integers_of, value_of
from .ops.movement import cut_where_guarded


def alike_extents(node: Node, dims: Dims) -> dict[Any, Any]:
    """Returns for extents of operands the one that the result has in their place, or another operand."""
    if not dims.is_guarded:
        return {}
    known: dict[Any, Any] = {}
    alike: dict[Any, Any] = {}
    for value in (value_of(node), *map(value_of, node.all_input_nodes)):
        for integer in integers_of(value):
            extent = dims.extent(integer)
            if extent in known or extent in alike:
                continue
            same = next((each for each, other in known.items() if dims.are_equal(integer, other)), None)
            if same is None:
                known[extent] = integer
            else:
                alike[extent] = same
    return alike


def with_extents(value: Any, alike: Mapping[Any, Any]) -> Any:
    """Returns an argument with other ways to write its extents, and those of arrays in it."""
    if not alike:
        return value
    if isinstance(value, list):
        return [with_extents(each, alike) for each in cast("list[Any]", value)]
    if not isinstance(value, TracedArray):
        return value
    return cut_where_guarded(value, tuple(alike.get(extent, extent) for extent in value.shape))


def whole_shapes(node: Node, dims: Dims) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """
    Returns shapes that a tensor and what a node shows of it have as well, and that are of as many elements as
    far as extents tell: an axis that is split has the product of its parts, and one that is joined that of
    what it is made of. None where their own shapes are so, or nothing is found.
    """
    given, found = value_of(node.all_input_nodes[0]).shape, value_of(node).shape
    if not dims.is_guarded or not any(map(is_symbolic, (*given, *found))):
        return None
    shapes = [[dims.extent(each) for each in shape] for shape in (given, found)]
    if math.prod(shapes[0]) == math.prod(shapes[1]):
        return None
    unproven = 0
    for some, others in _groups(given, found):
        sides = ((0, some, given), (1, others, found))
        own, other = (math.prod(shapes[side][axis] for axis in axes) for side, axes, _ in sides)
        if own == other:
            continue
        products = [math.prod(shape[axis] for axis in axes) for _, axes, shape in sides]
        # All are as many elements as all others: what is left of them are as many, too.
        unproven += not dims.are_equal(*products)
        if unproven > 1:
            return None
        if len(some) == 1:
            shapes[0][some[0]] = other
        elif len(others) == 1:
            shapes[1][others[0]] = own
        else:
            return None
    return shapes[0], shapes[1]


def _groups(given: Sequence[Any], found: Sequence[Any]) -> list[tuple[list[int], list[int]]]:
    """Returns the least axes of two shapes that were of as many elements each when torch traced."""
    sizes = [[each.node.hint if is_symbolic(each) else each for each in shape] for shape in (given, found)]
    if any(each is None or each < 2 for shape in sizes for each in shape if each != 1):
        return []
    groups: list[tuple[list[int], list[int]]] = []
    places = [0, 0]
    while all(place < len(shape) for place, shape in zip(places, sizes, strict=True)):
        axes: tuple[list[int], list[int]] = ([], [])
        counts = [1, 1]
        while not axes[0] or not axes[1] or counts[0] != counts[1]:
            side = 0 if counts[0] <= counts[1] and (not axes[0] or axes[1]) else 1
            if places[side] == len(sizes[side]):
                return groups
            counts[side] *= sizes[side][places[side]]
            axes[side].append(places[side])
            places[side] += 1
        groups.append(axes)
    return groups
