"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ..registry import onnx_op
from .elementwise import check_same_dtype


@onnx_op("MatMul")
def matmul(x: Array, y: Array) -> Array:
    check_same_dtype("MatMul", x, y)
    return tnp.matmul(x, y)


@onnx_op("Gemm", since=7)
def gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    check_same_dtype("Gemm", a, b, *([] if c is None else [c]))
    if len(a.shape) != 2 or len(b.shape) != 2:
        raise TenonError(f"shapes {a.shape} and {b.shape}, expected two matrices")
    found = tnp.matmul(tnp.transpose(a) if transA else a, tnp.transpose(b) if transB else b)
    found = _scaled(found, alpha)
    return found if c is None else tnp.add(found, _scaled(c, beta))


def _scaled(x: Any, factor: float) -> Any:
    if factor == 1:
        return x
    if x.dtype.kind in "iu":
        return tnp.astype(tnp.multiply(tnp.astype(x, np.dtype(np.float64)), factor), x.dtype)
    return tnp.multiply(x, factor)


@onnx_op("Einsum", since=12)
def einsum(x: Array, *rest: Array, equation: str) -> Array:
    return tnp.einsum(equation.replace(" ", ""), x, *rest)


@onnx_op("Det")
def determinant(x: Any) -> Array:
    """The product of the pivots of elimination with rows exchanged, in a loop over columns."""
    count = x.shape[-1]
    if not isinstance(count, int) or len(x.shape) < 2 or x.shape[-2] != count:
        raise TenonError(f"shape {x.shape}, expected square matrices")
    rows = tnp.arange(count)
    found = tnp.ones(x.shape[:-2], dtype=x.dtype)
    for column in range(count):
        here = x[..., column]
        size = tnp.where(tnp.less(rows, column), tnp.full_like(here, -1), tnp.abs(here))
        pivot = tnp.expand_dims(tnp.argmax(size, axis=-1), -1)
        order = tnp.where(tnp.equal(rows, column), pivot, tnp.where(tnp.equal(rows, pivot), column, rows))
        index = tnp.broadcast_to(tnp.expand_dims(order, -1), x.shape)
        x = tnp.take_along_axis(x, index, axis=-2)
        head = x[..., column, column]
        sign = tnp.where(tnp.equal(pivot[..., 0], column), tnp.ones_like(head), tnp.full_like(head, -1))
        found = tnp.multiply(found, tnp.multiply(head, sign))
        divisor = tnp.where(tnp.equal(head, 0), tnp.ones_like(head), head)
        factors = tnp.divide(x[..., column], tnp.expand_dims(divisor, -1))
        factors = tnp.where(tnp.greater(rows, column), factors, tnp.zeros_like(factors))
        top = tnp.expand_dims(x[..., column, :], -2)
        x = tnp.subtract(x, tnp.multiply(tnp.expand_dims(factors, -1), top))
    return found
