"""
Copies the part of a buffer that the body of a loop reads into a local buffer first.

    sched.axis %j_outer = 4 {                sched.axis %j_outer = 4 {
      sched.axis %i = 20 {                     %x_local = sched.alloc local : memref<8xf32>
        sched.axis %j_inner = 8 {              sched.axis %x_local_at = 8 { ... }
          ... %x[...] ...          -->         sched.axis %i = 20 {
        }                                        sched.axis %j_inner = 8 {
      }                                            ... %x_local[%j_inner] ...
    }

See `passes/sched/steps/primitives/stage.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class StageBufferPass(KernelStep):
    """Copies what a loop of a kernel reads of a buffer into a local one."""

    name = "stage-buffer"
    step = "stage"
    axis: str
    buffer: str
    scope: str = "local"
