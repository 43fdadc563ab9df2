"""Where a kernel stores anything but 0: all else of what it fills is a border of zeros."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.ir import Block, SSAValue

from ...dialects.buffer_size import extents_of
from ...dialects.low import SelectOp
from .analysis import IndexAnalysis
from .expressions import Axis, IndexExpr, constant
from .ranges import Range, Ranges, is_zero, ranges_of, without_constant


@dataclass(frozen=True, slots=True)
class StoredRange:
    """
    A range that a subscript of a buffer is in, `shift` added, where more than zeros are stored. The shift is
    by axes around the buffer: one that is filled with some rows of an image at a time begins with other ones.
    """

    range: Range
    shift: IndexExpr = field(default_factory=lambda: constant(0))


def stored_ranges(buffer: SSAValue, analysis: IndexAnalysis) -> list[StoredRange] | None:
    """
    Returns a range of each subscript of a buffer in a kernel, outside of which the kernel stores zeros alone,
    if anything; None where it does more with the buffer than load and store elements.
    """
    found: list[list[StoredRange]] = []
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, memref.StoreOp) and op.memref is buffer:
            if not is_zero(op.value):
                found.append(_ranges_of_store(op, analysis))
        elif not isinstance(op, memref.LoadOp):
            return None
    if not found:
        return [StoredRange(Range(0, 0)) for _ in extents_of(buffer.type)]
    return [_of_all(ranges) for ranges in zip(*found, strict=True)]


def joined(ranges: Sequence[Range]) -> Range:
    """Returns the least range that has all of `ranges` in it, but for those of nothing."""
    some = [each for each in ranges if not each.is_empty]
    if not some:
        return Range(0, 0)
    lows, highs = [each.low for each in some], [each.high for each in some]
    low = None if None in lows else min(bound for bound in lows if bound is not None)
    high = None if None in highs else max(bound for bound in highs if bound is not None)
    return Range(low, high)


def _of_all(ranges: Sequence[StoredRange]) -> StoredRange:
    some = [each for each in ranges if not each.range.is_empty]
    shifts = {each.shift for each in some} or {constant(0)}
    return StoredRange(joined([each.range for each in some]), *shifts) if len(shifts) == 1 else _ANY


_ANY = StoredRange(Range())


def _ranges_of_store(op: memref.StoreOp, analysis: IndexAnalysis) -> list[StoredRange]:
    """Returns where a store has a value, of which a select may make zeros in some places."""
    select, where = op.value.owner, Ranges()
    if isinstance(select, SelectOp) and is_zero(select.on_false):
        where = ranges_of(select.condition, analysis) or where
    buffer = op.memref.owner
    around = {
        axis
        for index in where
        for axis in index.axes()
        if not isinstance(buffer, Block) and analysis.loop(axis).is_ancestor(buffer)
    }
    return [_range(analysis.expr(subscript), where, around) for subscript in op.indices]


def _range(subscript: IndexExpr, where: Ranges, around: Collection[Axis]) -> StoredRange:
    low, high = subscript.low, subscript.high
    bounds = Range(low if isinstance(low, int) else None, high + 1 if isinstance(high, int) else None)
    if not isinstance(subscript.constant, int):
        return StoredRange(bounds)
    own, offset = without_constant(subscript)
    for index, known in where.items():
        shift = index - own
        if shift == constant(0):
            return StoredRange(bounds.and_(known.moved(offset)))
        if all(isinstance(atom, Axis) and atom in around for atom in shift.terms):
            return StoredRange(known.moved(offset), shift)
    return StoredRange(bounds)
