"""Which reductions may combine in another order."""

from __future__ import annotations

from .....dialects import sched
from .....dialects.sched import CombineKind

_ROUNDING = (CombineKind.ADDF, CombineKind.MULF, CombineKind.FMA)


def rounds(op: sched.ReduceOp) -> bool:
    """
    Returns whether the order in which a reduction combines shows in its result: for sums and products of
    floats. Integers, extrema and bits combine in any order alike.
    """
    return op.kind.data in _ROUNDING
