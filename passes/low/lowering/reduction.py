"""
Lowers one `sched.reduce`: accumulators, the loop over whole steps of lanes, the combination of the lanes,
and the loop over what fills no whole step.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i1, i32, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, SSAValue

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import lanes_of
from ....dialects.sched import CombineKind
from ...indices.expressions import Axis, IndexExpr, constant
from ...scalar.builder import INDEX
from ...scalar.combine_kinds import COMBINE_OPS, IDEMPOTENT
from ...scalar.reduction_identity import identity
from .extremum_steps import ExtremumSteps, Partial, is_extremum, is_plain_extremum
from .lanes import LaneAxis, LanedValue, Lanes, lane_sets
from .loop_count import count_of
from .state import KernelState
from .tail import Tail, may_run_again, run_vectors, tail_of
from .tiles.branches import choice, compare
from .writer import NO_OVERFLOW, vector_type

Ends = tuple[Extent | SSAValue, Extent | SSAValue]
"""Where a loop begins, and where it ends."""

Before = Sequence[SSAValue | None]
"""What there is before a reduction, for each set of lanes around; None for nothing."""

_VECTOR_KINDS: dict[CombineKind, CombiningKindFlag] = {
    CombineKind.FMA: CombiningKindFlag.ADD,
    CombineKind.MULADDI: CombiningKindFlag.ADD,
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
    if is_extremum(op):
        return _ExtremumLowering(state, op).lower()
    lowering = _PlainExtremumLowering if is_plain_extremum(op) else ReductionLowering
    return lowering(state, op).lower()


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
            if has_steps:
                totals = self._all((0, main), extent, before)
            else:
                totals = self._steps((main, extent), None, self._starts(None, before))
        results = [self._finish(total) for total in totals]
        return LanedValue.of(self.outer, dict(zip(sets, results, strict=True)), self.around is not None)

    def _before(self, sets: Sequence[Lanes]) -> Before:
        """Returns what the first partial results start from."""
        first = self.sum_so_far if self.op.init is None else self.state.scalars[self.op.init]
        return [None if first is None else first.pick(self.outer, lanes) for lanes in sets]

    def _counted(self, count: SSAValue, before: Before) -> list[Partial]:
        """Combines as many iterations as `count` says."""
        constants, op, step = self.state.writer.constants, self.op, self.own.step
        zero, extent = constants.get(0, INDEX), self.axis.extent
        if step == 1:
            return self._steps((zero, count), None, self._starts(None, before))
        if isinstance(extent, int) and extent < step:
            return self._steps((zero, count), None, self._main((0, 0), before))
        rest = self.state.indices.op(arith.RemUIOp, count, constants.get(step, INDEX), op.location)
        main = self.state.indices.op(arith.SubiOp, count, rest, op.location)
        if not self._may_skip_vectors() or self._tail(main, count) is not None:
            return self._all((zero, main), count, before)
        return self._steps((main, count), None, self._main_if_any(main, before))

    def _may_skip_vectors(self) -> bool:
        """Returns whether whole steps of vectors are combined to one number, which other numbers follow."""
        is_alone = self.around is None and self.op.continued is None
        return is_alone and self.own.vector > 1 and len(self._identity(1)) == 1

    def _main_if_any(self, main: SSAValue, before: Before) -> list[Partial]:
        """
        Does what `_main` does, but where there is no whole step leaves its vectors alone: to set them up and
        to combine their lanes takes as long as several steps.
        """
        writer, op = self.state.writer, self.op
        zero = writer.constants.get(0, INDEX)
        has_steps = compare(self.state, "ne", main, zero, op, "has_steps")

        def steps() -> list[SSAValue]:
            return [total for (total,) in self._main((zero, main), before)]

        def none() -> list[SSAValue]:
            identity = self._identity(1)
            # A sum of no elements after -0.0 is 0.0.
            combined = [identity if each is None else self._combine((each,), identity) for each in before]
            return [total for (total,) in combined]

        types = [op.result.type] * len(before)
        return [(total,) for total in choice(self.state, has_steps, types, op, steps, none)]

    def _all(self, ends: Ends, end: Extent | SSAValue, before: Before) -> list[Partial]:
        """Combines whole steps, and what is left up to `end`."""
        main, tail = ends[1], self._tail(ends[1], end)
        if tail is None:
            totals = self._main(ends, before)
            return totals if main == end else self._steps((main, end), None, totals)
        if self.op.kind.data in IDEMPOTENT:
            totals = self._main(ends, before, tail)
        else:
            totals = self._in_order(tail, self._main(ends, before))
        return totals if tail.left is None else self._steps(tail.left, None, totals)

    def _tail(self, begin: Extent | SSAValue, end: Extent | SSAValue) -> Tail | None:
        """Returns what is left as vectors, None where these are not worth it or give no single result."""
        op, kind = self.op, self.op.kind.data
        if begin == end or op.continued is not None or self.outer or self.around is not None:
            return None
        if kind not in IDEMPOTENT and not any(type(inner) in low.EXPANDED_OPS for inner in op.body.block.ops):
            return None
        single = LaneAxis(self.axis, self.own.vector, 1)
        return tail_of(self.state, op, single, begin, end) if may_run_again(op) else None

    def _in_order(self, tail: Tail, totals: list[Partial]) -> list[Partial]:
        """
        Computes what is left in vectors, and combines it one by one, in its order: that is no other one than
        where it is computed so.
        """
        state, op, lanes = self.state, self.op, tail.lanes.vector
        get, writer = state.writer.constants.get, state.writer
        begin = self._known(tail.begin)
        types = [value.type for value in op.yielded]
        # The last vector may begin before what is left.
        buffers = [
            writer.alloca(MemRefType(type, [self.own.step + lanes]), op.location, "left") for type in types
        ]

        def place(index: SSAValue) -> SSAValue:
            behind = state.indices.op(arith.SubiOp, index, begin, op.location)
            return state.indices.op(arith.AddiOp, behind, get(lanes, INDEX), op.location)

        def store(index: IndexExpr, _: Sequence[SSAValue]) -> list[SSAValue]:
            at = place(state.indices.write(index, op.location))
            state.indices.bindings[self.axis] = index
            state.lower_block(op.body.block)
            for value, buffer in zip(op.yielded, buffers, strict=True):
                element = writer.as_vector(state.scalars[value].pick((tail.lanes,), (0,)), lanes)
                writer.insert(vector.StoreOp.create(operands=(element, buffer, at)), op.location)
            return []

        def combine(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            at = place(index)
            elements = [
                writer.emit(memref.LoadOp, (buffer, at), type, op.location, op.result.name_hint)
                for buffer, type in zip(buffers, types, strict=True)
            ]
            return [*self._accumulate((*carried,), elements)]

        run_vectors(state, op, tail, (), store)
        (total,) = totals
        bounds = begin, self._known(tail.end), get(1, INDEX)
        hint = op.result.name_hint
        return [(*writer.loop(bounds, total, combine, op.location, self.axis.hint, hint),)]

    def _identity(self, lanes: int) -> Partial:
        """Returns the partial result of no elements."""
        return (
            self.state.writer.number(
                identity(self.op.kind.data, self.op.result.type), self.op.result.type, lanes
            ),
        )

    def _starts(self, own: LaneAxis | None, before: Before) -> list[Partial]:
        """
        Returns what the accumulators start from: `own.unroll` of them for each set of lanes around, the
        first from what there is before.
        """
        own_lanes, unroll = (1, 1) if own is None else (own.vector, own.unroll)
        lanes = self.around.vector if self.around is not None else own_lanes
        identity = self._identity(lanes)
        starts: list[Partial] = []
        for value in before:
            first = identity if value is None else self._start(value, identity, own_lanes, lanes)
            starts += [first, *[identity] * (unroll - 1)]
        return starts

    def _start(self, value: SSAValue, others: Partial, own_lanes: int, lanes: int) -> Partial:
        """Returns an accumulator that starts from `value`; of own lanes, only the first one does."""
        return (self._first_element(value, others[0], own_lanes, lanes),)

    def _first_element(self, value: SSAValue, others: SSAValue, own_lanes: int, lanes: int) -> SSAValue:
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

    def _main(self, ends: Ends, before: Before, tail: Tail | None = None) -> list[Partial]:
        """
        Returns the totals of the whole steps: one for each set of lanes around. The vectors of a tail are
        combined into the first partial result.
        """
        unroll = self.own.unroll
        sums = self._steps(ends, self.own, self._starts(self.own, before))
        if tail is not None:

            def combine(index: IndexExpr, carried: Sequence[SSAValue]) -> list[SSAValue]:
                self.state.indices.bindings[self.axis] = index
                self.state.lower_block(self.op.body.block)
                (value,) = self.op.yielded
                element = self.state.scalars[value].pick((tail.lanes,), (0,))
                element = self.state.writer.as_vector(element, tail.lanes.vector)
                return [*self._accumulate((*carried,), (element,))]

            sums[0] = (*run_vectors(self.state, self.op, tail, sums[0], combine),)
        return [self._total(sums[number : number + unroll]) for number in range(0, len(sums), unroll)]

    def _total(self, parts: list[Partial]) -> Partial:
        """Combines the upper half into the lower half until one is left, and then its lanes."""
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=True)
            parts = [self._combine(lower, upper) for lower, upper in pairs]
        (total,) = parts
        return self._across_lanes(total) if self.own.vector > 1 else total

    def _across_lanes(self, partial: Partial) -> Partial:
        """Combines the lanes of a partial result."""
        op, (value,) = self.op, partial
        properties: dict[str, Attribute] = {
            "kind": CombiningKindAttr(_VECTOR_KINDS[op.kind.data]),
            "fastmath": op.fastmath or arith.FastMathFlagsAttr("none"),
        }
        hint = op.result.name_hint
        return (
            self.state.writer.emit(
                vector.ReductionOp, (value,), op.result.type, op.location, hint, properties
            ),
        )

    def _combine(self, lhs: Partial, rhs: Partial) -> Partial:
        """Combines two partial results, lane by lane."""
        op, kind = self.op, self.op.kind.data
        properties: dict[str, Attribute] = {}
        if kind is CombineKind.FMA or kind.value.endswith("f"):
            properties["fastmath"] = op.fastmath or arith.FastMathFlagsAttr("none")
        elif kind in (CombineKind.MULADDI, CombineKind.ADDI, CombineKind.MULI):
            properties = NO_OVERFLOW
        operands, hint = (*lhs, *rhs), op.result.name_hint
        return (
            self.state.writer.emit(
                COMBINE_OPS[kind], operands, operands[0].type, op.location, hint, properties
            ),
        )

    def _finish(self, partial: Partial) -> SSAValue:
        """Returns the result, given the one partial result that is left."""
        return partial[0]

    def _steps(self, ends: Ends, own: LaneAxis | None, start: Sequence[Partial]) -> list[Partial]:
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

        n_values = len(start[0])

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            state.indices.bindings[self.axis] = state.indices.bind(index, most, self.axis.hint)
            return [value for partial in self._step(own, _grouped(carried, n_values)) for value in partial]

        values = [value for partial in start for value in partial]
        return _grouped(
            state.writer.loop(
                bounds, values, body, self.op.location, self.axis.hint, self.op.result.name_hint
            ),
            n_values,
        )

    def _known(self, bound: Extent | SSAValue) -> SSAValue:
        return bound if isinstance(bound, SSAValue) else self.state.writer.constants.get(bound, INDEX)

    def _step(self, own: LaneAxis | None, accumulators: Sequence[Partial]) -> list[Partial]:
        """Combines one iteration, or as many as there are lanes, into the accumulators."""
        state = self.state
        with state.lanes.within(own):
            active = (*self.outer, own) if own else self.outer
            sets = lane_sets(active)
            if self.op.continued is not None:
                so_far = {lanes: sum for lanes, (sum,) in zip(sets, accumulators, strict=True)}
                state.sums[self.op.continued] = LanedValue.of(active, so_far, self.around is not None)
                state.lower_block(self.op.body.block)
                (total,) = self.op.yielded
                return [(state.scalars[total].pick(active, lanes),) for lanes in sets]
            state.lower_block(self.op.body.block)
            values = [state.scalars[value] for value in self.op.yielded]
            given: list[Sequence[SSAValue]] = []
            for lanes, accumulator in zip(sets, accumulators, strict=True):
                elements = [value.pick(active, lanes) for value in values]
                width = lanes_of(accumulator[0].type)
                if width is not None:
                    elements = [state.writer.as_vector(element, width) for element in elements]
                given.append(elements)
            return self._accumulate_all(accumulators, given, own.unroll if own else 1)

    def _accumulate_all(
        self, accumulators: Sequence[Partial], given: Sequence[Sequence[SSAValue]], count: int
    ) -> list[Partial]:
        """
        Combines what the body yields for each of several partial results into it; each `count` of them, one
        after the other, are combined to one total later.
        """
        return [self._accumulate(*pair) for pair in zip(accumulators, given, strict=True)]

    def _accumulate(self, accumulator: Partial, elements: Sequence[SSAValue]) -> Partial:
        """Combines what the body yields into a partial result."""
        op = self.op
        if op.kind.data is CombineKind.MULADDI:
            type = elements[0].type
            product = self.state.writer.emit(
                arith.MuliOp, elements, type, op.location, "product", NO_OVERFLOW
            )
            return self._combine(accumulator, (product,))
        if op.kind.data is not CombineKind.FMA:
            return self._combine(accumulator, (*elements,))
        properties: dict[str, Attribute] = {"fastmath": op.fastmath or arith.FastMathFlagsAttr("none")}
        operands, type = (*elements, *accumulator), accumulator[0].type
        hint = op.result.name_hint
        return (self.state.writer.emit(math.FmaOp, operands, type, op.location, hint, properties),)


class _ExtremumLowering(ReductionLowering):
    """The maximum or minimum of floats, by partial results of three values."""

    def __init__(self, state: KernelState, op: sched.ReduceOp):
        super().__init__(state, op)
        self.steps = ExtremumSteps(state.writer, op)

    def _identity(self, lanes: int) -> Partial:
        return self.steps.start(lanes)

    def _start(self, value: SSAValue, others: Partial, own_lanes: int, lanes: int) -> Partial:
        return self.steps.accumulate(others, self._first_element(value, others[0], own_lanes, lanes))

    def _accumulate_all(
        self, accumulators: Sequence[Partial], given: Sequence[Sequence[SSAValue]], count: int
    ) -> list[Partial]:
        if count % 2:
            return super()._accumulate_all(accumulators, given, count)
        results: list[Partial] = []
        for number in range(0, len(accumulators), 2):
            (first,), (second,) = given[number : number + 2]
            one, other = accumulators[number : number + 2]
            results += self.steps.accumulate_two(one, other, first, second)
        return results

    def _across_lanes(self, partial: Partial) -> Partial:
        return self.steps.across_lanes(partial)

    def _combine(self, lhs: Partial, rhs: Partial) -> Partial:
        return self.steps.combine(lhs, rhs)

    def _accumulate(self, accumulator: Partial, elements: Sequence[SSAValue]) -> Partial:
        (element,) = elements
        return self.steps.accumulate(accumulator, element)

    def _finish(self, partial: Partial) -> SSAValue:
        return self.steps.finish(partial)


class _PlainExtremumLowering(ReductionLowering):
    """A maximum or minimum of floats that passes over NaN: partial results are none."""

    def _combine(self, lhs: Partial, rhs: Partial) -> Partial:
        (number,), (other,) = lhs, rhs
        return (ExtremumSteps(self.state.writer, self.op).better(number, other),)


def _grouped(values: Sequence[SSAValue], size: int) -> list[Partial]:
    return [tuple(values[first : first + size]) for first in range(0, len(values), size)]
