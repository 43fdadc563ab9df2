"""
Functions of each element, by the Array API standard.

Operands of different dtypes are promoted as numpy 2 does, also across kinds (int64 and float32 give float64);
python scalars take the dtype of the arrays. Functions that give floats promote integers first.
"""

from __future__ import annotations

from operator import index

from ...dialects import graph
from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from ..tracing.trace import TracedArray
from .arguments.operands import (
    BOOL,
    FLOAT16,
    FLOAT64,
    Operand,
    as_float,
    bits,
    common,
    floats,
    is_float,
    no_loop,
    numbers,
    operands,
    rounded,
    scalar_like,
    small_numbers,
    together,
)
from .dtypes import finfo

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmod",
    "hypot",
    "imag",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "maximum",
    "minimum",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


@array_function
def abs(x: Array, /) -> Array:
    """The absolute value of each element; the least integer stays itself, booleans stay as they are."""
    (x,) = operands("abs", x)
    return x if x.dtype == BOOL else ops.abs(x)


@array_function
def acos(x: Array, /) -> Array:
    """The inverse cosine of each element, in [0, pi]: NaN outside [-1, 1]."""
    return ops.unary(graph.AcosOp, as_float("acos", x))


@array_function
def acosh(x: Array, /) -> Array:
    """The inverse hyperbolic cosine of each element: NaN below 1."""
    return ops.unary(graph.AcoshOp, as_float("acosh", x))


@array_function
def add(x1: Operand, x2: Operand, /) -> Array:
    """The sum of the elements; integers wrap, of booleans it is the logical or."""
    lhs, rhs = operands("add", x1, x2)
    return ops.or_(lhs, rhs) if lhs.dtype == BOOL else ops.add(lhs, rhs)


@array_function
def asin(x: Array, /) -> Array:
    """The inverse sine of each element, in [-pi/2, pi/2]: NaN outside [-1, 1]."""
    return ops.unary(graph.AsinOp, as_float("asin", x))


@array_function
def asinh(x: Array, /) -> Array:
    """The inverse hyperbolic sine of each element."""
    return ops.unary(graph.AsinhOp, as_float("asinh", x))


@array_function
def atan(x: Array, /) -> Array:
    """The inverse tangent of each element, in [-pi/2, pi/2]."""
    return ops.unary(graph.AtanOp, as_float("atan", x))


@array_function
def atan2(x1: Operand, x2: Operand, /) -> Array:
    """The angle of the point (x2, x1), in [-pi, pi], with the signs of zeros told apart."""
    return ops.binary(graph.Atan2Op, *floats("atan2", x1, x2))


@array_function
def atanh(x: Array, /) -> Array:
    """The inverse hyperbolic tangent of each element: infinite at -1 and 1, NaN beyond."""
    return ops.unary(graph.AtanhOp, as_float("atanh", x))


@array_function
def bitwise_and(x1: Operand, x2: Operand, /) -> Array:
    """The bits that both elements have. Raises TypeError for floats."""
    return ops.and_(*bits("bitwise_and", x1, x2))


@array_function
def bitwise_invert(x: Array, /) -> Array:
    """The bits that the element has not; of booleans the logical not. Raises TypeError for floats."""
    return ops.not_(*bits("bitwise_invert", x))


@array_function
def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Array:
    """
    The bits of `x1` moved up by `x2`: 0 by the width or more, or by a negative amount.

    Booleans count as int8. Raises TypeError for floats.
    """
    bits("bitwise_left_shift", x1, x2)
    return ops.shl(*small_numbers("bitwise_left_shift", x1, x2))


@array_function
def bitwise_or(x1: Operand, x2: Operand, /) -> Array:
    """The bits that one of the elements has. Raises TypeError for floats."""
    return ops.or_(*bits("bitwise_or", x1, x2))


@array_function
def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Array:
    """
    The bits of `x1` moved down by `x2`, with the sign kept: 0 or -1 by the width or more, or by a negative
    amount.

    Booleans count as int8. Raises TypeError for floats.
    """
    bits("bitwise_right_shift", x1, x2)
    return ops.shr(*small_numbers("bitwise_right_shift", x1, x2))


