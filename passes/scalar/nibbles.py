"""Scalar code for the signed four bits of a byte."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from ...dialects.low.nibbles import NIBBLE_BITS
from .builder import ScalarBuilder
from .ops import integer_op


def nibble(b: ScalarBuilder, byte: SSAValue, number: SSAValue, hint: str | None = None) -> SSAValue:
    """
    Returns `(byte << (~number & 1) * 4) >> 4`: the lower bits where `number` is even, else the upper ones.
    `nibble_of` of dialects/low/nibbles.py recognizes this code.
    """
    one, bits = b.constant(1, i8), b.constant(NIBBLE_BITS, i8)
    is_lower = b.op(arith.AndIOp, b.op(arith.XOrIOp, number, one), one)
    raised = integer_op(b, arith.ShLIOp, byte, integer_op(b, arith.MuliOp, is_lower, bits))
    return b.op(arith.ShRSIOp, raised, bits, hint=hint)
