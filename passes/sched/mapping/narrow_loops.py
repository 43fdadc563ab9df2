"""
Runs loops over those elements only that a mask with bounds known at run time lets count.

    %s = sched.reduce addf %k = 1000 : f64 {        %last = arith.minsi %n, %c1000 : index
      %at = arith.index_cast %k : index to i64      %s = sched.reduce addf %k = 1000 count %last : f64 {
      %c = arith.cmpi slt, %at, %n_i64 : i64          %v = memref.load %x[%k] : memref<1000xf64>
      %v = memref.load %x[%k]                  -->    sched.yield %v : f64
      %w = low.select %c, %v, %zero : f64           }
      sched.yield %w : f64
    }

So a sum over the elements before, or from, the index of a loop around costs what these are, and is written as
one over all elements, of which others do not count. A loop is narrowed where its mask compares its index with
what does not change in it, and all else changes nothing:

* a reduction combines its identity there. A sum of products needs the mask on both sides, as a number that is
  no number times 0 is none.
* an axis stores what it loaded from there.

A loop that begins at %n counts from there. A part of the mask that does not change in the loop leaves it no
iterations where it does not hold. A reduction with many partial results is followed by a shorter one, which
goes on with the elements that are left over: these would be combined one by one.

An index of a load that was moved into range is read as it is where the bounds keep it there: x[%n - 1 - %k]
of %k before %n, which is at most the extent, is read backwards by vectors. An axis whose elements are such
reads in a mask, and others outside of it, runs what is before, in and after the mask in loops of their own.
So does one that divides or computes a function in a mask only, and one that sums up nothing outside of it:

    sched.axis %i = 100 {                           sched.axis %i = 100 count %n {
      %c = arith.cmpi sge, %i, %n                     memref.store %zero, %y[%i]
      %s = sched.reduce addf %k = 100 : f64 {       }
        %v = memref.load %x[%i, %k]                 sched.axis %j = 100 count %left {
        %w = low.select %c, %v, %zero         -->     %i = arith.addi %j, %n
        sched.yield %w : f64                          %s = sched.reduce addf %k = 100 : f64 { ... }
      }                                               memref.store %s, %y[%i]
      memref.store %s, %y[%i]                       }
    }

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged; sums of floats up to
their order, which is that of as many elements as count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ....dialects import low, sched
from ....dialects.dims.expressions import upper_bound
from ....dialects.sched import MappingAttr
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.held_indices import Sum, clamp_of, stays_within, sum_of
from ...indices.lanes import runs_in_lanes
from ...machine.partial_results import partial_results
from ...scalar.builder import INDEX, ConstantPool, ScalarBuilder
from ...scalar.ops import integer_op, select
from ...scalar.reduction_identity import identity
from ..steps.loop_nests.dependences import is_inside
from ..steps.loop_nests.masks import Bound, choices_of, common_bounds, masks_of

# By design: as many partial results as a short reduction has.
LEAST_PARTS = 8
"""Reductions with more partial results leave more elements over, which another one combines as vectors."""

# By design: as many elements as a work-group has, which one thread computes.
MOST_SPLIT = 16384
"""The most elements of an axis that is run in parts: those of longer ones are shared by threads."""

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class NarrowLoopsPass(ModulePass):
    """Runs loops over those elements only that a mask with bounds known at run time lets count."""

    name = "narrow-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                # Before the masks of sums are the bounds of what is summed up.
                for axis in [inner for inner in kernel.walk() if isinstance(inner, sched.AxisOp)]:
                    _split_sums(kernel, axis)
                # Loops inside come first: what masks a loop around is in them.
                for loop in reversed([inner for inner in kernel.walk() if isinstance(inner, Loop)]):
                    _narrow(kernel, loop)


def _narrow(kernel: sched.KernelOp, loop: Loop) -> None:
    if not _is_plain(loop):
        return
    masks = masks_of(loop)
    if masks is None:
        if isinstance(loop, sched.AxisOp):
            _split(kernel, loop)
        return
    bounds = [bound for bound in masks if _is_movable(bound.limit, loop)]
    if any(bound.predicate is not None for bound in bounds):
        _Narrowing(kernel, loop).write(bounds)


def _is_plain(loop: Loop) -> bool:
    """Returns whether a loop runs all of a known number of iterations, one by one, for itself."""
    if loop.mapping != _SERIAL or loop.count is not None or not isinstance(loop.extent, int):
        return False
    return isinstance(loop, sched.AxisOp) or (loop.tile_shape is None and not _is_of_several(loop))


def _split_sums(kernel: sched.KernelOp, axis: sched.AxisOp) -> None:
    """Runs the elements before, in and after a mask in loops of their own, where sums are masked by it."""
    if not _is_plain(axis):
        return
    sums: list[sched.ReduceOp] = []
    choices: list[low.SelectOp] = []
    for op in axis.body.block.ops:
        if isinstance(op, sched.ReduceOp):
            masking = choices_of(op)
            if masking is None or not _is_plain(op) or any(inner.regions for inner in op.body.block.ops):
                return
            sums.append(op)
            choices.extend(masking)
        elif op.regions or isinstance(op, sched.AllocOp):
            return
    if _is_alone(axis) and upper_bound(axis.extent) * sum(upper_bound(op.extent) for op in sums) > MOST_SPLIT:
        return
    bounds = _comparisons(choices, axis)
    if bounds:
        _Narrowing(kernel, axis).split(bounds, sums)


def _is_alone(axis: sched.AxisOp) -> bool:
    """Returns whether an axis is all that its kernel does, so that threads may share it."""
    kernel = axis.parent_op()
    if not isinstance(kernel, sched.KernelOp):
        return True
    return not any(
        op.regions or isinstance(op, sched.AllocOp) for op in kernel.body.block.ops if op is not axis
    )


def _comparisons(choices: Sequence[low.SelectOp], axis: sched.AxisOp) -> list[Bound]:
    """Returns the comparisons of an axis's index that all choices have in common."""
    return [
        bound
        for bound in common_bounds(choices, axis)
        if bound.predicate is not None and _is_movable(bound.limit, axis)
    ]


