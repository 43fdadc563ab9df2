"""Reductions of host programs: launches and other items, buffers, and what goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, MemRefType, ModuleOp, TensorType, i32
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from ....dialects import low, sched
from ....dialects.buffer_size import extents_of
from ....dialects.graph import IntsAttr, tensor_of
from ....dialects.modules.hazards import accessed_buffers, all_items, base_of, return_of
from ....dialects.modules.kernel_access import accesses_of, kernels_of
from ..search import Edit, Edits, NotApplicable
from .surgery import erase_all, is_dead


def _programs(module: ModuleOp) -> list[sched.ProgramOp]:
    return [op for op in module.body.ops if isinstance(op, sched.ProgramOp)]


def _tensor_of(type: Attribute) -> TensorType[Any]:
    """Returns the type of a tensor that a buffer of a type can hold."""
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    buffer = cast("MemRefType[Attribute]", type)
    return tensor_of(buffer.element_type, extents_of(buffer))


def set_program_results(program: sched.ProgramOp, buffers: Sequence[SSAValue]) -> None:
    """Makes a program return other buffers, or some of those that it returns."""
    last = return_of(program)
    types = dict(zip(last.buffers, program.function_type.outputs, strict=True))
    outputs = [types.get(buffer) or _tensor_of(buffer.type) for buffer in buffers]
    last.detach()
    new = sched.ReturnOp(buffers, list(last.after))
    last.erase()
    program.body.block.add_op(new)
    for buffer in buffers:
        if isinstance(buffer.owner, sched.BufferOp):
            role = sched.RoleAttr(sched.Role.RESULT)
            if buffer.owner.role != role:
                buffer.owner.role, buffer.owner.slab = role, None
    program.function_type = FunctionType.from_lists(list(program.function_type.inputs), outputs)


def add_program_argument(program: sched.ProgramOp, buffer: SSAValue) -> BlockArgument:
    """Returns a new argument, the last one, of the type of a buffer."""
    block = program.body.block
    tensor = _tensor_of(buffer.type)
    if sched.buffer_type(tensor) != buffer.type:
        raise NotApplicable(f"no argument is {buffer.type}")
    argument = block.insert_arg(buffer.type, len(block.args))
    argument.name_hint = buffer.name_hint
    program.function_type = FunctionType.from_lists(
        [*program.function_type.inputs, tensor], list(program.function_type.outputs)
    )
    return argument


def drop_program_argument(program: sched.ProgramOp, argument: BlockArgument) -> None:
    """Erases an argument that nobody uses."""
    index = argument.index
    inputs = [type for number, type in enumerate(program.function_type.inputs) if number != index]
    if program.donated:
        kept = [number - (number > index) for number in program.donated if number != index]
        program.attributes["donated"] = IntsAttr(tuple(kept))
        if not kept:
            del program.attributes["donated"]
    program.body.block.erase_arg(argument)
    program.function_type = FunctionType.from_lists(inputs, list(program.function_type.outputs))


class DropItems(Edits):
    """
    Drops launches, copies and other items of programs, from the end. With `keeps` what only they read is
    returned, and what they wrote, if nobody else does, comes in as an argument.
    """

    def __init__(self, keeps: bool) -> None:
        self.name = "cut items out" if keeps else "drop items"
        self._keeps = keeps

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda item=item, program=program: self._drop(module, program, item)
            for program in _programs(module)
            for item in reversed(list(all_items(program.body.block)))
        ]

    def _drop(self, module: ModuleOp, program: sched.ProgramOp, item: Operation) -> None:
        if item.parent is None or not isinstance(item, sched.ITEMS):
            return
        accesses = accesses_of(module)
        reads, writes = (dict.fromkeys(map(base_of, each)) for each in accessed_buffers(item, accesses))
        _forget_token(item)
        owners = [operand.owner for operand in item.operands if isinstance(operand, OpResult)]
        item.detach()
        item.erase()
        if self._keeps:
            read_now, written_now = _accessed(module, program)
            for buffer in _own(writes):
                if buffer in read_now and buffer not in written_now:
                    buffer.replace_all_uses_with(add_program_argument(program, buffer))
            kept = [buffer for buffer in _own(reads) if buffer in written_now and buffer not in read_now]
            set_program_results(program, [*return_of(program).buffers, *kept])
        erase_all([owner for owner in dict.fromkeys(owners) if is_dead(owner)])


def _own(buffers: Iterable[SSAValue]) -> list[SSAValue]:
    """Returns the buffers that are the program's own: no arguments, constants or nodes."""
    return [buffer for buffer in buffers if isinstance(buffer.owner, sched.BufferOp)]


