"""Reads a host program into its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, ModuleOp, f64, i1
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...backends.steps import (
    BranchStep,
    CopyStep,
    HostStep,
    JumpStep,
    LaunchStep,
    LoopStep,
    NextStep,
    PlaceStep,
    RowPlace,
    Step,
    SyncStep,
    buffers_of,
)
from ...dialects import graph, low, sched
from ...dialects.buffer_size import nbytes_bound, row_major_strides, size_of, strides_of
from ...dialects.dims.expressions import Extent, bounded, upper_bound
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.modules.dim_values import DimTable
from ...dialects.modules.entry import argument_names
from ...dialects.modules.hazards import Item, accessed_buffers, aliased_write, all_items, base_of, items_of
from ...dialects.modules.kernel_access import access_of, kernels_of
from ...dialects.modules.parsing import location_text
from ...errors import TenonError
from ...semantics.collectives import collective_of
from ..timeline.step_cost import StepCost
from .entry_state import nodes_of, symbols_of
from .host_calls import HostCall
from .program_plan import BufferKind, BufferPlan, ProgramPlan, SymbolIndex, VaryingSizes
from .signature import Signature, array_type


def plan_program(module: ModuleOp, program: sched.ProgramOp) -> ProgramPlan:
    """
    Returns what `program` does, a program of a module of `low` kernels. Launches that run nothing, and
    transfers of no bytes, are left out; what waits for them waits for what they wait for. Each item waits for
    the one before if none says what it waits for.

    Raises:
        TenonError: the program was not lowered this far, its memory is not planned, a launch does not fit
        its kernel, or it writes to an argument, a constant or the merge buffer.
    """
    return _Planner(module, program).plan()


class _Planner:
    def __init__(self, module: ModuleOp, program: sched.ProgramOp) -> None:
        self._module = module
        self._program = program
        self._name = program.sym_name.data
        self._kernels: Mapping[str, low.KernelOp] = {
            name: kernel for name, kernel in kernels_of(module).items() if isinstance(kernel, low.KernelOp)
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
        self._dims = graph.dims_of(module)
        self._table = DimTable.of(module, program)
        self._sizes: list[Extent] = []
        self._grids: dict[int, tuple[Extent, Extent, Extent]] = {}
        self._copied: dict[int, Extent] = {}
        self._taken: dict[int, tuple[str, ...]] = {}
        self._row_nbytes: dict[int, tuple[Extent, ...]] = {}
        self._lengths: dict[int, Extent] = {}
        self._host_calls: dict[HostCall, int] = {}
        self._is_ordered = any(item.after for item in all_items(program.body.block))

    def plan(self) -> ProgramPlan:
        program = self._program
        last = program.body.block.last_op
        assert isinstance(last, sched.ReturnOp), f"@{self._name} ends in no sched.return"
        results: dict[SSAValue, int] = {}
        for number, buffer in enumerate(last.buffers):
            results.setdefault(buffer, number)
        # Static symbols are arguments of the program too, but they are numbers and have no buffer.
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
                case sched.DimOp():
                    self._check_dim(op)
                case sched.RowOp():
                    self._add_row(op)
                case _ if isinstance(op, sched.ITEMS):
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
            self._varying(),
            tuple(self._buffers[self._numbers[program.body.block.args[n]]].number for n in program.donated),
            tuple(self._host_calls),
        )

    def _varying(self) -> VaryingSizes | None:
        if self._table is None:
            return None
        return VaryingSizes(
            self._table,
            tuple(self._sizes),
            self._grids,
            self._copied,
            self._taken,
            self._row_nbytes,
            self._lengths,
        )

    def _check_dim(self, op: sched.DimOp) -> None:
        if self._table is None or op.dim_name not in self._table.names:
            raise TenonError(f"{op.name}: no argument of @{self._name} tells the value of dim @{op.dim_name}")

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
        nbytes, name = nbytes_bound(buffer.type, self._dims), buffer.name_hint or ""
        self._sizes.append(_size_nbytes(buffer.type))
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
        n_before = len(self._steps)
        match op:
            case sched.LaunchOp():
                step = self._launch(op, after)
                if step is not None:
                    self._add_step(step, _cost_of(op))
            case sched.TransferOp():
                self._check_target(op.target, op.name)
                if nbytes := nbytes_bound(op.source.type, self._dims):
                    source, target = self._numbers[op.source], self._numbers[op.target]
                    self._copied[len(self._steps)] = _size_nbytes(op.source.type)
                    self._add_step(CopyStep(source, target, nbytes, after), _cost_of(op))
            case sched.SyncOp():
                self._add_step(SyncStep(), None)
            case sched.HostItem():
                self._add_host_call(op, after)
            case sched.ForOp():
                self._add_for(op)
            case sched.WhileOp():
                self._add_while(op)
            case sched.IfOp():
                self._add_if(op)
            case _:
                raise TenonError(f"{op.name}: cannot run in @{self._name} (control flow of an unknown kind)")
        # An item of no steps, as a copy of no bytes, is done when what it waits for is done.
        n_steps = len(self._steps)
        self._done[op.token] = frozenset((n_steps - 1,) if n_steps > n_before else after)

    def _add_step(self, step: Step, cost: StepCost | None) -> None:
        self._steps.append(step)
        self._costs.append(cost)

    def _add_host_call(self, op: sched.HostItem, after: tuple[int, ...]) -> None:
        for target in op.targets:
            self._check_target(target, op.name)
        type = op.function_type
        call = HostCall(
            op.callee.data if isinstance(op, sched.CallbackOp) else None,
            op.format.data if isinstance(op, sched.PrintOp) else None,
            tuple(array_type(tensor, op.name) for tensor in type.inputs),
            tuple(array_type(tensor, op.name) for tensor in type.outputs),
            collective_of(op) if isinstance(op, sched.CollectiveOp | sched.AwaitOp) else None,
            isinstance(op, sched.AwaitOp),
            op.elements.data if isinstance(op, sched.RearrangeOp) else None,
        )
        number = self._host_calls.setdefault(call, len(self._host_calls))
        reads, writes = (
            tuple(self._numbers[buffer] for buffer in buffers) for buffers in (op.arguments, op.targets)
        )
        takes = call.collective is None or (call.collective.gives and not call.awaits)
        fills = call.collective is None or call.awaits
        step = HostStep(str(call), number, reads, writes, after, takes=takes, fills=fills)
        self._add_step(step, None)

    def _add_items(self, block: Block) -> None:
        """Adds the items of a region, and the rows that stand there."""
        for op in block.ops:
            if isinstance(op, sched.RowOp):
                self._add_row(op)
            else:
                assert isinstance(op, sched.ITEMS), f"{op.name}: stands in a region of @{self._name}"
                self._add_item(op)

    def _add_row(self, op: sched.RowOp) -> None:
        """Adds a row that is used, and where it lies unless a loop says so."""
        if op.result.first_use is None:
            return
        source, number = self._numbers[op.source], len(self._buffers)
        self._numbers[op.result] = number
        self._sizes.append(0)
        self._buffers.append(BufferPlan(BufferKind.ROW, 0, number=source, name=op.result.name_hint or ""))
        if op.number is None:
            return
        offset = op.number * _row_nbytes(op.source.type)
        place = RowPlace(number, source, self._most(offset))
        before, last = op.prev_op, self._steps[-1] if self._steps else None
        is_placed = isinstance(before, sched.RowOp) and before.number is not None
        if is_placed and isinstance(last, PlaceStep) and last.rows[-1].row == number - 1:
            at = len(self._steps) - 1
            self._steps[at] = PlaceStep((*last.rows, place))
            self._row_nbytes[at] = (*self._row_nbytes[at], offset)
        else:
            self._row_nbytes[len(self._steps)] = (offset,)
            self._add_step(PlaceStep((place,)), None)

    def _add_for(self, op: sched.ForOp) -> None:
        if op.counter is not None:
            self._check_target(op.counter, op.name)
        if op.trip_count == 0:
            return
        begin = len(self._steps)
        self._add_step(SyncStep(), None)
        self._add_items(op.body.block)
        if len(self._steps) == begin + 1:
            del self._steps[begin:], self._costs[begin:]
            return
        placed = [
            row
            for row in op.body.block.ops
            if isinstance(row, sched.RowOp) and row.number is None and row.result in self._numbers
        ]
        strides = tuple(_row_nbytes(row.source.type) for row in placed)
        self._row_nbytes[begin] = strides
        rows = [
            RowPlace(self._numbers[row.result], self._numbers[row.source], self._most(stride))
            for row, stride in zip(placed, strides, strict=True)
        ]
        counter = None if op.counter is None else self._numbers[op.counter]
        self._lengths[begin] = op.trip_count
        most = self._most(op.trip_count)
        self._steps[begin] = LoopStep(most, len(self._steps), op.is_reverse, counter, tuple(rows))
        self._add_step(NextStep(begin), None)

    def _add_while(self, op: sched.WhileOp) -> None:
        begin = len(self._steps)
        self._add_items(op.before.block)
        branch = len(self._steps)
        self._add_step(SyncStep(), None)
        self._add_items(op.body.block)
        self._add_step(JumpStep(begin), None)
        self._steps[branch] = BranchStep(self._numbers[op.condition], len(self._steps))

    def _add_if(self, op: sched.IfOp) -> None:
        branch = len(self._steps)
        self._add_step(SyncStep(), None)
        self._add_items(op.then_region.block)
        end = len(self._steps)
        self._add_step(SyncStep(), None)
        self._add_items(op.else_region.block)
        if len(self._steps) == end + 1:
            del self._steps[end:], self._costs[end:]
            if end == branch + 1:
                del self._steps[branch:], self._costs[branch:]
                return
            otherwise = end
        else:
            self._steps[end] = JumpStep(len(self._steps))
            otherwise = end + 1
        self._steps[branch] = BranchStep(self._numbers[op.condition], otherwise)

    def _after(self, op: Item) -> tuple[int, ...]:
        if not self._is_ordered:
            return (len(self._steps) - 1,) if self._steps else ()
        return tuple(sorted({step for token in op.after for step in self._done[token]}))

    def _launch(self, op: sched.LaunchOp, after: tuple[int, ...]) -> LaunchStep | None:
        name = op.kernel.root_reference.data
        kernel = self._kernels.get(name)
        if kernel is None:
            raise TenonError(f"{op.name}: @{name} is no low.kernel (hint: run convert-sched-to-low)")
        access = self._accesses[name]
        if (misfit := op.misfit(kernel)) is not None:
            raise TenonError(misfit, location=location_text(op.location))
        for index in access.writes:
            self._check_target(op.arguments[index], f"{op.name}: @{name}")
        if (wrong := aliased_write(op, access)) is not None:
            raise TenonError(wrong, location=location_text(op.location))
        x, y, z = kernel.grid.data
        if 0 in (x, y, z):
            return None
        n_dims = len(kernel.sizes)
        self._grids[len(self._steps)] = (x, y, z)
        self._taken[len(self._steps)] = tuple(self._taken_dim(op, size) for size in op.arguments[:n_dims])
        return LaunchStep(
            name,
            (self._most(x), self._most(y), self._most(z)),
            kernel.block_extents,
            tuple(self._numbers[argument] for argument in op.arguments[n_dims:]),
            after,
            0 if op.analysis is None else op.analysis.estimated_ns.data,
            reads=tuple(self._numbers[op.arguments[index]] for index in sorted(access.reads)),
            writes=tuple(self._numbers[op.arguments[index]] for index in sorted(access.writes)),
        )

    def _most(self, extent: Extent) -> int:
        return upper_bound(bounded(extent, self._dims))

    def _taken_dim(self, op: sched.LaunchOp, size: SSAValue) -> str:
        """Returns the dim whose value a launch hands to its kernel."""
        if not isinstance(size.owner, sched.DimOp):
            raise TenonError(f"{op.name}: {_label(size)} of @{self._name} is not the value of a dim")
        return size.owner.dim_name

    def _check_target(self, buffer: SSAValue, who: str) -> None:
        base = base_of(buffer)
        kind = self._buffers[self._numbers[base]].kind
        if isinstance(base, BlockArgument) and base.index in self._program.donated:
            return
        if kind in (BufferKind.ARGUMENT, BufferKind.CONSTANT, BufferKind.MERGE):
            raise TenonError(f"{who}: writes to {kind.value} {_label(buffer)} of @{self._name}")

    def _with_lifetimes(self, returned: Sequence[int]) -> tuple[BufferPlan, ...]:
        lifetimes: dict[int, tuple[int, int]] = {}
        for index, used in enumerate((*map(buffers_of, self._steps), returned)):
            for number in map(self._place_of, used):
                lifetimes[number] = (lifetimes.get(number, (index, index))[0], index)
        loops = _loops(self._steps)
        return tuple(
            replace(buffer, lifetime=_around_loops(lifetimes[number], loops))
            if number in lifetimes
            else buffer
            for number, buffer in enumerate(self._buffers)
        )

    def _place_of(self, number: int) -> int:
        """Returns the buffer that a row lies in, any other buffer itself."""
        while self._buffers[number].kind is BufferKind.ROW:
            number = self._buffers[number].number
        return number

    def _accessed_nodes(self, last: sched.ReturnOp) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Returns the nodes that are read before they are written as a whole, and those that are written."""
        reads: dict[str, None] = {}
        writes: dict[str, None] = {}
        whole: set[str] = set()
        items = items_of(self._program)
        accesses = [
            (*accessed_buffers(op, self._accesses), isinstance(op, sched.ControlItem)) for op in items
        ]
        for read, written, is_conditional in (*accesses, (last.buffers, (), False)):
            for node, _ in self._node_buffers(read):
                if node.node not in whole:
                    reads[node.node] = None
            for node, is_row in self._node_buffers(written):
                writes[node.node] = None
                if is_row and node.node not in whole:
                    # The other rows stay.
                    reads[node.node] = None
                if not node.indices and not is_row and not is_conditional:
                    whole.add(node.node)
        return tuple(reads), tuple(writes)

    def _node_buffers(self, buffers: Sequence[SSAValue]) -> Iterator[tuple[BufferPlan, bool]]:
        """Yields those of nodes, each with whether it is a row only."""
        for buffer in buffers:
            base = base_of(buffer)
            plan = self._buffers[self._numbers[base]]
            if plan.kind is BufferKind.NODE:
                yield plan, base is not buffer

    def _constant_bytes(self) -> npt.NDArray[np.uint8]:
        end = max((offset + data.nbytes for offset, data in self._constants), default=0)
        memory = np.zeros(end, np.uint8)
        for offset, data in self._constants:
            memory[offset : offset + data.nbytes] = data
        return memory


