"""
Writes every kernel out: loops with bounds and steps, vectors, linear indices, work-group ids.

    sched.kernel @f(%x: memref<4x20xf32>, %y: memref<4xf32>) {
      sched.axis %i = 4 block {
        %s = sched.reduce addf %j = 20 vector(8) : f32 {
          %v = memref.load %x[%i, %j] : memref<4x20xf32>
          sched.yield %v : f32
        }
        memref.store %s, %y[%i] : memref<4xf32>
      }
    }

-->

    low.kernel @f(%x: memref<80xf32>, %y: memref<4xf32>) grid [4, 1, 1] block [1, 1, 1] {
      ...
      %i = low.block_id x
      %base = arith.muli %i, %c20 : index
      %lanes = scf.for %j = %c0 to %c16 step %c8 iter_args(%s = %zeros) -> (vector<8xf32>) {
        %at = arith.addi %base, %j : index
        %v = vector.load %x[%at] : memref<80xf32>, vector<8xf32>
        %sum = arith.addf %s, %v : vector<8xf32>
        scf.yield %sum : vector<8xf32>
      }
      %whole = vector.reduction <add>, %lanes : vector<8xf32> into f32
      %s = scf.for %j = %c16 to %c20 step %c1 iter_args(...) -> (f32) { ... }
      memref.store %s, %y[%i] : memref<4xf32>
    }

The host program stays as it is; it launches the new kernels.

Requires: verified `sched` kernels. Ensures: no `sched.kernel`, `sched.axis`, `sched.reduce` or `sched.alloc`
remains. Raises PassFailedException, naming the op and the axis, for a mapping that is illegal: a vector over
an access whose stride is neither 0 nor 1, a local buffer under a vector or unrolled axis, or work-groups
that are not the outermost axes.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects import sched
from .kernel import lower_kernel


@dataclass(frozen=True)
class ConvertSchedToLowPass(ModulePass):
    """Turns kernels of annotated axes into kernels of explicit loops, vectors and linear indices."""

    name = "convert-sched-to-low"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in list(op.ops):
            if isinstance(kernel, sched.KernelOp):
                op.body.block.insert_op_before(lower_kernel(kernel), kernel)
                kernel.detach()
                kernel.erase()
