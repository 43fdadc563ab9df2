"""Rules for comparisons of integers of rank 0 that their ranges decide: of a loop's counter, above all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....dialects import graph
from ....dialects.dims.attributes import DimsAttr
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import element_type_of, is_float, is_unsigned, width_of
from ....dialects.graph.types import tensor_type_of
from ...indices.access import shape_of
from .splats import constant_like, splat

MOST_OPS = 8
"""How many ops a range is followed through, at most."""

Range = tuple[int, int]


class CompareRanges(RewritePattern):
    """`i < c --> true` where i is always below c, `false` where it never is; likewise for <=, > and >="""

    ROOTS: ClassVar = (graph.LtOp, graph.LeOp, graph.GtOp, graph.GeOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, self.ROOTS) or not _is_number(op.operands[0]):
            return
        ranges = [range_of(value) for value in op.operands]
        if None in ranges:
            return
        left, right = (each for each in ranges if each is not None)
        if isinstance(op, graph.GtOp | graph.GeOp):
            left, right = right, left
        # Of what is compared, the left side is now to be the lower one.
        is_strict = isinstance(op, graph.LtOp | graph.GtOp)
        if left[1] < right[0] or (left[1] == right[0] and not is_strict):
            rewriter.replace(op, constant_like(op.results[0], 1))
        elif left[0] > right[1] or (left[0] == right[1] and is_strict):
            rewriter.replace(op, constant_like(op.results[0], 0))


def range_of(value: SSAValue, most_ops: int = MOST_OPS) -> Range | None:
    """
    Returns the least and the greatest value that an integer of rank 0 can have, None where that is not
    known, or not without wrapping.
    """
    type = element_type_of(value.type)
    if type not in (i32, i64) or not _is_number(value):
        return None
    if isinstance(value, BlockArgument):
        loop = value.block.parent_op()
        if isinstance(loop, graph.ScanOp) and value is loop.counter:
            return 0, max(upper_bound(loop.trip_count) - 1, 0)
        return None
    constant = splat(value)
    if constant is not None:
        return int(constant), int(constant)
    op = value.owner
    if not most_ops or not isinstance(
        op, graph.AddOp | graph.SubOp | graph.MulOp | graph.MaxOp | graph.MinOp | graph.CastOp
    ):
        return None
    found = [range_of(operand, most_ops - 1) for operand in op.operands]
    ranges = [each for each in found if each is not None]
    if len(ranges) < len(found):
        return None
    result = combined(op, ranges)
    return result if holds(type, result) else None


def range_of_type(type: Attribute) -> Range | None:
    """Returns the least and the greatest integer of an element type, None for floats."""
    if is_float(type):
        return None
    width = width_of(type)
    if width == 1 or is_unsigned(type):
        return 0, (1 << width) - 1
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def holds(type: Attribute, range: Range) -> bool:
    """Returns whether an integer type has all numbers of a range."""
    found = range_of_type(type)
    return found is not None and found[0] <= range[0] and range[1] <= found[1]


def most_extents(value: SSAValue, who: str) -> tuple[int, ...] | None:
    """Returns the extents of a tensor value, the most that each may be; None where one has no name."""
    type = tensor_type_of(value, who)
    if not type.has_static_shape() and not isinstance(type.encoding, DimsAttr):
        return None
    return tuple(map(upper_bound, shape_of(value, who)))


def _is_number(value: SSAValue) -> bool:
    return tensor_type_of(value, "graph.lt").get_num_dims() == 0


def combined(op: Operation, ranges: Sequence[Range]) -> Range:
    """Returns the range of what an op of `graph` computes of operands with these ranges."""
    match op:
        case graph.AddOp():
            return ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1]
        case graph.SubOp():
            return ranges[0][0] - ranges[1][1], ranges[0][1] - ranges[1][0]
        case graph.MulOp():
            corners = [one * other for one in ranges[0] for other in ranges[1]]
            return min(corners), max(corners)
        case graph.MaxOp():
            return max(ranges[0][0], ranges[1][0]), max(ranges[0][1], ranges[1][1])
        case graph.MinOp():
            return min(ranges[0][0], ranges[1][0]), min(ranges[0][1], ranges[1][1])
        case graph.NegOp():
            return -ranges[0][1], -ranges[0][0]
        case graph.AbsOp():
            low, high = ranges[0]
            return max(low, -high, 0), max(-low, high)
        case _:
            return ranges[0]


PATTERNS: tuple[type[RewritePattern], ...] = (CompareRanges,)
"""The rules, each with its equation as its docstring."""
