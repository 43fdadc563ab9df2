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

See `passes/sched/steps/primitives/compute_at.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class ComputeAtPass(KernelStep):
    """Computes a local buffer of a kernel in a loop that reads it."""

    name = "compute-at"
    step = "compute_at"
    buffer: str
    axis: str
