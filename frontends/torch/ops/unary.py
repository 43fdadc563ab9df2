"""Ops of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects import graph
from ... import nn
from ... import numpy as tnp
from ...arrays.promotion import kind_of
from ...tracing import graph_ops as ops
from .promotion import BOOL, as_dtype, computed_in, promoted, promoted_floats
from .table import NotCoveredError, Traced, aten

FLOAT_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "acos": tnp.acos,
    "acosh": tnp.acosh,
    "asin": tnp.asin,
    "asinh": tnp.asinh,
    "atan": tnp.atan,
    "atanh": tnp.atanh,
    "cos": tnp.cos,
    "cosh": tnp.cosh,
    "erf": tnp.erf,
    "exp": tnp.exp,
    "exp2": tnp.exp2,
    "expm1": tnp.expm1,
    "log": tnp.log,
    "log10": tnp.log10,
    "log1p": tnp.log1p,
    "log2": tnp.log2,
    "reciprocal": tnp.reciprocal,
    "rsqrt": tnp.rsqrt,
    "sigmoid": nn.sigmoid,
    "silu": nn.silu,
    "sin": tnp.sin,
    "sinh": tnp.sinh,
    "sqrt": tnp.sqrt,
    "tan": tnp.tan,
    "tanh": tnp.tanh,
}
"""Functions that give floats of integers."""

SAME_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": tnp.abs,
    "ceil": tnp.ceil,
    "floor": tnp.floor,
    "neg": tnp.negative,
    "relu": tnp.relu,
    "trunc": tnp.trunc,
}
"""Functions that keep the dtype."""

PREDICATES: dict[str, Callable[..., Any]] = {
    "isfinite": tnp.isfinite,
    "isinf": tnp.isinf,
    "isnan": tnp.isnan,
}


def _float_function(function: Callable[..., Any]) -> Callable[[Traced], Traced]:
    def of_floats(x: Traced) -> Traced:
        (value,), dtype = promoted_floats(x)
        return as_dtype(function(value), dtype)

    return of_floats


def _same_function(function: Callable[..., Any]) -> Callable[[Traced], Traced]:
    def of_any(x: Traced) -> Traced:
        (value,), dtype = promoted(x)
        return as_dtype(function(value), dtype)

    return of_any


def _predicate(function: Callable[..., Any]) -> Callable[[Traced], Traced]:
    def of_any(x: Traced) -> Traced:
        return ops.full(function is tnp.isfinite, BOOL, x.shape) if kind_of(x.dtype) < 2 else function(x)

    return of_any


for _name, _function in FLOAT_FUNCTIONS.items():
    aten(f"{_name}.default")(_float_function(_function))
for _name, _function in SAME_FUNCTIONS.items():
    aten(f"{_name}.default")(_same_function(_function))
for _name, _function in PREDICATES.items():
    aten(f"{_name}.default")(_predicate(_function))


@aten("sign.default", "sgn.default")
def sign(x: Traced) -> Traced:
    """The sign, 0 of NaN."""
    found = tnp.sign(x) if x.dtype != BOOL else x
    return tnp.where(tnp.isnan(x), as_dtype(0, x.dtype), found) if kind_of(x.dtype) == 2 else found


@aten("round.default")
def round_(x: Traced) -> Traced:
    return x if kind_of(x.dtype) < 2 else tnp.round(x)


@aten("round.decimals")
def round_decimals(x: Traced, *, decimals: int) -> Traced:
    if kind_of(x.dtype) < 2:
        return x
    value = as_dtype(x, computed_in(x.dtype))
    scale = as_dtype(10.0 ** abs(decimals), value.dtype)
    if decimals >= 0:
        return as_dtype(tnp.round(value * scale) / scale, x.dtype)
    return as_dtype(tnp.round(value / scale) * scale, x.dtype)


@aten("bitwise_not.default")
def bitwise_not(x: Traced) -> Traced:
    return tnp.bitwise_invert(x)


@aten("logical_not.default")
def logical_not(x: Traced) -> Traced:
    return tnp.logical_not(as_dtype(x, BOOL))


@aten("signbit.default")
def signbit(x: Traced) -> Traced:
    if kind_of(x.dtype) == 2:
        return tnp.signbit(x)
    return ops.full(False, BOOL, x.shape) if x.dtype.kind in "bu" else tnp.less(x, 0)


@aten("square.default")
def square(x: Traced) -> Traced:
    (value,), dtype = promoted(x)
    return as_dtype(value * value, dtype)


@aten("gelu.default")
def gelu(x: Traced, *, approximate: str = "none") -> Traced:
    (value,), dtype = promoted_floats(x)
    return as_dtype(nn.gelu(value, approximate=approximate == "tanh"), dtype)


@aten("hardtanh.default")
def hardtanh(x: Traced, min_val: float = -1, max_val: float = 1) -> Traced:
    return tnp.clip(x, as_dtype(min_val, x.dtype), as_dtype(max_val, x.dtype))


@aten("leaky_relu.default")
def leaky_relu(x: Traced, negative_slope: float = 0.01) -> Traced:
    value = as_dtype(x, computed_in(x.dtype))
    return as_dtype(tnp.where(value > 0, value, value * negative_slope), x.dtype)


@aten("elu.default")
def elu(x: Traced, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Traced:
    value = as_dtype(x, computed_in(x.dtype))
    below = tnp.expm1(value * input_scale) * (alpha * scale)
    return as_dtype(tnp.where(value > 0, value * scale, below), x.dtype)


@aten("clone.default")
def cloned(x: Traced, *, memory_format: Any = None) -> Traced:
    """
    The same elements. torch asks for them in a row where it cannot show a tensor in another shape: products
    read such a tensor element by element where it is no buffer.
    """
    if str(memory_format) != "torch.contiguous_format" or len(x.shape) < 3:
        return x
    return x.trace.add(graph.MaterializeOp(x.value), aval=x.aval)


@aten("alias.default", "lift_fresh_copy.default", "detach.default", "detach_copy.default")
def same(x: Traced) -> Traced:
    return x


@aten("_to_copy.default", "prims::convert_element_type.default", "to.dtype")
def converted(x: Traced, dtype: Any = None) -> Traced:
    return x if dtype is None else cast_to(x, dtype)


def cast_to(x: Traced, dtype: Any) -> Traced:
    """Returns the elements in another dtype. C wraps what torch takes from a float to a narrow integer."""
    if kind_of(x.dtype) == 2 and dtype.kind in "iu" and dtype.itemsize < 8:
        return as_dtype(as_dtype(x, np.dtype(np.int64)), dtype)
    return as_dtype(x, dtype)


@aten("view.dtype", "view_copy.dtype")
def bits_as(x: Traced, dtype: Any) -> Traced:
    if dtype.itemsize != x.dtype.itemsize or BOOL in (dtype, x.dtype):
        raise NotCoveredError(f"bits of {x.dtype} as {dtype}, which is not as wide")
    return ops.bitcast(x, dtype)


@aten("logit.default")
def logit(x: Traced, eps: float | None = None) -> Traced:
    (value,), dtype = promoted_floats(x)
    if eps is not None:
        value = tnp.clip(value, eps, 1 - eps)
    return as_dtype(tnp.log(value / (1 - value)), dtype)