def _split(kernel: sched.KernelOp, axis: sched.AxisOp) -> None:
    """
    Runs the elements before, in and after a mask in loops of their own, where what is stored in the mask then
    is read without indices that are moved into range, or takes long to compute.
    """
    extent = axis.extent
    if not isinstance(extent, int) or extent > MOST_SPLIT or any(op.regions for op in axis.body.block.ops):
        return
    choices: list[low.SelectOp] = []
    for op in axis.body.block.ops:
        if isinstance(op, memref.StoreOp):
            if not isinstance(op.value.owner, low.SelectOp):
                return
            choices.append(op.value.owner)
    bounds = _comparisons(choices, axis)
    narrowing = _Narrowing(kernel, axis)
    if bounds and (narrowing.needless_clamps(bounds) or _takes_long(axis)):
        narrowing.split(bounds, choices)


def _takes_long(axis: sched.AxisOp) -> bool:
    """Returns whether the elements of an axis take much longer than to copy them."""
    return any(isinstance(op, arith.DivfOp) or op.dialect_name() == "math" for op in axis.body.block.ops)


def _is_of_several(loop: sched.ReduceOp) -> bool:
    """Returns whether a sum of products goes on in another one, or goes on with another one's."""
    around = loop.parent_op()
    goes_on = isinstance(around, sched.ReduceOp) and around.continued is loop
    return goes_on or loop.continued is not None


def _is_movable(value: SSAValue, loop: Loop) -> bool:
    """Returns whether a value is the same in all iterations of a loop, and can be computed before it."""
    owner = value.owner
    if isinstance(owner, Block):
        around = owner.parent_op()
        return around is None or not is_inside(around, loop)
    if not is_inside(owner, loop):
        return True
    if owner.regions or not all(_is_movable(operand, loop) for operand in owner.operands):
        return False
    if isinstance(owner, memref.LoadOp):
        return not any(
            isinstance(use.operation, memref.StoreOp) and is_inside(use.operation, loop)
            for use in owner.memref.uses
        )
    return not isinstance(owner, memref.StoreOp | sched.AllocOp)


