"""
Runs loops over small kernels as one kernel, into which the others are inlined.

    sched.for %i = 1000 counter %n after() {           sched.kernel @f_loop_0(%s, %v) {
      %t1 = sched.launch @next(%s, %v, %n) ...           scf.for %i = %c0 to %c1000 step %c1 {
      %t2 = sched.transfer %s to %old ...        -->       ... what @next does ...
    }                                                      %x = memref.load %s[] : memref<f32>
                                                           memref.store %x, %old[] : memref<f32>
                                                         }
                                                       }
                                                       ...
                                                       %t = sched.launch @f_loop_0(%s, %v) ...

What a launch takes beside the work of its kernel is spent once, and what an iteration hands to the next one
may stay in registers (promote-scalars). A kernel of many elements is better off alone: it gets a schedule of
its own, and may be shared out among threads.

Only loops whose kernels compute a few elements each; with branches, and counted loops of numbers of
iterations that are known, in them. Counted loops that take long stay: they can be interrupted between two
kernels.

A loop that goes on while a condition holds stays too, but one launch does many of its iterations:

    sched.while %more after() {                        sched.while %more after() {
      %t0 = sched.launch @is_more(%n, %more) ...         %t0 = sched.launch @is_more(%n, %more) ...
    } do {                                       -->   } do {
      %t1 = sched.launch @next(%n) ...                   %t1 = sched.launch @f_loop_0(%more, %n) ...
    }                                                  }

The kernel goes on while its own condition holds, up to as many iterations as may run without an interruption.
The condition is then made once more, so it is made of other buffers than those that it stores.

Requires: unmapped `sched` kernels. Ensures: what the programs compute is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i8,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import extents_of
from ...indices.analysis import Loop
from ...rewriting.kernel_names import KernelNames
from ..planning.code import KernelCode

# `python -m benchmarks.thresholds` shows what each limit is worth; times here: one core, AVX-512.

MOST_ELEMENTS = 128
"""The most elements, and steps of reductions, that a kernel computes which is inlined."""

MOST_STEPS = 1 << 26
"""The most of them in all iterations: about a tenth of a second, in which nothing interrupts a kernel."""

MOST_OPS = 512
"""The most ops of what is inlined into one kernel."""


@dataclass(frozen=True)
class InlineLaunchesPass(ModulePass):
    """Runs loops over small kernels as one kernel, into which the others are inlined."""

    name = "inline-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {kernel.sym_name.data: kernel for kernel in op.ops if isinstance(kernel, sched.KernelOp)}
        names = KernelNames(op)
        for program in [each for each in op.ops if isinstance(each, sched.ProgramOp)]:
            for number, loop in enumerate(_outermost(program.body.block, kernels)):
                name = names.fresh(f"{program.sym_name.data}_loop_{number}")
                op.body.block.insert_op_before(_Inlining(loop, kernels).run(name), program)
        _erase_unused(op, kernels)


def _outermost(block: Block, kernels: Mapping[str, sched.KernelOp]) -> Iterator[sched.ForOp | sched.WhileOp]:
    """Yields the loops that can be one kernel, or launch one, and stand in no other such loop."""
    for op in list(block.ops):
        if isinstance(op, sched.ForOp | sched.WhileOp):
            cost = _cost(op, kernels) if isinstance(op, sched.ForOp) else _iteration_cost(op, kernels)
            if cost is not None and cost.steps <= MOST_STEPS and cost.ops <= MOST_OPS:
                yield op
                continue
        for region in op.regions:
            yield from _outermost(region.block, kernels)


@dataclass(slots=True)
class _Cost:
    steps: int = 0
    ops: int = 0

    def add(self, other: _Cost, times: int = 1) -> None:
        self.steps += other.steps * times
        self.ops += other.ops


def _cost(item: Operation, kernels: Mapping[str, sched.KernelOp]) -> _Cost | None:
    """Returns what an item does, None where it cannot be a part of a kernel."""
    cost = _Cost()
    match item:
        case sched.RowOp() | sched.SyncOp():
            return cost
        case sched.LaunchOp():
            kernel = kernels.get(item.kernel.root_reference.data)
            return None if kernel is None else _kernel_cost(kernel)
        case sched.TransferOp():
            extents = extents_of(item.source.type)
            numbers = [extent for extent in extents if isinstance(extent, int) and extent != DYNAMIC_INDEX]
            if len(numbers) < len(extents) or prod(numbers) > MOST_ELEMENTS:
                return None
            return _Cost(prod(numbers), 2)
        case sched.ForOp() | sched.IfOp():
            times = item.trip_count if isinstance(item, sched.ForOp) else 1
            if not isinstance(times, int):
                return None
            for block in item.blocks:
                for op in block.ops:
                    inner = _cost(op, kernels)
                    if inner is None:
                        return None
                    cost.add(inner, times)
            return cost
        case _:
            return None


def _iteration_cost(loop: sched.WhileOp, kernels: Mapping[str, sched.KernelOp]) -> _Cost | None:
    """Returns what an iteration does, None where it cannot be a part of a kernel."""
    if not _can_be_repeated(loop.before.block, kernels):
        return None
    cost = _Cost()
    for op in (*loop.before.block.ops, *loop.body.block.ops):
        inner = _cost(op, kernels)
        if inner is None:
            return None
        cost.add(inner)
    return cost


def _can_be_repeated(block: Block, kernels: Mapping[str, sched.KernelOp]) -> bool:
    """Returns whether items store the same when they run a second time: they store nothing that they read."""
    read = set[SSAValue]()
    for op in block.ops:
        match op:
            case sched.TransferOp():
                loaded, stored = [op.source], [op.target]
            case sched.LaunchOp() if op.kernel.root_reference.data in kernels:
                arguments = kernels[op.kernel.root_reference.data].body.block.args
                pairs = list(zip(op.arguments, arguments, strict=True))
                loaded = [buffer for buffer, argument in pairs if _has_use(argument, memref.LoadOp)]
                stored = [buffer for buffer, argument in pairs if _has_use(argument, memref.StoreOp)]
            case _:
                return False
        read.update(loaded)
        if any(buffer in read for buffer in stored):
            return False
    return True


def _has_use(argument: SSAValue, kind: type[Operation]) -> bool:
    return any(isinstance(use.operation, kind) for use in argument.uses)


def _kernel_cost(kernel: sched.KernelOp) -> _Cost | None:
    if kernel.sizes:
        return None
    ops = list(kernel.walk())
    if any(isinstance(op, Loop) and op.mapping.words() for op in ops):
        return None
    if any(isinstance(op, scf.WhileOp | sched.AllocOp) for op in ops):
        return None
    buffers = [argument for argument in kernel.body.block.args if isinstance(argument.type, MemRefType)]
    for buffer in buffers:
        if any(not isinstance(use.operation, memref.LoadOp | memref.StoreOp) for use in buffer.uses):
            return None
    elements = _steps(kernel.body.block)
    return None if elements > MOST_ELEMENTS else _Cost(elements, len(ops))


def _steps(block: Block) -> int:
    """Returns how many innermost iterations a block runs, at most; many where that is not known."""
    total = 1
    for op in block.ops:
        times = 1
        if isinstance(op, Loop):
            if not isinstance(op.extent, int):
                return MOST_ELEMENTS + 1
            times = op.extent
        elif isinstance(op, scf.ForOp):
            return MOST_ELEMENTS + 1
        total += sum(times * _steps(inner) for region in op.regions for inner in region.blocks)
    return total


@dataclass(frozen=True, slots=True)
class _Place:
    """A buffer, or the part of one at indices of its first axes."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...] = ()


