"""
Turns functions over tensors into kernels and a host program.

    func.func @f(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %e = graph.exp %x : tensor<4x8xf32>
      %s = graph.reduce add %e axes [1] : tensor<4x8xf32> -> tensor<4xf32>
      func.return %s : tensor<4xf32>
    }

-->

    sched.kernel @f_0(%x: memref<4x8xf32>, %s: memref<4xf32>) {
      sched.axis %i = 4 {
        %s_1 = sched.reduce addf %j = 8 : f32 {
          %0 = memref.load %x[%i, %j] : memref<4x8xf32>
          %e = math.exp %0 : f32
          sched.yield %e : f32
        }
        memref.store %s_1, %s[%i] : memref<4xf32>
      }
    }
    sched.program @f(%x: memref<4x8xf32>) : (tensor<4x8xf32>) -> tensor<4xf32> {
      %s = sched.buffer global result : memref<4xf32>
      %t = sched.launch @f_0(%x, %s) after() : memref<4x8xf32>, memref<4xf32>
      sched.return %s after() : memref<4xf32>
    }

Each materialized value is computed by one kernel, which takes in all virtual and local values it is made
from; see passes/sched/planning/plan.py for which those are. A kernel whose code would be that of an earlier
one of the function is not written again: the earlier one is launched.

Tensor nodes stay declared, but for those that are local:

    %w = graph.read @w : tensor<4xf32>                     %w = sched.node @w : memref<4xf32>
    %v = graph.mul %w, %s : tensor<4xf32>           -->    %t = sched.launch @f_0(%s, %w) after() : ...
    graph.write @w, %v : tensor<4xf32>

A kernel works in a node's memory where no one still needs what the node held; else what is read, or what is
written, is copied. passes/sched/planning/node_placement.py decides.

With `origins` each launch says which ops it computes, and each transfer what it is for.

Requires: a module of functions over tensors whose extents are numbers or made of named dims; their `index`
arguments index nodes; virtual nodes are inlined, and composite ops decomposed.
Ensures: no `func` op remains, and of `graph` only the declarations of dims and nodes; every axis is serial
and no item has dependencies yet (`map-axes` and `build-dependencies` do that).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph, sched
from ....dialects.buffer_size import size_of
from ....dialects.collective import BUNDLE, DIVERGENT
from ....dialects.element_types import ELEMENT_TYPES, element_type_of
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.argument_marks import DONATED
from ....dialects.modules.entry import check_single_block
from ....semantics.collectives import collective_of
from ...graph.node_accesses import simplify_accesses
from ...indices.access import shape_of
from ...machine.target import VECTOR_NBYTES, check_positive
from ...rewriting.kernel_names import KernelNames
from ...rewriting.value_names import value_names
from .accesses import Kernel
from .code import KernelCode
from .control_flow import Scope, write_control
from .emission import emit_kernel
from .fusion_rules import REQUEST
from .kernel_form import Form, FormParts, FormWriter, kernel_form
from .launch_origins import origin_of
from .node_placement import CarriedRead, CarriedWrite, Item, ResultCopy, place_nodes
from .op_kinds import UPDATING_OPS
from .own import OWN_KERNELS
from .plan import Plan, plan_kernels
from .region_preparation import prepare_regions
from .updates_in_place import updated_in_place


@dataclass(frozen=True)
class ConvertGraphToSchedPass(ModulePass):
    """Groups the ops of every function into kernels, and writes the host program that launches them."""

    name = "convert-graph-to-sched"

    origins: bool = False
    vector_nbytes: int = VECTOR_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes")
        virtual = {
            node.sym_name.data for node in op.ops if isinstance(node, graph.TnodeOp) and node.is_virtual
        }
        local = {node.sym_name.data for node in op.ops if isinstance(node, graph.TnodeOp) and node.is_local}
        kernel_names = KernelNames(op)
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp):
                continue
            _check_function(function, virtual)
            simplify_accesses(function)
            _check_local(function, local)
            prepare_regions(function)
            plan = plan_kernels(function)
            kernels, program = _ProgramBuilder(plan, kernel_names, self.origins, self.vector_nbytes).build()
            for new in (*kernels, program):
                op.body.block.insert_op_before(new, function)
            function.detach()
            function.erase()
        for node in list(op.ops):
            # Collectives say themselves what grid they are on.
            if node.name == "shard.grid" or (isinstance(node, graph.TnodeOp) and node.is_local):
                node.detach()
                node.erase()


def _check_function(op: func.FuncOp, virtual: set[str]) -> None:
    if op.is_declaration:
        raise PassFailedException(f"{op.name}: @{op.sym_name.data} has no body")
    check_single_block(op)
    for access in op.walk():
        if isinstance(access, graph.NodeAccessOp):
            _check_access(access, virtual)
        elif isinstance(access, graph.AxisIndexOp):
            _check_axis_index(access)
    arrays = [type for type in op.function_type.inputs if not isinstance(type, IndexType)]
    for type in (*arrays, *op.function_type.outputs):
        element_type = element_type_of(type)
        if not isinstance(type, TensorType):
            raise PassFailedException(
                f"{op.name}: @{op.sym_name.data} takes or returns {type}, expected tensors"
            )
        if element_type not in ELEMENT_TYPES:
            raise PassFailedException(
                f"{op.name}: @{op.sym_name.data} takes or returns {type}, expected elements of one of "
                f"{' '.join(map(str, ELEMENT_TYPES))}"
            )


def _check_axis_index(op: graph.AxisIndexOp) -> None:
    raise PassFailedException(f"{op.name}: the module is no rank's (hint: partition-graph)")


def _check_access(op: graph.NodeAccessOp, virtual: set[str]) -> None:
    if op.node_name in virtual:
        raise PassFailedException(
            f"{op.name}: node @{op.node_name} is virtual (hint: run inline-virtual-nodes)"
        )


def _host_calls(plan: Plan) -> list[graph.HostCallOp]:
    """Returns the ops of a block at which the host is called."""
    return [op for op in plan.block.ops if isinstance(op, graph.HostCallOp)]


def _type_of(op: Operation) -> FunctionType:
    return FunctionType.from_lists(op.operand_types, op.result_types)


def _donated(function: func.FuncOp) -> list[BlockArgument]:
    """Returns the arguments whose memory the function may have."""
    written = function.arg_attrs.data if function.arg_attrs is not None else ()
    return [
        argument
        for argument, attributes in zip(function.body.block.args, written, strict=False)
        if DONATED in attributes.data and isinstance(argument.type, TensorType)
    ]


def _check_local(op: func.FuncOp, local: AbstractSet[str]) -> None:
    """Raises where a local node is more than a name for a value, which takes a loop or a branch."""
    for access in op.walk():
        if isinstance(access, graph.NodeAccessOp) and access.node_name in local:
            raise PassFailedException(
                f"{access.name}: node @{access.node_name} is local, and is written and read in different "
                "regions (hint: carry the value, or yield it)"
            )


@dataclass
class _Part:
    """Where the kernels of an op that are written by hand go; see passes/sched/planning/own/interface.py."""

    builder: _ProgramBuilder
    scope: Scope
    origin: Operation

    @property
    def vector_nbytes(self) -> int:
        return self.builder.vector_nbytes

    def buffer_of(self, value: SSAValue) -> SSAValue:
        return self.builder.buffers[value]

    def scratch(self, type: Attribute, hint: str) -> SSAValue:
        return self.builder.temporary(type, self.origin, hint)

    def launch(self, code: KernelCode, buffers: Sequence[SSAValue]) -> None:
        self.builder.launch(code.op, buffers, self.scope, self.origin, [self.origin])


class _ProgramBuilder:
    def __init__(self, plan: Plan, kernel_names: KernelNames, has_origins: bool, vector_nbytes: int):
        self.plan = plan
        self.vector_nbytes = vector_nbytes
        self.names = value_names(plan.function) if has_origins else None
        """What values are called in the text, where launches are to say what they compute."""
        self.decisions = dict(plan.all_decisions()) if has_origins else {}
        self.kernel_names = kernel_names
        self.function = plan.function
        self.program = sched.ProgramOp(self.function.sym_name.data, self.function.function_type)
        self.program.location = self.function.location
        self.block = self.program.body.block
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.node_buffers: dict[tuple[str, tuple[SSAValue, ...]], SSAValue] = {}
        self.sizes: dict[str, SSAValue] = {}
        """The values of named dims."""
        self.kernels: list[sched.KernelOp] = []
        self.launch_count = 0
        self.form_parts = FormParts()
        self.written: dict[Form, tuple[sched.KernelOp, tuple[int, ...]]] = {}
        """The kernels by their forms, each with the numbers that the values of its buffers have there."""

    def build(self) -> tuple[list[sched.KernelOp], sched.ProgramOp]:
        arguments = self.function.body.block.args
        for argument, buffer in zip(arguments, self.block.args, strict=True):
            buffer.name_hint = argument.name_hint
            buffer.location = argument.location
            self.buffers[argument] = buffer
        terminator = self.function.body.block.last_op
        assert isinstance(terminator, func.ReturnOp), "func.func: ends in no func.return"
        returned = set(terminator.operands)
        copies = self._result_copies(terminator)
        scope = self._function_scope(terminator, copies)
        self._add_buffers(scope, returned)
        for item in scope.placement.items:
            if isinstance(item, ResultCopy):
                scope.targets[item.number] = self._result_buffer(item.value, terminator)
            self._write_item(item, scope, terminator)
        buffers = [
            scope.targets.get(number, self.buffers[value]) for number, value in enumerate(terminator.operands)
        ]
        self._add(sched.ReturnOp(buffers), terminator, None)
        return self.kernels, self.program

    def _function_scope(self, terminator: func.ReturnOp, copies: Sequence[ResultCopy]) -> Scope:
        """Places the function's nodes, and as many results as possible in the memory of donated arguments."""
        copied = {copy.number for copy in copies}
        waiting = {n: value for n, value in enumerate(terminator.operands) if n not in copied}
        pairs: list[tuple[CarriedRead, CarriedWrite]] = []
        for argument in _donated(self.function):
            for number, value in waiting.items():
                if value.type == argument.type:
                    pairs.append((CarriedRead(argument.index, argument), CarriedWrite(argument.index, value)))
                    del waiting[number]
                    break
        while True:
            kept = set(terminator.operands).difference(write.value for _, write in pairs)
            placement = place_nodes(self.plan, copies, kept, pairs)
            written = set(placement.written.values())
            possible = [
                (read, write) for read, write in pairs if write in written and read in placement.direct_reads
            ]
            if len(possible) == len(pairs):
                break
            pairs = possible
        if pairs:
            numbers = tuple(read.number for read, _ in pairs)
            self.program.attributes["donated"] = graph.IntsAttr(numbers)
        carried = {read.number: self.buffers[read.result] for read, _ in pairs}
        return Scope(self.plan, placement, self.block, carried=carried)

    def _result_copies(self, terminator: func.ReturnOp) -> list[ResultCopy]:
        """Every result is a buffer of its own: a value that is not computed, or returned twice, is copied."""
        copies: list[ResultCopy] = []
        in_place: set[SSAValue] = set()
        for number, value in enumerate(terminator.operands):
            made = graph.GraphOp | graph.ControlOp | graph.HostCallOp
            if value in in_place or not isinstance(value.owner, made):
                copies.append(ResultCopy(number, value))
            in_place.add(value)
        return copies

    def _write_item(self, item: Item, scope: Scope, terminator: Operation) -> None:
        """
        Writes the launch, copy or control item that an item of the placement is. Most reads and writes need
        none: `place_nodes` lets kernels work in the memory itself. A copy is written where it could not, with
        the reason that `tenon.explain` gives.
        """
        match item:
            case Kernel():
                self._launch(item, scope)
            case graph.ReadOp():
                if item not in scope.placement.direct_reads:
                    self.copy(
                        self._node_buffer(item),
                        self.buffers[item.result],
                        scope,
                        item,
                        "the node changes before this is read for the last time",
                    )
            case graph.WriteOp():
                if scope.in_place.get(item.value) is not item:
                    self.copy(
                        self.buffers[item.value],
                        self._node_buffer(item),
                        scope,
                        item,
                        "no kernel can compute it in the node",
                    )
            case CarriedRead():
                if item not in scope.placement.direct_reads:
                    self.copy(
                        scope.carried[item.number],
                        self.buffers[item.result],
                        scope,
                        terminator,
                        "the next value is there before this one is read for the last time",
                    )
            case CarriedWrite():
                if scope.in_place.get(item.value) is not item:
                    self.copy(
                        self.buffers[item.value],
                        scope.carried[item.number],
                        scope,
                        terminator,
                        "no kernel can compute it where it is carried",
                    )
            case ResultCopy():
                self.copy(
                    self.buffers[item.value],
                    scope.targets[item.number],
                    scope,
                    terminator,
                    "what is returned has a buffer of its own, and no kernel computes it there",
                )
            case graph.CallbackOp():
                called = sched.CallbackOp(item.callee, _type_of(item), *self._handed_over(item))
                self.add_item(called, scope, item)
            case graph.PrintOp():
                printed = sched.PrintOp(item.format, _type_of(item), *self._handed_over(item))
                self.add_item(printed, scope, item)
            case graph.CollectiveOp():
                # Beside one another: schedule-collectives moves them apart.
                type, buffers = _type_of(item), self._handed_over(item)
                collective = replace(collective_of(item), where="", rank=None, is_divergent=False)
                begun = sched.CollectiveOp(sched.CollectiveAttr(collective), type, *buffers)
                for name in (BUNDLE, DIVERGENT):
                    if (said := item.attributes.get(name)) is not None:
                        begun.attributes[name] = said
                self.add_item(begun, scope, item)
                self.add_item(sched.AwaitOp(item.channel, type, *buffers), scope, item)
            case graph.ControlOp():
                write_control(item, self, scope)
            case graph.HostCallOp():
                raise PassFailedException(
                    f"{item.name}: cannot schedule (a call of the host of another kind)"
                )

    def _handed_over(self, op: graph.HostCallOp) -> tuple[list[SSAValue], list[SSAValue]]:
        """Returns the buffers that the host is given, and those that it fills."""
        buffers = self.buffers
        return [buffers[value] for value in op.operands], [buffers[value] for value in op.results]

    def write_region(
        self,
        plan: Plan,
        block: Block,
        targets: dict[int, SSAValue],
        carried: Mapping[int, tuple[SSAValue, SSAValue]] | None = None,
    ) -> None:
        terminator = plan.block.last_op
        assert terminator is not None, "a region is empty"
        pairs: list[tuple[CarriedRead, CarriedWrite]] = []
        buffers: dict[int, SSAValue] = {}
        for number, (argument, buffer) in (carried or {}).items():
            value = terminator.operands[number]
            self.buffers[argument] = buffer
            buffers[number] = buffer
            if value is not argument:
                pairs.append((CarriedRead(number, argument), CarriedWrite(number, value)))
        made = {kernel.root.results[0] for kernel in plan.kernels}
        made.update(result for op in plan.bodies for result in op.results)
        made.update(result for op in _host_calls(plan) for result in op.results)
        copies: list[ResultCopy] = []
        taken: set[SSAValue] = set()
        for number, target in targets.items():
            value = terminator.operands[number]
            if value in made and value not in taken:
                self.buffers[value] = target
                taken.add(value)
            else:
                copies.append(ResultCopy(number, value))
        placement = place_nodes(plan, copies, taken, pairs)
        scope = Scope(plan, placement, block, targets, buffers)
        for read, _ in pairs:
            if read not in placement.direct_reads:
                self.buffers[read.result] = self.temporary(
                    read.result.type, terminator, read.result.name_hint
                )
        self._add_buffers(scope, set())
        for item in placement.items:
            self._write_item(item, scope, terminator)

    def _add_buffers(self, scope: Scope, returned: AbstractSet[SSAValue]) -> None:
        """Adds a buffer for each value of a block that has one of its own; `returned` are results."""
        plan = scope.plan
        scope.in_place = scope.placement.written
        self._add_node_buffers(scope)
        updated = updated_in_place(plan, scope.placement, returned | self.buffers.keys())
        for op in reversed(plan.bodies):
            for result in op.results:
                if result not in self.buffers:
                    self._add_made(result, op, updated, returned, plan)
            if isinstance(op, graph.WhileOp | graph.ScanOp):
                self._share_initial(op, scope)
        for op in _host_calls(plan):
            for result in op.results:
                if result not in self.buffers:
                    self._add_plain(result, op, result in returned)
        for op, decision in plan.decisions.items():
            value = op.results[0]
            if decision.mode is ModeKind.MATERIALIZED and value not in self.buffers and value not in updated:
                self._add_buffer(op, value in returned, plan)
        for source, result in reversed(updated.items()):
            self.buffers[source] = self.buffers[result]

    def _add_made(
        self,
        value: SSAValue,
        op: Operation,
        updated: Mapping[SSAValue, SSAValue],
        returned: AbstractSet[SSAValue],
        plan: Plan,
    ) -> None:
        """Adds the buffer of what an op with control flow makes: that of the last update of it in place."""
        last = value
        while last in updated:
            last = updated[last]
        if last not in self.buffers:
            if last is value:
                self._add_plain(value, op, value in returned)
            else:
                assert isinstance(last.owner, Operation), "an op updates in place"
                self._add_buffer(last.owner, last in returned, plan)
        self.buffers[value] = self.buffers[last]

    def _share_initial(self, op: graph.WhileOp | graph.ScanOp, scope: Scope) -> None:
        """Has what a loop begins with computed where the loop carries it, if nothing else is kept there."""
        made = {kernel.root for kernel in scope.plan.kernels} | set(scope.plan.bodies)
        # The loop's result, or what updates it, takes the place of what others may still read until the loop.
        held = {self.buffers[value] for value in scope.in_place}
        for value, result in zip(op.initial, op.results, strict=False):
            if self.buffers[result] in held:
                continue
            if value.owner in made and value.has_one_use() and value not in self.buffers:
                self.buffers[value] = self.buffers[result]

    def _add_node_buffers(self, scope: Scope) -> None:
        """Adds the buffers of nodes, of the merge buffer and of what is copied from nodes."""
        for write in scope.in_place.values():
            if isinstance(write, CarriedWrite):
                self.buffers[write.value] = scope.carried[write.number]
        for op in scope.plan.block.ops:
            match op:
                case graph.ReadOp():
                    buffer = self._node_buffer(op)
                    if op not in scope.placement.direct_reads:
                        buffer = self.temporary(op.result.type, op, op.result.name_hint)
                    self.buffers[op.result] = buffer
                case graph.WriteOp():
                    buffer = self._node_buffer(op)
                    if scope.in_place.get(op.value) is op:
                        self.buffers[op.value] = buffer
                case graph.MergeOp():
                    merged = sched.MergeBufferOp(op.node_name, sched.buffer_type(op.result.type))
                    self._add(merged, op, op.result.name_hint)
                    self.buffers[op.result] = merged.result
                case _:
                    pass

    def _node_buffer(self, op: graph.ReadOp | graph.WriteOp) -> SSAValue:
        """Returns the buffer of the part of a node that `op` accesses."""
        key = (op.node_name, tuple(op.indices))
        known = self.node_buffers.get(key)
        if known is None:
            value = op.result if isinstance(op, graph.ReadOp) else op.value
            indices = [self.buffers[index] for index in op.indices]
            node = sched.NodeOp(op.node_name, sched.buffer_type(value.type), indices)
            self._add(node, op, op.node_name if SSAValue.is_valid_name(op.node_name) else None)
            self.node_buffers[key] = known = node.result
        return known

    def _launch(self, kernel: Kernel, scope: Scope) -> None:
        in_place = scope.placement.overwritten.get(kernel.root.results[0])
        if isinstance(kernel.root, UPDATING_OPS):
            source, result = kernel.root.source, kernel.root.result
            if self.buffers[source] is self.buffers[result]:
                in_place = source
            else:
                self.copy(
                    self.buffers[source],
                    self.buffers[result],
                    scope,
                    kernel.root,
                    f"{kernel.root.name} stores over a copy of its source",
                )
            box = kernel.root.update if isinstance(kernel.root, graph.DynamicUpdateOp) else None
            if box is not None and 0 in shape_of(box, kernel.root.name):
                return
        write_own = OWN_KERNELS.get(type(kernel.root))
        if write_own is not None:
            write_own(_Part(self, scope, kernel.root), kernel.root)
            return
        emitted, values = self._emit(kernel, in_place)
        buffers = [self.buffers[value] for value in values]
        self.launch(emitted, buffers, scope, kernel.root, list(kernel.members)[::-1])

    def _emit(self, kernel: Kernel, in_place: SSAValue | None) -> tuple[sched.KernelOp, list[SSAValue]]:
        """As `emit_kernel`, but a kernel of the same form as an earlier one is that one."""
        writer = FormWriter(self.form_parts)
        form = kernel_form(kernel, writer)
        if form is None:
            return emit_kernel(kernel, in_place)
        form = (*form, None if in_place is None else writer.value(in_place))
        found = self.written.get(form)
        if found is None:
            emitted, values = emit_kernel(kernel, in_place)
            found = self.written[form] = emitted, tuple(map(writer.number_of, values))
        emitted, numbers = found
        return emitted, [writer.values[number] for number in numbers]

    def _note_origins(self, launch: sched.LaunchOp, ops: Sequence[Operation]) -> None:
        if self.names is not None:
            origins = [origin_of(op, self.names, self.decisions.get(op)) for op in ops]
            launch.origins = ArrayAttr(origins)

    def _size(self, dim: str) -> SSAValue:
        """Returns the value of a named dim."""
        known = self.sizes.get(dim)
        if known is None:
            op = sched.DimOp(dim)
            self._add(op, self.function, dim)
            self.sizes[dim] = known = op.result
        return known

    def launch(
        self,
        kernel: sched.KernelOp,
        buffers: Sequence[SSAValue],
        scope: Scope,
        origin: Operation,
        ops: Sequence[Operation],
    ) -> None:
        """Adds an item that runs a kernel, which computes `ops`. One that is new gets its name here."""
        if not kernel.sym_name.data:
            wanted = f"{self.function.sym_name.data}_{self.launch_count}"
            kernel.sym_name = StringAttr(self.kernel_names.fresh(wanted))
            self.kernels.append(kernel)
        self.launch_count += 1
        sizes = [self._size(dim) for dim in kernel.sizes]
        launch = sched.LaunchOp(kernel.sym_name.data, [*sizes, *buffers])
        self._note_origins(launch, ops)
        self.add_item(launch, scope, origin)

    def copy(self, source: SSAValue, target: SSAValue, scope: Scope, origin: Operation, why: str) -> None:
        if size_of(source.type) != 0:
            transfer = sched.TransferOp(source, target)
            if self.names is not None:
                transfer.why = StringAttr(why)
            self.add_item(transfer, scope, origin)

    def _result_buffer(self, value: SSAValue, terminator: Operation) -> SSAValue:
        shape_of(value, terminator.name)
        copy = sched.BufferOp(sched.Role.RESULT, sched.buffer_type(value.type))
        self._add(copy, terminator, value.name_hint)
        return copy.result

    def temporary(self, type: Attribute, origin: Operation, hint: str | None) -> SSAValue:
        """Adds a temporary buffer for a tensor type, or of a memref type itself."""
        memory: MemRefType[Any] = (
            cast("MemRefType[Any]", type) if isinstance(type, MemRefType) else sched.buffer_type(type)
        )
        new = sched.BufferOp(sched.Role.TEMPORARY, memory)
        self._add(new, origin, hint)
        return new.result

    def add_item(self, item: Operation, scope: Scope, origin: Operation) -> None:
        item.location = origin.location
        item.results[0].name_hint = "t"
        scope.items.add_op(item)

    def _add(self, op: Operation, origin: Operation, hint: str | None) -> None:
        op.location = origin.location
        self.block.add_op(op)
        if op.results and hint is not None:
            op.results[0].name_hint = hint

    def _add_new(self, new: sched.ConstantOp | sched.BufferOp, value: SSAValue, origin: Operation) -> None:
        self._add(new, origin, value.name_hint)
        self.buffers[value] = new.result

    def _add_plain(self, value: SSAValue, origin: Operation, is_result: bool) -> None:
        role = sched.Role.RESULT if is_result else sched.Role.TEMPORARY
        self._add_new(sched.BufferOp(role, sched.buffer_type(value.type)), value, origin)

    def _add_buffer(self, op: Operation, is_result: bool, plan: Plan) -> None:
        value = op.results[0]
        role = sched.Role.RESULT if is_result else sched.Role.TEMPORARY
        new = sched.BufferOp(role, sched.buffer_type(value.type))
        if isinstance(op, graph.ConstantOp) and value not in plan.fills:
            constant = sched.ConstantOp(op.value)
            self._add_new(constant, value, op)
            if is_result:
                self._add_new(new, value, op)
                transfer = sched.TransferOp(constant.result, new.result)
                if self.names is not None:
                    transfer.why = StringAttr("a constant that is returned")
                self._add(transfer, op, "t")
            return
        mode = op.attributes.get("memory_mode")
        if not is_result and isinstance(mode, graph.MemoryModeAttr) and mode.rule.data == REQUEST:
            new.kept = UnitAttr()
        self._add_new(new, value, op)