def _move(value: SSAValue, loop: Loop) -> None:
    """Moves what computes a value before a loop."""
    owner = value.owner
    if isinstance(owner, Block) or not is_inside(owner, loop):
        return
    for operand in owner.operands:
        _move(operand, loop)
    owner.detach()
    assert loop.parent is not None, f"{loop.name}: stands in no block"
    loop.parent.insert_op_before(owner, loop)


class _Narrowing:
    """Writes the bounds of one loop."""

    def __init__(self, kernel: sched.KernelOp, loop: Loop):
        assert isinstance(loop.extent, int) and loop.parent is not None, f"{loop.name}: varies"
        self.loop, self.extent = loop, loop.extent
        constants = ConstantPool(kernel.body.block, kernel.location, kernel.sizes)
        constants.adopt()
        self.b = ScalarBuilder(loop.parent, loop, constants)
        self.b.location = loop.location

    def write(self, bounds: list[Bound]) -> None:
        loop, b = self.loop, self.b
        first, end, holds = self._range(bounds)
        count = b.constant(self.extent, INDEX) if end is None else end
        if first is not None:
            count = integer_op(b, arith.SubiOp, count, first)
            count.name_hint = "count"
        if holds is not None:
            count = select(b, holds, count, b.constant(0, INDEX), "count")
        self._drop_clamps(bounds)
        for bound in bounds:
            _drop(bound.op, loop)
        if isinstance(loop, sched.ReduceOp):
            parts = partial_results(self.extent)
            if parts > LEAST_PARTS and _is_vector(loop):
                self._write_parts(loop, first, count, parts)
                return
        new = _with_count(loop, count)
        if first is not None:
            _shift(new, first)

    def split(self, bounds: list[Bound], masked: Sequence[low.SelectOp | sched.ReduceOp]) -> None:
        """
        Writes the loop as up to three: of what is before the bounds, between them and after them. Outside of
        them `masked` ops of the loop are what they are without their masks.
        """
        loop, b = self.loop, self.b
        first, end, _ = self._range(bounds)
        assert loop.parent is not None, f"{loop.name}: stands in no block"
        numbers = [number for number, op in enumerate(loop.body.block.ops) if op in masked]

        def outside() -> Loop:
            copied = loop.clone()
            ops = list(copied.body.block.ops)
            for number in numbers:
                self._leave_out(ops[number])
            return copied

        if end is not None:
            begin = end if first is None else b.op(arith.MaxSIOp, first, end)
            after = outside()
            loop.parent.insert_op_after(after, loop)
            left = integer_op(b, arith.SubiOp, b.constant(self.extent, INDEX), begin)
            _shift(_with_count(after, left), begin)
        if first is not None:
            before = outside()
            loop.parent.insert_op_before(before, loop)
            _with_count(before, first)
        self.write(bounds)

    def _leave_out(self, masked: Operation) -> None:
        """Has a choice be what it is where its mask does not hold, and a reduction that of nothing."""
        if isinstance(masked, low.SelectOp):
            masked.result.replace_all_uses_with(masked.on_false)
            _erase_unused(masked)
            return
        assert isinstance(masked, sched.ReduceOp), f"{masked.name}: has no mask"
        type = masked.result.type
        start = self.b.constant(identity(masked.kind.data, type), type)
        masked.result.replace_all_uses_with(start if masked.init is None else masked.init)
        masks = [choice.condition.owner for choice in choices_of(masked) or ()]
        masked.detach()
        masked.erase()
        for mask in masks:
            if isinstance(mask, Operation):
                _erase_unused(mask)

    def _range(self, bounds: list[Bound]) -> tuple[SSAValue | None, SSAValue | None, SSAValue | None]:
        """Returns where the bounds begin and end, and what holds where there is anything between them."""
        b, loop = self.b, self.loop
        first: SSAValue | None = None
        end: SSAValue | None = None
        holds: SSAValue | None = None
        seen = set[tuple[str | None, SSAValue]]()
        for bound in bounds:
            if (bound.predicate, bound.limit) in seen:
                continue
            seen.add((bound.predicate, bound.limit))
            _move(bound.limit, loop)
            if bound.predicate is None:
                holds = bound.limit if holds is None else b.op(arith.AndIOp, holds, bound.limit)
                continue
            place = self._place(bound)
            if bound.predicate in ("slt", "sle"):
                end = place if end is None else b.op(arith.MinSIOp, end, place, hint="end")
            else:
                first = place if first is None else b.op(arith.MaxSIOp, first, place, hint="first")
        return first, end, holds

    def needless_clamps(self, bounds: list[Bound]) -> list[tuple[memref.LoadOp, int, Sum]]:
        """Returns the indices of loads that bounds keep in range: the load, the axis, and what is clamped."""
        loop = self.loop
        index = sum_of(loop.index)
        zero, one = Sum(0, {}, {}), Sum(1, {}, {})
        lows, highs = [zero], [Sum(self.extent - 1, {}, {})]
        for bound in bounds:
            if bound.predicate is None:
                continue
            limit = sum_of(bound.limit, is_exact=True)
            if bound.predicate in ("slt", "sle"):
                highs.append(limit.plus(one, -1) if bound.predicate == "slt" else limit)
            else:
                lows.append(limit.plus(one) if bound.predicate == "sgt" else limit)
        needless: list[tuple[memref.LoadOp, int, Sum]] = []
        for op in loop.walk():
            if not isinstance(op, memref.LoadOp):
                continue
            for number, place in enumerate(op.indices):
                clamp = clamp_of(place)
                if clamp is None:
                    continue
                found = sum_of(clamp[0])
                if len(found.counts) > 2 or not stays_within(found, loop.index, lows, highs, clamp[1]):
                    continue
                rest = found.plus(index, -found.counts[loop.index])
                if all(_is_movable(rest.values[leaf], loop) for leaf in rest.counts):
                    needless.append((op, number, found))
        return needless

    def _drop_clamps(self, bounds: list[Bound]) -> None:
        """Computes indices of loads without a clamp that the bounds make needless: as vectors read them."""
        index = sum_of(self.loop.index)
        for op, number, found in self.needless_clamps(bounds):
            place, direction = op.indices[number], found.counts[self.loop.index]
            op.operands[1 + number] = self._index_of(found.plus(index, -direction), direction, op)
            if isinstance(place.owner, Operation):
                _erase_unused(place.owner)

    def _index_of(self, rest: Sum, direction: int, reader: Operation) -> SSAValue:
        """Returns what does not change in an index, computed before the loop, and the loop's index to it."""
        b, start = self.b, self.b.constant(rest.number, INDEX)
        for leaf, count in rest.counts.items():
            value = rest.values[leaf]
            _move(value, self.loop)
            if not isinstance(value.type, IndexType):
                value = b.op(arith.IndexCastOp, value, result_type=INDEX, hint=value.name_hint)
            value = integer_op(b, arith.MuliOp, value, b.constant(count, INDEX))
            start = integer_op(b, arith.AddiOp, start, value)
        assert reader.parent is not None, f"{reader.name}: stands in no block"
        place = (arith.AddiOp if direction == 1 else arith.SubiOp)(start, self.loop.index)
        place.location = reader.location
        reader.parent.insert_op_before(place, reader)
        return place.result

    def _write_parts(self, loop: sched.ReduceOp, first: SSAValue | None, count: SSAValue, parts: int) -> None:
        """Writes a reduction as one over whole steps of `parts` partial results, and one that goes on."""
        b = self.b
        held = b.op(arith.MaxSIOp, count, b.constant(0, INDEX))
        rest = b.op(arith.RemUIOp, held, b.constant(parts, INDEX), hint="rest")
        whole = integer_op(b, arith.SubiOp, held, rest)
        start = whole if first is None else integer_op(b, arith.AddiOp, whole, first)
        copied = loop.body.clone()
        new = _with_count(loop, whole)
        assert isinstance(new, sched.ReduceOp) and new.parent is not None, f"{loop.name}: stands in no block"
        last = sched.ReduceOp(
            new.kind.data, parts - 1, new.result.type, None, copied, new.fastmath, rest, new.result
        )
        last.location, last.result.name_hint = new.location, new.result.name_hint
        last.index.name_hint, last.index.location = new.index.name_hint, new.location
        new.parent.insert_op_after(last, new)
        new.result.replace_uses_with_if(last.result, lambda use: use.operation is not last)
        _shift(last, start)
        if first is not None:
            _shift(new, first)

    def _place(self, bound: Bound) -> SSAValue:
        """Returns the first index at which a comparison changes, from 0 to the extent."""
        b, limit, last = self.b, bound.limit, self.extent
        is_after = bound.predicate in ("sle", "sgt")
        if not isinstance(limit.type, IndexType):
            limit = b.op(arith.IndexCastOp, limit, result_type=INDEX, hint=limit.name_hint)
        # Held before 1 is added, so that the greatest number of all does not wrap around.
        low, high = (-1, last - 1) if is_after else (0, last)
        held = b.op(arith.MaxSIOp, limit, b.constant(low, INDEX))
        held = b.op(arith.MinSIOp, held, b.constant(high, INDEX))
        return integer_op(b, arith.AddiOp, held, b.constant(1, INDEX)) if is_after else held