def _loops(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Returns the first and the last step of each loop, inner ones first."""
    loops: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        match step:
            case NextStep():
                loops.append((step.begin, number))
            case JumpStep() if step.target <= number:
                loops.append((step.target, number))
            case _:
                pass
    return loops


def _around_loops(lifetime: tuple[int, int], loops: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Returns a lifetime with all of the loops that it begins or ends in the middle of."""
    first, last = lifetime
    for begin, end in loops:
        if first < begin <= last < end:
            last = end
        elif begin < first <= end < last:
            first = begin
    return first, last


def _size_nbytes(type: Attribute) -> Extent:
    """Returns the bytes of a buffer, made of dims where they vary."""
    return size_of(type) * NBYTES[element_type_of(type)]


def _row_nbytes(type: Attribute) -> Extent:
    """Returns the bytes from one element of a buffer along its first axis to the next."""
    return strides_of(type)[0] * NBYTES[element_type_of(type)]


def _cost_of(op: sched.LaunchOp | sched.TransferOp) -> StepCost | None:
    if op.analysis is None:
        return None
    is_double = any(element_type_of(operand.type) == f64 for operand in op.operands)
    return StepCost(
        op.analysis.flops.data,
        op.analysis.read_nbytes.data,
        op.analysis.written_nbytes.data,
        "f64" if is_double else "f32",
    )


def _stored_bytes(op: sched.ConstantOp) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a constant as kernels see them; xDSL keeps a true as the byte 0xff."""
    data: npt.NDArray[np.uint8] = np.frombuffer(op.value.data.data, np.uint8)
    return (data != 0).view(np.uint8) if op.value.get_element_type() == i1 else data


def _label(buffer: SSAValue) -> str:
    return f"'{buffer.name_hint}'" if buffer.name_hint else "a buffer without a name"
