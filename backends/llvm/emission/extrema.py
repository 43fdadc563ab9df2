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
from xdsl.ir import Attribute

from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.float_layout import LAYOUTS
from .emitter import Emitter
from .types import shaped

_KINDS: dict[Attribute, str] = {f32: "ps", f64: "pd"}

_LESS, _GREATER = "4", "5"
"""Which of two numbers is taken, with its own sign: the instruction's immediate."""

_CURRENT_ROUNDING = ("i32", "4")

_RELAXED = {FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS}


def has_range_form(emitter: Emitter, op: arith.MaximumfOp | arith.MinimumfOp) -> bool:
    """Returns whether `write_range` writes an op in less instructions than LLVM's intrinsic takes."""
    element, lanes = element_type_of(op.result.type), lanes_of(op.result.type)
    if lanes is None or element not in _KINDS or _RELAXED & {*op.fastmath.data}:
        return False
    nbytes, has = _nbytes(op), emitter.processor.has
    if nbytes not in (16, 32, 64) or not has("avx512dq") or (nbytes < 64 and not has("avx512vl")):
        return False
    return not any(isinstance(operand.owner, arith.ConstantOp) for operand in op.operands)


def write_range(emitter: Emitter, op: arith.MaximumfOp | arith.MinimumfOp) -> None:
    """Defines the result of `op`."""
    type, lanes, nbytes = emitter.type(op, op.result.type), lanes_of(op.result.type), _nbytes(op)
    lhs, rhs = emitter.values[op.lhs], emitter.values[op.rhs]
    which = _GREATER if isinstance(op, arith.MaximumfOp) else _LESS
    arguments = [(type, lhs), (type, rhs), ("i32", which), (type, "zeroinitializer")]
    arguments.append((f"i{max(lanes or 1, 8)}", "-1"))
    if nbytes == 64:
        arguments.append(_CURRENT_ROUNDING)
    name = f"x86.avx512.mask.range.{_KINDS[element_type_of(op.result.type)]}.{8 * nbytes}"
    number = emitter.emit(emitter.call(name, type, arguments))
    nan = emitter.emit(f"fadd {type} {lhs}, {rhs}")
    is_number = emitter.emit(f"fcmp ord {type} {lhs}, {rhs}")
    mask = shaped("i1", lanes)
    emitter.define(op.result, f"select {mask} {is_number}, {type} {number}, {type} {nan}")


def _nbytes(op: arith.MaximumfOp | arith.MinimumfOp) -> int:
    return (lanes_of(op.result.type) or 1) * LAYOUTS[element_type_of(op.result.type)].nbits // 8
