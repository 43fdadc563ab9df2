"""Functions of each element."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....algorithms.cube_root import cube_root
from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.operands import FLOAT32, FLOAT64, Operand, floats, is_float, operands
from ..dtypes import astype
from ..elementwise import (
    abs,
    copysign,
    floor_divide,
    logaddexp,
    maximum,
    minimum,
    pow,
    remainder,
    round,
    sin,
    trunc,
)
from ..predicates import equal, isinf, isnan
from ..searching import where

__all__ = [
    "around",
    "cbrt",
    "deg2rad",
    "degrees",
    "divmod",
    "fabs",
    "fix",
    "float_power",
    "fmax",
    "fmin",
    "heaviside",
    "isneginf",
    "isposinf",
    "logaddexp2",
    "modf",
    "rad2deg",
    "radians",
    "rint",
    "select",
    "sinc",
]

around = round

fix = trunc


def _as_float(who: str, x: Operand) -> TracedArray:
    (found,) = floats(who, x)
    return found


@array_function
def cbrt(x: Array, /) -> Array:
    """The cube root of each element, negative of negative ones; see `cube_root`."""
    given = _as_float("cbrt", x)
    wide = given if given.dtype.itemsize >= 4 else ops.cast(given, FLOAT32)
    (root,) = wide.trace.write("cbrt", lambda emitter: [cube_root(emitter, wide.value)])
    return astype(root, given.dtype)


@array_function
def degrees(x: Array, /) -> Array:
    """Angles in radians as degrees."""
    return _as_float("degrees", x) * (180 / math.pi)


@array_function
def radians(x: Array, /) -> Array:
    """Angles in degrees as radians."""
    return _as_float("radians", x) * (math.pi / 180)


rad2deg = degrees
deg2rad = radians


def divmod(x1: Operand, x2: Operand, /) -> tuple[Array, Array]:
    """What `floor_divide` and `remainder` give."""
    return floor_divide(x1, x2), remainder(x1, x2)


@array_function
def fabs(x: Array, /) -> Array:
    """The absolute value of each element, as a float."""
    return abs(_as_float("fabs", x))


@array_function
def float_power(x1: Operand, x2: Operand, /) -> Array:
    """`pow` in float64, of integers with negative powers too."""
    lhs, rhs = operands("float_power", x1, x2)
    return pow(ops.cast(lhs, FLOAT64), ops.cast(rhs, FLOAT64))


@array_function
def fmax(x1: Operand, x2: Operand, /) -> Array:
    """The greater of two elements; of a NaN and a number, the number."""
    lhs, rhs = operands("fmax", x1, x2)
    return _number_of(lhs, rhs, maximum(lhs, rhs))


@array_function
def fmin(x1: Operand, x2: Operand, /) -> Array:
    """The lesser of two elements; of a NaN and a number, the number."""
    lhs, rhs = operands("fmin", x1, x2)
    return _number_of(lhs, rhs, minimum(lhs, rhs))


def _number_of(lhs: TracedArray, rhs: TracedArray, chosen: Array) -> Array:
    return where(isnan(lhs), rhs, where(isnan(rhs), lhs, chosen)) if is_float(lhs.dtype) else chosen


@array_function
def heaviside(x1: Operand, x2: Operand, /) -> Array:
    """0 of negative elements of `x1`, 1 of positive ones, `x2` of zeros; NaN of NaN."""
    step, at_zero = floats("heaviside", x1, x2)
    return where(equal(step, 0), at_zero, where(step < 0, 0, where(step > 0, 1, step)))


@array_function
def isneginf(x: Array, /) -> Array:
    """Whether each element is minus infinity."""
    return isinf(x) & (x < 0)


@array_function
def isposinf(x: Array, /) -> Array:
    """Whether each element is plus infinity."""
    return isinf(x) & (x > 0)


@array_function
def logaddexp2(x1: Operand, x2: Operand, /) -> Array:
    """The logarithm to base 2 of the sum of two powers of 2."""
    lhs, rhs = floats("logaddexp2", x1, x2)
    return logaddexp(lhs * math.log(2), rhs * math.log(2)) * (1 / math.log(2))


@array_function
def modf(x: Array, /) -> tuple[Array, Array]:
    """The part of each element behind the point, and that before it, both with its sign."""
    given = _as_float("modf", x)
    whole = trunc(given)
    return copysign(where(isinf(given), 0, given - whole), given), whole


@array_function
def rint(x: Array, /) -> Array:
    """The nearest whole number, the even one of two, as a float."""
    return round(_as_float("rint", x))


def select(condlist: Sequence[Array], choicelist: Sequence[Operand], /, default: Operand = 0) -> Array:
    """
    The element of the first of some choices whose condition holds, `default` where none does.

    Raises ValueError where there are not as many choices as conditions, or none.
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(
            f"select: {len(condlist)} conditions and {len(choicelist)} choices, expected as many, 1 or more"
        )
    return _selected(list(condlist), list(choicelist), default)


@array_function
def _selected(conditions: list[Array], choices: list[Operand], default: Operand) -> Array:
    *given, result = operands("select", *choices, default)
    for condition, choice in zip(reversed(conditions), reversed(given), strict=True):
        result = where(condition, choice, result)
    return result


@array_function
def sinc(x: Array, /) -> Array:
    """sin(pi x) / (pi x), and 1 of 0."""
    angle = _as_float("sinc", x) * math.pi
    at_zero = equal(angle, 0)
    return where(at_zero, 1, sin(angle) / where(at_zero, 1, angle))