def _accessed(module: ModuleOp, program: sched.ProgramOp) -> tuple[set[SSAValue], set[SSAValue]]:
    """Returns the buffers that a program reads, or returns, and those that it writes."""
    accesses = accesses_of(module)
    reads: set[SSAValue] = set(return_of(program).buffers)
    writes: set[SSAValue] = set()
    for item in all_items(program.body.block):
        if not isinstance(item, sched.ControlItem):
            some, others = accessed_buffers(item, accesses)
            reads.update(map(base_of, some))
            writes.update(map(base_of, others))
        else:
            reads.update(item.own_operands)
    return reads, writes


def _forget_token(item: Operation) -> None:
    """Lets nobody wait for an item any more."""
    for result in item.results:
        for use in list(result.uses):
            if use.index < len(use.operation.operands) and use.operation.operands[use.index] is result:
                remove_operands(use.operation, lambda operand, token=result: operand is token)


def remove_operands(op: Operation, is_gone: Callable[[SSAValue], bool]) -> None:
    """Removes operands of an op, and brings up to date how many it has of each kind."""
    gone = [number for number, operand in enumerate(op.operands) if is_gone(operand)]
    sizes = op.properties.get("operandSegmentSizes")
    if isinstance(sizes, DenseArrayBase):
        counts = [int(count) for count in sizes.get_values()]
        ends = [sum(counts[: number + 1]) for number in range(len(counts))]
        for number in gone:
            counts[next(kind for kind, end in enumerate(ends) if number < end)] -= 1
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, counts)
    op.operands = [operand for number, operand in enumerate(op.operands) if number not in gone]


class DropDependencies(Edits):
    """Lets the items of programs wait for nothing: the order of the text is what counts then."""

    name = "drop dependencies"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(program: sched.ProgramOp) -> None:
            for op in program.walk():
                if isinstance(op, (*sched.ITEMS, sched.ReturnOp)):
                    remove_operands(op, lambda operand: operand.type == sched.TOKEN)

        return [lambda program=program: drop(program) for program in _programs(module)]


class DropProgramResults(Edits):
    """Drops results of programs."""

    name = "drop results of programs"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(program: sched.ProgramOp, buffer: SSAValue) -> None:
            set_program_results(program, [each for each in return_of(program).buffers if each is not buffer])

        return [
            lambda program=program, buffer=buffer: drop(program, buffer)
            for program in _programs(module)
            for buffer in dict.fromkeys(reversed(return_of(program).buffers))
        ]


class DropProgramArguments(Edits):
    """Drops arguments of programs that nobody uses."""

    name = "drop arguments of programs"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda program=program, argument=argument: drop_program_argument(program, argument)
            for program in _programs(module)
            for argument in reversed(program.body.block.args)
            if not argument.uses
        ]


class MergeProgramArguments(Edits):
    """Uses one argument of a program in the place of others of its type."""

    name = "merge arguments of programs"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda program=program, argument=argument: self._merge(program, argument)
            for program in _programs(module)
            for argument in reversed(program.body.block.args)
        ]

    def _merge(self, program: sched.ProgramOp, argument: BlockArgument) -> None:
        types = program.function_type.inputs.data
        for other in program.body.block.args[: argument.index]:
            if types[other.index] == types[argument.index] and not {
                other.index,
                argument.index,
            } & set(program.donated):
                argument.replace_all_uses_with(other)
                drop_program_argument(program, argument)
                return
        raise NotApplicable("it is the first of its type")


class DropKernelArguments(Edits):
    """Drops arguments of kernels that their bodies do not use."""

    name = "drop arguments of kernels"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda kernel=kernel, argument=argument: self._drop(module, kernel, argument)
            for kernel in kernels_of(module).values()
            for argument in reversed(kernel.body.block.args[len(kernel.dims or ()) :])
            if not argument.uses
        ]

    def _drop(self, module: ModuleOp, kernel: sched.KernelOp | low.KernelOp, argument: BlockArgument) -> None:
        index, name = argument.index, kernel.sym_name.data
        kernel.body.block.erase_arg(argument)
        for op in module.walk():
            if isinstance(op, sched.LaunchOp) and op.kernel.root_reference.data == name:
                owner = op.operands[index].owner
                numbers = iter(range(len(op.operands)))
                remove_operands(op, lambda operand, numbers=numbers: next(numbers) == index)
                if isinstance(owner, Operation) and is_dead(owner):
                    erase_all([owner])


class BranchItems(Edits):
    """Puts the items of one region of a branch in its place."""

    name = "take a branch of programs"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def take(item: sched.IfOp, region: int) -> None:
            block = item.parent
            if block is None:
                return
            _forget_token(item)
            for inner in list(item.regions[region].block.ops):
                inner.detach()
                block.insert_op_before(inner, item)
            item.detach()
            item.erase()

        return [
            lambda op=op, region=region: take(op, region)
            for op in module.walk()
            if isinstance(op, sched.IfOp)
            for region in (0, 1)
        ]
