"""
Copies the part of a buffer that the body of a loop reads into a local buffer first.

    sched.axis %j_outer = 4 {                sched.axis %j_outer = 4 {
      sched.axis %i = 20 {                     %x_local = sched.alloc local : memref<8xf32>
        sched.axis %j_inner = 8 {              sched.axis %x_local_at = 8 { ... }
          ... %x[...] ...          -->         sched.axis %i = 20 {
        }                                        sched.axis %j_inner = 8 {
      }                                            ... %x_local[%j_inner] ...
    }

See `passes/sched/steps/stage.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import run_step_on


@dataclass(frozen=True)
class StageBufferPass(ModulePass):
    """Copies what a loop of a kernel reads of a buffer into a local one."""

    name = "stage-buffer"
    kernel: str
    axis: str
    buffer: str
    scope: str = "local"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        step = {"step": "stage", "axis": self.axis, "buffer": self.buffer, "scope": self.scope}
        run_step_on(self.name, op, self.kernel, step)
