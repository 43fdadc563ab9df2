"""
Lowers one `sched.reduce`: accumulators, the loop over whole steps of lanes, the combination of the lanes,
and the loop over what fills no whole step.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import IntegerAttr, VectorType, i1, i32, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import low, sched
from ...dialects.dim_expr import Extent
from ...dialects.element_types import lanes_of
from ...dialects.sched import CombineKind
from .index_expr import Axis, constant
from .kernel_state import KernelState
from .kernel_writer import NO_OVERFLOW
from .lanes import LaneAxis, LanedValue, lane_sets
from .reduction_identity import identity

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
    Returns the result. Raises PassFailedException, naming the axis, for a vector inside of a vector.
    """
    state.lanes.check_vector(op)
    return _ReductionLowering(state, op).lower()


class _ReductionLowering:
    def __init__(self, state: KernelState, op: sched.ReduceOp):
        self.state = state
        self.op = op
        self.axis = state.analysis.axis(op)
        self.own = LaneAxis(self.axis, op.mapping.vector.data, op.mapping.unroll.data)
        depends = frozenset[Axis]().union(*map(state.analysis.dependences, op.yielded))
        self.outer = state.lanes.active(depends)
        around = state.lanes.vector_axis
        self.around = around if around is not None and around.axis in depends else None

    def lower(self) -> LanedValue:
        extent, step = self.axis.extent, self.own.step
        main = extent - extent % step if step > 1 else 0
        sets = lane_sets(self.outer)
        before = self.state.sums.pop(self.op, {})
        if main != 0:
            totals = self._main(main, [before.get(lanes) for lanes in sets])
        else:
            totals = [before.get(lanes) or self._identity(1) for lanes in sets]
        if main != extent:
            totals = self._steps(main, extent, None, totals)
        return LanedValue.of(self.outer, dict(zip(sets, totals, strict=True)), self.around is not None)

    def _identity(self, own_lanes: int) -> SSAValue:
        """Returns what an accumulator starts from, as a vector of `own_lanes` or of those around."""
        type, writer = self.op.result.type, self.state.writer
        number = identity(self.op.kind.data, type)
        lanes = self.around.vector if self.around is not None else own_lanes
        if lanes > 1:
            return writer.dense([number], type, lanes, "start")
        return writer.constants.get(number, type)

    def _main(self, end: Extent, before: Sequence[SSAValue | None]) -> list[SSAValue]:
        """
        Returns the totals of the whole steps, which end at `end`: one for each set of lanes around, whose
        first partial result starts from that of `before`, if there is one.
        """
        unroll = self.own.unroll
        start: list[SSAValue] = []
        for value in before:
            identity = self._identity(self.own.vector)
            start += [identity if value is None else self._with_first(value, identity)]
            start += [identity] * (unroll - 1)
        sums = self._steps(0, end, self.own, start)
        return [self._total(sums[number : number + unroll]) for number in range(0, len(sums), unroll)]

    def _with_first(self, value: SSAValue, others: SSAValue) -> SSAValue:
        """Returns an accumulator that starts from `value` in its first lane and from `others` in the rest."""
        lanes, writer, op = self.own.vector, self.state.writer, self.op
        if lanes == 1:
            return value
        numbers = writer.dense(range(lanes), i32, lanes, "lanes")
        zeros = writer.dense([0], i32, lanes, "first")
        is_first = writer.emit(
            arith.CmpiOp,
            (numbers, zeros),
            VectorType(i1, [lanes]),
            op.location,
            "is_first",
            {"predicate": IntegerAttr(0, i64)},
        )
        operands = (is_first, writer.as_vector(value, lanes), others)
        return writer.emit(low.SelectOp, operands, others.type, op.location, op.result.name_hint)

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

    def _steps(
        self, begin: Extent, end: Extent, own: LaneAxis | None, start: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Combines the iterations from `begin` to `end` into the accumulators `start`."""
        state, step = self.state, own.step if own else 1
        if end - begin == step:
            state.indices.bindings[self.axis] = constant(begin)
            return self._step(own, start)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            state.indices.bindings[self.axis] = state.indices.bind(index, end, self.axis.hint)
            return self._step(own, carried)

        bounds = state.writer.index_constants(begin, end, step)
        return state.writer.loop(
            bounds, start, body, self.op.location, self.axis.hint, self.op.result.name_hint
        )

    def _step(self, own: LaneAxis | None, accumulators: Sequence[SSAValue]) -> list[SSAValue]:
        """Combines one iteration, or as many as there are lanes, into the accumulators."""
        state = self.state
        with state.lanes.within(own):
            active = (*self.outer, own) if own else self.outer
            sets = lane_sets(active)
            if self.op.continued is not None:
                state.sums[self.op.continued] = dict(zip(sets, accumulators, strict=True))
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