class _Inlining:
    """Writes the kernel of a loop of a program."""

    def __init__(self, loop: sched.ForOp | sched.WhileOp, kernels: Mapping[str, sched.KernelOp]):
        self.loop, self.kernels = loop, kernels
        self.code = KernelCode(loop)
        self.arguments: dict[SSAValue, SSAValue] = {}
        """The argument of the new kernel for each buffer of the program."""
        self.counters: dict[SSAValue, SSAValue] = {}
        """The index that stands in a buffer while an iteration runs."""

    def run(self, name: str) -> sched.KernelOp:
        loop = self.loop
        if isinstance(loop, sched.ForOp):
            self._count(loop, {})
            launch = self._launch(name, loop.after, loop)
            assert loop.parent is not None, f"{loop.name}: stands in no block"
            loop.parent.insert_op_before(launch, loop)
            loop.token.replace_all_uses_with(launch.token)
            loop.detach()
            loop.erase()
            return self.code.op
        self._repeat(loop)
        launch = self._launch(name, (), *loop.body.block.ops)
        for op in reversed(list(loop.body.block.ops)):
            op.detach()
            op.erase()
        loop.body.block.add_op(launch)
        return self.code.op

    def _launch(self, name: str, after: Sequence[SSAValue], *replaced: Operation) -> sched.LaunchOp:
        """Returns the launch of the new kernel, in the place of some items."""
        self.code.op.sym_name = StringAttr(name)
        launch = sched.LaunchOp(name, list(self.arguments), after)
        launch.location = self.loop.location
        launch.token.name_hint = "t"
        launches = [inner for op in replaced for inner in op.walk() if isinstance(inner, sched.LaunchOp)]
        origins = [op.origins for op in launches]
        if origins and all(each is not None for each in origins):
            launch.origins = ArrayAttr([origin for each in origins if each is not None for origin in each])
        return launch

    def _place(self, buffer: SSAValue, indices: Mapping[SSAValue, SSAValue]) -> _Place:
        """Returns where a buffer of the program lies, given the indices of its loops."""
        row = buffer.owner
        if isinstance(row, sched.RowOp) and row.index in indices:
            around = self._place(row.source, indices)
            return _Place(around.buffer, (*around.indices, indices[row.index]))
        if isinstance(row, sched.RowOp) and self.loop.is_ancestor(row):
            # A row of a loop around this one, which the launch is given.
            row.detach()
            assert self.loop.parent is not None, f"{self.loop.name}: stands in no block"
            self.loop.parent.insert_op_before(row, self.loop)
        known = self.arguments.get(buffer)
        if known is None:
            self.arguments[buffer] = known = self.code.buffer(buffer.type, buffer.name_hint)
        return _Place(known)

    def _write(self, item: Operation, indices: Mapping[SSAValue, SSAValue]) -> None:
        self.code.b.location = item.location
        match item:
            case sched.LaunchOp():
                self._inline(item, indices)
            case sched.TransferOp():
                self._copy(item, indices)
            case sched.ForOp():
                self._count(item, indices)
            case sched.IfOp():
                self._branch(item, indices)
            case _:
                assert isinstance(item, sched.RowOp | sched.SyncOp), f"{item.name}: cannot be inlined"

    def _count(self, item: sched.ForOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        code, times = self.code, item.trip_count
        assert isinstance(times, int), f"{item.name}: a varying number of iterations"

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (index,) = arguments
            if item.is_reverse:
                index = code.integer(arith.SubiOp, code.index(times - 1), index)
            if item.counter is not None:
                self.counters[item.counter] = index
            for op in item.body.block.ops:
                self._write(op, {**indices, item.index: index})
            return ()

        code.count(times, (), body, (item.index.name_hint or "i",))

    def _repeat(self, loop: sched.WhileOp) -> None:
        """Writes the iterations of a loop, the first of which is to run, and their conditions."""
        code, cost = self.code, _iteration_cost(loop, self.kernels)
        assert cost is not None, f"{loop.name}: cannot be inlined"
        most = max(MOST_STEPS // max(cost.steps, 1), 1)

        def holds(arguments: Sequence[SSAValue]) -> SSAValue:
            (done,) = arguments
            return code.b.op(arith.AndIOp, self._holds(loop, {}), code.compare("slt", done, code.index(most)))

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (done,) = arguments
            for op in (*loop.body.block.ops, *loop.before.block.ops):
                self._write(op, {})
            return (code.integer(arith.AddiOp, done, code.index(1)),)

        code.repeat((code.index(0),), holds, body, ("done",))

    def _holds(self, item: sched.WhileOp | sched.IfOp, indices: Mapping[SSAValue, SSAValue]) -> SSAValue:
        """Writes whether the condition of an item holds."""
        code = self.code
        place = self._place(item.condition, indices)
        return code.compare("ne", code.load(place.buffer, place.indices), code.b.constant(0, i8))

    def _branch(self, item: sched.IfOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        code = self.code
        holds = self._holds(item, indices)

        def part(block: Block) -> Callable[[], None]:
            def write() -> None:
                for op in block.ops:
                    self._write(op, indices)

            return write

        code.branch(holds, *map(part, item.blocks))

    def _copy(self, item: sched.TransferOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        target = self._place(item.target, indices)
        counter = self.counters.get(item.source)
        if counter is not None:
            counted = self.code.b.op(arith.IndexCastOp, counter, result_type=i64)
            self.code.store(counted, target.buffer, target.indices)
            return
        source = self._place(item.source, indices)
        with self.code.axes(extents_of(item.source.type), "c") as at:
            value = self.code.load(source.buffer, [*source.indices, *at])
            self.code.store(value, target.buffer, [*target.indices, *at])

    def _inline(self, item: sched.LaunchOp, indices: Mapping[SSAValue, SSAValue]) -> None:
        kernel = self.kernels[item.kernel.root_reference.data]
        places: dict[SSAValue, _Place | SSAValue] = {}
        for argument, buffer in zip(kernel.body.block.args, item.arguments, strict=True):
            counter = self.counters.get(buffer)
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


def _erase_unused(module: ModuleOp, kernels: Mapping[str, sched.KernelOp]) -> None:
    """Erases the kernels that were inlined everywhere."""
    used = {op.kernel.root_reference.data for op in module.walk() if isinstance(op, sched.LaunchOp)}
    for name, kernel in kernels.items():
        if name not in used:
            kernel.detach()
            kernel.erase()
