"""
Lets a loop whose iterations change more and more of a value write into what that value was two iterations
before, where all that an iteration leaves alone is the same already.

    %y = graph.scan %i = 20 (%c = %x) : (tensor<1000xf32>) -> (tensor<1000xf32>) {
      %m = ... %i < the elements to change ...
      %v = graph.select %m, (... %c, its elements and others ...), %c
      %n = graph.dynamic_update %v[%i], %e
      graph.yield %n : tensor<1000xf32>
    }

-->

    %y, %z = graph.scan %i = 20 (%c = %x, %o = %x)
        : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>) {
      %m = ... %i < the elements to change ...
      %v = graph.select %m, (... %c, its elements and others ...), %o
      %n = graph.dynamic_update %v[%i], %e
      graph.yield %n, %c : tensor<1000xf32>, tensor<1000xf32>
    }

Such a value is computed in another buffer, into which all that does not change would be copied in each
iteration. The two values change places, which takes no copy (`double-buffer-loops`).

The elements that the select changes are those whose number along one axis is at least some numbers and less
than others, all of them a number of iterations times a constant, and more. None of these elements is left
alone in a later iteration, and what updates store is changed by the select of the next one: so what that one
leaves alone, the iteration before it left alone too.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.element_types import is_unsigned, width_of
from ....dialects.graph.control import yield_of
from ....dialects.graph.elementwise.predicates import CompareOp
from ....dialects.graph.types import shape_of, tensor_type_of
from ..rules.splats import splat
from .double_buffer_loops import is_computed_elsewhere, places_of_view, would_copy

LARGEST = 1 << 31
"""By design: numbers of 32 bits hold what is less, and so does every sum on the way to it."""

MOST_PAIRS = 16
"""By design: how many masks that both hold, and ends of which one is less, are looked at for a value."""

_TURNED: dict[type | None, type] = {
    graph.LtOp: graph.GtOp,
    graph.LeOp: graph.GeOp,
    graph.GtOp: graph.LtOp,
    graph.GeOp: graph.LeOp,
}
"""The comparison that says the same with its sides changed."""

_OTHERWISE: dict[type | None, type] = {
    graph.LtOp: graph.GeOp,
    graph.LeOp: graph.GtOp,
    graph.GtOp: graph.LeOp,
    graph.GeOp: graph.LtOp,
}
"""The comparison of integers that holds where one does not."""


@dataclass(frozen=True)
class CarryOlderValuesPass(ModulePass):
    """Lets loops write into a value of two iterations before, of which all that stays is the same."""

    name = "carry-older-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, graph.ScanOp)]:
            if would_copy(loop):
                selects = {
                    number: select
                    for number in range(len(loop.initial))
                    if (select := _growing_select(loop, number)) is not None
                }
                if selects:
                    _carry(loop, selects)


@dataclass(frozen=True)
class _Line:
    """An integer that goes along with the number of an iteration: `factor` times it and `constant`."""

    factor: int
    constant: int

    def at(self, number: int) -> int:
        return self.factor * number + self.constant

    def plus(self, more: int) -> _Line:
        return _Line(self.factor, self.constant + more)

    def is_at_most(self, other: _Line, later: int, last: int) -> bool:
        """Returns whether it is no more in each iteration up to `last` than the other one is `later`."""
        return all(self.at(number) <= other.at(number + later) for number in (0, last))


@dataclass(frozen=True)
class _Interval:
    """
    The elements whose number along an axis is at least all of `lows`, and less than all of `highs`. Their
    other numbers are any.
    """

    axis: int
    lows: tuple[_Line, ...] = ()
    highs: tuple[_Line, ...] = ()


def _growing_select(loop: graph.ScanOp, number: int) -> graph.SelectOp | None:
    """
    Returns the select of which a carried value is made, in another buffer, if what it leaves alone the
    iteration before left alone too.
    """
    value: SSAValue = yield_of(loop.body.block, loop.name, "body").values[number]
    carried = loop.carried[number]
    if not is_computed_elsewhere(value, carried, loop):
        return None
    updates: list[graph.DynamicUpdateOp] = []
    while isinstance(op := value.owner, graph.DynamicUpdateOp):
        updates.append(op)
        value = op.source
    if not isinstance(op, graph.SelectOp) or carried not in (op.on_true, op.on_false):
        return None
    steps = _Steps(loop)
    interval = steps.interval(op.condition, op.on_false is carried)
    if interval is None or not steps.grows(interval):
        return None
    return op if all(steps.stays_in(interval, update) for update in updates) else None


class _Steps:
    """What goes along with the iterations of a loop."""

    def __init__(self, loop: graph.ScanOp):
        length = loop.trip_count
        assert isinstance(length, int), f"{loop.name}: a varying number of iterations"
        self.counter, self.last = loop.counter, length - 1
        self.later = -1 if loop.reverse is not None else 1
        self._known: dict[SSAValue, _Line | None] = {}
        self._n_pairs = 0

    def grows(self, interval: _Interval) -> bool:
        """Returns whether each iteration has all elements that the one before it has."""
        return all(line.factor * self.later >= 0 for line in interval.highs) and all(
            line.factor * self.later <= 0 for line in interval.lows
        )

    def stays_in(self, interval: _Interval, update: graph.DynamicUpdateOp) -> bool:
        """Returns whether what an update stores is in the interval of the next iteration."""
        extent = shape_of(tensor_type_of(update.source, update.name))[interval.axis]
        span, start = update.spans[interval.axis], self.line(update.starts[interval.axis])
        if start is None or not isinstance(extent, int) or not isinstance(span, int):
            return False
        # Boxes that do not fit are moved, and are not looked at.
        if not all(0 <= start.at(number) <= extent - span for number in (0, self.last)):
            return False
        end = start.plus(span)
        # Beyond the last element there is nothing to leave alone.
        return all(
            end.is_at_most(high, self.later, self.last) or (high.factor == 0 and high.constant >= extent)
            for high in interval.highs
        ) and all(
            _Line(-start.factor, -start.constant).is_at_most(
                _Line(-low.factor, -low.constant), self.later, self.last
            )
            for low in interval.lows
        )

    def interval(self, mask: SSAValue, holds: bool = True) -> _Interval | None:
        """Returns the elements where a mask holds, or where it does not."""
        op = mask.owner
        match op:
            case graph.NotOp():
                return self.interval(op.source, not holds)
            case graph.AndOp() | graph.OrOp() if isinstance(op, graph.AndOp) is holds:
                return self._both(op.lhs, op.rhs, holds)
            case graph.BroadcastOp() | graph.ReshapeOp():
                found = self.interval(op.source, holds)
                axis = None if found is None else _axis_of_view(op, found.axis)
                return None if found is None or axis is None else replace(found, axis=axis)
            case CompareOp():
                return self._compared(op, holds)
            case _:
                return None

    def _both(self, lhs: SSAValue, rhs: SSAValue, holds: bool) -> _Interval | None:
        if not self._may_look_at_both():
            return None
        first, second = self.interval(lhs, holds), self.interval(rhs, holds)
        if first is None or second is None or first.axis != second.axis:
            return None
        return _Interval(first.axis, first.lows + second.lows, first.highs + second.highs)

    def _compared(self, op: CompareOp, holds: bool) -> _Interval | None:
        count, limit, kind = op.lhs.owner, op.rhs, type(op)
        if not isinstance(count, graph.IotaOp):
            count, limit, kind = op.rhs.owner, op.lhs, _TURNED.get(kind)
        if not isinstance(count, graph.IotaOp) or not _is_wide(limit):
            return None
        axis, kind = count.axis.data, kind if holds else _OTHERWISE.get(kind)
        more = int(kind in (graph.LeOp, graph.GtOp))
        if kind in (graph.LtOp, graph.LeOp):
            lines = self._lines(limit, graph.MinOp)
            return None if lines is None else _Interval(axis, highs=tuple(line.plus(more) for line in lines))
        if kind in (graph.GtOp, graph.GeOp):
            lines = self._lines(limit, graph.MaxOp)
            return None if lines is None else _Interval(axis, lows=tuple(line.plus(more) for line in lines))
        return None

    def _lines(self, value: SSAValue, of_both: type[graph.MinOp | graph.MaxOp]) -> tuple[_Line, ...] | None:
        """Returns the lines of which a number is the least, or the greatest."""
        op = value.owner
        if isinstance(op, graph.BroadcastOp | graph.ReshapeOp):
            return self._lines(op.source, of_both)
        if isinstance(op, of_both) and self._may_look_at_both():
            first, second = (self._lines(operand, of_both) for operand in op.operands)
            return first and second and first + second
        line = self.line(value)
        return None if line is None else (line,)

    def _may_look_at_both(self) -> bool:
        """Counts a pair: what pairs are made of is looked at as many times as there are ways to it."""
        self._n_pairs += 1
        return self._n_pairs <= MOST_PAIRS

    def line(self, value: SSAValue) -> _Line | None:
        """Returns how a number goes along with that of the iteration."""
        if value not in self._known:
            found = self._line(value) if _is_wide(value) else None
            fits = found is not None and all(abs(found.at(number)) < LARGEST for number in (0, self.last))
            self._known[value] = found if fits else None
        return self._known[value]

    def _line(self, value: SSAValue) -> _Line | None:
        if value is self.counter:
            return _Line(1, 0)
        number = splat(value)
        if isinstance(number, int):
            return _Line(0, number)
        op = value.owner
        match op:
            case graph.BroadcastOp() | graph.ReshapeOp():
                return self.line(op.source)
            case graph.AddOp() | graph.SubOp() | graph.MulOp() | graph.MinOp() | graph.MaxOp():
                lhs, rhs = self.line(op.lhs), self.line(op.rhs)
                if lhs is None or rhs is None:
                    return None
            case _:
                return None
        match op:
            case graph.AddOp():
                return _Line(lhs.factor + rhs.factor, lhs.constant + rhs.constant)
            case graph.SubOp():
                return _Line(lhs.factor - rhs.factor, lhs.constant - rhs.constant)
            case graph.MulOp() if rhs.factor == 0:
                return _Line(lhs.factor * rhs.constant, lhs.constant * rhs.constant)
            case graph.MulOp() if lhs.factor == 0:
                return _Line(rhs.factor * lhs.constant, rhs.constant * lhs.constant)
            case graph.MinOp() | graph.MaxOp():
                ordered = (lhs, rhs) if lhs.is_at_most(rhs, 0, self.last) else (rhs, lhs)
                is_known = ordered[0].is_at_most(ordered[1], 0, self.last)
                return ordered[isinstance(op, graph.MaxOp)] if is_known else None
            case _:
                return None


def _axis_of_view(op: graph.BroadcastOp | graph.ReshapeOp, axis: int) -> int | None:
    """Returns which axis of a view an axis of what it is of is, None where it is none, or has one element."""
    outer = shape_of(tensor_type_of(op.result, op.name))
    return next((places[axis] for places in places_of_view(op, tuple(range(len(outer))))), None)


def _is_wide(value: SSAValue) -> bool:
    """Returns whether the elements are integers with a sign that hold what is less than `LARGEST`."""
    type: Attribute = tensor_type_of(value, "graph.scan").element_type
    if not isinstance(type, IntegerType):
        return False
    integer = cast(IntegerType, type)
    return not is_unsigned(integer) and width_of(integer) >= 32


def _carry(loop: graph.ScanOp, selects: Mapping[int, graph.SelectOp]) -> None:
    """Has a loop carry values on for one more iteration, and selects leave elements of these alone."""
    around, carried = loop.parent, list(loop.carried)
    assert around is not None, f"{loop.name}: stands in no block"
    region = loop.detach_region(loop.body)
    block = region.block
    for number, select in selects.items():
        older = block.insert_arg(carried[number].type, len(block.args))
        older.name_hint, older.location = carried[number].name_hint, carried[number].location
        select.operands[2 if select.on_false is carried[number] else 1] = older
    end = yield_of(block, loop.name, "body")
    end.operands = [*end.values, *(carried[number] for number in selects)]
    longer = graph.ScanOp(
        loop.trip_count,
        [*loop.initial, *(loop.initial[number] for number in selects)],
        (),
        [*loop.result_types, *(carried[number].type for number in selects)],
        region,
        reverse=loop.reverse is not None,
    )
    longer.attributes.update(loop.attributes)
    longer.location = loop.location
    around.insert_op_before(longer, loop)
    for old, new in zip(loop.results, longer.results, strict=False):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()
