"""
Writes the maximum or minimum of two vectors of floats, which is NaN where one of them is, and -0 less than 0.

AVX-512 has an instruction that orders zeros so, but passes over NaN. With the sum of both in the lanes where
one is NaN that is four instructions, where LLVM writes six for its own intrinsic. Of a constant that needs
three or less, as does what passes over NaN or takes any zero.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.utils.fast_math import FastMathFlag

from ....dialects.element_types import element_type_of, lanes_of
from .avx512 import call_on_vectors, has_vectors
from .emitter import Emitter
from .types import shaped

_LESS, _GREATER = "4", "5"
"""Which of two numbers is taken, with its own sign: the instruction's immediate."""

_RELAXED = {FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS}


def has_range_form(emitter: Emitter, op: arith.MaximumfOp | arith.MinimumfOp) -> bool:
    """Returns whether `write_range` writes an op in less instructions than LLVM's intrinsic takes."""
    type = op.result.type
    if lanes_of(type) is None or element_type_of(type) not in (f32, f64) or _RELAXED & {*op.fastmath.data}:
        return False
    if not has_vectors(emitter, type, "avx512dq"):
        return False
    return not any(isinstance(operand.owner, arith.ConstantOp) for operand in op.operands)


def write_range(emitter: Emitter, op: arith.MaximumfOp | arith.MinimumfOp) -> None:
    """Defines the result of `op`."""
    type, lhs, rhs = emitter.type(op, op.result.type), emitter.values[op.lhs], emitter.values[op.rhs]
    which = _GREATER if isinstance(op, arith.MaximumfOp) else _LESS
    operands = [(type, lhs), (type, rhs), ("i32", which)]
    number = emitter.emit(call_on_vectors(emitter, "range", op.result.type, type, operands))
    nan = emitter.emit(f"fadd {type} {lhs}, {rhs}")
    is_number = emitter.emit(f"fcmp ord {type} {lhs}, {rhs}")
    mask = shaped("i1", lanes_of(op.result.type))
    emitter.define(op.result, f"select {mask} {is_number}, {type} {number}, {type} {nan}")
