"""Functions of quantised elements, computed in float32: ops of onnxruntime's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..layers.activations import softmax, softmax_of_rows
from ..layers.pools import average_pool
from ..registry import onnx_op
from .linear import dequantised, quantised, zero_of

_DOMAIN = "com.microsoft"


def _floats(x: Any, scale: Any, zero: Any) -> Any:
    zero = zero_of(x, zero)
    return dequantised(x, tnp.reshape(scale, ()), None if zero is None else tnp.reshape(zero, ()))


def _codes(x: Any, scale: Any, zero: Any, dtype: np.dtype[Any]) -> Any:
    zero = zero_of(x, zero)
    zero = None if zero is None else tnp.reshape(zero, ())
    return quantised(tnp.divide(x, tnp.reshape(scale, ())), zero, dtype)


def _register_binary(name: str, function: Callable[[Any, Any], Any]) -> None:
    @onnx_op(name, domain=_DOMAIN, either=("a_zero", "b_zero", "y_zero"))
    def binary(  # pyright: ignore[reportUnusedFunction]
        a: Any,
        a_scale: Any,
        a_zero: Any,
        b: Any,
        b_scale: Any,
        b_zero: Any,
        y_scale: Any,
        y_zero: Any = None,
    ) -> Any:
        found = function(_floats(a, a_scale, a_zero), _floats(b, b_scale, b_zero))
        return _codes(found, y_scale, y_zero, a.dtype)


for _name, _function in {"QLinearAdd": tnp.add, "QLinearMul": tnp.multiply}.items():
    _register_binary(_name, _function)


@onnx_op("QLinearSigmoid", domain=_DOMAIN, either=("x_zero", "y_zero"))
def qlinear_sigmoid(x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None) -> Any:
    return _codes(nn.sigmoid(_floats(x, x_scale, x_zero)), y_scale, y_zero, x.dtype)


@onnx_op("QLinearLeakyRelu", domain=_DOMAIN, either=("x_zero", "y_zero"))
def qlinear_leaky_relu(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, alpha: float = 0.01
) -> Any:
    values = _floats(x, x_scale, x_zero)
    found = tnp.where(tnp.less(values, 0), tnp.multiply(values, alpha), values)
    return _codes(found, y_scale, y_zero, x.dtype)


@onnx_op("QLinearGlobalAveragePool", domain=_DOMAIN, either=("x_zero", "y_zero"))
def qlinear_global_average_pool(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, channels_last: int = 0
) -> Any:
    axes = tuple(range(1, len(x.shape) - 1)) if channels_last else tuple(range(2, len(x.shape)))
    mean = tnp.mean(_floats(x, x_scale, x_zero), axis=axes, keepdims=True)
    return _codes(mean, y_scale, y_zero, x.dtype)


@onnx_op("QLinearAveragePool", domain=_DOMAIN, either=("x_zero", "y_zero"))
def qlinear_average_pool(
    x: Any,
    x_scale: Any,
    x_zero: Any,
    y_scale: Any,
    y_zero: Any = None,
    *,
    kernel_shape: list[int],
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Any:
    if channels_last:
        raise TenonError("channels_last is not supported")
    found = average_pool(
        _floats(x, x_scale, x_zero),
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
        pads=pads,
        strides=strides,
    )
    return _codes(found, y_scale, y_zero, x.dtype)


@onnx_op("QLinearSoftmax", domain=_DOMAIN, either=("x_zero", "y_zero"))
def qlinear_softmax(
    x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, *, opset: int, axis: int = -1
) -> Any:
    """`opset` is the version of Softmax that is meant: before 13 all axes from `axis` on are one."""
    function = softmax_of_rows if opset < 13 else softmax
    found = function(_floats(x, x_scale, x_zero), axis=axis)
    return _codes(found, y_scale, y_zero, x.dtype)


@onnx_op("QLinearConcat", domain=_DOMAIN)
def qlinear_concat(y_scale: Any, y_zero: Any, *parts: Any, axis: int) -> Any:
    """Each part is an array, its scale and its zero point."""
    if not parts or len(parts) % 3:
        raise TenonError(
            f"{len(parts)} inputs for parts, expected an array, a scale and a zero point for each"
        )
    values = [_floats(*parts[k : k + 3]) for k in range(0, len(parts), 3)]
    return _codes(tnp.concat(values, axis=axis), y_scale, y_zero, parts[0].dtype)
