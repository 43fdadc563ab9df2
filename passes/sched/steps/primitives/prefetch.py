"""
Has what a loop loads of a buffer fetched before it is needed.

    %v = memref.load %x[%i, %j]    -->    %v = memref.load %x[%i, %j] {tenon.prefetch = 1024 : index}

Results do not change: what is named need not even be in the buffer.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from .....dialects.low.prefetch import LEVELS, set_prefetch_distance
from ..loop_nests.errors import refuse
from ..loop_nests.loops import KernelLoop, buffers_of, kernel_around

WHO = "prefetch-buffer"


def prefetch(
    loop: KernelLoop, buffer: SSAValue, distance: int, level: int = LEVELS[0], rows: int = 1
) -> list[KernelLoop]:
    """
    Has the loads of a buffer right in a loop name the element `distance` further on, which is needed in the
    first or in the second cache, and by register tiles of so many rows or more; further back, where that is
    negative.

    Raises:
        ScheduleError: the distance is 0, the level none that there is, the rows are less than 1, or nothing
            is loaded of the buffer there.
    """
    if distance == 0:
        refuse(WHO, loop, "distance 0 names what is loaded")
    if level not in LEVELS:
        refuse(WHO, loop, f"level {level} is not one of {', '.join(map(str, LEVELS))}")
    if rows < 1:
        refuse(WHO, loop, f"tiles of {rows} rows are none")
    loads = [op for op in loop.body.block.ops if isinstance(op, memref.LoadOp) and op.memref is buffer]
    if not loads:
        names = {value: name for name, value in buffers_of(kernel_around(loop)).items()}
        refuse(WHO, loop, f"%{names[buffer]} is not loaded right in it")
    for load in loads:
        set_prefetch_distance(load, distance, level, rows)
    return [loop]
