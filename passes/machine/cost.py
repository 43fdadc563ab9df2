"""
What instructions, memory and launches cost: the figures that fusion and the tuner estimate with.

The unit is a picosecond of one core. The figures are those of an x86 processor of today, rounded: they
compare two ways of computing one thing, and are no forecast. `python -m benchmarks.fusion` shows how often
the way that they choose is the faster one.
"""

from __future__ import annotations

from ...dialects.dims.expressions import Extent

OPERATION_PS = 200
"""An operation on a register, be it a number or a vector; a load that hits the first cache; a store."""

LATENCY = 4
"""How many operations could begin while an addition is done."""

LINE_NBYTES = 64
LINE_PS = 800
"""A cache line that comes from the second cache."""

FAR_LINE_PS = 4000
"""A cache line that comes from further away, or goes there; what is stored comes, and goes."""

GROUP_PS = 6400
"""What a work-group costs beside what is in it."""

LAUNCH_PS = 100_000
"""What a kernel costs beside what is in it."""


def access_operations(stride: Extent | None, lanes: int, registers: float) -> float:
    """
    Returns how many operations a load or store along a vector of `lanes` takes that fills `registers`: one
    where all lanes have one element, one for each lane where they are no neighbours.
    """
    if stride == 0:
        return 1.0
    return registers if stride == 1 else float(lanes)


def lines_of_step(step: Extent | None, lanes: int, nbytes: int) -> float:
    """Returns how many cache lines are begun where each of `lanes` elements lies `step` after the last."""
    if step == 0:
        return 0.0
    moved = LINE_NBYTES if not isinstance(step, int) else abs(step) * lanes * nbytes
    return min(moved / LINE_NBYTES, float(lanes))
