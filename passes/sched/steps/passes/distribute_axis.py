"""
Distributes an axis of a kernel over two parts of its body, before the loop `at` and from there on.

    sched.axis %i = 20 {                     sched.axis %i = 20 {
      sched.axis %j = 30 {                     sched.axis %j = 30 {
        ...                                      ...
      }                            -->         }
      sched.axis %k = 30 {                   }
        ...                                  sched.axis %i_a = 20 {
      }                                        sched.axis %k = 30 {
    }                                            ...

With `after` the loop `at` belongs to the first part; with `innermost` local buffers get the dim for the
iterations as their last. See `passes/sched/steps/primitives/distribute.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class DistributeAxisPass(KernelStep):
    """Gives two parts of an axis's body an axis each."""

    name = "distribute-axis"
    step = "distribute"
    axis: str
    at: str
    after: bool = False
    innermost: bool = False
