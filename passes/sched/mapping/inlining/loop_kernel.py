"""
Writes the kernel of a loop of a program: what its launches do, one after the other.

A loop that goes on while a condition holds may take long, as may one that counts far, and nothing interrupts
a kernel. One that has such loops inside pauses when it did enough, and goes on from there when it is launched
again:

    sched.kernel @f_loop_0(%paused, %j, ...) {
      for %i from (%paused ? %j[] : 0) to below 8 {    // where it was
        if not %paused { ... what comes before ... }
        while %more[] and done < most { ... }          // number 1
        %paused = %more[] ? 1 : 0
        if not %paused { ... what comes after ... }
        if %paused { store %i, %j[]; leave }
      }
    }

`paused` is the number of the loop that is in the middle of its iterations, 0 where none is: what came before
it is done, and what comes after it is not begun. It holds after the launch where there is more to do. A
counted loop that takes long itself has a number too, and keeps the index of its next iteration when it
pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, MemRefType, StringAttr, i1, i8, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import sched
from .....dialects.buffer_size import extents_of
from ....scalar.ops import select
from ...planning.code import KernelCode
from . import loop_cost
from .loop_cost import LoopCosts

PAUSED = MemRefType(i8, [])
"""The type of the buffer that says which loop is in the middle of its iterations."""

INDEX = MemRefType(i64, [])
"""The type of the buffer of an index that a paused loop goes on with."""

MOST_PAUSES = 127
"""The most loops that may pause in one kernel: their numbers are signed bytes."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A buffer, or the part of one at indices of its first axes."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pausing:
    """
    How a kernel pauses: `numbers` are those of its loops, which `paused`, a local buffer, says of the one in
    the middle of its iterations; `done` counts the steps since the launch; `indices` are the buffers for
    what counted loops around them go on with.
    """

    numbers: Mapping[Operation, int]
    indices: Mapping[sched.ForOp, SSAValue]
    paused: SSAValue
    done: SSAValue

    def range_of(self, *items: Operation) -> tuple[int, int]:
        """Returns the least and the greatest number of the loops in some items."""
        found = [self.numbers[op] for item in items for op in item.walk() if op in self.numbers]
        return min(found), max(found)