@array_function
def bitwise_xor(x1: Operand, x2: Operand, /) -> Array:
    """The bits that one of the elements has and the other has not. Raises TypeError for floats."""
    return ops.xor(*bits("bitwise_xor", x1, x2))


@array_function
def ceil(x: Array, /) -> Array:
    """The least integer from the element up; integers and booleans stay as they are."""
    return rounded(graph.CeilOp, *operands("ceil", x))


@array_function
def clip(x: Array, /, min: Operand | None = None, max: Operand | None = None) -> Array:
    """
    The element, but `min` where it is less and `max` where it is more; where `min` is more than `max`, `max`.

    The bounds broadcast with `x`, and all promote together. NaN in any of them gives NaN.
    """
    present = [value for value in (x, min, max) if value is not None]
    x, *bounds = together("clip", common("clip", *present))
    if min is not None:
        x = _maximum(x, bounds[0])
    return x if max is None else _minimum(x, bounds[-1])


@array_function
def conj(x: Array, /) -> Array:
    """The element: there are no complex dtypes. Booleans count as int8."""
    return small_numbers("conj", x)[0]


@array_function
def copysign(x1: Operand, x2: Operand, /) -> Array:
    """`x1` with the sign of `x2`, also where that is -0.0."""
    return ops.binary(graph.CopysignOp, *floats("copysign", x1, x2))


@array_function
def cos(x: Array, /) -> Array:
    """The cosine of each element: NaN for infinities."""
    return ops.cos(as_float("cos", x))


@array_function
def cosh(x: Array, /) -> Array:
    """The hyperbolic cosine of each element."""
    return ops.unary(graph.CoshOp, as_float("cosh", x))


@array_function
def divide(x1: Operand, x2: Operand, /) -> Array:
    """The quotient; integers and booleans are divided as float64."""
    lhs, rhs = operands("divide", x1, x2)
    if not is_float(lhs.dtype):
        lhs, rhs = ops.cast(lhs, FLOAT64, lhs.weak), ops.cast(rhs, FLOAT64, rhs.weak)
    return ops.div(lhs, rhs)


@array_function
def erf(x: Array, /) -> Array:
    """The error function of each element."""
    return ops.erf(as_float("erf", x))


@array_function
def exp(x: Array, /) -> Array:
    """e to the power of each element."""
    return ops.exp(as_float("exp", x))


@array_function
def exp2(x: Array, /) -> Array:
    """2 to the power of each element."""
    return ops.unary(graph.Exp2Op, as_float("exp2", x))


@array_function
def expm1(x: Array, /) -> Array:
    """e to the power of each element, less 1, exact near 0."""
    return ops.unary(graph.Expm1Op, as_float("expm1", x))


@array_function
def floor(x: Array, /) -> Array:
    """The greatest integer up to the element; integers and booleans stay as they are."""
    return rounded(graph.FloorOp, *operands("floor", x))


@array_function
def floor_divide(x1: Operand, x2: Operand, /) -> Array:
    """
    The greatest integer up to the quotient. Integers divided by zero give 0; the least integer by -1 wraps.

    Booleans count as int8.
    """
    lhs, rhs = small_numbers("floor_divide", x1, x2)
    return ops.binary(graph.FloordivOp, lhs, rhs) if is_float(lhs.dtype) else ops.div(lhs, rhs)


@array_function
def fmod(x1: Operand, x2: Operand, /) -> Array:
    """
    The remainder with the sign of `x1`, as C's. An integer's remainder by zero is 0. Booleans count as int8.
    """
    return ops.binary(graph.RemOp, *small_numbers("fmod", x1, x2))


@array_function
def hypot(x1: Operand, x2: Operand, /) -> Array:
    """The square root of the sum of squares, without overflow on the way; inf where one is infinite."""
    return ops.binary(graph.HypotOp, *floats("hypot", x1, x2))


@array_function
def imag(x: Array, /) -> Array:
    """Raises TypeError: there are no complex dtypes."""
    raise no_loop("imag", x.dtype, hint="there are no complex dtypes")


