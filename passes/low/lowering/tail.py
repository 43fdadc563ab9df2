"""
What fills no whole step of a loop's lanes, as vectors too where iterations may run again. The last of them
ends where the loop does, over some iterations of the one before:

    23 iterations in steps of 16, in vectors of 4    -->    vectors at 16 and 19

So do squares of elements that are transposed, of as many rows.

Of a loop whose number of iterations varies there may be fewer than a vector has, which run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent, upper_bound
from ...indices.analysis import Loop
from ...indices.expressions import IndexExpr, constant
from ...scalar.builder import INDEX
from .lanes import LaneAxis
from .state import KernelState

End = int | SSAValue
"""Where a loop begins or ends: a number that is known, or a value of the `low` kernel."""

VectorBody = Callable[[IndexExpr, Sequence[SSAValue]], list[SSAValue]]
"""Writes the vector from an index on, given the carried values, and returns what it carries on."""

_AT_LEAST: dict[str, Attribute] = {"predicate": IntegerAttr(5, i64)}


@dataclass(frozen=True, slots=True)
class Tail:
    """
    From `begin` to `end` a loop runs in vectors of `lanes`. `left` is where what runs one by one begins and
    ends, None where nothing does.
    """

    lanes: LaneAxis
    begin: End
    end: End
    left: tuple[SSAValue, SSAValue] | None = None


def may_run_again(op: Loop) -> bool:
    """
    Returns whether an iteration that runs twice leaves what it leaves the first time: it computes of elements
    that it does not write, and sums nothing up, which would take its time again.
    """
    read: set[SSAValue] = set()
    written: set[SSAValue] = set()
    for inner in op.body.block.walk():
        match inner:
            case memref.LoadOp():
                read.add(inner.memref)
            case memref.StoreOp():
                written.add(inner.memref)
            case sched.AxisOp() | sched.YieldOp():
                pass
            case _ if not isinstance(inner, sched.SCALAR_OPS):
                return False
            case _:
                pass
    return read.isdisjoint(written)


def tail_of(
    state: KernelState, op: Loop, lanes: LaneAxis, begin: Extent | SSAValue, end: Extent | SSAValue
) -> Tail | None:
    """
    Returns how the iterations from `begin` to `end` run, `lanes` at a time, None where that takes no less
    time than one by one.
    """
    if lanes.step == 1 or upper_bound(lanes.axis.extent) < lanes.step:
        return None
    if any(_has_places_of_its_own(state, each, lanes) for each in op.body.block.walk()):
        return None
    if isinstance(begin, int) and isinstance(end, int):
        return Tail(lanes, begin, end) if end >= lanes.step and end - begin > 1 else None
    get = state.writer.constants.get
    first, last = (each if isinstance(each, SSAValue) else get(each, INDEX) for each in (begin, end))
    operands = last, get(lanes.step, INDEX)
    is_vector = state.writer.emit(arith.CmpiOp, operands, i1, op.location, "is_vector", _AT_LEAST)
    rest = state.writer.emit(low.SelectOp, (is_vector, last, first), INDEX, op.location, "rest")
    return Tail(lanes, first, rest, (rest, last))


def run_vectors(
    state: KernelState, op: Loop, tail: Tail, carried: Sequence[SSAValue], body: VectorBody
) -> list[SSAValue]:
    """Runs the vectors of a tail, and returns what they carry on."""
    step, axis, location = tail.lanes.step, tail.lanes.axis, op.location
    if isinstance(tail.end, int) and isinstance(tail.begin, int) and tail.end - tail.begin <= step:
        with state.lanes.within(tail.lanes):
            return body(constant(tail.end - step), carried)
    get, indices = state.writer.constants.get, state.indices
    begin, end = (each if isinstance(each, SSAValue) else get(each, INDEX) for each in (tail.begin, tail.end))
    last = indices.op(arith.SubiOp, end, get(step, INDEX), location)

    def one(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
        place = indices.op(arith.MinSIOp, index, last, location)
        with state.lanes.within(tail.lanes):
            return body(indices.bind(place, axis.extent, axis.hint), carried)

    return state.writer.loop((begin, end, get(step, INDEX)), carried, one, location, axis.hint)


def _has_places_of_its_own(state: KernelState, op: Operation, lanes: LaneAxis) -> bool:
    """Returns whether an op reads or writes what does not lie in steps along an axis, panels say."""
    if not isinstance(op, memref.LoadOp | memref.StoreOp):
        return False
    return not isinstance(state.analysis.address(op).stride(lanes.axis), int)
