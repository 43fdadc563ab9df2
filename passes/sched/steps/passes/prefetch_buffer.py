"""
Has what a loop of a kernel loads of a buffer fetched before it is needed.

    %v = memref.load %x[%i, %j]    -->    %v = memref.load %x[%i, %j] {tenon.prefetch = 1024 : index}

See `passes/sched/steps/primitives/prefetch.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class PrefetchBufferPass(KernelStep):
    """Has what a loop of a kernel loads of a buffer fetched before it is needed."""

    name = "prefetch-buffer"
    step = "prefetch"
    axis: str
    buffer: str
    distance: int
    level: int = 1
    rows: int = 1
