"""
Lowers one `sched.reduce`: accumulators, the loop over whole steps of lanes, the combination of the lanes,
and the loop over what fills no whole step.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import sched
from ...dialects.dim_expr import Extent
from ...dialects.element_types import lanes_of
from ...dialects.sched import CombineKind
from .index_expr import constant
from .kernel_state import KernelState
from .kernel_writer import NO_OVERFLOW
from .lanes import LaneAxis, LanedValue, lane_sets
from .reduction_identity import identity

_COMBINE: dict[CombineKind, type[Operation]] = {
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
        depends = state.analysis.dependences(op.yielded)
        self.outer = state.lanes.active(depends)
        around = state.lanes.vector_axis
        self.around = around if around is not None and around.axis in depends else None

    def lower(self) -> LanedValue:
        extent, step = self.axis.extent, self.own.step
        main = extent - extent % step if step > 1 else 0
        sets = lane_sets(self.outer)
        totals = self._main(main, len(sets)) if main != 0 else [self._identity(1)] * len(sets)
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

    def _main(self, end: Extent, sets: int) -> list[SSAValue]:
        """Returns the totals of the whole steps, which end at `end`: one for each set of lanes around."""
        unroll = self.own.unroll
        start = [self._identity(self.own.vector)] * (sets * unroll)
        sums = self._steps(0, end, self.own, start)
        return [self._total(sums[number * unroll : (number + 1) * unroll]) for number in range(sets)]

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
        if kind.value.endswith("f"):
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
            state.lower_block(self.op.body.block)
            value = state.scalars[self.op.yielded]
            active = (*self.outer, own) if own else self.outer
            results: list[SSAValue] = []
            for lanes, accumulator in zip(lane_sets(active), accumulators, strict=True):
                element = value.pick(active, lanes)
                width = lanes_of(accumulator.type)
                if width is not None:
                    element = state.writer.as_vector(element, width)
                results.append(self._combine(accumulator, element))
        return results
