"""
Cuts an axis of a kernel where pads, rolls and concatenations begin and end.

    sched.axis %i = 100 {                    sched.axis %i = 1 { ... }
      ... clamp(%i - 1) ...         -->      sched.axis %i_1 = 99 { ... %i_1 ... }
    }

See `passes/sched/steps/primitives/partition.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..borders.pieces import WHOLE_LANES
from ..kernel_step import KernelStep


@dataclass(frozen=True)
class PartitionAxisPass(KernelStep):
    """Cuts an axis of a kernel where pads, rolls and concatenations begin and end."""

    name = "partition-axis"
    step = "partition"
    axis: str
    parts: int = 0
    multiple: int = WHOLE_LANES
    branch: bool = False
    outer: bool = False
