"""Arithmetic and functions of one number."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ..registry import onnx_op

_UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": tnp.abs,
    "Acos": tnp.acos,
    "Acosh": tnp.acosh,
    "Asin": tnp.asin,
    "Asinh": tnp.asinh,
    "Atan": tnp.atan,
    "Atanh": tnp.atanh,
    "BitwiseNot": tnp.bitwise_invert,
    "Ceil": tnp.ceil,
    "Cos": tnp.cos,
    "Cosh": tnp.cosh,
    "Erf": tnp.erf,
    "Exp": tnp.exp,
    "Floor": tnp.floor,
    "IsNaN": tnp.isnan,
    "Log": tnp.log,
    "Neg": tnp.negative,
    "Not": tnp.logical_not,
    "Reciprocal": tnp.reciprocal,
    "Round": tnp.round,
    "Sign": tnp.sign,
    "Sin": tnp.sin,
    "Sinh": tnp.sinh,
    "Sqrt": tnp.sqrt,
    "Tan": tnp.tan,
    "Tanh": tnp.tanh,
}

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": tnp.add,
    "BitwiseAnd": tnp.bitwise_and,
    "BitwiseOr": tnp.bitwise_or,
    "BitwiseXor": tnp.bitwise_xor,
    "Mul": tnp.multiply,
    "Sub": tnp.subtract,
}


def check_same_dtype(who: str, *arrays: Any) -> None:
    """Raises TenonError where arrays are not of one dtype: ops convert nothing by themselves."""
    dtypes = list(dict.fromkeys(each.dtype for each in arrays))
    if len(dtypes) > 1:
        raise TenonError(f"{who}: the inputs are of different types, {', '.join(map(str, dtypes))}")


def _register_unary(name: str, function: Callable[[Array], Array]) -> None:
    @onnx_op(name)
    def unary(x: Array) -> Array:  # pyright: ignore[reportUnusedFunction]
        return function(x)


def _register_binary(name: str, function: Callable[[Array, Array], Array]) -> None:
    @onnx_op(name, since=7)
    def binary(x: Array, y: Array) -> Array:  # pyright: ignore[reportUnusedFunction]
        check_same_dtype(name, x, y)
        return function(x, y)


for _name, _function in _UNARY.items():
    _register_unary(_name, _function)
for _name, _function in _BINARY.items():
    _register_binary(_name, _function)


@onnx_op("Div", since=7)
def divide(x: Array, y: Array) -> Array:
    """The quotient; that of integers is rounded towards zero."""
    check_same_dtype("Div", x, y)
    if x.dtype.kind not in "iu":
        return tnp.divide(x, y)
    quotient = tnp.floor_divide(x, y)
    if x.dtype.kind == "u":
        return quotient
    is_below = tnp.logical_and(
        tnp.not_equal(tnp.multiply(quotient, y), x), tnp.less(tnp.bitwise_xor(x, y), 0)
    )
    return tnp.where(is_below, tnp.add(quotient, 1), quotient)


@onnx_op("Mod")
def modulo(x: Array, y: Array, *, fmod: int = 0) -> Array:
    """The remainder, of the sign of the divisor; of the dividend where `fmod` is set."""
    check_same_dtype("Mod", x, y)
    return tnp.fmod(x, y) if fmod else tnp.remainder(x, y)


@onnx_op("Pow", since=7)
def power(x: Array, y: Array) -> Array:
    """A power, of the dtype of the base."""
    if x.dtype == y.dtype:
        return tnp.pow(x, y)
    if x.dtype.kind in "iu" and y.dtype.kind not in "iu":
        wide = tnp.result_type(y.dtype, np.float32)
        return tnp.astype(tnp.pow(tnp.astype(x, wide), tnp.astype(y, wide)), x.dtype)
    return tnp.pow(x, tnp.astype(y, x.dtype))


@onnx_op("BitShift")
def bit_shift(x: Array, y: Array, *, direction: str) -> Array:
    check_same_dtype("BitShift", x, y)
    if direction not in ("LEFT", "RIGHT"):
        raise TenonError(f"direction is {direction!r}, expected LEFT or RIGHT")
    return (tnp.bitwise_left_shift if direction == "LEFT" else tnp.bitwise_right_shift)(x, y)


@onnx_op("Clip", since=11)
def clip(x: Array, low: Array | None = None, high: Array | None = None) -> Array:
    found = x if low is None else tnp.maximum(x, low)
    return found if high is None else tnp.minimum(found, high)


@onnx_op("Clip", since=6)
def clip_to_attributes(x: Array, *, min: float | None = None, max: float | None = None) -> Array:
    found = x if min is None else tnp.maximum(x, min)
    return found if max is None else tnp.minimum(found, max)


def _register_variadic(name: str, function: Callable[[Array, Array], Array]) -> None:
    @onnx_op(name, since=8)
    def variadic(x: Array, *rest: Array) -> Array:  # pyright: ignore[reportUnusedFunction]
        check_same_dtype(name, x, *rest)
        return reduce(function, rest, x)


for _name, _function in {"Max": tnp.maximum, "Min": tnp.minimum, "Sum": tnp.add}.items():
    _register_variadic(_name, _function)


@onnx_op("Mean", since=8)
def mean(x: Array, *rest: Array) -> Array:
    check_same_dtype("Mean", x, *rest)
    return tnp.divide(reduce(tnp.add, rest, x), len(rest) + 1)
