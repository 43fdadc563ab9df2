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

Only counted loops whose kernels compute a few elements each, of numbers of iterations that are known; with
branches and further such loops in them. Loops that go on while a condition holds stay: they can be
interrupted between two kernels, and so can loops that take long.

Requires: unmapped `sched` kernels. Ensures: what the programs compute is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, MemRefType, ModuleOp, i8, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.element_types import element_type_of
from ...indices.analysis import Loop
from ...scalar.builder import INDEX

# `python -m benchmarks.thresholds` shows what each limit is worth; times here: one core, AVX-512.

MOST_ELEMENTS = 128
"""The most elements, and steps of reductions, that a kernel computes which is inlined."""

MOST_STEPS = 1 << 26
"""The most of them in all iterations: about a tenth of a second, in which nothing interrupts a kernel."""

MOST_OPS = 512
"""The most ops of what is inlined into one kernel."""

_CONTROL = (sched.ForOp, sched.IfOp)


@dataclass(frozen=True)
class InlineLaunchesPass(ModulePass):
    """Runs loops over small kernels as one kernel, into which the others are inlined."""

    name = "inline-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {kernel.sym_name.data: kernel for kernel in op.ops if isinstance(kernel, sched.KernelOp)}
        for program in [each for each in op.ops if isinstance(each, sched.ProgramOp)]:
            number = 0
            for loop in _outermost(program.body.block, kernels):
                name = f"{program.sym_name.data}_loop_{number}"
                while name in kernels:
                    number += 1
                    name = f"{program.sym_name.data}_loop_{number}"
                kernels[name] = kernel = _Inlining(loop, kernels).run(name)
                op.body.block.insert_op_before(kernel, program)
        _erase_unused(op, kernels)


def _outermost(block: Block, kernels: Mapping[str, sched.KernelOp]) -> Iterator[sched.ForOp]:
    """Yields the loops that can be one kernel and stand in no other such loop."""
    for op in list(block.ops):
        if isinstance(op, sched.ForOp):
            cost = _cost(op, kernels)
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
            elements = _elements(item.source.type)
            return None if elements is None or elements > MOST_ELEMENTS else _Cost(elements, 2)
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


def _elements(type: Attribute) -> int | None:
    if not isinstance(type, MemRefType):
        return None
    total = 1
    for extent in type.get_shape():
        if extent < 0:
            return None
        total *= extent
    return total


@dataclass(frozen=True, slots=True)
class _Place:
    """A buffer, or the part of one at indices of its first axes."""

    buffer: SSAValue
    indices: tuple[SSAValue, ...] = ()


