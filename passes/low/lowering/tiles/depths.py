"""The dims that a tile adds up over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.dims.expressions import Extent


@dataclass(frozen=True, slots=True)
class Depth:
    """One dim of the depth: how many steps, and how far each goes on both sides."""

    extent: Extent | SSAValue
    lhs: Extent
    rhs: Extent


def merged(depths: Sequence[Depth]) -> list[Depth]:
    """Returns fewer depths: two that step through both sides as one does are one."""
    found: list[Depth] = []
    for depth in depths:
        if found and not isinstance(depth.extent, SSAValue):
            outer = found[-1]
            is_one = outer.lhs == depth.lhs * depth.extent and outer.rhs == depth.rhs * depth.extent
            if is_one and not isinstance(outer.extent, SSAValue):
                found[-1] = Depth(outer.extent * depth.extent, depth.lhs, depth.rhs)
                continue
        found.append(depth)
    return found
