"""
Extents of an op that torch writes in several ways and sees to it that they are the same, as `n // 2` and
`2 * (n // 4)` where a net joins what was halved and what was halved twice and doubled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..tracing.trace import TracedArray
from .extents import Dims
from .graph_nodes import Node, integers_of, value_of
from .ops.movement import part_of


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
    shape = tuple(alike.get(extent, extent) for extent in value.shape)
    if shape == tuple(value.shape):
        return value
    return part_of(value, (0,) * len(shape), shape, (1,) * len(shape), True)
