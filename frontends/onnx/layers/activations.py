"""Functions of one number that networks have between their layers."""

from __future__ import annotations

import math

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ...arrays.array import Array
from ..ops.elementwise import check_same_dtype
from ..registry import onnx_op


@onnx_op("Relu")
def relu(x: Array) -> Array:
    return nn.relu(x)


@onnx_op("Sigmoid")
def sigmoid(x: Array) -> Array:
    return nn.sigmoid(x)


@onnx_op("Softplus")
def softplus(x: Array) -> Array:
    return nn.softplus(x)


@onnx_op("Softsign")
def softsign(x: Array) -> Array:
    return tnp.divide(x, tnp.add(tnp.abs(x), 1))


@onnx_op("LeakyRelu")
def leaky_relu(x: Array, *, alpha: float = 0.01) -> Array:
    return tnp.where(tnp.less(x, 0), tnp.multiply(x, alpha), x)


@onnx_op("PRelu", since=7)
def parametric_relu(x: Array, slope: Array) -> Array:
    check_same_dtype("PRelu", x, slope)
    return tnp.where(tnp.less(x, 0), tnp.multiply(x, slope), x)


@onnx_op("ThresholdedRelu")
def thresholded_relu(x: Array, *, alpha: float = 1.0) -> Array:
    return tnp.where(tnp.greater(x, alpha), x, tnp.zeros_like(x))


@onnx_op("Elu")
def elu(x: Array, *, alpha: float = 1.0) -> Array:
    return tnp.where(tnp.less(x, 0), tnp.multiply(tnp.expm1(x), alpha), x)


@onnx_op("Celu")
def celu(x: Array, *, alpha: float = 1.0) -> Array:
    below = tnp.multiply(tnp.expm1(tnp.divide(x, alpha)), alpha)
    return tnp.add(tnp.maximum(x, 0), tnp.minimum(below, 0))


@onnx_op("Selu")
def selu(
    x: Array, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Array:
    below = tnp.subtract(tnp.multiply(tnp.exp(x), alpha), alpha)
    return tnp.multiply(tnp.where(tnp.less_equal(x, 0), below, x), gamma)


@onnx_op("HardSigmoid")
def hard_sigmoid(x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    return tnp.clip(tnp.add(tnp.multiply(x, alpha), beta), 0, 1)


@onnx_op("HardSwish")
def hard_swish(x: Array) -> Array:
    return tnp.multiply(x, hard_sigmoid(x, alpha=1 / 6, beta=0.5))


@onnx_op("Swish")
def swish(x: Array, *, alpha: float = 1.0) -> Array:
    return tnp.multiply(x, nn.sigmoid(x if alpha == 1 else tnp.multiply(x, alpha)))


@onnx_op("Mish")
def mish(x: Array) -> Array:
    return tnp.multiply(x, tnp.tanh(nn.softplus(x)))


@onnx_op("Gelu")
def gelu(x: Array, *, approximate: str = "none") -> Array:
    """The element times the probability of less, or what its approximation by `tanh` gives."""
    if approximate not in ("none", "tanh"):
        raise TenonError(f"approximate is {approximate!r}, expected none or tanh")
    return nn.gelu(x, approximate=approximate == "tanh")


@onnx_op("Shrink")
def shrink(x: Array, *, bias: float = 0.0, lambd: float = 0.5) -> Array:
    bias_like, limit = tnp.full_like(x, _number(x, bias)), tnp.full_like(x, _number(x, lambd))
    above = tnp.where(tnp.greater(x, limit), tnp.subtract(x, bias_like), tnp.zeros_like(x))
    return tnp.where(tnp.less(x, tnp.negative(limit)), tnp.add(x, bias_like), above)


def _number(x: Array, value: float) -> float | int:
    return int(value) if x.dtype.kind in "iu" else value


def _rows(x: Array, axis: int) -> tuple[Array, tuple[int, ...]]:
    """Returns `x` as a matrix: the axes from `axis` on are one, and so are those before."""
    place = axis + len(x.shape) if axis < 0 else axis
    return tnp.reshape(x, (math.prod(x.shape[:place]), math.prod(x.shape[place:]))), x.shape


@onnx_op("Softmax", since=13)
def softmax(x: Array, *, axis: int = -1) -> Array:
    return nn.softmax(x, axis=axis)


@onnx_op("Softmax")
def softmax_of_rows(x: Array, *, axis: int = 1) -> Array:
    """In versions before 13 all axes from `axis` on are one."""
    rows, shape = _rows(x, axis)
    return tnp.reshape(nn.softmax(rows), shape)


@onnx_op("LogSoftmax", since=13)
def log_softmax(x: Array, *, axis: int = -1) -> Array:
    return nn.log_softmax(x, axis=axis)


@onnx_op("LogSoftmax")
def log_softmax_of_rows(x: Array, *, axis: int = 1) -> Array:
    rows, shape = _rows(x, axis)
    return tnp.reshape(nn.log_softmax(rows), shape)


@onnx_op("Hardmax", since=13)
def hardmax(x: Array, *, axis: int = -1) -> Array:
    """1 at the first greatest element along `axis`, 0 elsewhere."""
    index = tnp.argmax(x, axis=axis, keepdims=True)
    count = x.shape[axis]
    shape = [1] * len(x.shape)
    shape[axis] = count
    places = tnp.reshape(tnp.arange(count), shape)
    return tnp.astype(tnp.equal(places, index), x.dtype)


@onnx_op("Hardmax")
def hardmax_of_rows(x: Array, *, axis: int = 1) -> Array:
    rows, shape = _rows(x, axis)
    return tnp.reshape(hardmax(rows), shape)
