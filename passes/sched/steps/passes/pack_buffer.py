"""
Packs the part of a buffer that the body of a loop reads into a local buffer, in the order of the reads.

    sched.axis %j_outer = 4 {                sched.axis %j_outer = 4 {
      sched.axis %i = 20 {                     %b_packed = sched.alloc local : memref<30x8xf32>
        sched.axis %j_inner = 8 {              sched.axis %b_packed_at = 30 { ... }
          %s = sched.reduce fma %k = 30        sched.axis %i = 20 {
            ... %b[%k, %j] ...     -->           sched.axis %j_inner = 8 {
          }                                        %s = sched.reduce fma %k = 30
        }                                            ... %b_packed[%k, %j_inner] ...

See `passes/sched/steps/primitives/pack.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class PackBufferPass(KernelStep):
    """Packs what a loop of a kernel reads of a buffer in the order of loops in it."""

    name = "pack-buffer"
    step = "pack"
    axis: str
    buffer: str
    layout: tuple[str, ...]
    scope: str = "local"
