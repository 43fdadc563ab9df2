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
from; see passes/util/kernel_planning.py for which those are.

Tensor nodes stay declared, but for those that are local:

    %w = graph.read @w : tensor<4xf32>                     %w = sched.node @w : memref<4xf32>
    %v = graph.mul %w, %s : tensor<4xf32>           -->    %t = sched.launch @f_0(%s, %w) after() : ...
    graph.write @w, %v : tensor<4xf32>

A kernel works in a node's memory where no one still needs what the node held; else what is read, or what is
written, is copied. passes/util/node_placement.py decides.

Requires: a module of functions over static tensors; their `index` arguments index nodes; virtual nodes are
inlined. Ensures: no `func` op remains, and of `graph` only the declarations of nodes; every axis is serial
and no item has dependencies yet (`map-axes` and `build-dependencies` do that).
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import graph, sched
from ..dialects.buffer_size import nbytes_of
from ..dialects.element_types import ELEMENT_TYPES, element_type_of
from ..dialects.entry import check_single_block
from ..dialects.memory_modes import ModeKind
from .util.access import static_shape
from .util.kernel_emission import emit_kernel
from .util.kernel_planning import Kernel, Plan, plan_kernels
from .util.node_accesses import simplify_accesses
from .util.node_placement import Placement, ResultCopy, place_nodes


@dataclass(frozen=True)
class ConvertGraphToSchedPass(ModulePass):
    """Groups the ops of every function into kernels, and writes the host program that launches them."""

    name = "convert-graph-to-sched"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        virtual = {
            node.sym_name.data for node in op.ops if isinstance(node, graph.TnodeOp) and node.is_virtual
        }
        taken = {name.data for other in op.ops if (name := getattr(other, "sym_name", None)) is not None}
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp):
                continue
            _check_function(function, virtual)
            simplify_accesses(function)
            plan = plan_kernels(function)
            kernels, program = _ProgramBuilder(plan, taken).build()
            for new in (*kernels, program):
                op.body.block.insert_op_before(new, function)
            function.detach()
            function.erase()
        for node in list(op.ops):
            if isinstance(node, graph.TnodeOp) and node.is_local:
                node.detach()
                node.erase()


def _check_function(op: func.FuncOp, virtual: set[str]) -> None:
    if op.is_declaration:
        raise PassFailedException(f"{op.name}: @{op.sym_name.data} has no body")
    check_single_block(op)
    for access in op.body.block.ops:
        if isinstance(access, graph.NodeAccessOp):
            _check_access(access, virtual)
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


def _check_access(op: graph.NodeAccessOp, virtual: set[str]) -> None:
    if op.node_name in virtual:
        raise PassFailedException(
            f"{op.name}: node @{op.node_name} is virtual (hint: run inline-virtual-nodes)"
        )


