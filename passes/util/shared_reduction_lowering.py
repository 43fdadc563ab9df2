"""
Lowers a `sched.reduce` that the work-items of a work-group share: each combines every so manieth element, and
a tree in shared memory combines what they have.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import SSAValue

from ...dialects import sched
from ...dialects.dim_expr import Extent
from .group_sharing import GroupSharing
from .illegal_mapping import refuse_mapping
from .kernel_state import KernelState
from .lanes import LaneAxis, LanedValue
from .reduction_lowering import ReductionLowering
from .scalar_builder import INDEX


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
        extents = [group.items.extents[dimension] for dimension in group.items.extents]
        refuse_mapping(op, f"work-groups are {extents}, so that several work-items would do each step")
    return _SharedReductionLowering(state, op, group).lower()


class _SharedReductionLowering(ReductionLowering):
    def __init__(self, state: KernelState, op: sched.ReduceOp, group: GroupSharing) -> None:
        super().__init__(state, op)
        self.group = group
        self.items = op.mapping.items.data
        self.own = LaneAxis(self.axis, 1, op.mapping.unroll.data, self.items)

    def lower(self) -> LanedValue:
        extent, unroll = self.axis.extent, self.own.unroll
        main = extent - extent % (self.items * unroll)
        with self.group.inside(self.op):
            sums: Sequence[SSAValue] = [self._identity(1)] * unroll
            if main != 0:
                sums = self._whole_steps(main, sums)
            sums = [self._rest(main + number * self.items, value) for number, value in enumerate(sums)]
        return LanedValue((), {(): self._exchange(self._total(list(sums)))}, False)

    def _whole_steps(self, end: Extent, start: Sequence[SSAValue]) -> list[SSAValue]:
        state, item = self.state, self.group.item(self.op)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            state.indices.bindings[self.axis] = state.indices.bind(index, end, self.axis.hint) + item
            return self._step(self.own, carried)

        bounds = state.writer.index_constants(0, end, self.items * self.own.unroll)
        hints = self.axis.hint, self.op.result.name_hint
        return state.writer.loop(bounds, start, body, self.op.location, *hints)

    def _rest(self, begin: Extent, value: SSAValue) -> SSAValue:
        """Combines the element after `begin` that is this work-item's, if there is one, into `value`."""
        state, extent, item = self.state, self.axis.extent, self.group.item(self.op)
        if isinstance(extent, int) and isinstance(begin, int):
            if begin >= extent:
                return value
            if begin + self.items <= extent:
                state.indices.bindings[self.axis] = item + begin
                return self._step(None, (value,))[0]

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            state.indices.bindings[self.axis] = state.indices.bind(index, extent, self.axis.hint)
            return self._step(None, carried)

        constants, step = state.writer.constants, self.items * self.own.unroll
        first = state.indices.write(item + begin, self.op.location)
        bounds = first, constants.get(extent, INDEX), constants.get(step, INDEX)
        hints = self.axis.hint, self.op.result.name_hint
        (rest,) = state.writer.loop(bounds, (value,), body, self.op.location, *hints)
        return rest

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
        total = self._combine(self._load(scratch, item), self._load(scratch, other))
        self._store(total, scratch, item)

    def _load(self, scratch: SSAValue, index: SSAValue) -> SSAValue:
        type, hint = self.op.result.type, self.op.result.name_hint
        return self.state.writer.emit(memref.LoadOp, (scratch, index), type, self.op.location, hint)

    def _store(self, value: SSAValue, scratch: SSAValue, index: SSAValue) -> None:
        new = memref.StoreOp.create(operands=(value, scratch, index))
        self.state.writer.insert(new, self.op.location)
