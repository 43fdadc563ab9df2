"""
What one element of an op's result is, exactly, in the element type's own precision.

Shared by the interpreters of all levels. Functions take arrays (or numpy scalars) of one dtype and return
that dtype. Arithmetic on narrow floats is done in f32 and rounded once. Functions that are not exactly
rounded by IEEE 754 (exp, log, tan, ...) are computed in a wider type and rounded; exp, log, tanh, erf, sin,
cos and pow of f64 are numpy's. `ELEMENTWISE` has the function of each elementwise op of `graph`. Callers run
them under `np.errstate(all="ignore")`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from ..dialects import graph
from ..dialects.sched import CombineKind
from .fused_multiply_add import fma, round_to_odd
from .numpy_types import BOOL, F16, F32, F64, Array, dtype_of, is_floating, is_narrow

__all__ = ["COMBINE", "cast", "fma", "identity"]

Function = Callable[..., Array]


def _rounded_once(function: Function) -> Function:
    """Lets a function of f32 and wider take narrower floats too, through f32."""

    def compute(*operands: Array) -> Array:
        dtype = operands[0].dtype
        if is_narrow(dtype):
            return function(*(operand.astype(F32) for operand in operands)).astype(dtype)
        return function(*operands)

    return compute


def _through_f64(function: Function) -> Function:
    """Computes an f32 in f64 and rounds the result."""

    def compute(*operands: Array) -> Array:
        dtype = operands[0].dtype
        return np.asarray(function(*(operand.astype(F64) for operand in operands))).astype(dtype)

    return _rounded_once(compute)


def _through_wider(function: Function) -> Function:
    """
    Computes an f32 in f64, and an f64 in extended precision where the machine has it, and rounds the result.
    C libraries are further off for these functions than for the exponential and the sine.
    """

    def compute(*operands: Array) -> Array:
        dtype = operands[0].dtype
        wider = F64 if dtype == F32 else np.longdouble
        return np.asarray(function(*(operand.astype(wider) for operand in operands))).astype(dtype)

    return _rounded_once(compute)


_erf_of_objects = np.frompyfunc(math.erf, 1, 1)


def _erf(value: Array) -> Array:
    return np.asarray(_erf_of_objects(value), F64)


def _reciprocal(value: Array) -> Array:
    return np.divide(value.dtype.type(1), value)


def _reciprocal_of_sqrt(value: Array) -> Array:
    return _reciprocal(np.sqrt(value))


def _maximum(lhs: Array, rhs: Array) -> Array:
    result = np.maximum(lhs, rhs)
    if result.dtype.kind != "f":
        return result
    # numpy leaves open which of two zeros is the greater; their sum is -0.0 only if both are
    return np.where((lhs == 0) & (rhs == 0), lhs + rhs, result)


def _minimum(lhs: Array, rhs: Array) -> Array:
    if lhs.dtype.kind != "f":
        return np.minimum(lhs, rhs)
    return -_maximum(-lhs, -rhs)


add = _rounded_once(np.add)
subtract = _rounded_once(np.subtract)
multiply = _rounded_once(np.multiply)
maximum = _rounded_once(_maximum)
minimum = _rounded_once(_minimum)

truncated_remainder = _rounded_once(np.fmod)
"""The remainder with the sign of the dividend, as C has it; of integers 0 for a divisor of 0."""

_divide_floats = _rounded_once(np.divide)
_power_of_floats = _through_f64(np.power)


def divide(lhs: Array, rhs: Array) -> Array:
    """Returns the quotient; for integers its floor, 0 for a divisor of 0, wrapped for the least by -1."""
    return _divide_floats(lhs, rhs) if is_floating(lhs.dtype) else np.floor_divide(lhs, rhs)


def _next_after(value: Array, target: Array) -> Array:
    """Returns the neighbour of `value` in the direction of `target`; `target` itself where they are equal."""
    return np.where(value == target, target, np.nextafter(value, target))


def ldexp(value: Array, exponent: Array) -> Array:
    """Returns f32 or f64 times 2 to the power of `exponent`, an integer; anything where the value is NaN."""
    known = np.where(np.isfinite(exponent), exponent, 0)
    return np.ldexp(value, known.astype(np.int32))


def _truncated_divide(lhs: Array, rhs: Array) -> Array:
    """Returns the quotient of integers cut towards zero: 0 for division by 0, the least by -1 wraps."""
    floored = np.floor_divide(lhs, rhs)
    is_cut = (np.remainder(lhs, rhs) != 0) & ((lhs < 0) != (rhs < 0))
    return floored + is_cut.astype(lhs.dtype)


def _power(base: Array, exponent: Array) -> Array:
    """Returns the power; integers wrap, and 1 / base**-exponent is cut to an integer, 0 for a base of 0."""
    if is_floating(base.dtype):
        return _power_of_floats(base, exponent)
    square, rest = np.broadcast_arrays(base, exponent)
    unsigned = np.dtype(f"u{base.dtype.itemsize}")
    result, rest = np.ones_like(square), rest.view(unsigned)
    while rest.any():
        result = np.where(rest & 1 == 1, result * square, result)
        square, rest = square * square, rest >> unsigned.type(1)
    if base.dtype.kind == "u":
        return result
    is_odd = exponent & 1 == 1
    inverse = np.where(base == -1, np.where(is_odd, -1, 1), base == 1).astype(base.dtype)
    return np.where(exponent < 0, inverse, result)


def _relu(value: Array) -> Array:
    """Returns the greater of the value and +0."""
    return maximum(value, np.zeros((), value.dtype))


def _shift_left(value: Array, amount: Array) -> Array:
    """Returns `value << amount`, 0 if the amount is negative or not below the width."""
    fits, safe = _shift_amount(amount)
    return np.where(fits, np.left_shift(value, safe), np.zeros((), value.dtype))


def _shift_right(value: Array, amount: Array) -> Array:
    """Returns `value >> amount`; an amount that is negative or not below the width leaves only the sign."""
    fits, safe = _shift_amount(amount)
    sign = np.where(value < 0, -1, 0).astype(value.dtype)
    return np.where(fits, np.right_shift(value, safe), sign)


def nibble(value: Array, number: Array) -> Array:
    """Returns the signed four bits of bytes: the lower ones where `number` is even, else the upper ones."""
    return np.where(number & 1, value, value << 4) >> 4


def _shift_amount(amount: Array) -> tuple[Array, Array]:
    fits = (amount >= 0) & (amount < amount.dtype.itemsize * 8)
    return fits, np.where(fits, amount, np.zeros((), amount.dtype))


ELEMENTWISE: dict[type[graph.ElementwiseOp], Function] = {
    graph.NegOp: _rounded_once(np.negative),
    graph.AbsOp: _rounded_once(np.absolute),
    graph.SignOp: _rounded_once(np.sign),
    graph.ReluOp: _relu,
    graph.NotOp: np.invert,
    graph.FloorOp: _rounded_once(np.floor),
    graph.CeilOp: _rounded_once(np.ceil),
    graph.TruncOp: _rounded_once(np.trunc),
    graph.RoundOp: _rounded_once(np.rint),
    graph.ExpOp: _through_f64(np.exp),
    graph.LogOp: _through_f64(np.log),
    graph.SqrtOp: _rounded_once(np.sqrt),
    graph.RsqrtOp: _rounded_once(_reciprocal_of_sqrt),
    graph.RecipOp: _rounded_once(_reciprocal),
    graph.TanhOp: _through_f64(np.tanh),
    graph.ErfOp: _through_f64(_erf),
    graph.SinOp: _through_f64(np.sin),
    graph.CosOp: _through_f64(np.cos),
    graph.Expm1Op: _through_wider(np.expm1),
    graph.Exp2Op: _through_wider(np.exp2),
    graph.Log1pOp: _through_wider(np.log1p),
    graph.Log2Op: _through_wider(np.log2),
    graph.Log10Op: _through_wider(np.log10),
    graph.TanOp: _through_wider(np.tan),
    graph.AsinOp: _through_wider(np.arcsin),
    graph.AcosOp: _through_wider(np.arccos),
    graph.AtanOp: _through_wider(np.arctan),
    graph.SinhOp: _through_wider(np.sinh),
    graph.CoshOp: _through_wider(np.cosh),
    graph.AsinhOp: _through_wider(np.arcsinh),
    graph.AcoshOp: _through_wider(np.arccosh),
    graph.AtanhOp: _through_wider(np.arctanh),
    graph.AddOp: add,
    graph.SubOp: subtract,
    graph.MulOp: multiply,
    graph.DivOp: divide,
    graph.ModOp: _rounded_once(np.remainder),
    graph.FloordivOp: _rounded_once(np.floor_divide),
    graph.TruncdivOp: _truncated_divide,
    graph.RemOp: truncated_remainder,
    graph.PowOp: _power,
    graph.Atan2Op: _through_wider(np.arctan2),
    graph.HypotOp: _through_wider(np.hypot),
    graph.LogaddexpOp: _through_wider(np.logaddexp),
    graph.CopysignOp: _rounded_once(np.copysign),
    graph.NextafterOp: _next_after,
    graph.MaxOp: maximum,
    graph.MinOp: minimum,
    graph.AndOp: np.bitwise_and,
    graph.OrOp: np.bitwise_or,
    graph.XorOp: np.bitwise_xor,
    graph.ShlOp: _shift_left,
    graph.ShrOp: _shift_right,
    graph.NibbleOp: nibble,
    graph.EqOp: np.equal,
    graph.NeOp: np.not_equal,
    graph.LtOp: np.less,
    graph.LeOp: np.less_equal,
    graph.GtOp: np.greater,
    graph.GeOp: np.greater_equal,
    graph.IsnanOp: np.isnan,
    graph.IsinfOp: np.isinf,
    graph.IsfiniteOp: np.isfinite,
    graph.SignbitOp: np.signbit,
    graph.SelectOp: np.where,
    graph.FmaOp: fma,
}
"""What one element of the result of each elementwise op is, but of conversions, which look at its type."""

MATH: dict[type[Operation], Function] = {
    op.MATH: function for op, function in ELEMENTWISE.items() if op.MATH is not None
}
"""What the ops of `math` compute: each what the op of `graph` does whose scalar code it is."""


def cast(value: Array, dtype: np.dtype[Any]) -> Array:
    """
    Returns `value` in another dtype: floats rounded once to nearest even, integers cut to their low bits,
    floats to integers towards zero, saturating, with NaN as 0, and anything to bool by `!= 0`.
    """
    source = value.dtype
    if source == dtype:
        return value
    if dtype == BOOL:
        return np.not_equal(value, source.type(0))
    if is_floating(source):
        if not is_floating(dtype):
            return _saturated(value, dtype)
        return _narrowed(value, dtype) if is_narrow(dtype) else value.astype(dtype)
    if is_narrow(dtype) and source.itemsize > 2:
        return _narrowed(_almost_f64(value), dtype)
    return value.astype(F32).astype(dtype) if is_narrow(dtype) else value.astype(dtype)


def _narrowed(value: Array, dtype: np.dtype[Any]) -> Array:
    """Rounds a float once to a narrow dtype; ml_dtypes goes by way of f32, rounding an f64 twice."""
    if value.dtype == F64 and dtype != F16:
        nearest = value.astype(F32)
        value = round_to_odd(nearest, value - nearest)
    return value.astype(F32 if value.dtype != F64 else F64).astype(dtype)


def _almost_f64(value: Array) -> Array:
    """
    Returns f64s that round to the same narrow floats as the integers `value`: of a large one, the low 12 bits
    are replaced by whether any of them is set.
    """
    if value.dtype.itemsize < 8:
        return value.astype(F64)
    one = value.dtype.type
    is_large = (value >= one(2**53)) if value.dtype.kind == "u" else np.abs(value // one(2)) >= one(2**52)
    is_odd: Array = value & one(0xFFF) != 0
    sticky: Array = is_odd.astype(value.dtype) * one(0x800)
    rounded: Array = np.where(is_large, (value & ~one(0xFFF)) | sticky, value)
    return rounded.astype(F64)


def _saturated(value: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    low, above = float(limits.min), 2.0 ** (limits.bits - (dtype.kind == "i"))
    whole = np.trunc(value.astype(F64))
    inside = np.where((whole >= low) & (whole < above), whole, 0).astype(dtype)
    saturated = np.where(whole < low, dtype.type(limits.min), inside)
    return np.where(whole >= above, dtype.type(limits.max), saturated)


_UNSIGNED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(f"{kind}{nbytes}"): np.dtype(f"u{nbytes}") for kind in "iu" for nbytes in (1, 2, 4, 8)
}
_UNSIGNED[BOOL] = np.dtype(np.uint8)


def as_unsigned(value: Array) -> Array:
    """Returns the bits of an integer read as unsigned; a boolean is 0 or 1."""
    return np.asarray(value).view(_UNSIGNED[value.dtype])


def as_signed(value: Array) -> Array:
    """Returns the value of a signless integer read as signed; of one bit, true is -1."""
    return np.negative(value.view(np.int8)) if value.dtype == BOOL else value


def _wrapped(result: Array, dtype: np.dtype[Any]) -> Array:
    return result & 1 != 0 if dtype == BOOL else np.asarray(result).view(dtype)


def on_unsigned(function: Function) -> Function:
    """Returns `function` of signless integers, i1 included, read as unsigned; the result wraps."""

    def compute(lhs: Array, rhs: Array) -> Array:
        return _wrapped(function(as_unsigned(lhs), as_unsigned(rhs)), lhs.dtype)

    return compute


def on_signed(function: Function) -> Function:
    """Returns `function` of signless integers, i1 included, read as signed; the result wraps."""

    def compute(lhs: Array, rhs: Array) -> Array:
        if lhs.dtype != BOOL:
            return function(lhs, rhs)
        return _wrapped(function(as_signed(lhs), as_signed(rhs)), BOOL)

    return compute


def _number_or_other(choose: Function) -> Function:
    """IEEE 754-2008 minNum and maxNum: an operand that is NaN loses to one that is a number."""

    def compute(lhs: Array, rhs: Array) -> Array:
        chosen = choose(lhs, rhs)
        return np.where(np.isnan(lhs), rhs, np.where(np.isnan(rhs), lhs, chosen))

    return _rounded_once(compute)


maximum_number = _number_or_other(_maximum)
minimum_number = _number_or_other(_minimum)

_add, _multiply = on_signed(np.add), on_signed(np.multiply)


def add_product(lhs: Array, rhs: Array, total: Array) -> Array:
    """Returns `total + lhs * rhs`: of floats rounded once, of integers wrapping."""
    return fma(lhs, rhs, total) if is_floating(total.dtype) else _add(total, _multiply(lhs, rhs))


COMBINE: dict[CombineKind, Function] = {
    CombineKind.FMA: add,
    CombineKind.MULADDI: _add,
    CombineKind.ADDF: add,
    CombineKind.MULF: multiply,
    CombineKind.MAXIMUMF: maximum,
    CombineKind.MINIMUMF: minimum,
    CombineKind.ADDI: _add,
    CombineKind.MULI: _multiply,
    CombineKind.MAXSI: on_signed(np.maximum),
    CombineKind.MINSI: on_signed(np.minimum),
    CombineKind.MAXUI: on_unsigned(np.maximum),
    CombineKind.MINUI: on_unsigned(np.minimum),
    CombineKind.ANDI: np.bitwise_and,
    CombineKind.ORI: np.bitwise_or,
}
"""How two partial results of a reduction are combined."""


def identity(kind: CombineKind, type: Attribute) -> Array:
    """Returns the value of `type`, as a 0-d array, that changes nothing when combined by `kind`."""
    dtype = dtype_of(type)
    match kind:
        case CombineKind.FMA | CombineKind.MULADDI | CombineKind.ADDF | CombineKind.ADDI:
            return np.zeros((), dtype)
        case CombineKind.ORI | CombineKind.MAXUI:
            return np.zeros((), dtype)
        case CombineKind.MULF | CombineKind.MULI:
            return np.ones((), dtype)
        case CombineKind.MAXIMUMF:
            return np.array(-np.inf).astype(dtype)
        case CombineKind.MINIMUMF:
            return np.array(np.inf).astype(dtype)
        case CombineKind.ANDI | CombineKind.MINUI:
            return np.invert(np.zeros((), dtype), dtype=dtype)
        case CombineKind.MAXSI | CombineKind.MINSI:
            if dtype == BOOL:
                return np.array(kind is CombineKind.MAXSI)
            limits = np.iinfo(dtype)
            return np.array(limits.min if kind is CombineKind.MAXSI else limits.max, dtype)
