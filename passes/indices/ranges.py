"""Conditions on indices read back as ranges: what pads, windows and masks compare."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr
from xdsl.ir import SSAValue

from ...dialects.low import SelectOp
from .analysis import IndexAnalysis
from .expressions import IndexExpr

_SHIFTS = {"sge": (0, True), "sgt": (1, True), "slt": (0, False), "sle": (1, False)}
"""Of each comparison with a number: how far the bound is from it, and whether it is the lower one."""


@dataclass(frozen=True, slots=True)
class Range:
    """From the first index up to where they end, exclusive; None for no bound."""

    low: int | None = None
    high: int | None = None

    @property
    def is_empty(self) -> bool:
        return self.low is not None and self.high is not None and self.low >= self.high

    def moved(self, by: int) -> Range:
        """Returns the range of indices that are greater by a number."""
        low = None if self.low is None else self.low + by
        return Range(low, None if self.high is None else self.high + by)

    def and_(self, other: Range) -> Range:
        """Returns what is in both ranges."""
        lows = [bound for bound in (self.low, other.low) if bound is not None]
        highs = [bound for bound in (self.high, other.high) if bound is not None]
        return Range(max(lows, default=None), min(highs, default=None))


Ranges = dict[IndexExpr, Range]
"""The range of each of some indices, of which none has a constant part."""


def ranges_of(condition: SSAValue, analysis: IndexAnalysis) -> Ranges | None:
    """Returns the ranges that indices are in just where a condition holds, None if it says anything else."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        first, second = ranges_of(owner.lhs, analysis), ranges_of(owner.rhs, analysis)
        if first is None or second is None:
            return None
        return {index: first.get(index, Range()).and_(second.get(index, Range())) for index in first | second}
    if not isinstance(owner, arith.CmpiOp) or not isinstance(owner.lhs.type, IndexType):
        return None
    shift = _SHIFTS.get(arith.CMPI_COMPARISON_OPERATIONS[owner.predicate.value.data])
    difference = analysis.expr(owner.lhs) - analysis.expr(owner.rhs)
    if shift is None or not isinstance(difference.constant, int):
        return None
    index, bound = without_constant(difference)
    bound, is_low = shift[0] - bound, shift[1]
    return {index: Range(bound, None) if is_low else Range(None, bound)}


def without_constant(index: IndexExpr) -> tuple[IndexExpr, int]:
    """Returns an index without its constant part, and that, which is a number."""
    assert isinstance(index.constant, int), f"{index} is a number away from what varies"
    return index + -index.constant, index.constant


@dataclass(frozen=True, slots=True)
class Masked:
    """What is loaded where indices are in ranges, and 0 elsewhere."""

    load: memref.LoadOp
    ranges: Ranges


def masked_load(value: SSAValue, analysis: IndexAnalysis) -> Masked | None:
    """Returns what a value is that is loaded under a mask: a select between a load and 0."""
    select = value.owner
    if not isinstance(select, SelectOp) or not is_zero(select.on_false):
        return None
    load, ranges = select.on_true.owner, ranges_of(select.condition, analysis)
    return Masked(load, ranges) if isinstance(load, memref.LoadOp) and ranges is not None else None


def is_zero(value: SSAValue) -> bool:
    """Returns whether a value is the number 0, of floats the positive one."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp):
        return False
    match owner.value:
        case FloatAttr() as number:
            return number.value.data == 0 and copysign(1.0, number.value.data) > 0
        case IntegerAttr() as number:
            return number.value.data == 0
        case _:
            return False