@dataclass
class _Inlining:
    """Writes the kernel of a loop of a program."""

    loop: sched.ForOp
    kernels: Mapping[str, sched.KernelOp]
    arguments: dict[SSAValue, BlockArgument] = field(default_factory=dict[SSAValue, BlockArgument])
    """The argument of the new kernel for each buffer of the program."""

    counters: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The index that stands in a buffer while an iteration runs."""

    def run(self, name: str) -> sched.KernelOp:
        loop = self.loop
        self.kernel = sched.KernelOp(name, ())
        self.kernel.location = loop.location
        self.entry = self.kernel.body.block
        self.constants: dict[int, SSAValue] = {}
        self._write(loop, self.entry, {})
        launch = sched.LaunchOp(name, list(self.arguments), loop.after)
        launch.location = loop.location
        origins = [op.origins for op in loop.walk() if isinstance(op, sched.LaunchOp)]
        if origins and all(each is not None for each in origins):
            launch.origins = ArrayAttr([origin for each in origins if each is not None for origin in each])
        assert loop.parent is not None, f"{loop.name}: stands in no block"
        loop.parent.insert_op_before(launch, loop)
        loop.token.replace_all_uses_with(launch.token)
        loop.detach()
        loop.erase()
        return self.kernel

    def _index(self, number: int) -> SSAValue:
        known = self.constants.get(number)
        if known is None:
            op = arith.ConstantOp(IntegerAttr(number, INDEX))
            self._add_first(op)
            self.constants[number] = known = op.result
        return known

    def _add_first(self, op: Operation) -> None:
        """Adds a constant at the front of the kernel."""
        op.location = self.kernel.location
        first = self.entry.first_op
        if first is None:
            self.entry.add_op(op)
        else:
            self.entry.insert_op_before(op, first)

    def _place(self, buffer: SSAValue, indices: Mapping[SSAValue, SSAValue]) -> _Place:
        """Returns where a buffer of the program lies, given the indices of its loops."""
        if isinstance(buffer.owner, sched.RowOp):
            around = self._place(buffer.owner.source, indices)
            return _Place(around.buffer, (*around.indices, indices[buffer.owner.index]))
        known = self.arguments.get(buffer)
        if known is None:
            known = self.entry.insert_arg(buffer.type, len(self.entry.args))
            known.name_hint, known.location = buffer.name_hint, self.kernel.location
            self.arguments[buffer] = known
        return _Place(known)

    def _write(self, item: Operation, block: Block, indices: Mapping[SSAValue, SSAValue]) -> None:
        match item:
            case sched.LaunchOp():
                self._inline(item, block, indices)
            case sched.TransferOp():
                self._copy(item, block, indices)
            case sched.ForOp():
                self._count(item, block, indices)
            case sched.IfOp():
                self._branch(item, block, indices)
            case _:
                assert isinstance(item, sched.RowOp | sched.SyncOp), f"{item.name}: cannot be inlined"

    def _count(self, item: sched.ForOp, block: Block, indices: Mapping[SSAValue, SSAValue]) -> None:
        times = item.trip_count
        assert isinstance(times, int), f"{item.name}: a varying number of iterations"
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint, body.args[0].location = item.index.name_hint, item.location
        index: SSAValue = body.args[0]
        if item.is_reverse:
            turned = arith.SubiOp(self._index(times - 1), index)
            body.add_op(turned)
            index = turned.result
        if item.counter is not None:
            self.counters[item.counter] = index
        for op in item.body.block.ops:
            self._write(op, body, {**indices, item.index: index})
        body.add_op(scf.YieldOp.create())
        bounds = (self._index(0), self._index(times), self._index(1))
        self._add(scf.ForOp.create(operands=bounds, regions=[Region(body)]), block, item)

    def _branch(self, item: sched.IfOp, block: Block, indices: Mapping[SSAValue, SSAValue]) -> None:
        place = self._place(item.condition, indices)
        stored = self._load(place, (), block, item)
        zero = arith.ConstantOp(IntegerAttr(0, i8))
        self._add_first(zero)
        holds = arith.CmpiOp(stored, zero.result, "ne")
        self._add(holds, block, item)
        regions: list[Region] = []
        for part in item.blocks:
            inner = Block()
            for op in part.ops:
                self._write(op, inner, indices)
            inner.add_op(scf.YieldOp.create())
            regions.append(Region(inner))
        self._add(scf.IfOp.create(operands=(holds.result,), regions=regions), block, item)

    def _copy(self, item: sched.TransferOp, block: Block, indices: Mapping[SSAValue, SSAValue]) -> None:
        source, target = (self._place(buffer, indices) for buffer in (item.source, item.target))
        type = item.source.type
        assert isinstance(type, MemRefType), f"{item.name}: copies no buffer"
        at: list[SSAValue] = []
        for extent in type.get_shape():
            axis = sched.AxisOp(extent)
            axis.index.name_hint = "c"
            self._add(axis, block, item)
            at.append(axis.index)
            block = axis.body.block
        value = self._load(source, at, block, item)
        store = memref.StoreOp.create(operands=(value, target.buffer, *target.indices, *at))
        self._add(store, block, item)

    def _load(self, place: _Place, at: Sequence[SSAValue], block: Block, origin: Operation) -> SSAValue:
        op = memref.LoadOp.create(
            operands=(place.buffer, *place.indices, *at),
            result_types=(element_type_of(place.buffer.type),),
        )
        self._add(op, block, origin)
        return op.results[0]

    def _inline(self, item: sched.LaunchOp, block: Block, indices: Mapping[SSAValue, SSAValue]) -> None:
        kernel = self.kernels[item.kernel.root_reference.data]
        places: dict[SSAValue, _Place | SSAValue] = {}
        for argument, buffer in zip(kernel.body.block.args, item.arguments, strict=True):
            counter = self.counters.get(buffer)
            places[argument] = self._place(buffer, indices) if counter is None else counter
        self._clone_into(kernel.body.block, block, places, {})

    def _clone_into(
        self,
        source: Block,
        target: Block,
        places: Mapping[SSAValue, _Place | SSAValue],
        known: dict[SSAValue, SSAValue],
    ) -> None:
        """Adds copies of ops to a block, which work where the buffers of a kernel lie."""
        for op in source.ops:
            regions: list[Region] = []
            for region in op.regions:
                inner = Block(arg_types=[argument.type for argument in region.block.args])
                for old, new in zip(region.block.args, inner.args, strict=True):
                    new.name_hint, new.location = old.name_hint, old.location
                    known[old] = new
                self._clone_into(region.block, inner, places, known)
                regions.append(Region(inner))
            if isinstance(op, memref.LoadOp | memref.StoreOp):
                copy = self._access(op, target, places, known)
            else:
                copy = type(op).create(
                    operands=[known[operand] for operand in op.operands],
                    result_types=op.result_types,
                    properties=op.properties,
                    attributes=op.attributes,
                    regions=regions,
                )
            copy.location = op.location
            if isinstance(op, arith.ConstantOp):
                self._add_first(copy)
            else:
                target.add_op(copy)
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                known[old] = new

    def _access(
        self,
        op: memref.LoadOp | memref.StoreOp,
        target: Block,
        places: Mapping[SSAValue, _Place | SSAValue],
        known: Mapping[SSAValue, SSAValue],
    ) -> Operation:
        """Returns a load or a store of what lies where a kernel's buffer does."""
        place = places[op.memref]
        if isinstance(place, SSAValue):
            return arith.IndexCastOp(place, i64)
        before = [known[op.value]] if isinstance(op, memref.StoreOp) else []
        at = [known[index] for index in op.indices]
        return type(op).create(
            operands=(*before, place.buffer, *place.indices, *at),
            result_types=op.result_types,
            properties=op.properties,
            attributes=op.attributes,
        )

    def _add(self, op: Operation, block: Block, origin: Operation) -> None:
        op.location = origin.location
        block.add_op(op)


def _erase_unused(module: ModuleOp, kernels: Mapping[str, sched.KernelOp]) -> None:
    """Erases the kernels that were inlined everywhere."""
    used = {op.kernel.root_reference.data for op in module.walk() if isinstance(op, sched.LaunchOp)}
    for name, kernel in kernels.items():
        if name not in used:
            kernel.detach()
            kernel.erase()
