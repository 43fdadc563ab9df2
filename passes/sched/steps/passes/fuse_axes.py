"""
Fuses two loops of a kernel, one right inside of the other, into one.

    sched.axis %i = 4 {                      sched.axis %i_j = 32 {
      sched.axis %j = 8 {                      %i = arith.divui %i_j, %c8 : index
        ...                        -->         %j = arith.remui %i_j, %c8 : index
      }                                        ...
    }                                        }

See `passes/sched/steps/primitives/fuse.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class FuseAxesPass(KernelStep):
    """Fuses two nested loops of a kernel."""

    name = "fuse-axes"
    step = "fuse"
    axes: tuple[str, ...]
    allow_reorder: bool = False