def _drop(op: Operation, loop: Loop) -> None:
    """Takes a condition that holds out of the masks in a loop that it is a part of."""
    (result,) = op.results
    for use in list(result.uses):
        user = use.operation
        if not is_inside(user, loop):
            continue
        if isinstance(user, arith.AndIOp):
            user.result.replace_all_uses_with(user.lhs if user.rhs is result else user.rhs)
        elif isinstance(user, low.SelectOp) and user.condition is result:
            user.result.replace_all_uses_with(user.on_true)
        else:
            continue
        _erase_unused(user)
    _erase_unused(op)


def _is_vector(loop: sched.ReduceOp) -> bool:
    """Returns whether a reduction can run as vectors."""
    analysis = IndexAnalysis()
    axis = analysis.axis(loop)
    return all(not op.regions and runs_in_lanes(op, axis, analysis) for op in loop.body.block.ops)


def _erase_unused(op: Operation) -> None:
    """Erases an op whose results nothing reads, and what is read by nothing else then."""
    if op.parent is None or op.regions or any(result.uses for result in op.results):
        return
    if isinstance(op, memref.StoreOp | arith.ConstantOp):
        return
    owners = [operand.owner for operand in op.operands]
    op.detach()
    op.erase()
    for owner in owners:
        if isinstance(owner, Operation):
            _erase_unused(owner)


