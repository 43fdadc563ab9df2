"""
Lowers one `sched.axis`: the part of it that a work-item takes, as a loop over steps of lanes and one over
what fills no whole step. Where iterations may run again, a last vector ends where the axis does:

    sched.axis %i = 23 vector(8)    -->    vectors at 0, 8 and 15

The rows of squares that are transposed likewise, a square at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ...indices.expressions import IndexExpr, constant
from ...indices.lanes import LOADED_STRIDES
from ...indices.nests import axes_around
from ...scalar.builder import INDEX
from .lanes import LaneAxis, turning_axis
from .loop_count import count_of
from .state import KernelState
from .tail import may_run_again, run_vectors, tail_of
from .writer import Bounds


def lower_axis(state: KernelState, op: sched.AxisOp) -> None:
    """
    Raises PassFailedException, naming the axis, for a vector inside of a vector, and for a count of which
    each lane of an axis around has its own.
    """
    if op.extent == 0:
        return
    lowering = AxisLowering(state, op)
    first, count = lowering.share()
    if op.mapping.items.data > 1:
        lowering.lower_shared(first, count)
    elif isinstance(count, int):
        lowering.lower_known(first, count)
    else:
        lowering.lower_guarded(first, count)


class AxisLowering:
    """One axis: the share of it that a work-item takes, and the loops over that."""

    def __init__(self, state: KernelState, op: sched.AxisOp):
        self.state = state
        self.op = op
        self.axis = state.analysis.axis(op)
        self.lanes = LaneAxis(self.axis, op.mapping.vector.data, op.mapping.unroll.data)
        if self.lanes.vector > 1 and self._lacks_rows():
            self.lanes = LaneAxis(self.axis, 1, 1)

    def _lacks_rows(self) -> bool:
        """
        Returns whether a load below is to be transposed with an unrolled axis around, but what is left of
        that axis is less than a square: the lanes then run one by one.
        """
        analysis, nest = self.state.analysis, self.state.lanes
        unrolled = [axis for axis in axes_around(self.op) if axis.mapping.unroll.data == self.lanes.vector]
        if not unrolled:
            return False
        with nest.within(self.lanes):
            for op in self.op.walk():
                if not isinstance(op, memref.LoadOp):
                    continue
                address = analysis.address(op)
                if address.stride(self.axis) in LOADED_STRIDES or turning_axis(nest, address) is not None:
                    continue
                if any(address.stride(analysis.axis(axis)) == 1 for axis in unrolled):
                    return True
        return False

    def _is_square(self) -> bool:
        """Returns whether the axis is the rows of squares whose columns are a vector axis below it."""
        if self.lanes.vector > 1 or self.lanes.unroll == 1:
            return False
        analysis, nest = self.state.analysis, self.state.lanes
        for columns in self.op.walk():
            if not isinstance(columns, sched.AxisOp) or columns.mapping.vector.data != self.lanes.unroll:
                continue
            axis = LaneAxis(analysis.axis(columns), columns.mapping.vector.data, columns.mapping.unroll.data)
            loads = [analysis.address(op) for op in columns.walk() if isinstance(op, memref.LoadOp)]
            with nest.within(self.lanes), nest.within(axis):
                if any(turning_axis(nest, address) == self.lanes for address in loads):
                    return True
        return False

    def share(self) -> tuple[IndexExpr, int | SSAValue]:
        """Returns the first index that this work-item takes, and how many."""
        op, indices = self.op, self.state.indices
        extent, chunk = self.axis.extent, op.mapping.chunk.data
        constants = self.state.writer.constants
        if op not in self.state.ids:
            if op.count is not None:
                return constant(0), count_of(self.state, op)
            return constant(0), extent if isinstance(extent, int) else constants.get(extent, INDEX)
        number = self._insert_id()
        groups = (extent + (chunk - 1)) // chunk
        first = constant(0)
        if groups != 1:
            first = indices.bind(number, groups, op.index.name_hint or "i") * chunk
        if op.count is not None:
            return first, self._share_of_count(first, chunk)
        if isinstance(extent, int) and (extent % chunk == 0 or groups == 1):
            return first, min(chunk, extent)
        if groups == 1:
            return first, constants.get(extent, INDEX)
        if chunk == 1:
            return first, 1
        begin = indices.write(first, op.location)
        left = indices.op(arith.SubiOp, constants.get(extent, INDEX), begin, op.location)
        return first, indices.op(arith.MinSIOp, left, constants.get(chunk, INDEX), op.location)

    def _share_of_count(self, first: IndexExpr, chunk: int) -> SSAValue:
        """Returns how many of the iterations that are counted this work-item takes."""
        op, indices, constants = self.op, self.state.indices, self.state.writer.constants
        count = count_of(self.state, op)
        left = indices.op(arith.SubiOp, count, indices.write(first, op.location), op.location)
        least = indices.op(arith.MinSIOp, left, constants.get(chunk, INDEX), op.location)
        return indices.op(arith.MaxSIOp, least, constants.get(0, INDEX), op.location)

    def _insert_id(self) -> SSAValue:
        op = self.op
        id_op, dimension = self.state.ids[op]
        return self.state.writer.emit(
            id_op, (), INDEX, op.location, op.index.name_hint, {"dimension": low.DimensionAttr(dimension)}
        )

    def lower_known(self, first: IndexExpr, count: int) -> None:
        """Runs `count` iterations after `first`."""
        step = self.lanes.step
        main = count - count % step if step > 1 else 0
        if main:
            self.state.lanes.check_vector(self.op)
            self._repeat(first, main, self.lanes)
        for lanes in self._narrower():
            end = main + (count - main) // lanes.step * lanes.step
            if main < end:
                self.state.lanes.check_vector(self.op)
                self._repeat(first, end, lanes, begin=main)
                main = end
        if main < count and count >= step and self._is_square() and may_run_again(self.op):
            self._repeat(first, count, self.lanes, begin=count - step)
        elif count - main > 1 and count >= self.lanes.vector > 1 and may_run_again(self.op):
            self._end_with_vector(first, count, main)
        elif main < count:
            self._repeat(first, count, None, begin=main)

    def _end_with_vector(self, first: IndexExpr, count: int, main: int) -> None:
        """Runs what is left after `main` as single vectors, of which the last overlaps the one before."""
        lanes = LaneAxis(self.axis, self.lanes.vector, 1)
        self.state.lanes.check_vector(self.op)
        whole = count - count % lanes.vector
        if main < whole:
            self._repeat(first, whole, lanes, begin=main)
        if count - whole > 1:
            self._repeat(first, count, lanes, begin=count - lanes.vector)
        elif whole < count:
            # A vector would take as long as the element.
            self._repeat(first, count, None, begin=whole)

    def lower_shared(self, first: IndexExpr, count: int | SSAValue) -> None:
        """Runs this work-item's share of the `count` iterations after `first`."""
        state, mapping = self.state, self.op.mapping
        group, items = state.group, mapping.items.data
        assert group is not None, f"{self.op.name}: work-items share an axis unnoticed"
        state.lanes.check_vector(self.op)
        vector = mapping.vector.data
        widest = LaneAxis(self.axis, vector, mapping.unroll.data, items) if mapping.step > 1 else None
        with group.inside(self.op):
            if count == items * mapping.step:
                self._run_body(first + group.item(self.op) * vector, widest)
                return
            main: int | SSAValue = 0
            if widest is not None:
                main = self._deal(first, main, self._whole(count, items * widest.step), widest, items)
            if vector > 1:
                main = self._deal(
                    first, main, self._whole(count, vector), LaneAxis(self.axis, vector, 1), items
                )
            self._deal(first, main, count, None, items)

    def _whole(self, count: int | SSAValue, step: int) -> int | SSAValue:
        """Returns the greatest multiple of `step` up to `count`."""
        if isinstance(count, int):
            return count - count % step
        if step == 1:
            return count
        indices, location = self.state.indices, self.op.location
        rest = indices.op(arith.RemUIOp, count, self.state.writer.constants.get(step, INDEX), location)
        return indices.op(arith.SubiOp, count, rest, location)

    def _deal(
        self,
        first: IndexExpr,
        begin: int | SSAValue,
        end: int | SSAValue,
        lanes: LaneAxis | None,
        items: int,
    ) -> int | SSAValue:
        """
        Runs the axis from `begin` to `end` after `first`, a vector of each work-item in turn. Returns `end`.
        """
        if begin == end:
            return end
        indices, constants = self.state.indices, self.state.writer.constants
        assert self.state.group is not None, "no work-items share the axis"
        own = self.state.group.item(self.op) * (lanes.vector if lanes else 1)
        step = items * (lanes.step if lanes else 1)
        if isinstance(begin, int):
            lower = indices.write(own + begin, self.op.location)
        else:
            lower = indices.op(arith.AddiOp, begin, indices.write(own, self.op.location), self.op.location)
        upper = constants.get(end, INDEX) if isinstance(end, int) else end
        self._for(first, (lower, upper, constants.get(step, INDEX)), lanes, self._most())
        return end

    def _narrower(self) -> list[LaneAxis]:
        """
        Returns the lanes for what fills no whole step: fewer at a time, if the axis is worth the code. One at
        a time, the last few columns of a contraction would take as long as all others.
        """
        width = self.lanes.vector
        if width == 1 or not any(isinstance(op, sched.ReduceOp) for op in self.op.walk()):
            return []
        if self.lanes.unroll == 1:
            width //= 2
        found: list[LaneAxis] = []
        while width > 1:
            found.append(LaneAxis(self.axis, width, 1))
            width //= 2
        return found

    def lower_guarded(self, first: IndexExpr, count: SSAValue) -> None:
        """Runs a chunk that may be cut short by the end of the axis."""
        state, location, chunk = self.state, self.op.location, self._most()
        zero, one = state.writer.constants.get(0, INDEX), state.writer.constants.get(1, INDEX)
        if self.lanes.step == 1:
            self._for(first, (zero, count, one), None, chunk)
            return
        state.lanes.check_vector(self.op)
        begin = zero
        for lanes in (self.lanes, *self._narrower()):
            if isinstance(chunk, int) and chunk < lanes.step:
                continue
            step = state.writer.constants.get(lanes.step, INDEX)
            rest = state.indices.op(arith.RemUIOp, count, step, location)
            end = state.indices.op(arith.SubiOp, count, rest, location)
            self._for(first, (begin, end, step), lanes, chunk)
            begin = end
            if self._is_whole(chunk, lanes.step):
                return
        again = self.lanes if self._is_square() else LaneAxis(self.axis, self.lanes.vector, 1)
        is_short = isinstance(chunk, int) and chunk < again.step
        if not is_short and may_run_again(self.op) and (tail := tail_of(state, self.op, again, begin, count)):

            def vector(index: IndexExpr, _: Sequence[SSAValue]) -> list[SSAValue]:
                state.indices.bindings[self.axis] = first + index
                state.lower_block(self.op.body.block)
                return []

            run_vectors(state, self.op, tail, (), vector)
            assert tail.left is not None, f"{self.op.name}: a number that is known"
            begin, _ = tail.left
        self._for(first, (begin, count, one), None, chunk)

    def _is_whole(self, chunk: Extent, step: int) -> bool:
        """Returns whether steps of so many iterations fill every chunk, the last one too."""
        extent = self.axis.extent
        if self.op.count is not None or not isinstance(chunk, int) or not isinstance(extent, int):
            return False
        return chunk % step == 0 and extent % step == 0

    def _most(self) -> Extent:
        """Returns the most iterations that this work-item may take."""
        extent, chunk = self.axis.extent, self.op.mapping.chunk.data
        if self.op not in self.state.ids:
            return extent
        return min(chunk, extent) if isinstance(extent, int) else chunk

    def _repeat(self, first: IndexExpr, end: int, lanes: LaneAxis | None, begin: int = 0) -> None:
        """Runs the axis from `begin` to `end` after `first`, in steps of the lanes or one by one."""
        step = lanes.step if lanes else 1
        if end - begin == step:
            self._run_body(first + begin, lanes)
        else:
            self._for(first, self.state.writer.index_constants(begin, end, step), lanes, end)

    def _for(self, first: IndexExpr, bounds: Bounds, lanes: LaneAxis | None, extent: Extent) -> None:
        def body(index: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            self._run_body(first + self.state.indices.bind(index, extent, self.axis.hint), lanes)
            return []

        self.state.writer.loop(bounds, (), body, self.op.location, self.axis.hint)

    def _run_body(self, index: IndexExpr, lanes: LaneAxis | None) -> None:
        self.state.indices.bindings[self.axis] = index
        with self.state.lanes.within(lanes):
            self.state.lower_block(self.op.body.block)
