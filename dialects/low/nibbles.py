"""Scalar code for the signed four bits of a byte, as it is recognized: `(byte << (~number & 1) * 4) >> 4`."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from .constant_integer import constant_integer

NIBBLE_BITS = 4


def nibble_of(value: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """Returns the byte and the number where a value is such code, else None."""
    shifted = value.owner
    if not isinstance(shifted, arith.ShRSIOp) or constant_integer(shifted.rhs) != NIBBLE_BITS:
        return None
    raised = shifted.lhs.owner
    if not isinstance(raised, arith.ShLIOp) or shifted.lhs.type != i8:
        return None
    amount = raised.rhs.owner
    if not isinstance(amount, arith.MuliOp) or constant_integer(amount.rhs) != NIBBLE_BITS:
        return None
    is_lower = amount.lhs.owner
    if not isinstance(is_lower, arith.AndIOp) or constant_integer(is_lower.rhs) != 1:
        return None
    flipped = is_lower.lhs.owner
    if not isinstance(flipped, arith.XOrIOp) or constant_integer(flipped.rhs) != 1:
        return None
    return raised.lhs, flipped.lhs
