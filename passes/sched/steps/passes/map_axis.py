"""
Says how loops of a kernel run.

    sched.axis %i = 64 {           -->       sched.axis %i = 64 block(4) vector(8) {
      ...                                      ...
    }                                        }

Each axis has its mapping: `map-axis{kernel="f" axes="i","j" mappings="block(4)","vector(8)"}`. See
`passes/sched/steps/primitives/map.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class MapAxisPass(KernelStep):
    """Maps loops of a kernel to work-groups, work-items, vectors or unrolled code."""

    name = "map-axis"
    step = "map"
    axes: tuple[str, ...]
    mappings: tuple[str, ...]
    allow_reorder: bool = False