@array_function
def log(x: Array, /) -> Array:
    """The natural logarithm of each element: -inf for 0, NaN below."""
    return ops.log(as_float("log", x))


@array_function
def log10(x: Array, /) -> Array:
    """The logarithm to base 10 of each element: -inf for 0, NaN below."""
    return ops.unary(graph.Log10Op, as_float("log10", x))


@array_function
def log1p(x: Array, /) -> Array:
    """The natural logarithm of 1 plus the element, exact near 0."""
    return ops.unary(graph.Log1pOp, as_float("log1p", x))


@array_function
def log2(x: Array, /) -> Array:
    """The logarithm to base 2 of each element: -inf for 0, NaN below."""
    return ops.unary(graph.Log2Op, as_float("log2", x))


@array_function
def logaddexp(x1: Operand, x2: Operand, /) -> Array:
    """The logarithm of exp(x1) + exp(x2), without overflow on the way."""
    return ops.logaddexp(*floats("logaddexp", x1, x2))


def _maximum(lhs: TracedArray, rhs: TracedArray) -> TracedArray:
    return ops.or_(lhs, rhs) if lhs.dtype == BOOL else ops.max(lhs, rhs)


def _minimum(lhs: TracedArray, rhs: TracedArray) -> TracedArray:
    return ops.and_(lhs, rhs) if lhs.dtype == BOOL else ops.min(lhs, rhs)


@array_function
def maximum(x1: Operand, x2: Operand, /) -> Array:
    """The greater element; NaN where one is NaN, and 0.0 counts as more than -0.0."""
    return _maximum(*operands("maximum", x1, x2))


@array_function
def minimum(x1: Operand, x2: Operand, /) -> Array:
    """The lesser element; NaN where one is NaN, and -0.0 counts as less than 0.0."""
    return _minimum(*operands("minimum", x1, x2))


@array_function
def multiply(x1: Operand, x2: Operand, /) -> Array:
    """The product of the elements; integers wrap, of booleans it is the logical and."""
    lhs, rhs = operands("multiply", x1, x2)
    return ops.and_(lhs, rhs) if lhs.dtype == BOOL else ops.mul(lhs, rhs)


