"""
Lowers a `sched.reduce` that the work-items of a work-group share: each combines every so manieth element, and
a tree in shared memory combines what they have.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ...scalar.builder import INDEX
from .extremum_steps import Partial
from .group_sharing import GroupSharing
from .illegal_mapping import refuse_mapping
from .lanes import LaneAxis, LanedValue
from .loop_count import count_of
from .reduction import ReductionLowering
from .state import KernelState


def lower_shared_reduction(state: KernelState, op: sched.ReduceOp) -> LanedValue:
    """
    Returns the result, which all work-items get.

    Raises PassFailedException, naming the axis, for one inside of lanes or of another shared axis, for one
    that goes on with the sum of another, for booleans, and for work-items that have no part in it.
    """
    group = state.group
    assert group is not None, f"{op.name}: work-items share a reduction unnoticed"
    if not group.is_uniform:
        refuse_mapping(op, "work-items share an axis around it already")
    if state.lanes.axes:
        refuse_mapping(op, f"axis %{state.lanes.axes[-1].axis.hint} around it runs in lanes")
    if op in state.sums:
        refuse_mapping(op, "it goes on with the sum of another reduction")
    if op.result.type == i1:
        refuse_mapping(op, "there is no memory of i1 to share")
    if len(group.items.extents) > 1:
        extents = " x ".join(str(group.items.extents[dimension]) for dimension in group.items.extents)
        refuse_mapping(op, f"work-groups are {extents} work-items, so that several would do each step")
    return _SharedReductionLowering(state, op, group).lower()


class _SharedReductionLowering(ReductionLowering):
    def __init__(self, state: KernelState, op: sched.ReduceOp, group: GroupSharing) -> None:
        super().__init__(state, op)
        self.group = group
        self.items = op.mapping.items.data
        self.own = LaneAxis(self.axis, 1, op.mapping.unroll.data, self.items)

    def lower(self) -> LanedValue:
        unroll, step = self.own.unroll, self.items * self.own.unroll
        extent: Extent | SSAValue = self.axis.extent
        main: Extent | SSAValue
        if self.op.count is None:
            main = extent - extent % step
        else:
            extent = count_of(self.state, self.op)
            indices, location = self.state.indices, self.op.location
            rest = indices.op(arith.RemUIOp, extent, self._known(step), location)
            main = indices.op(arith.SubiOp, extent, rest, location)
        sums = [self._first(), *[self._identity(1)] * (unroll - 1)]
        with self.group.inside(self.op):
            if main != 0:
                sums = self._whole_steps(main, sums)
            sums = [self._rest(main, number, extent, value) for number, value in enumerate(sums)]
        (total,) = self._total(sums)
        return LanedValue((), {(): self._exchange(total)}, False)

    def _first(self) -> Partial:
        """Returns what the first accumulator starts from: that of the first work-item from the init."""
        (identity,) = self._identity(1)
        if self.op.init is None:
            return (identity,)
        zero = self.state.writer.constants.get(0, INDEX)
        equal: dict[str, Attribute] = {"predicate": IntegerAttr(0, i64)}
        operands = (self.group.item_value(self.op), zero)
        location = self.op.location
        is_first = self.state.writer.emit(arith.CmpiOp, operands, i1, location, "is_first", equal)
        init = self.state.scalars[self.op.init].pick((), ())
        operands = (is_first, init, identity)
        return (self.state.writer.emit(low.SelectOp, operands, identity.type, location),)

    def _whole_steps(self, end: Extent | SSAValue, start: Sequence[Partial]) -> list[Partial]:
        state, item = self.state, self.group.item(self.op)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            bound = state.indices.bind(index, self.axis.extent, self.axis.hint)
            state.indices.bindings[self.axis] = bound + item
            return [sum for (sum,) in self._step(self.own, [(value,) for value in carried])]

        bounds = self._known(0), self._known(end), self._known(self.items * self.own.unroll)
        hints = self.axis.hint, self.op.result.name_hint
        values = [value for (value,) in start]
        sums = state.writer.loop(bounds, values, body, self.op.location, *hints)
        return [(sum,) for sum in sums]

    def _rest(
        self, main: Extent | SSAValue, number: int, extent: Extent | SSAValue, partial: Partial
    ) -> Partial:
        """
        Combines the element after the whole steps that accumulator `number` of this work-item is to have, if
        there is one, into `partial`.
        """
        state, item, location = self.state, self.group.item(self.op), self.op.location
        offset = item + number * self.items
        if isinstance(extent, int) and isinstance(main, int):
            begin = main + number * self.items
            if begin >= extent:
                return partial
            if begin + self.items <= extent:
                state.indices.bindings[self.axis] = item + begin
                return self._step(None, (partial,))[0]

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            bound = state.indices.bind(index, self.axis.extent, self.axis.hint)
            state.indices.bindings[self.axis] = bound
            return list(self._step(None, [(*carried,)])[0])

        if isinstance(main, SSAValue):
            first = state.indices.op(arith.AddiOp, main, state.indices.write(offset, location), location)
        else:
            first = state.indices.write(offset + main, location)
        bounds = first, self._known(extent), self._known(self.items * self.own.unroll)
        hints = self.axis.hint, self.op.result.name_hint
        return tuple(state.writer.loop(bounds, partial, body, location, *hints))

    def _exchange(self, partial: SSAValue) -> SSAValue:
        """Returns the partial results of all work-items, the upper half combined into the lower, again."""
        writer, location = self.state.writer, self.op.location
        item = self.group.item_value(self.op)
        with self.group.exchange(self.op) as scratch:
            self._store(partial, scratch, item)
            self.group.barrier(location)
            half = self.items // 2
            while half:

                def write(half: int = half) -> None:
                    self._combine_halves(scratch, item, half)

                is_lower = writer.emit(
                    arith.CmpiOp,
                    (item, writer.constants.get(half, INDEX)),
                    i1,
                    location,
                    "is_lower",
                    {"predicate": IntegerAttr(6, i64)},
                )
                self.group.when(is_lower, write, location)
                self.group.barrier(location)
                half //= 2
            return self._load(scratch, writer.constants.get(0, INDEX))

    def _combine_halves(self, scratch: SSAValue, item: SSAValue, half: int) -> None:
        other = self.state.indices.op(
            arith.AddiOp, item, self.state.writer.constants.get(half, INDEX), self.op.location
        )
        (total,) = self._combine((self._load(scratch, item),), (self._load(scratch, other),))
        self._store(total, scratch, item)

    def _load(self, scratch: SSAValue, index: SSAValue) -> SSAValue:
        type, hint = self.op.result.type, self.op.result.name_hint
        return self.state.writer.emit(memref.LoadOp, (scratch, index), type, self.op.location, hint)

    def _store(self, value: SSAValue, scratch: SSAValue, index: SSAValue) -> None:
        new = memref.StoreOp.create(operands=(value, scratch, index))
        self.state.writer.insert(new, self.op.location)
