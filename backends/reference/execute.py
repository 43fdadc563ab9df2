"""
Runs a function of a module in numpy, whatever level the module is at.

A host program runs its items in the order of the text. Buffers share memory as the plan says, if there is
one. A hazard that the dependencies of items leave open is an error, if items have any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from ...dialects import low, sched
from ...dialects.buffer_size import (
    extents_of,
    nbytes_bound,
    row_major_strides,
    size_of,
    span_of,
    strides_of,
)
from ...dialects.dims.expressions import evaluated
from ...dialects.graph import dims_of
from ...dialects.modules.dim_specialization import specialize
from ...dialects.modules.dim_values import DimTable
from ...dialects.modules.entry import find_entry
from ...dialects.modules.hazards import Item, accessed_buffers, aliased_write, all_items, base_of
from ...dialects.modules.kernel_access import KernelAccess, accesses_of, kernels_of
from ...dialects.modules.parsing import location_text
from ...errors import TenonError
from ...semantics.collectives import collective_of
from ...semantics.errors import InterpreterError, describe
from ...semantics.host_calls import HostFunctions, call_function, function_called, print_values
from ...semantics.numpy_types import array_of, dtype_of, storage_dtype, strided_view
from ...semantics.rearrangements import rearrange
from ...semantics.world import Request, World, check_world, joined
from .dependency_check import check_dependencies
from .element_watch import element_watch
from .graph import run_graph
from .kernels import low as low_interpreter
from .kernels import sched as sched_interpreter
from .kernels.undefined_memory import as_undefined
from .node_memory import NodeMemory, all_arguments, place_of

Array = npt.NDArray[Any]


def run_module(
    module: ModuleOp,
    name: str | None,
    inputs: Sequence[Array],
    nodes: dict[str, Array] | None = None,
    merge: Array | None = None,
    symbols: Mapping[str, int] | None = None,
    callbacks: HostFunctions | None = None,
    world: World | None = None,
) -> list[Array]:
    """
    Returns what the function or program `@name` (for None: the only one) gives for `inputs`, which fit its
    type.

    `nodes` are the contents of tensor nodes, which the run changes in place; a node that is not there is
    added with its initial value. `merge` is what the merge buffer holds. `symbols` are the values of the
    static symbols, which are the arguments of type `index`, by name; `callbacks` are the functions that the
    program may call, `world` is where it meets the other ranks.

    Raises:
        CallError: an array or a symbol is missing or does not fit, or a callback gives what does not fit.
        RankError: a collective without a world, or in which the ranks do not meet.
        TenonError: a callback has no function, there is no such function, a program's dependencies leave a
            hazard open, an index of a node is out of bounds, a launch does not fit its kernel, or what
            nothing was written to is read.
    """
    entry = find_entry(module, name)
    table = DimTable.of(module, entry)
    dims = {} if table is None else table.solve([array.shape for array in inputs])
    if dims and isinstance(entry, func.FuncOp):
        module = module.clone()
        specialize(module, dims)
        entry = find_entry(module, name)
    memory = NodeMemory(module, {} if nodes is None else nodes, merge)
    arguments = all_arguments(entry, inputs, symbols)
    if isinstance(entry, func.FuncOp):
        return list(run_graph(module, entry.sym_name.data, arguments, memory, callbacks, world))
    return _Program(module, entry, memory, dims, callbacks or {}, world).run(arguments)


class _Program:
    """
    One run of a host program. `_buffers` are rows of stored elements, `_memory` the bytes of the planned
    temporaries.
    """

    def __init__(
        self,
        module: ModuleOp,
        program: sched.ProgramOp,
        node_memory: NodeMemory,
        dims: Mapping[str, int],
        callbacks: HostFunctions,
        world: World | None,
    ) -> None:
        self._module = module
        self._world = world
        self._callbacks = callbacks
        self._dims = dims
        """The values of the named dims in this run."""
        self._nodes = node_memory
        self._watch = element_watch()
        self._stored_nodes: dict[str, Array] = {}
        self._program = program
        self._kernels = kernels_of(module)
        self._buffers: dict[SSAValue, Array] = {}
        self._indices: dict[SSAValue, int] = {}
        self._begun: dict[int, tuple[Request, Array]] = {}
        """What has begun and is not awaited, by channels."""
        self._memory = as_undefined(np.full(_planned_nbytes(module, program), 0xFF, np.uint8))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        program = self._program
        for argument, array in zip(program.body.block.args, inputs, strict=True):
            if isinstance(argument.type, IndexType):
                self._buffers[argument] = array
                continue
            row = _read_only_row(array, argument.type)
            # A program may store over a donated argument, but the row is a view of the caller's array.
            self._buffers[argument] = row.copy() if argument.index in program.donated else row
        # These checks hold for all inputs: a wrong program is an error whatever values reach its items.
        self._check_launches()
        accesses = accesses_of(self._module)
        check_dependencies(program, accesses)
        self._check_targets(accesses)
        for op in program.body.block.ops:
            self._let_watch()
            match op:
                case sched.NodeOp():
                    self._buffers[op.result] = self._node(op)
                case sched.MergeBufferOp():
                    merged = self._nodes.merged(op.node_name, describe(op))
                    self._buffers[op.result] = _read_only_row(merged, op.result.type)
                case sched.BufferOp():
                    self._buffers[op.result] = self._allocate(op)
                case sched.ConstantOp():
                    self._buffers[op.result] = _constant(op)
                case sched.DimOp():
                    self._buffers[op.result] = np.array(self._dim(op), np.int64)
                case sched.RowOp():
                    self._place_row(op)
                case sched.ReturnOp():
                    # Nodes change at the end only: a run that fails leaves them as they were.
                    for name, stored in self._stored_nodes.items():
                        contents = self._nodes.contents(name)
                        contents[...] = stored.view(contents.dtype).reshape(contents.shape)
                    return [
                        _logical(self._view(self._buffers[buffer], buffer.type), type)
                        for buffer, type in zip(op.buffers, program.function_type.outputs, strict=True)
                    ]
                case _ if isinstance(op, sched.ITEMS):
                    self._run_item(op, accesses)
                case _:
                    raise TenonError(f"reference: cannot run {op.name} in a program")
        raise AssertionError(f"@{program.sym_name.data} ends in no sched.return")

    def _let_watch(self) -> None:
        """Tells who watches an element where it lies, as soon as there is memory for it."""
        if self._watch is None:
            return
        result = self._watch.result
        if isinstance(result, str):
            if (stored := self._stored_nodes.get(result)) is not None:
                contents = self._nodes.contents(result)
                self._watch.begin(stored.view(contents.dtype).reshape(contents.shape))
            return
        end = self._program.body.block.last_op
        assert isinstance(end, sched.ReturnOp), f"@{self._program.sym_name.data} ends in no sched.return"
        buffer = end.buffers[result]
        if buffer in self._buffers:
            self._watch.begin(self._view(self._buffers[buffer], buffer.type))

    def _run_item(self, op: Item, accesses: Mapping[str, KernelAccess]) -> None:
        # A control item is not checked as a whole: its items are, one by one, as far as they run.
        if not isinstance(op, sched.ControlItem):
            self._note_accesses(op, accesses)
        match op:
            case sched.LaunchOp():
                self._launch(op)
            case sched.TransferOp():
                np.copyto(self._buffers[op.target], self._buffers[op.source], casting="no")
                if self._watch is not None and self._watch.has_changed():
                    self._watch.origin = [describe(op)]
            case sched.SyncOp():
                pass
            case sched.CallbackOp():
                self._call_back(op)
            case sched.RearrangeOp():
                source, target = (self._buffers[each] for each in (*op.arguments, *op.targets))
                rearrange(source, target, op.elements.data)
            case sched.PrintOp():
                print_values(op.format.data, self._given_to(op))
            case sched.CollectiveOp():
                self._begin(op)
            case sched.AwaitOp():
                self._await(op)
            case sched.ForOp():
                count = evaluated(op.trip_count, self._dims)
                for index in reversed(range(count)) if op.is_reverse else range(count):
                    if op.counter is not None:
                        self._buffers[op.counter][...] = index
                    self._indices[op.index] = index
                    self._run_block(op.body.block, accesses)
            case sched.WhileOp():
                self._run_block(op.before.block, accesses)
                while self._buffers[op.condition][0]:
                    self._run_block(op.body.block, accesses)
                    self._run_block(op.before.block, accesses)
            case sched.IfOp():
                holds = self._buffers[op.condition][0]
                self._run_block((op.then_region if holds else op.else_region).block, accesses)
            case _:
                raise TenonError(f"reference: cannot run {op.name} in a program")

    def _given_to(self, op: sched.HostItem) -> list[Array]:
        """Returns what the buffers that the host is given hold."""
        return [
            _logical(self._view(self._buffers[buffer], buffer.type), type)
            for buffer, type in zip(op.arguments, op.function_type.inputs, strict=True)
        ]

    def _call_back(self, op: sched.CallbackOp) -> None:
        name = op.callee.data
        function = function_called(name, self._callbacks, describe(op))
        types = [
            (dtype_of(type), [evaluated(extent, self._dims) for extent in extents_of(buffer.type)])
            for buffer, type in zip(op.targets, op.function_type.outputs, strict=True)
        ]
        results = call_function(f"{describe(op)}: callback @{name}", function, self._given_to(op), types)
        for buffer, result in zip(op.targets, results, strict=True):
            stored = self._buffers[buffer]
            stored[...] = np.ascontiguousarray(result).reshape(-1).view(stored.dtype)

    def _begin(self, op: sched.CollectiveOp) -> None:
        collective = collective_of(op)
        check_world([collective], self._world)
        assert self._world is not None, "a program without a world has no collectives"
        operands = self._given_to(op)
        results = [
            np.empty([evaluated(extent, self._dims) for extent in extents_of(target.type)], dtype_of(type))
            for target, type in zip(op.targets, op.function_type.outputs, strict=True)
        ]
        if len(operands) > 1:
            operand, result = joined(operands), joined(results)
        else:
            (operand,), (result,) = operands, results
        request = self._world.begin(collective, operand, result)
        self._begun[collective.channel] = request, result
        # Nothing may read what is on its way.
        for target in op.targets:
            self._buffers[target].view(np.uint8)[...] = 0xFF

    def _await(self, op: sched.AwaitOp) -> None:
        found = self._begun.pop(op.channel.data, None)
        if found is None:
            raise InterpreterError(f"{describe(op)}: nothing has begun on channel {op.channel.data}")
        request, result = found
        request.wait()
        rows, start = result.reshape(-1), 0
        for target in op.targets:
            stored = self._buffers[target]
            stored[...] = rows[start : start + stored.size].view(stored.dtype)
            start += stored.size

    def _run_block(self, block: Block, accesses: Mapping[str, KernelAccess]) -> None:
        for op in block.ops:
            if isinstance(op, sched.RowOp):
                self._place_row(op)
            else:
                assert isinstance(op, sched.ITEMS), f"{op.name}: stands in a region of a program"
                self._run_item(op, accesses)

    def _place_row(self, op: sched.RowOp) -> None:
        index = op.number if op.index is None else self._indices[op.index]
        assert index is not None, f"{op.name}: it has no index"
        start = index * evaluated(strides_of(op.source.type)[0], self._dims)
        size = evaluated(size_of(op.result.type), self._dims)
        self._buffers[op.result] = self._buffers[op.source][start : start + size]

    def _node(self, op: sched.NodeOp) -> Array:
        """Returns the part of a node that `op` names, as a row of a copy of the node."""
        name = op.node_name
        contents = self._nodes.contents(name)
        whole = self._stored_nodes.get(name)
        if whole is None:
            row = np.array(contents, order="C").reshape(-1)
            whole = self._stored_nodes[name] = row.view(storage_dtype(op.result.type))
        indices = [self._buffers[index] for index in op.indices]
        place = place_of(indices, contents.shape, name, describe(op))
        strides = row_major_strides(contents.shape)
        start = sum(index * stride for index, stride in zip(place, strides, strict=False))
        return whole[start : start + span_of(op.result.type)]

    def _note_accesses(self, op: Item, accesses: Mapping[str, KernelAccess]) -> None:
        """Raises InterpreterError where an item reads a node that nothing was written to."""
        reads, writes = accessed_buffers(op, accesses)
        for buffer in map(base_of, reads):
            if isinstance(buffer.owner, sched.NodeOp):
                self._nodes.check_filled(buffer.owner.node_name, describe(op))
        for buffer in map(base_of, writes):
            if isinstance(buffer.owner, sched.NodeOp):
                self._nodes.note_write(buffer.owner.node_name)

    def _check_launches(self) -> None:
        """Raises TenonError where a launch does not fit its kernel."""
        for op in all_items(self._program.body.block):
            if isinstance(op, sched.LaunchOp):
                name = op.kernel.root_reference.data
                kernel = self._kernels.get(name)
                misfit = f"{op.name}: there is no kernel @{name}" if kernel is None else op.misfit(kernel)
                if misfit is not None:
                    raise TenonError(misfit, location=location_text(op.location))

    def _check_targets(self, accesses: Mapping[str, KernelAccess]) -> None:
        """
        Raises TenonError where the program writes to an argument, a constant, the merge buffer, or a buffer
        that a kernel is given twice.
        """
        for op in all_items(self._program.body.block):
            targets: list[SSAValue] = []
            if isinstance(op, sched.LaunchOp):
                writes = accesses[op.kernel.root_reference.data].writes
                targets = [op.arguments[index] for index in writes]
            elif isinstance(op, sched.TransferOp):
                targets = [op.target]
            elif isinstance(op, sched.HostItem):
                targets = list(op.targets)
            elif isinstance(op, sched.ForOp):
                targets = list(op.own_operands)
            for target in map(base_of, targets):
                is_donated = isinstance(target, BlockArgument) and target.index in self._program.donated
                if not is_donated and not isinstance(target.owner, sched.BufferOp | sched.NodeOp):
                    kind = _KINDS.get(type(target.owner), "argument")
                    raise TenonError(
                        f"{op.name}: @{self._program.sym_name.data} writes to its {kind} '{target.name_hint}'"
                    )
            if isinstance(op, sched.LaunchOp):
                access = accesses[op.kernel.root_reference.data]
                if (wrong := aliased_write(op, access)) is not None:
                    raise TenonError(wrong, location=location_text(op.location))

    def _allocate(self, op: sched.BufferOp) -> Array:
        """Returns memory for a buffer; every byte of it is 0xff, which is NaN in every float type."""
        nbytes = evaluated(size_of(op.result.type), self._dims) * storage_dtype(op.result.type).itemsize
        if op.slab is None:
            memory = as_undefined(np.full(nbytes, 0xFF, np.uint8))
        else:
            memory = self._memory[op.slab.offset.data : op.slab.offset.data + nbytes]
        return memory.view(storage_dtype(op.result.type))

    def _dim(self, op: sched.DimOp) -> int:
        value = self._dims.get(op.dim_name)
        if value is None:
            raise TenonError(f"{op.name}: no argument tells the value of dim @{op.dim_name}")
        return value

    def _view(self, stored: Array, type: Attribute) -> Array:
        """Returns the elements of a buffer, stored as one row with its gaps, in the shape of its type."""
        if isinstance(type, IndexType):
            return stored
        shape = [evaluated(extent, self._dims) for extent in extents_of(type)]
        strides = [evaluated(stride, self._dims) * stored.itemsize for stride in strides_of(type)]
        return strided_view(stored, shape, strides, writeable=stored.flags.writeable)

    def _launch(self, op: sched.LaunchOp) -> None:
        kernel = self._kernels[op.kernel.root_reference.data]
        arrays = [
            self._view(self._buffers[buffer], argument.type)
            for buffer, argument in zip(op.arguments, kernel.body.block.args, strict=True)
        ]
        if isinstance(kernel, low.KernelOp):
            low_interpreter.run_kernel(kernel, arrays)
        else:
            sched_interpreter.run_kernel(kernel, arrays)


_KINDS: dict[type, str] = {sched.ConstantOp: "constant", sched.MergeBufferOp: "merge buffer"}
"""What a buffer that is not to be written is called, by the op that makes it."""


def _read_only_row(array: Array, type: Attribute) -> Array:
    """Returns the elements of an array as a buffer of `type` stores them."""
    stored = np.ascontiguousarray(array).reshape(-1).view(storage_dtype(type))
    stored.flags.writeable = False
    return stored


def _planned_nbytes(module: ModuleOp, program: sched.ProgramOp) -> int:
    ends, dims = [0], dims_of(module)
    for op in program.body.block.ops:
        if isinstance(op, sched.BufferOp) and op.slab is not None:
            ends.append(op.slab.offset.data + nbytes_bound(op.result.type, dims))
    return max(ends)


def _constant(op: sched.ConstantOp) -> Array:
    array = np.ascontiguousarray(array_of(op.value)).reshape(-1)
    stored = array.view(storage_dtype(op.result.type))
    stored.flags.writeable = False
    return stored


def _logical(stored: Array, type: Attribute) -> Array:
    """Returns a copy of a buffer as an array of the tensor type that it holds."""
    return np.array(stored, order="C").view(dtype_of(type))
