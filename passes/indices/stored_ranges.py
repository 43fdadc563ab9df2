"""Where a kernel stores anything but 0: all else of what it fills is a border of zeros."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import BlockArgument

from ...dialects.buffer_size import extents_of
from ...dialects.low import SelectOp
from .analysis import IndexAnalysis
from .expressions import IndexExpr
from .ranges import Range, Ranges, is_zero, ranges_of, without_constant


def stored_ranges(buffer: BlockArgument, analysis: IndexAnalysis) -> list[Range] | None:
    """
    Returns a range of each subscript of an argument of a kernel, outside of which the kernel stores zeros
    alone, if anything; None where it does more with the argument than load and store elements.
    """
    found: list[list[Range]] = []
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, memref.StoreOp) and op.memref is buffer:
            if not is_zero(op.value):
                found.append(_ranges_of_store(op, analysis))
        elif not isinstance(op, memref.LoadOp):
            return None
    if not found:
        return [Range(0, 0) for _ in extents_of(buffer.type)]
    return [joined(ranges) for ranges in zip(*found, strict=True)]


def joined(ranges: tuple[Range, ...]) -> Range:
    """Returns the least range that has all of `ranges` in it, but for those of nothing."""
    some = [each for each in ranges if each.low is None or each.high is None or each.low < each.high]
    if not some:
        return Range(0, 0)
    lows, highs = [each.low for each in some], [each.high for each in some]
    low = None if None in lows else min(bound for bound in lows if bound is not None)
    high = None if None in highs else max(bound for bound in highs if bound is not None)
    return Range(low, high)


def _ranges_of_store(op: memref.StoreOp, analysis: IndexAnalysis) -> list[Range]:
    """Returns where a store has a value, of which a select may make zeros in some places."""
    select, where = op.value.owner, Ranges()
    if isinstance(select, SelectOp) and is_zero(select.on_false):
        where = ranges_of(select.condition, analysis) or where
    return [_range(analysis.expr(subscript), where) for subscript in op.indices]


def _range(subscript: IndexExpr, where: Ranges) -> Range:
    low, high = subscript.low, subscript.high
    bounds = Range(low if isinstance(low, int) else None, high + 1 if isinstance(high, int) else None)
    if not isinstance(subscript.constant, int):
        return bounds
    index, offset = without_constant(subscript)
    known = where.get(index, Range())
    return bounds.and_(
        Range(
            None if known.low is None else known.low + offset,
            None if known.high is None else known.high + offset,
        )
    )
