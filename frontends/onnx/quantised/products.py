"""
Products of quantised matrices, in int32. Zero points are taken off the sums, not off the elements, so that
these stay as narrow as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import numpy as tnp
from ..registry import onnx_op
from .linear import (
    FLOAT32,
    INT32,
    UINT8,
    beside,
    dynamically_quantised,
    is_single,
    one_or_row,
    requantised,
    zero_of,
)
from .operands import INT8, check_integers, less, signed, turned

_ZEROS = ("a_zero", "b_zero")


def _rows(x: Any) -> Any:
    """Returns scales or zero points of rows as a column, one for all as a scalar."""
    if x is None:
        return None
    if is_single(x):
        return tnp.reshape(x, ())
    return tnp.expand_dims(x, -1) if len(x.shape) == 1 else x


def integer_product(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    """
    Returns the product of matrices less their zero points in int32. These are numpy arrays where they are
    known, and None for 0; there is one, or one for each row of `a` or each column of `b`.

    Raises:
        TenonError: the operands are no integers of 8 or 16 bits.
    """
    check_integers(a, b)
    if len(a.shape) < 2 or len(b.shape) < 2:
        column = len(b.shape) < 2
        left = a if len(a.shape) > 1 else tnp.expand_dims(a, 0)
        found = integer_product(left, tnp.expand_dims(b, -1) if column else b, a_zero, b_zero)
        found = found[..., 0] if column else found
        return found if len(a.shape) > 1 else found[..., 0] if column else found[..., 0, :]
    b, b_zero = signed(b, b_zero)
    a_zero, b_zero = _rows(zero_of(a, a_zero)), zero_of(a, b_zero)
    b_zero = None if b_zero is None else one_or_row(b_zero)
    if b.dtype == UINT8 and a.dtype.itemsize == 1:
        # With zero points of rows or columns there are sums of these anyway.
        b, b_zero = turned(b, INT8), less(128, b_zero, b)
    if a.dtype == INT8 and b.dtype == INT8 and a_zero is not None:
        a, a_zero = turned(a, UINT8), less(-128, a_zero, a)
    found = tnp.matmul(a, b, preferred_element_type=INT32)
    if a_zero is not None:
        totals = tnp.sum(b, axis=-2, keepdims=True, dtype=INT32)
        found = tnp.subtract(found, tnp.multiply(a_zero, totals))
    if b_zero is not None:
        totals = tnp.sum(a, axis=-1, keepdims=True, dtype=INT32)
        if a_zero is not None:
            totals = tnp.subtract(totals, tnp.multiply(a_zero, beside(a, np.array(a.shape[-1], np.int32))))
        found = tnp.subtract(found, tnp.multiply(totals, b_zero))
    return found


@onnx_op("MatMulInteger", since=10, either=_ZEROS)
def matmul_integer(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    return integer_product(a, b, a_zero, b_zero)


def _as_float(x: Any) -> Any:
    return tnp.astype(x, FLOAT32)


@onnx_op("QLinearMatMul", since=10, either=(*_ZEROS, "y_zero"))
def qlinear_matmul(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> Any:
    total = integer_product(a, b, a_zero, b_zero)
    factor = tnp.multiply(_rows(_as_float(a_scale)), one_or_row(_as_float(b_scale)))
    factor = tnp.divide(factor, _rows(_as_float(y_scale)))
    return requantised(total, factor, y_zero, _rows)


@onnx_op("QGemm", domain="com.microsoft", either=(*_ZEROS, "y_zero"))
def qgemm(
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    c: Any = None,
    y_scale: Any = None,
    y_zero: Any = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    """Without a scale of the result it is floats."""
    left = tnp.matrix_transpose(a) if transA else a
    right = tnp.matrix_transpose(b) if transB else b
    total = integer_product(left, right, a_zero, b_zero)
    if c is not None:
        total = tnp.add(total, c)
    factor = tnp.multiply(tnp.multiply(one_or_row(a_scale), one_or_row(b_scale)), alpha)
    if y_scale is None:
        return tnp.multiply(_as_float(total), factor)
    factor = tnp.divide(factor, one_or_row(y_scale))
    return requantised(total, factor, y_zero)


@onnx_op("DynamicQuantizeMatMul", domain="com.microsoft", either=("b_zero",))
def dynamic_quantize_matmul(a: Any, b: Any, b_scale: Any, b_zero: Any = None, bias: Any = None) -> Any:
    codes, scale, zero = dynamically_quantised(a)
    total = integer_product(codes, b, zero, b_zero)
    found = tnp.multiply(_as_float(total), tnp.multiply(scale, one_or_row(b_scale)))
    return found if bias is None else tnp.add(found, bias)


@onnx_op("MatMulIntegerToFloat", domain="com.microsoft", either=_ZEROS)
def matmul_integer_to_float(
    a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, bias: Any = None
) -> Any:
    total = integer_product(a, b, a_zero, b_zero)
    found = tnp.multiply(_as_float(total), tnp.multiply(one_or_row(a_scale), one_or_row(b_scale)))
    return found if bias is None else tnp.add(found, bias)
