"""Reads a host program into its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, ModuleOp, i1
from xdsl.ir import SSAValue

from ..backends.interface import CopyStep, LaunchStep, Step, SyncStep
from ..dialects import graph, low, sched
from ..dialects.buffer_size import nbytes_of, row_major_strides
from ..dialects.element_types import NBYTES
from ..dialects.entry import argument_names
from ..dialects.hazards import Item, accessed_buffers, items_of
from ..dialects.kernel_access import access_of
from ..errors import TenonError
from .entry_state import nodes_of, symbols_of
from .program_plan import BufferKind, BufferPlan, ProgramPlan, SymbolIndex
from .signature import Signature
from .step_cost import StepCost


def plan_program(module: ModuleOp, program: sched.ProgramOp) -> ProgramPlan:
    """
    Returns what `program` does, a program of a module of `low` kernels. Launches that run nothing, and
    transfers of no bytes, are left out; what waits for them waits for what they wait for. Where no item says
    what it waits for, each waits for the one before.

    Raises:
        TenonError: the program was not lowered this far, its memory is not planned, or it writes to an
        argument, a constant or the merge buffer.
    """
    return _Planner(module, program).plan()


class _Planner:
    def __init__(self, module: ModuleOp, program: sched.ProgramOp) -> None:
        self._module = module
        self._program = program
        self._name = program.sym_name.data
        self._kernels: Mapping[str, low.KernelOp] = {
            op.sym_name.data: op for op in module.body.ops if isinstance(op, low.KernelOp)
        }
        self._accesses = {name: access_of(kernel) for name, kernel in self._kernels.items()}
        self._argument_names = dict(zip(program.body.block.args, argument_names(program), strict=True))
        self._buffers: list[BufferPlan] = []
        self._numbers: dict[SSAValue, int] = {}
        self._node_numbers: dict[tuple[str, tuple[SSAValue, ...]], int] = {}
        self._constants: list[tuple[int, npt.NDArray[np.uint8]]] = []
        self._steps: list[Step] = []
        self._costs: list[StepCost | None] = []
        self._done: dict[SSAValue, frozenset[int]] = {}
        self._is_ordered = any(item.after for item in items_of(program))

    def plan(self) -> ProgramPlan:
        program = self._program
        last = program.body.block.last_op
        assert isinstance(last, sched.ReturnOp), f"@{self._name} ends in no sched.return"
        results: dict[SSAValue, int] = {}
        for number, buffer in enumerate(last.buffers):
            results.setdefault(buffer, number)
        n_arrays = 0
        for argument in self._argument_names:
            if not isinstance(argument.type, IndexType):
                self._add(argument, BufferKind.ARGUMENT, number=n_arrays)
                n_arrays += 1
        for op in program.body.block.ops:
            match op:
                case sched.BufferOp():
                    self._add_buffer(op, results)
                case sched.ConstantOp():
                    self._add_constant(op)
                case sched.NodeOp():
                    self._add_node(op)
                case sched.MergeBufferOp():
                    self._add(op.result, BufferKind.MERGE, node=op.node_name)
                case sched.LaunchOp() | sched.TransferOp() | sched.SyncOp():
                    self._add_item(op)
                case _:
                    pass
        temporaries = (b.offset + b.nbytes for b in self._buffers if b.kind is BufferKind.TEMPORARY)
        returned = tuple(self._numbers[buffer] for buffer in last.buffers)
        reads, writes = self._accessed_nodes(last)
        merged = [buffer.node for buffer in self._buffers if buffer.kind is BufferKind.MERGE]
        return ProgramPlan(
            Signature.of(self._name, argument_names(program), program.function_type),
            self._with_lifetimes(returned),
            tuple(self._steps),
            returned,
            self._constant_bytes(),
            max(temporaries, default=0),
            nodes_of(self._module, program),
            reads,
            writes,
            merged[0] if merged else None,
            symbols_of(program),
            tuple(self._costs),
        )

    def _add(
        self,
        buffer: SSAValue,
        kind: BufferKind,
        offset: int = 0,
        number: int = 0,
        node: str = "",
        indices: tuple[SymbolIndex, ...] = (),
    ) -> None:
        self._numbers[buffer] = len(self._buffers)
        nbytes, name = nbytes_of(buffer.type), buffer.name_hint or ""
        self._buffers.append(BufferPlan(kind, nbytes, offset, number, node, indices, name))

    def _add_buffer(self, op: sched.BufferOp, results: Mapping[SSAValue, int]) -> None:
        if op.result.first_use is None:
            return
        if op.role.data is sched.Role.RESULT:
            if op.result not in results:
                raise TenonError(f"{op.name}: result {_label(op.result)} of @{self._name} is not returned")
            self._add(op.result, BufferKind.RESULT, number=results[op.result])
        elif op.slab is None:
            raise TenonError(
                f"{op.name}: {_label(op.result)} of @{self._name} has no slab (hint: run plan-memory)"
            )
        else:
            self._add(op.result, BufferKind.TEMPORARY, offset=op.slab.offset.data)

    def _add_constant(self, op: sched.ConstantOp) -> None:
        if op.slab is None:
            raise TenonError(
                f"{op.name}: {_label(op.result)} of @{self._name} has no slab (hint: run plan-memory)"
            )
        self._constants.append((op.slab.offset.data, _stored_bytes(op)))
        self._add(op.result, BufferKind.CONSTANT, offset=op.slab.offset.data)

    def _add_node(self, op: sched.NodeOp) -> None:
        """Adds the buffer of a node, or finds the one that is there for the same indices."""
        if op.result.first_use is None:
            return
        key = (op.node_name, tuple(op.indices))
        known = self._node_numbers.get(key)
        if known is not None:
            self._numbers[op.result] = known
            return
        declaration = graph.find_node(op, op.node_name)
        assert declaration is not None, f"{op.name}: node @{op.node_name} is not declared"
        type = declaration.tensor_type
        shape, nbytes = type.get_shape(), NBYTES[type.element_type]
        indices = tuple(
            SymbolIndex(self._argument_names[symbol], stride * nbytes, extent)
            for symbol, extent, stride in zip(op.symbols, shape, row_major_strides(shape), strict=False)
        )
        self._node_numbers[key] = len(self._buffers)
        self._add(op.result, BufferKind.NODE, node=op.node_name, indices=indices)

    def _add_item(self, op: Item) -> None:
        after = self._after(op)
        step: Step | None = None
        match op:
            case sched.LaunchOp():
                step = self._launch(op, after)
            case sched.TransferOp():
                self._check_target(op.target, op.name)
                if nbytes := nbytes_of(op.source.type):
                    source, target = self._numbers[op.source], self._numbers[op.target]
                    step = CopyStep(source, target, nbytes, after)
            case sched.SyncOp():
                step = SyncStep()
        if step is None:
            self._done[op.token] = frozenset(after)
        else:
            self._done[op.token] = frozenset((len(self._steps),))
            self._steps.append(step)
            self._costs.append(None if isinstance(op, sched.SyncOp) else _cost_of(op))

    def _after(self, op: Item) -> tuple[int, ...]:
        if not self._is_ordered:
            return (len(self._steps) - 1,) if self._steps else ()
        return tuple(sorted({step for token in op.after for step in self._done[token]}))

    def _launch(self, op: sched.LaunchOp, after: tuple[int, ...]) -> LaunchStep | None:
        name = op.kernel.root_reference.data
        kernel = self._kernels.get(name)
        if kernel is None:
            raise TenonError(f"{op.name}: @{name} is no low.kernel (hint: run convert-sched-to-low)")
        for index in self._accesses[name].writes:
            self._check_target(op.arguments[index], f"{op.name}: @{name}")
        grid, block = kernel.grid.data, kernel.block_dims.data
        if 0 in grid:
            return None
        return LaunchStep(
            name,
            (grid[0], grid[1], grid[2]),
            (block[0], block[1], block[2]),
            tuple(self._numbers[argument] for argument in op.arguments),
            after,
            0 if op.analysis is None else op.analysis.estimated_ns.data,
        )

    def _check_target(self, buffer: SSAValue, who: str) -> None:
        kind = self._buffers[self._numbers[buffer]].kind
        if kind in (BufferKind.ARGUMENT, BufferKind.CONSTANT, BufferKind.MERGE):
            raise TenonError(f"{who}: writes to {kind.value} {_label(buffer)} of @{self._name}")

    def _with_lifetimes(self, returned: Sequence[int]) -> tuple[BufferPlan, ...]:
        lifetimes: dict[int, tuple[int, int]] = {}
        for index, used in enumerate((*map(_buffers_of, self._steps), returned)):
            for number in used:
                lifetimes[number] = (lifetimes.get(number, (index, index))[0], index)
        return tuple(
            replace(buffer, lifetime=lifetimes[number]) if number in lifetimes else buffer
            for number, buffer in enumerate(self._buffers)
        )

    def _accessed_nodes(self, last: sched.ReturnOp) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the nodes that are read before they are written as a whole, and those that are written."""
        reads: dict[str, None] = {}
        writes: dict[str, None] = {}
        whole: set[str] = set()
        accesses = [accessed_buffers(item, self._accesses) for item in items_of(self._program)]
        for read, written in (*accesses, (last.buffers, ())):
            for node in self._node_buffers(read):
                if node.node not in whole:
                    reads[node.node] = None
            for node in self._node_buffers(written):
                writes[node.node] = None
                if not node.indices:
                    whole.add(node.node)
        return tuple(reads), tuple(writes)

    def _node_buffers(self, buffers: Sequence[SSAValue]) -> Iterator[BufferPlan]:
        for buffer in buffers:
            plan = self._buffers[self._numbers[buffer]]
            if plan.kind is BufferKind.NODE:
                yield plan

    def _constant_bytes(self) -> npt.NDArray[np.uint8]:
        end = max((offset + data.nbytes for offset, data in self._constants), default=0)
        memory = np.zeros(end, np.uint8)
        for offset, data in self._constants:
            memory[offset : offset + data.nbytes] = data
        return memory


def _buffers_of(step: Step) -> tuple[int, ...]:
    """Returns the numbers of the buffers that a step uses."""
    match step:
        case LaunchStep():
            return step.buffers
        case CopyStep():
            return (step.source, step.target)
        case SyncStep():
            return ()


def _cost_of(op: sched.LaunchOp | sched.TransferOp) -> StepCost | None:
    if op.analysis is None:
        return None
    return StepCost(op.analysis.flops.data, op.analysis.read_nbytes.data, op.analysis.written_nbytes.data)


def _stored_bytes(op: sched.ConstantOp) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a constant as kernels see them; xDSL keeps a true as the byte 0xff."""
    data: npt.NDArray[np.uint8] = np.frombuffer(op.value.data.data, np.uint8)
    return (data != 0).view(np.uint8) if op.value.get_element_type() == i1 else data


def _label(buffer: SSAValue) -> str:
    return f"'{buffer.name_hint}'" if buffer.name_hint else "a buffer without a name"