class LoopKernel:
    """
    Writes the kernel of a loop of a program. `operands` are what it is launched with: buffers of the program.

    One in which there are `pausing` loops is launched with a buffer of type `PAUSED`, and with one of type
    `INDEX` for each of `counted`, the counted loops that pause, or have loops inside that do; it does about
    `loop_cost.MOST_STEPS` quick ops at once.
    """

    def __init__(self, loop: sched.ForOp | sched.WhileOp, costs: LoopCosts):
        self.loop, self.costs = loop, costs
        self.code = KernelCode(loop)
        self._arguments: dict[SSAValue, SSAValue] = {}
        """The argument of the new kernel for each buffer of the program."""
        self._counters: dict[SSAValue, SSAValue] = {}
        """The index that stands in a buffer while an iteration runs."""
        self.pausing = dict.fromkeys(costs.pausing(loop))
        counted = [op for op in loop.walk() if isinstance(op, sched.ForOp)]
        self.counted = [op for op in counted if self._has_pausing(op)]
        self._pausing: _Pausing | None = None

    def _has_pausing(self, item: Operation) -> bool:
        return any(op in self.pausing for op in item.walk())

    @property
    def operands(self) -> list[SSAValue]:
        return list(self._arguments)

    def write(self, name: str) -> sched.KernelOp:
        """Returns the kernel of a loop that does not pause."""
        self.code.op.sym_name = StringAttr(name)
        self._write(self.loop, {})
        return self.code.op

    def write_pausing(
        self, name: str, paused: SSAValue, indices: Mapping[sched.ForOp, SSAValue]
    ) -> sched.KernelOp:
        """Returns the kernel of a loop that pauses, given the buffers of the program that it does so with."""
        code = self.code
        code.op.sym_name = StringAttr(name)
        numbers: dict[Operation, int] = {loop: number for number, loop in enumerate(self.pausing, 1)}
        outside = self._place(paused, {}).buffer
        own = {loop: self._place(buffer, {}).buffer for loop, buffer in indices.items()}
        local, done = code.alloc(i8, (), "p"), code.alloc(i64, (), "done")
        self._pausing = _Pausing(numbers, own, local, done)
        code.store(code.load(outside, ()), local, ())
        code.store(code.b.constant(0, i64), done, ())
        self._write(self.loop, {})
        code.store(code.load(local, ()), outside, ())
        return code.op

    def _place(self, buffer: SSAValue, indices: Mapping[SSAValue, SSAValue]) -> _Place:
        """Returns where a buffer of the program lies, given the indices of its loops."""
        row = buffer.owner
        if isinstance(row, sched.RowOp) and row.index is not None and row.index in indices:
            around = self._place(row.source, indices)
            return _Place(around.buffer, (*around.indices, indices[row.index]))
        if isinstance(row, sched.RowOp) and row.number is not None:
            # Of its buffer, which may be given too: what a kernel is given lies apart.
            around = self._place(row.source, indices)
            return _Place(around.buffer, (*around.indices, self.code.b.constant(row.number, IndexType())))
        if isinstance(row, sched.RowOp) and self.loop.is_ancestor(row):
            # A row of a loop around this one, which the launch is given.
            row.detach()
            assert self.loop.parent is not None, f"{self.loop.name}: stands in no block"
            self.loop.parent.insert_op_before(row, self.loop)
        known = self._arguments.get(buffer)
        if known is None:
            self._arguments[buffer] = known = self.code.buffer(buffer.type, buffer.name_hint)
        return _Place(known)

    def _write(self, item: Operation, indices: Mapping[SSAValue, SSAValue]) -> None:
        self.code.b.location = item.location
        match item:
            case sched.LaunchOp():
                self._inline(item, indices)
            case sched.TransferOp():
                self._copy(item, indices)
            case sched.ForOp():
                if self._pausing is not None and self._has_pausing(item):
                    self._count_pausing(item, indices, self._pausing)
                else:
                    self._count(item, indices)
            case sched.WhileOp():
                assert self._pausing is not None, f"{item.name}: in a kernel that does not pause"
                self._repeat(item, indices, self._pausing)
            case sched.IfOp():
                self._branch(item, indices)
            case _:
                assert isinstance(item, sched.RowOp | sched.SyncOp), f"{item.name}: cannot be inlined"

    def _write_all(self, items: Iterable[Operation], indices: Mapping[SSAValue, SSAValue]) -> None:
        """Writes items one after the other; where the kernel is paused, only the one in which it is."""
        pausing = self._pausing
        items = list(items)
        count = sum(map(self._has_pausing, items))
        if pausing is None or not count:
            for op in items:
                self._write(op, indices)
            return
        plain: list[Operation] = []

        def flush() -> None:
            if plain:
                parts = tuple(plain)
                self.code.branch(self._runs(pausing), lambda: self._write_all(parts, indices))
                plain.clear()

        for op in items:
            if not self._has_pausing(op):
                plain.append(op)
                continue
            flush()
            if count == 1:
                # It is the one, where the kernel is paused.
                self._write(op, indices)
                continue
            entered = self._either(self._runs(pausing), self._is_paused_in(pausing, op))
            self.code.branch(entered, partial(self._write, op, indices))
        flush()

    def _runs(self, pausing: _Pausing) -> SSAValue:
        """Writes whether the kernel is not paused."""
        return self._compare_paused("eq", pausing, 0)

    def _compare_paused(self, predicate: str, pausing: _Pausing, number: int) -> SSAValue:
        code = self.code
        return code.compare(predicate, code.load(pausing.paused, ()), code.b.constant(number, i8))

    def _is_paused_in(self, pausing: _Pausing, *items: Operation) -> SSAValue:
        """Writes whether the kernel is paused in one of the loops of some items."""
        least, greatest = pausing.range_of(*items)
        if least == greatest:
            return self._compare_paused("eq", pausing, least)
        return self._both(
            self._compare_paused("sge", pausing, least), self._compare_paused("sle", pausing, greatest)
        )

    def _both(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.code.b.op(arith.AndIOp, lhs, rhs)

    def _either(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.code.b.op(arith.OrIOp, lhs, rhs)

    def _count(self, item: sched.ForOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        times = item.trip_count
        assert isinstance(times, int), f"{item.name}: a varying number of iterations"

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._iterate(item, arguments[0], times, indices)
            return ()

        self.code.count(times, (), body, (item.index.name_hint or "i",))

    def _iterate(
        self, item: sched.ForOp, number: SSAValue, times: int, indices: Mapping[SSAValue, SSAValue]
    ) -> None:
        """Writes an iteration of a counted loop."""
        code = self.code
        index = code.integer(arith.SubiOp, code.index(times - 1), number) if item.is_reverse else number
        if item.counter is not None:
            self._counters[item.counter] = index
        self._write_all(item.body.block.ops, {**indices, item.index: index})

    def _count_pausing(
        self, item: sched.ForOp, indices: Mapping[SSAValue, SSAValue], pausing: _Pausing
    ) -> None:
        """
        Writes a counted loop that leaves in the middle of an iteration, and goes on with the same one; or
        between two, where it takes long itself.
        """
        code, cost, times = self.code, self.costs.of(item), item.trip_count
        kept, own = pausing.indices[item], pausing.numbers.get(item)
        assert cost is not None and isinstance(times, int), f"{item.name}: cannot be inlined"
        first = select(code.b, self._runs(pausing), code.b.constant(0, i64), code.load(kept, ()))
        begin = code.b.op(arith.IndexCastOp, first, result_type=IndexType())
        if own is not None:
            self._go_on(pausing, own)

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, _ = arguments
            self._iterate(item, number, times, indices)
            code.b.location = item.location
            following = code.integer(arith.AddiOp, number, code.index(1))
            has_more = code.compare("slt", following, code.index(times))
            if own is not None:
                is_over = self._is_over(pausing, cost.work // times)
                self._pause(self._both(self._both(is_over, has_more), self._runs(pausing)), pausing, own)

            def keep() -> None:
                there = number
                if own is not None:
                    there = select(code.b, self._compare_paused("eq", pausing, own), following, number)
                code.store(code.b.op(arith.IndexCastOp, there, result_type=i64), kept, ())

            code.branch(self._compare_paused("ne", pausing, 0), keep)
            return following, self._both(self._runs(pausing), has_more)

        goes_on = code.compare("slt", begin, code.index(times))
        hint = item.index.name_hint or "i"
        code.repeat((begin, goes_on), lambda carried: carried[1], body, (hint, "goes_on"))

    def _is_over(self, pausing: _Pausing, work: int) -> SSAValue:
        """Adds the work of an iteration to what is done; returns whether the kernel did enough."""
        code = self.code
        done = code.integer(arith.AddiOp, code.load(pausing.done, ()), code.b.constant(max(work, 1), i64))
        code.store(done, pausing.done, ())
        return code.compare("sge", done, code.b.constant(loop_cost.MOST_STEPS, i64))

    def _pause(self, condition: SSAValue, pausing: _Pausing, number: int) -> None:
        """Writes that the kernel is paused in a loop where a condition holds."""
        code = self.code
        code.branch(condition, lambda: code.store(code.b.constant(number, i8), pausing.paused, ()))

    def _go_on(self, pausing: _Pausing, number: int) -> None:
        """Writes that the kernel is not paused any more where it is in a loop."""
        code = self.code
        is_here = self._compare_paused("eq", pausing, number)
        code.branch(is_here, lambda: code.store(code.b.constant(0, i8), pausing.paused, ()))

    def _repeat(self, loop: sched.WhileOp, indices: Mapping[SSAValue, SSAValue], pausing: _Pausing) -> None:
        """Writes a loop that goes on while its condition holds, and pauses when the kernel did enough."""
        code, cost, number = self.code, self.costs.of(loop), pausing.numbers[loop]
        assert cost is not None, f"{loop.name}: cannot be inlined"
        has_inner = any(map(self._has_pausing, loop.body.block.ops))

        def make_condition() -> None:
            self._write_all(loop.before.block.ops, indices)
            code.b.location = loop.location

        def holds() -> SSAValue:
            return self._holds(loop, indices)

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._write_all(loop.body.block.ops, indices)
            if has_inner:
                runs = self._runs(pausing)
                code.branch(runs, make_condition)
                goes_on = self._both(runs, holds())
            else:
                make_condition()
                goes_on = holds()
            is_over = self._is_over(pausing, cost.work)
            return (select(code.b, is_over, code.b.constant(0, i1), goes_on),)

        code.branch(self._runs(pausing), make_condition)
        goes_on = self._either(self._compare_paused("ne", pausing, 0), holds())
        self._go_on(pausing, number)
        code.repeat((goes_on,), lambda carried: carried[0], body, ("goes_on",))
        self._pause(self._both(self._runs(pausing), holds()), pausing, number)

    def _holds(self, item: sched.WhileOp | sched.IfOp, indices: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """Writes whether the condition of an item holds."""
        code = self.code
        place = self._place(item.condition, indices)
        return code.compare("ne", code.load(place.buffer, place.indices), code.b.constant(0, i8))

    def _branch(self, item: sched.IfOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        holds = self._holds(item, indices)
        pausing = self._pausing
        if pausing is not None and self._has_pausing(item):
            # A paused kernel goes on in the branch in which it is, whatever became of the condition.
            holds = self._both(holds, self._runs(pausing))
            inside = [op for op in item.then_region.block.ops if self._has_pausing(op)]
            if inside:
                holds = self._either(holds, self._is_paused_in(pausing, *inside))

        def part(block: Block) -> Callable[[], None]:
            return lambda: self._write_all(block.ops, indices)

        self.code.branch(holds, *map(part, item.blocks))

    def _copy(self, item: sched.TransferOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        target = self._place(item.target, indices)
        counter = self._counters.get(item.source)
        if counter is not None:
            counted = self.code.b.op(arith.IndexCastOp, counter, result_type=i64)
            self.code.store(counted, target.buffer, target.indices)
            return
        source = self._place(item.source, indices)
        with self.code.axes(extents_of(item.source.type), "c") as at:
            value = self.code.load(source.buffer, [*source.indices, *at])
            self.code.store(value, target.buffer, [*target.indices, *at])

    def _inline(self, item: sched.LaunchOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        kernel = self.costs.kernels[item.kernel.root_reference.data]
        places: dict[SSAValue, _Place | SSAValue] = {}
        for argument, buffer in zip(kernel.body.block.args, item.arguments, strict=True):
            counter = self._counters.get(buffer)
            places[argument] = self._place(buffer, indices) if counter is None else counter
        self._copy_ops(kernel.body.block, places, {})

    def _copy_ops(
        self, source: Block, places: Mapping[SSAValue, _Place | SSAValue], known: dict[SSAValue, SSAValue]
    ) -> None:
        """Writes what a kernel does, where its buffers lie."""
        code = self.code
        for op in source.ops:
            if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr | FloatAttr):
                known[op.result] = code.b.constant(op.value.value.data, op.result.type)
                continue
            regions: list[Region] = []
            for region in op.regions:
                if not region.blocks:
                    # There is nothing else to do.
                    regions.append(Region())
                    continue
                inner = Block(arg_types=[argument.type for argument in region.block.args])
                for old, new in zip(region.block.args, inner.args, strict=True):
                    new.name_hint, new.location = old.name_hint, old.location
                    known[old] = new
                with code.inside(inner):
                    self._copy_ops(region.block, places, known)
                regions.append(Region(inner))
            operands = [known[operand] for operand in op.operands if operand not in places]
            if isinstance(op, memref.LoadOp | memref.StoreOp):
                place = places[op.memref]
                if isinstance(place, SSAValue):
                    counted = code.b.op(arith.IndexCastOp, place, result_type=i64)
                    known[op.results[0]] = counted
                    continue
                at = 1 if isinstance(op, memref.StoreOp) else 0
                operands[at:at] = [place.buffer, *place.indices]
            copy = type(op).create(
                operands=operands,
                result_types=op.result_types,
                properties=op.properties,
                attributes=op.attributes,
                regions=regions,
            )
            copy.location = op.location
            code.b.insert(copy)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                known[old] = new