class _ProgramBuilder:
    def __init__(self, plan: Plan, taken: set[str]):
        self.plan = plan
        self.taken = taken
        self.function = plan.function
        self.program = sched.ProgramOp(self.function.sym_name.data, self.function.function_type)
        self.program.location = self.function.location
        self.block = self.program.body.block
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.node_buffers: dict[tuple[str, tuple[SSAValue, ...]], SSAValue] = {}
        self.in_place: dict[SSAValue, graph.WriteOp] = {}
        """The values that a kernel computes in the memory of a node."""

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
        placement = place_nodes(self.plan, copies, returned)
        self._add_node_buffers(placement)
        for op, decision in self.plan.decisions.items():
            if decision.mode is ModeKind.MATERIALIZED and op.results[0] not in self.buffers:
                self._add_buffer(op, op.results[0] in returned)
        results: dict[int, SSAValue] = {}
        kernels: list[sched.KernelOp] = []
        for item in placement.items:
            match item:
                case Kernel():
                    kernels.append(self._launch(item, len(kernels), placement))
                case graph.ReadOp():
                    if item not in placement.direct_reads:
                        self._copy(self._node_buffer(item), self.buffers[item.result], item)
                case graph.WriteOp():
                    if item.value not in self.in_place or self.in_place[item.value] is not item:
                        self._copy(self.buffers[item.value], self._node_buffer(item), item)
                case ResultCopy():
                    results[item.number] = self._copy_result(item.value, terminator)
        buffers = [
            results.get(number, self.buffers[value]) for number, value in enumerate(terminator.operands)
        ]
        self._add(sched.ReturnOp(buffers), terminator, None)
        return kernels, self.program

    def _result_copies(self, terminator: func.ReturnOp) -> list[ResultCopy]:
        """Every result is a buffer of its own: a value that is not computed, or returned twice, is copied."""
        copies: list[ResultCopy] = []
        in_place: set[SSAValue] = set()
        for number, value in enumerate(terminator.operands):
            if value in in_place or not isinstance(value.owner, graph.GraphOp):
                copies.append(ResultCopy(number, value))
            in_place.add(value)
        return copies

    def _add_node_buffers(self, placement: Placement) -> None:
        """Adds the buffers of nodes, of the merge buffer and of what is copied from nodes."""
        self.in_place = {write.value: write for write in placement.written.values()}
        for op in self.function.body.block.ops:
            match op:
                case graph.ReadOp():
                    self.buffers[op.result] = buffer = self._node_buffer(op)
                    if op not in placement.direct_reads:
                        copy = sched.BufferOp(sched.Role.TEMPORARY, sched.buffer_type(op.result.type))
                        self._add(copy, op, op.result.name_hint)
                        self.buffers[op.result] = copy.result
                case graph.WriteOp():
                    buffer = self._node_buffer(op)
                    if self.in_place.get(op.value) is op:
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

    def _launch(self, kernel: Kernel, number: int, placement: Placement) -> sched.KernelOp:
        name = self._kernel_name(number)
        emitted, values = emit_kernel(kernel, name, placement.overwritten.get(kernel))
        launch = sched.LaunchOp(name, [self.buffers[value] for value in values])
        self._add(launch, kernel.root, "t")
        return emitted

    def _copy(self, source: SSAValue, target: SSAValue, origin: Operation) -> None:
        if nbytes_of(source.type):
            self._add(sched.TransferOp(source, target), origin, "t")

    def _copy_result(self, value: SSAValue, terminator: func.ReturnOp) -> SSAValue:
        static_shape(value, terminator.name)
        copy = sched.BufferOp(sched.Role.RESULT, sched.buffer_type(value.type))
        self._add(copy, terminator, value.name_hint)
        self._copy(self.buffers[value], copy.result, terminator)
        return copy.result

    def _kernel_name(self, number: int) -> str:
        base = f"{self.function.sym_name.data}_{number}"
        name, suffix = base, 0
        while name in self.taken:
            suffix += 1
            name = f"{base}_{suffix}"
        self.taken.add(name)
        return name

    def _add(self, op: Operation, origin: Operation, hint: str | None) -> None:
        op.location = origin.location
        self.block.add_op(op)
        if op.results and hint is not None:
            op.results[0].name_hint = hint

    def _add_buffer(self, op: Operation, is_result: bool) -> None:
        value = op.results[0]
        if isinstance(op, graph.ConstantOp) and not is_result:
            new: sched.ConstantOp | sched.BufferOp = sched.ConstantOp(op.value)
        elif isinstance(op, graph.ConstantOp):
            constant = sched.ConstantOp(op.value)
            self._add(constant, op, value.name_hint)
            new = sched.BufferOp(sched.Role.RESULT, sched.buffer_type(value.type))
            self._add(new, op, value.name_hint)
            self._add(sched.TransferOp(constant.result, new.result), op, "t")
            self.buffers[value] = new.result
            return
        else:
            role = sched.Role.RESULT if is_result else sched.Role.TEMPORARY
            new = sched.BufferOp(role, sched.buffer_type(value.type))
        self._add(new, op, value.name_hint)
        self.buffers[value] = new.result