def _with_count(loop: Loop, count: SSAValue) -> Loop:
    """Replaces a loop by one that runs `count` iterations."""
    region = loop.detach_region(loop.body)
    if isinstance(loop, sched.AxisOp):
        new: Loop = sched.AxisOp(loop.extent, loop.mapping, region, count)
    else:
        new = sched.ReduceOp(
            loop.kind.data,
            loop.extent,
            loop.result.type,
            loop.mapping,
            region,
            loop.fastmath,
            count,
            loop.init,
        )
        loop.result.replace_all_uses_with(new.result)
        new.result.name_hint = loop.result.name_hint
    new.location = loop.location
    new.attributes.update(loop.attributes)
    assert loop.parent is not None, f"{loop.name}: stands in no block"
    loop.parent.insert_op_before(new, loop)
    loop.detach()
    loop.erase()
    return new


def _shift(loop: Loop, first: SSAValue) -> None:
    """Has the index of a loop count from `first`."""
    block = loop.body.block
    at = arith.AddiOp(loop.index, first)
    at.location = loop.location
    at.result.name_hint = loop.index.name_hint
    loop.index.replace_uses_with_if(at.result, lambda use: use.operation is not at)
    assert block.first_op is not None, f"{loop.name}: is empty"
    block.insert_op_before(at, block.first_op)
