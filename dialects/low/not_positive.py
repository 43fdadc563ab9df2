"""
Exponentials of numbers that are known not to be positive: `{tenon.not_positive}` on a `math.exp` says that
its operand is 0 or less, or NaN. It changes no result: `expand-math` takes fewer instructions, and others may
pass over it.
"""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.builtin import UnitAttr

NOT_POSITIVE = "tenon.not_positive"

_UNIT = UnitAttr()


def is_of_not_positive(op: math.ExpOp) -> bool:
    """Returns whether the operand is said not to be positive."""
    return NOT_POSITIVE in op.attributes


def set_of_not_positive(op: math.ExpOp) -> None:
    """Says that the operand is not positive."""
    op.attributes[NOT_POSITIVE] = _UNIT
