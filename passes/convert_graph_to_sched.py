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

Requires: a module of functions over static tensors. Ensures: no `func` or `graph` op remains; every axis is
serial and no item has dependencies yet (`map-axes` and `build-dependencies` do that).
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import graph, sched
from ..dialects.element_types import ELEMENT_TYPES, element_type_of
from ..dialects.graph import MemoryMode
from .util.kernel_emission import emit_kernel
from .util.kernel_planning import Plan, element_count, plan_kernels


@dataclass(frozen=True)
class ConvertGraphToSchedPass(ModulePass):
    """Groups the ops of every function into kernels, and writes the host program that launches them."""

    name = "convert-graph-to-sched"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        taken = {name.data for other in op.ops if (name := getattr(other, "sym_name", None)) is not None}
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp):
                continue
            _check_function(function)
            plan = plan_kernels(function)
            kernels, program = _ProgramBuilder(plan, taken).build()
            for new in (*kernels, program):
                op.body.block.insert_op_before(new, function)
            function.detach()
            function.erase()


def _check_function(op: func.FuncOp) -> None:
    if op.is_declaration:
        raise PassFailedException(f"{op.name}: @{op.sym_name.data} has no body")
    for type in (*op.function_type.inputs, *op.function_type.outputs):
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


class _ProgramBuilder:
    def __init__(self, plan: Plan, taken: set[str]):
        self.plan = plan
        self.taken = taken
        self.function = plan.function
        self.program = sched.ProgramOp(self.function.sym_name.data, self.function.function_type)
        self.program.location = self.function.location
        self.block = self.program.body.block
        self.buffers: dict[SSAValue, SSAValue] = {}

    def build(self) -> tuple[list[sched.KernelOp], sched.ProgramOp]:
        arguments = self.function.body.block.args
        for argument, buffer in zip(arguments, self.block.args, strict=True):
            buffer.name_hint = argument.name_hint
            buffer.location = argument.location
            self.buffers[argument] = buffer
        terminator = self.function.body.block.last_op
        assert isinstance(terminator, func.ReturnOp), "func.func: ends in no func.return"
        returned = set(terminator.operands)
        for op, decision in self.plan.decisions.items():
            if decision.mode is MemoryMode.MATERIALIZED:
                self._add_buffer(op, op.results[0] in returned)
        kernels: list[sched.KernelOp] = []
        for kernel in self.plan.kernels:
            name = self._kernel_name(len(kernels))
            emitted, reads = emit_kernel(kernel, name)
            root = kernel.root
            launch = sched.LaunchOp(name, [self.buffers[value] for value in (*reads, root.results[0])])
            self._add(launch, root, "t")
            kernels.append(emitted)
        self._add_return(terminator)
        return kernels, self.program

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

    def _add_return(self, terminator: func.ReturnOp) -> None:
        """Every result is a buffer of its own: an argument, or a value returned twice, is copied."""
        results: list[SSAValue] = []
        for value in terminator.operands:
            buffer = self.buffers[value]
            if value in self.function.body.block.args or buffer in results:
                copy = sched.BufferOp(sched.Role.RESULT, sched.buffer_type(value.type))
                self._add(copy, terminator, value.name_hint)
                if element_count(value, "func.return"):
                    self._add(sched.TransferOp(buffer, copy.result), terminator, "t")
                buffer = copy.result
            results.append(buffer)
        self._add(sched.ReturnOp(results), terminator, None)
