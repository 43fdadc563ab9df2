"""What ops were before version 7: operands broadcast along axes that are said, and not as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ..ops import comparisons, elementwise, products
from ..registry import find_rule, onnx_op
from . import activations, normalisation, pools

_BINARY = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")

_VARIADIC = ("Max", "Mean", "Min", "Sum")

assert comparisons and elementwise and pools  # Their rules are those that these extend.


def _function(name: str, version: int) -> Callable[..., Any]:
    rule = find_rule("", name, version)
    assert rule is not None, f"{name}: no rule for version {version}"
    return rule.function


def _register(name: str) -> None:
    function = _function(name, 7)

    @onnx_op(name)
    def binary(  # pyright: ignore[reportUnusedFunction]
        x: Array, y: Array, *, axis: int | None = None, broadcast: int = 0
    ) -> Array:
        if not broadcast:
            if x.shape != y.shape:
                raise TenonError(f"shapes {x.shape} and {y.shape} without broadcast")
            return function(x, y)
        if axis is not None:
            place = axis + len(x.shape) if axis < 0 else axis
            n_behind = len(x.shape) - place - len(y.shape)
            if n_behind < 0:
                raise TenonError(f"shapes {x.shape} and {y.shape} along axis {axis}")
            y = tnp.reshape(y, (*y.shape, *[1] * n_behind))
        return function(x, y)


for _name in _BINARY:
    _register(_name)
for _name in _VARIADIC:
    onnx_op(_name)(_function(_name, 8))
onnx_op("AveragePool")(_function("AveragePool", 7))


@onnx_op("Gemm")
def gemm(
    a: Array,
    b: Array,
    c: Array,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    return products.gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@onnx_op("PRelu")
def parametric_relu(x: Array, slope: Array) -> Array:
    """There is one slope, or one for each channel."""
    if len(slope.shape) == 1 and len(x.shape) > 1:
        slope = tnp.reshape(slope, (slope.shape[0], *[1] * (len(x.shape) - 2)))
    return activations.parametric_relu(x, slope)


@onnx_op("BatchNormalization", since=6)
def batch_normalization(
    x: Array,
    scale: Array,
    bias: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float = 1e-5,
    is_test: int = 0,
    momentum: float = 0.9,
    spatial: int = 1,
    n_outputs: int = 1,
) -> Any:
    if n_outputs > 1:
        raise TenonError(f"{n_outputs} results: training is not supported")
    return normalisation.batch_normalization(
        x, scale, bias, mean, variance, epsilon=epsilon, momentum=momentum, spatial=spatial
    )
