"""
Computes a local buffer of a kernel in the loop that reads it, as much of it as one iteration needs.

    %row = sched.alloc local : memref<100xf32>      sched.axis %k = 25 {
    sched.axis %j = 100 {                             %row = sched.alloc local : memref<4xf32>
      memref.store %e, %row[%j]                       sched.axis %j = 4 {
    }                                                   memref.store %e, %row[%j]
    sched.axis %k = 25 {                      -->     }
      sched.axis %l = 4 {                             sched.axis %l = 4 {
        ... %row[%k * 4 + %l] ...                       ... %row[%l] ...
      }                                               }
    }                                               }

See `passes/sched/steps/compute_at.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import run_step_on


@dataclass(frozen=True)
class ComputeAtPass(ModulePass):
    """Computes a local buffer of a kernel in a loop that reads it."""

    name = "compute-at"
    kernel: str
    buffer: str
    axis: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        step = {"step": "compute_at", "buffer": self.buffer, "axis": self.axis}
        run_step_on(self.name, op, self.kernel, step)
