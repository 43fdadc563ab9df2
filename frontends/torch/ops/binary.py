"""Ops of two and three tensors or numbers, element by element: arithmetic, comparisons, choices, bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....dialects import graph
from ... import numpy as tnp
from ...arrays.promotion import kind_of
from ...numpy.arguments.axes import broadcast_shapes
from ...tracing import graph_ops as ops
from .promotion import BOOL, as_dtype, computed_in, promoted, promoted_floats, result_dtype
from .table import NotCoveredError, Traced, Wanted, aten


def _arithmetic(function: Callable[..., Any]) -> Callable[[Any, Any], Traced]:
    def of_two(x: Any, y: Any) -> Traced:
        (lhs, rhs), dtype = promoted(x, y)
        return as_dtype(function(lhs, rhs), dtype)

    return of_two


def _float_arithmetic(function: Callable[..., Any]) -> Callable[[Any, Any], Traced]:
    def of_two(x: Any, y: Any) -> Traced:
        (lhs, rhs), dtype = promoted_floats(x, y)
        return as_dtype(function(lhs, rhs), dtype)

    return of_two


def _comparison(function: Callable[..., Any]) -> Callable[[Any, Any], Traced]:
    def of_two(x: Any, y: Any) -> Traced:
        (lhs, rhs), _ = promoted(x, y)
        return function(lhs, rhs)

    return of_two


def _truth(function: Callable[..., Any]) -> Callable[[Any, Any], Traced]:
    def of_two(x: Any, y: Any) -> Traced:
        return function(as_dtype(x, BOOL), as_dtype(y, BOOL))

    return of_two


aten("mul.Tensor", "mul.Scalar")(_arithmetic(tnp.multiply))
aten("maximum.default")(_arithmetic(tnp.maximum))
aten("minimum.default")(_arithmetic(tnp.minimum))
aten("atan2.default")(_float_arithmetic(tnp.atan2))
aten("hypot.default")(_arithmetic(tnp.hypot))
aten("copysign.Tensor", "copysign.Scalar")(_float_arithmetic(tnp.copysign))
aten("logaddexp.default")(_float_arithmetic(tnp.logaddexp))
for _name, _function in {
    "eq": tnp.equal,
    "ne": tnp.not_equal,
    "lt": tnp.less,
    "le": tnp.less_equal,
    "gt": tnp.greater,
    "ge": tnp.greater_equal,
}.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar")(_comparison(_function))
for _name, _function in {
    "logical_and": tnp.logical_and,
    "logical_or": tnp.logical_or,
    "logical_xor": tnp.logical_xor,
}.items():
    aten(f"{_name}.default")(_truth(_function))
for _name, _function in {
    "bitwise_and": tnp.bitwise_and,
    "bitwise_or": tnp.bitwise_or,
    "bitwise_xor": tnp.bitwise_xor,
}.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Scalar_Tensor")(_arithmetic(_function))


@aten(
    "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "__lshift__.Tensor", "__lshift__.Scalar"
)
def shifted_left(x: Any, y: Any) -> Traced:
    (lhs, rhs), _ = promoted(x, y)
    return tnp.bitwise_left_shift(lhs, rhs)


@aten(
    "bitwise_right_shift.Tensor",
    "bitwise_right_shift.Tensor_Scalar",
    "__rshift__.Tensor",
    "__rshift__.Scalar",
)
def shifted_right(x: Any, y: Any) -> Traced:
    (lhs, rhs), _ = promoted(x, y)
    return tnp.bitwise_right_shift(lhs, rhs)


def _scaled(y: Traced, alpha: Any) -> Traced:
    """Returns `alpha` times `y`, which is there already in the dtype that is computed in."""
    return y if isinstance(alpha, int | float) and alpha == 1 else y * as_dtype(alpha, y.dtype)


@aten("add.Tensor", "add.Scalar")
def add(x: Any, y: Any, alpha: Any = 1) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    return as_dtype(tnp.add(lhs, _scaled(rhs, alpha)), dtype)


@aten("sub.Tensor", "sub.Scalar")
def sub(x: Any, y: Any, alpha: Any = 1) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    return as_dtype(tnp.subtract(lhs, _scaled(rhs, alpha)), dtype)


@aten("rsub.Tensor", "rsub.Scalar")
def rsub(x: Any, y: Any, alpha: Any = 1) -> Traced:
    return sub(y, x, alpha)


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor")
def div(x: Any, y: Any) -> Traced:
    (lhs, rhs), dtype = promoted_floats(x, y)
    return as_dtype(tnp.divide(lhs, rhs), dtype)


@aten("div.Tensor_mode", "div.Scalar_mode")
def div_mode(x: Any, y: Any, *, rounding_mode: str | None) -> Traced:
    if rounding_mode is None:
        return div(x, y)
    (lhs, rhs), dtype = promoted(x, y)
    if kind_of(dtype) < 2:
        if rounding_mode == "floor":
            return tnp.floor_divide(lhs, rhs)
        return tnp.floor_divide(lhs, rhs) if dtype.kind == "u" else _truncated(lhs, rhs)
    if rounding_mode == "floor":
        return as_dtype(_floored(lhs, rhs), dtype)
    # torch rounds a quotient of halves before it cuts off what is behind the point.
    quotient = as_dtype(tnp.divide(lhs, rhs), dtype)
    return as_dtype(tnp.trunc(as_dtype(quotient, computed_in(dtype))), dtype)


def _truncated(lhs: Traced, rhs: Traced) -> Traced:
    """Returns the quotient of integers, rounded towards zero."""
    down = tnp.floor_divide(lhs, rhs)
    inexact = tnp.not_equal(down * rhs, lhs)
    return tnp.where(tnp.logical_and(inexact, tnp.less(down, 0)), down + 1, down)


def _floored(lhs: Traced, rhs: Traced) -> Traced:
    """Returns the greatest integer below a quotient as torch has it: without the remainder it is exact."""
    rest = tnp.fmod(lhs, rhs)
    quotient = (lhs - rest) / rhs
    is_below = tnp.logical_and(tnp.not_equal(rest, 0), tnp.not_equal(tnp.less(rhs, 0), tnp.less(rest, 0)))
    quotient = tnp.where(is_below, quotient - 1, quotient)
    whole = tnp.floor(quotient)
    whole = tnp.where(tnp.greater(quotient - whole, 0.5), whole + 1, whole)
    exact = lhs / rhs
    whole = tnp.where(tnp.equal(quotient, 0), tnp.copysign(tnp.zeros_like(exact), exact), whole)
    return tnp.where(tnp.equal(rhs, 0), exact, whole)


@aten("floor_divide.default")
def floor_divide(x: Any, y: Any) -> Traced:
    return div_mode(x, y, rounding_mode="floor")


@aten("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def remainder(x: Any, y: Any) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    if kind_of(dtype) < 2:
        return tnp.remainder(lhs, rhs)
    rest = tnp.fmod(lhs, rhs)
    other_sign = tnp.not_equal(tnp.less(rhs, 0), tnp.less(rest, 0))
    rest = tnp.where(tnp.logical_and(tnp.not_equal(rest, 0), other_sign), rest + rhs, rest)
    return as_dtype(rest, dtype)


@aten("fmod.Tensor", "fmod.Scalar")
def fmod(x: Any, y: Any) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    if kind_of(dtype) < 2:
        return lhs - div_mode(lhs, rhs, rounding_mode="trunc") * rhs
    return as_dtype(tnp.fmod(lhs, rhs), dtype)


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar")
def pow_(x: Any, y: Any) -> Traced:
    dtype = result_dtype(x, y)
    within = computed_in(dtype)
    base = as_dtype(x, within)
    if kind_of(dtype) < 2:
        if isinstance(y, int) and y < 0:
            raise NotCoveredError("an integer to a negative power")
        return tnp.pow(base, as_dtype(y, within))
    if isinstance(y, int | float):
        if y == 2:
            return as_dtype(base * base, dtype)
        if y == 3:
            return as_dtype(base * base * base, dtype)
        if y == 0.5:
            return as_dtype(tnp.sqrt(base), dtype)
        if y == 1:
            return as_dtype(base, dtype)
        if y == -1:
            return as_dtype(tnp.reciprocal(base), dtype)
    return as_dtype(tnp.pow(base, as_dtype(y, within)), dtype)


@aten("fmax.default")
def fmax(x: Any, y: Any) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    if kind_of(dtype) < 2:
        return tnp.maximum(lhs, rhs)
    found = tnp.where(tnp.isnan(lhs), rhs, tnp.where(tnp.isnan(rhs), lhs, tnp.maximum(lhs, rhs)))
    return as_dtype(found, dtype)


@aten("fmin.default")
def fmin(x: Any, y: Any) -> Traced:
    (lhs, rhs), dtype = promoted(x, y)
    if kind_of(dtype) < 2:
        return tnp.minimum(lhs, rhs)
    found = tnp.where(tnp.isnan(lhs), rhs, tnp.where(tnp.isnan(rhs), lhs, tnp.minimum(lhs, rhs)))
    return as_dtype(found, dtype)


@aten("nextafter.default")
def nextafter(x: Traced, y: Traced) -> Traced:
    return tnp.nextafter(x, y)


@aten("clamp.default", "clamp.Tensor")
def clamp(x: Any, min: Any = None, max: Any = None) -> Traced:
    bounds = [each for each in (min, max) if each is not None]
    dtype = result_dtype(x, *bounds)
    within = computed_in(dtype)
    found = as_dtype(x, within)
    if min is not None:
        found = tnp.maximum(found, as_dtype(min, within))
    if max is not None:
        found = tnp.minimum(found, as_dtype(max, within))
    return as_dtype(found, dtype)


@aten("clamp_min.default", "clamp_min.Tensor")
def clamp_min(x: Any, min: Any) -> Traced:
    return clamp(x, min, None)


@aten("clamp_max.default", "clamp_max.Tensor")
def clamp_max(x: Any, max: Any) -> Traced:
    return clamp(x, None, max)


@aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(condition: Traced, x: Any, y: Any) -> Traced:
    dtype = result_dtype(x, y)
    return tnp.where(as_dtype(condition, BOOL), as_dtype(x, dtype), as_dtype(y, dtype))


@aten("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(x: Traced, mask: Traced, value: Any) -> Traced:
    return tnp.where(mask, as_dtype(value, x.dtype), x)


@aten("copy.default")
def copied(x: Traced, source: Traced, non_blocking: bool = False) -> Traced:
    return ops.broadcast(as_dtype(source, x.dtype), x.shape)


@aten("fill.Scalar", "fill.Tensor")
def filled(x: Traced, value: Any) -> Traced:
    return ops.broadcast(as_dtype(value, x.dtype), x.shape)


@aten("addcmul.default")
def addcmul(x: Traced, y: Traced, z: Traced, *, value: Any = 1) -> Traced:
    (first, second, third), dtype = promoted(x, y, z)
    return as_dtype(first + _scaled(second, value) * third, dtype)


@aten("addcdiv.default")
def addcdiv(x: Traced, y: Traced, z: Traced, *, value: Any = 1) -> Traced:
    (first, second, third), dtype = promoted(x, y, z)
    if kind_of(dtype) < 2:
        raise NotCoveredError("a quotient of integers")
    return as_dtype(first + _scaled(second, value) / third, dtype)


@aten("prims::fma.default")
def fma(x: Any, y: Any, z: Any) -> Traced:
    """`x * y + z`, rounded once. torch adds scaled tensors so where the factor is a tensor."""
    (first, second, third), dtype = promoted(x, y, z)
    if kind_of(dtype) < 2:
        return first * second + third
    shape = broadcast_shapes("fma", [first.shape, second.shape, third.shape])
    first, second, third = (ops.broadcast(each, shape) for each in (first, second, third))
    fused = ops.built(lambda: graph.FmaOp(first.value, second.value, third.value), first)
    return as_dtype(fused, dtype)


@aten("threshold.default")
def threshold(x: Traced, threshold: Any, value: Any) -> Traced:
    dtype = x.dtype
    is_cut = tnp.less_equal(as_dtype(x, computed_in(dtype)), as_dtype(threshold, computed_in(dtype)))
    return tnp.where(is_cut, as_dtype(value, dtype), x)


@aten("threshold_backward.default")
def threshold_backward(grad: Traced, x: Traced, threshold: Any) -> Traced:
    dtype = result_dtype(grad, x)
    is_cut = tnp.less_equal(as_dtype(x, computed_in(dtype)), as_dtype(threshold, computed_in(dtype)))
    return tnp.where(is_cut, as_dtype(0, dtype), as_dtype(grad, dtype))


@aten("scalar_tensor.default")
def scalar_tensor(value: Any, dtype: Any = None, *, wanted: Wanted) -> Traced:
    return as_dtype(value, wanted.dtype if dtype is None else dtype)
