"""
Puts loops of a kernel that stand right inside of one another in another order.

    sched.axis %i = 4 {                      sched.axis %j = 8 {
      sched.axis %j = 8 {          -->         sched.axis %i = 4 {
        ...                                      ...
      }                                        }
    }                                        }

See `passes/sched/steps/primitives/reorder.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class ReorderAxesPass(KernelStep):
    """Puts nested loops of a kernel in the order given."""

    name = "reorder-axes"
    step = "reorder"
    axes: tuple[str, ...]
    allow_reorder: bool = False
