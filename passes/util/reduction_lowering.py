"""
Lowers one `sched.reduce`: accumulators, the loop over whole steps of lanes, the combination of the lanes,
and the loop over what fills no whole step.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import low, sched
from ...dialects.dim_expr import Extent
from ...dialects.element_types import lanes_of
from ...dialects.sched import CombineKind
from .index_expr import Axis, constant
from .kernel_state import KernelState
from .kernel_writer import NO_OVERFLOW, vector_type
from .lanes import LaneAxis, LanedValue, Lanes, lane_sets
from .loop_count import count_of
from .reduction_identity import identity
from .scalar_builder import INDEX

Ends = tuple[Extent, Extent] | tuple[SSAValue, SSAValue]
"""Where a loop begins, and where it ends."""

Before = Sequence[SSAValue | None]
"""What there is before a reduction, for each set of lanes around; None for nothing."""

_COMBINE: dict[CombineKind, type[Operation]] = {
    CombineKind.FMA: arith.AddfOp,
    CombineKind.ADDF: arith.AddfOp,
    CombineKind.MULF: arith.MulfOp,
    CombineKind.MAXIMUMF: arith.MaximumfOp,
    CombineKind.MINIMUMF: arith.MinimumfOp,
    CombineKind.ADDI: arith.AddiOp,
    CombineKind.MULI: arith.MuliOp,
    CombineKind.MAXSI: arith.MaxSIOp,
    CombineKind.MINSI: arith.MinSIOp,
    CombineKind.MAXUI: arith.MaxUIOp,
    CombineKind.MINUI: arith.MinUIOp,
    CombineKind.ANDI: arith.AndIOp,
    CombineKind.ORI: arith.OrIOp,
}

_VECTOR_KINDS: dict[CombineKind, CombiningKindFlag] = {
    CombineKind.FMA: CombiningKindFlag.ADD,
    CombineKind.ADDF: CombiningKindFlag.ADD,
    CombineKind.MULF: CombiningKindFlag.MUL,
    CombineKind.MAXIMUMF: CombiningKindFlag.MAXIMUMF,
    CombineKind.MINIMUMF: CombiningKindFlag.MINIMUMF,
    CombineKind.ADDI: CombiningKindFlag.ADD,
    CombineKind.MULI: CombiningKindFlag.MUL,
    CombineKind.MAXSI: CombiningKindFlag.MAXSI,
    CombineKind.MINSI: CombiningKindFlag.MINSI,
    CombineKind.MAXUI: CombiningKindFlag.MAXUI,
    CombineKind.MINUI: CombiningKindFlag.MINUI,
    CombineKind.ANDI: CombiningKindFlag.AND,
    CombineKind.ORI: CombiningKindFlag.OR,
}


def lower_reduction(state: KernelState, op: sched.ReduceOp) -> LanedValue:
    """
    Returns the result.

    Raises PassFailedException, naming the axis, for a vector inside of a vector, and for a count of which
    each lane of an axis around has its own.
    """
    state.lanes.check_vector(op)
    return ReductionLowering(state, op).lower()


class ReductionLowering:
    """Lowers a reduction that one work-item does."""

    def __init__(self, state: KernelState, op: sched.ReduceOp):
        self.state = state
        self.op = op
        self.axis = state.analysis.axis(op)
        self.own = LaneAxis(self.axis, op.mapping.vector.data, op.mapping.unroll.data)
        depends = frozenset[Axis]().union(*map(state.analysis.dependences, op.yielded))
        if op.init is not None:
            depends |= state.analysis.dependences(op.init)
        self.sum_so_far = state.sums.pop(op, None)
        if self.sum_so_far is not None:
            depends |= frozenset(self.sum_so_far.axes)
        self.outer = state.lanes.active(depends)
        around = state.lanes.vector_axis
        self.around = around if around is not None and around.axis in depends else None

    def lower(self) -> LanedValue:
        extent, step = self.axis.extent, self.own.step
        sets = lane_sets(self.outer)
        before = self._before(sets)
        if self.op.count is not None:
            totals = self._counted(count_of(self.state, self.op), before)
        else:
            main = extent - extent % step if step > 1 else 0
            has_steps = main != 0 or (step > 1 and before[0] is not None)
            totals = self._main((0, main), before) if has_steps else self._starts(None, before)
            if main != extent:
                totals = self._steps((main, extent), None, totals)
        return LanedValue.of(self.outer, dict(zip(sets, totals, strict=True)), self.around is not None)

    def _before(self, sets: Sequence[Lanes]) -> Before:
        """Returns what the first partial results start from."""
        first = self.sum_so_far if self.op.init is None else self.state.scalars[self.op.init]
        return [None if first is None else first.pick(self.outer, lanes) for lanes in sets]

    def _counted(self, count: SSAValue, before: Before) -> list[SSAValue]:
        """Combines as many iterations as `count` says."""
        constants, op, step = self.state.writer.constants, self.op, self.own.step
        zero, extent = constants.get(0, INDEX), self.axis.extent
        if step == 1:
            return self._steps((zero, count), None, self._starts(None, before))
        if isinstance(extent, int) and extent < step:
            return self._steps((zero, count), None, self._main((0, 0), before))
        rest = self.state.indices.op(arith.RemUIOp, count, constants.get(step, INDEX), op.location)
        main = self.state.indices.op(arith.SubiOp, count, rest, op.location)
        return self._steps((main, count), None, self._main((zero, main), before))

    def _identity(self, lanes: int) -> SSAValue:
        type, writer = self.op.result.type, self.state.writer
        number = identity(self.op.kind.data, type)
        return (
            writer.dense([number], type, lanes, "start") if lanes > 1 else writer.constants.get(number, type)
        )

    def _starts(self, own: LaneAxis | None, before: Before) -> list[SSAValue]:
        """
        Returns what the accumulators start from: `own.unroll` of them for each set of lanes around, the
        first from what there is before.
        """
        own_lanes, unroll = (1, 1) if own is None else (own.vector, own.unroll)
        lanes = self.around.vector if self.around is not None else own_lanes
        identity = self._identity(lanes)
        starts: list[SSAValue] = []
        for value in before:
            first = identity if value is None else self._start(value, identity, own_lanes, lanes)
            starts += [first, *[identity] * (unroll - 1)]
        return starts

    def _start(self, value: SSAValue, others: SSAValue, own_lanes: int, lanes: int) -> SSAValue:
        """Returns an accumulator that starts from `value`; of own lanes, only the first one does."""
        writer, op = self.state.writer, self.op
        everywhere = writer.as_vector(value, lanes) if lanes > 1 else value
        if own_lanes == 1:
            return everywhere
        numbers = writer.dense(range(lanes), i32, lanes, "lanes")
        zeros = writer.dense([0], i32, lanes, "first")
        equal: dict[str, Attribute] = {"predicate": IntegerAttr(0, i64)}
        mask_type = vector_type(i1, lanes)
        is_first = writer.emit(arith.CmpiOp, (numbers, zeros), mask_type, op.location, "is_first", equal)
        operands = (is_first, everywhere, others)
        return writer.emit(low.SelectOp, operands, others.type, op.location, op.result.name_hint)

    def _main(self, ends: Ends, before: Before) -> list[SSAValue]:
        """Returns the totals of the whole steps: one for each set of lanes around."""
        unroll = self.own.unroll
        sums = self._steps(ends, self.own, self._starts(self.own, before))
        return [self._total(sums[number : number + unroll]) for number in range(0, len(sums), unroll)]

    def _total(self, parts: list[SSAValue]) -> SSAValue:
        """Combines the upper half into the lower half until one is left, and then its lanes."""
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=True)
            parts = [self._combine(lower, upper) for lower, upper in pairs]
        (total,) = parts
        return self._across_lanes(total) if self.own.vector > 1 else total

    def _across_lanes(self, value: SSAValue) -> SSAValue:
        op = self.op
        properties: dict[str, Attribute] = {
            "kind": CombiningKindAttr(_VECTOR_KINDS[op.kind.data]),
            "fastmath": op.fastmath or arith.FastMathFlagsAttr("none"),
        }
        return self.state.writer.emit(
            vector.ReductionOp, (value,), op.result.type, op.location, op.result.name_hint, properties
        )

    def _combine(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        op, kind = self.op, self.op.kind.data
        properties: dict[str, Attribute] = {}
        if kind is CombineKind.FMA or kind.value.endswith("f"):
            properties["fastmath"] = op.fastmath or arith.FastMathFlagsAttr("none")
        elif kind in (CombineKind.ADDI, CombineKind.MULI):
            properties = NO_OVERFLOW
        return self.state.writer.emit(
            _COMBINE[kind], (lhs, rhs), lhs.type, op.location, op.result.name_hint, properties
        )

    def _steps(self, ends: Ends, own: LaneAxis | None, start: Sequence[SSAValue]) -> list[SSAValue]:
        """Combines the iterations from the first end to the second into the accumulators `start`."""
        state, step = self.state, own.step if own else 1
        begin, end = ends
        if isinstance(begin, SSAValue) or isinstance(end, SSAValue):
            bounds = self._known(begin), self._known(end), self._known(step)
            most = self.axis.extent
        elif begin == end:
            return list(start)
        elif end - begin == step:
            state.indices.bindings[self.axis] = constant(begin)
            return self._step(own, start)
        else:
            bounds, most = state.writer.index_constants(begin, end, step), end

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            state.indices.bindings[self.axis] = state.indices.bind(index, most, self.axis.hint)
            return self._step(own, carried)

        return state.writer.loop(
            bounds, start, body, self.op.location, self.axis.hint, self.op.result.name_hint
        )

    def _known(self, bound: Extent | SSAValue) -> SSAValue:
        return bound if isinstance(bound, SSAValue) else self.state.writer.constants.get(bound, INDEX)

    def _step(self, own: LaneAxis | None, accumulators: Sequence[SSAValue]) -> list[SSAValue]:
        """Combines one iteration, or as many as there are lanes, into the accumulators."""
        state = self.state
        with state.lanes.within(own):
            active = (*self.outer, own) if own else self.outer
            sets = lane_sets(active)
            if self.op.continued is not None:
                so_far = dict(zip(sets, accumulators, strict=True))
                state.sums[self.op.continued] = LanedValue.of(active, so_far, self.around is not None)
                state.lower_block(self.op.body.block)
                (total,) = self.op.yielded
                return [state.scalars[total].pick(active, lanes) for lanes in sets]
            state.lower_block(self.op.body.block)
            values = [state.scalars[value] for value in self.op.yielded]
            results: list[SSAValue] = []
            for lanes, accumulator in zip(sets, accumulators, strict=True):
                elements = [value.pick(active, lanes) for value in values]
                width = lanes_of(accumulator.type)
                if width is not None:
                    elements = [state.writer.as_vector(element, width) for element in elements]
                results.append(self._accumulate(accumulator, elements))
        return results

    def _accumulate(self, accumulator: SSAValue, elements: Sequence[SSAValue]) -> SSAValue:
        op = self.op
        if op.kind.data is not CombineKind.FMA:
            return self._combine(accumulator, *elements)
        properties: dict[str, Attribute] = {"fastmath": op.fastmath or arith.FastMathFlagsAttr("none")}
        operands = (*elements, accumulator)
        hint = op.result.name_hint
        return self.state.writer.emit(math.FmaOp, operands, accumulator.type, op.location, hint, properties)