@array_function(static=("nan", "posinf", "neginf"))
def nan_to_num(
    x: Array, /, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """The element, but `nan` for NaN and the largest finite numbers, or those given, for the infinities."""
    (x,) = operands("nan_to_num", x)
    if not is_float(x.dtype):
        return x
    largest = finfo(x.dtype)
    high = largest.max if posinf is None else posinf
    low = largest.min if neginf is None else neginf
    inf = scalar_like(x, float("inf"))
    finite = ops.select(ops.eq(x, inf), scalar_like(x, high), x)
    finite = ops.select(ops.eq(x, ops.neg(inf)), scalar_like(x, low), finite)
    return ops.select(ops.isnan(x), scalar_like(x, nan), finite)


@array_function
def negative(x: Array, /) -> Array:
    """The negative of each element; integers wrap. Raises TypeError for booleans."""
    return ops.neg(*numbers("negative", x))


@array_function
def nextafter(x1: Operand, x2: Operand, /) -> Array:
    """The float next to `x1` on the way to `x2`; `x2` where they are equal."""
    return ops.binary(graph.NextafterOp, *floats("nextafter", x1, x2))


@array_function
def positive(x: Array, /) -> Array:
    """The element. Raises TypeError for booleans."""
    return numbers("positive", x)[0]


def pow(x1: Operand, x2: Operand, /) -> Array:
    """
    `x1` to the power of `x2`; integers wrap. Booleans count as int8.

    An integer to a negative power is ValueError where the exponent is a python scalar; in an array it gives
    0, but for bases 1 and -1.
    """
    if isinstance(x2, int) and x2 < 0 and not isinstance(x1, float) and not _is_float_array(x1):
        raise ValueError(f"pow: integers to negative integer powers are not allowed (exponent {x2})")
    if isinstance(x2, int | float) and x2 == 2 and _is_float_array(x1):
        return multiply(x1, x1)
    return _pow(x1, x2)


def _is_float_array(x: object) -> bool:
    return isinstance(x, Array) and is_float(x.dtype)


@array_function
def _pow(x1: Operand, x2: Operand, /) -> Array:
    return ops.pow(*small_numbers("pow", x1, x2))


@array_function
def real(x: Array, /) -> Array:
    """The element: there are no complex dtypes."""
    return x


@array_function
def reciprocal(x: Array, /) -> Array:
    """1 divided by the element; of integers, 0 but for 1 and -1. Booleans count as int8."""
    (x,) = small_numbers("reciprocal", x)
    one = scalar_like(x, 1)
    return ops.div(one, x) if is_float(x.dtype) else ops.binary(graph.TruncdivOp, one, x)


@array_function
def relu(x: Array, /) -> Array:
    """The element, but 0 where it is less; NaN for NaN. Raises TypeError for booleans."""
    return ops.unary(graph.ReluOp, *numbers("relu", x))


@array_function
def remainder(x1: Operand, x2: Operand, /) -> Array:
    """
    The remainder with the sign of `x2`, as python's. An integer's remainder by zero is 0. Booleans count as
    int8.
    """
    return ops.mod(*small_numbers("remainder", x1, x2))


@array_function(static=("decimals",))
def round(x: Array, /, decimals: int = 0) -> Array:
    """
    The nearest integer, the even one of two, or as numpy does the nearest number of so many digits after the
    point, or of so many zeros before it where `decimals` is below 0: what is rounded is the product with a
    power of ten. Integers with no zeros asked stay as they are, booleans become float16.
    """
    (x,) = operands("round", x)
    digits = index(decimals)
    if x.dtype == BOOL:
        return ops.cast(x, FLOAT16)
    if not digits or (digits > 0 and not is_float(x.dtype)):
        return rounded(graph.RoundOp, x)
    wide = x if is_float(x.dtype) else ops.cast(x, FLOAT64)
    power = scalar_like(wide, 10.0 ** (digits if digits > 0 else -digits))
    there, back = (ops.mul, ops.div) if digits > 0 else (ops.div, ops.mul)
    return ops.cast(back(rounded(graph.RoundOp, there(wide, power)), power), x.dtype)


@array_function
def rsqrt(x: Array, /) -> Array:
    """1 divided by the square root of the element: inf for 0, NaN below."""
    return ops.unary(graph.RsqrtOp, as_float("rsqrt", x))


@array_function
def sign(x: Array, /) -> Array:
    """
    -1, 0 or 1 as the element is less than, equal to or more than 0; NaN for NaN. Raises TypeError for
    booleans.
    """
    return ops.unary(graph.SignOp, *numbers("sign", x))


@array_function
def sin(x: Array, /) -> Array:
    """The sine of each element: NaN for infinities."""
    return ops.sin(as_float("sin", x))


@array_function
def sinh(x: Array, /) -> Array:
    """The hyperbolic sine of each element."""
    return ops.unary(graph.SinhOp, as_float("sinh", x))


@array_function
def sqrt(x: Array, /) -> Array:
    """The square root of each element: NaN below 0, -0.0 for -0.0."""
    return ops.sqrt(as_float("sqrt", x))


@array_function
def square(x: Array, /) -> Array:
    """The element times itself; integers wrap. Booleans count as int8."""
    (x,) = small_numbers("square", x)
    return ops.mul(x, x)


@array_function
def subtract(x1: Operand, x2: Operand, /) -> Array:
    """The difference of the elements; integers wrap. Raises TypeError for booleans."""
    return ops.sub(*numbers("subtract", x1, x2))


@array_function
def tan(x: Array, /) -> Array:
    """The tangent of each element: NaN for infinities."""
    return ops.unary(graph.TanOp, as_float("tan", x))


@array_function
def tanh(x: Array, /) -> Array:
    """The hyperbolic tangent of each element."""
    return ops.unary(graph.TanhOp, as_float("tanh", x))


@array_function
def trunc(x: Array, /) -> Array:
    """The element without its fraction; integers and booleans stay as they are."""
    return rounded(graph.TruncOp, *operands("trunc", x))
