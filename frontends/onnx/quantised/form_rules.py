"""What ops are on floats that were made of integers: products of the integers, and views of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import numpy as tnp
from ..forms import Codes, Form, FormCall, Sums, form_op
from ..values import Value, is_known
from .convolutions import conv_integer
from .linear import FLOAT32, INT32, is_single, one_or_row, requantised
from .operands import along_first
from .products import integer_product
from .weights import product_with_weights

Found = tuple[Value, Form | None] | None

_BYTES = ("int8", "uint8")


@form_op("DequantizeLinear")
def dequantize_linear(call: FormCall) -> Found:
    """Notes what the floats are made of."""
    codes, scale = call.input(0), call.input(1)
    form = Codes(
        codes, scale, call.input(2), call.attributes.get("axis", 1), call.attributes.get("block_size", 0)
    )
    is_float = scale is not None and scale.dtype == FLOAT32 and not call.attributes.get("output_dtype", 0)
    return call.plain(call.inputs), form if is_float and codes.dtype.name in _INTEGERS else None


_INTEGERS = (*_BYTES, "int4", "uint4", "int32")


@form_op("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "MaxPool")
def moved(call: FormCall) -> Found:
    """Moves integers where they have one scale; what is transposed may have one for each index of an axis."""
    form = call.codes(0)
    if form is None or not _are_bytes(form):
        return None
    axis = form.axis
    if not form.is_single:
        if call.op != "Transpose" or form.block_size:
            return None
        rank = len(form.integers.shape)
        order = call.attributes.get("perm", [*range(rank)][::-1])
        axis = list(order).index(form.axis % rank)
    rest = call.inputs[1:]
    return call.plain(call.inputs), Codes(
        call.plain([form.integers, *rest]), form.scale, form.zero, axis, form.block_size
    )


@form_op("QuantizeLinear")
def quantize_linear(call: FormCall) -> Found:
    """Rounds sums of integers at once; what was made of integers of the same scale is those again."""
    form, scale, zero = call.forms[0], call.input(1), call.input(2)
    if call.attributes.get("block_size", 0) or scale is None or not is_single(scale):
        return None
    dtype = np.dtype(np.uint8) if zero is None else zero.dtype
    if call.attributes.get("output_dtype", 0) or call.attributes.get("precision", 0):
        return None
    if isinstance(form, Sums) and dtype.name in _BYTES and scale.dtype == FLOAT32:
        factor = tnp.divide(form.factor, tnp.reshape(call.lift(scale), ()))
        return requantised(form.total, factor, zero), None
    if isinstance(form, Codes) and form.integers.dtype == dtype and form.is_single:
        # Of a normal scale the float is so near the integer that it is rounded back to it.
        is_normal = is_known(scale) and bool((np.abs(scale) >= _LEAST_SCALE).all())
        if is_normal and form.has_same_scale(scale, zero):
            return form.integers, None
    return None


_LEAST_SCALE = np.float32(1e-30)


@form_op("MatMul")
def matmul(call: FormCall) -> Found:
    return _product(call, False, False)


@form_op("Gemm")
def gemm(call: FormCall) -> Found:
    options = call.attributes
    if options.get("alpha", 1.0) != 1 or options.get("beta", 1.0) != 1:
        return None
    found = _product(call, bool(options.get("transA", 0)), bool(options.get("transB", 0)))
    return None if found is None else _with_bias(call, *found)


def _product(call: FormCall, left_turned: bool, right_turned: bool) -> Found:
    """Returns the product of two matrices, those on the right transposed or not."""
    left, right = call.codes(0), call.codes(1)
    if right is None:
        return None
    if left is None or not _are_bytes(left) or not _are_bytes(right):
        return _weights_only(call, right, left_turned, right_turned)
    shape = right.integers.shape
    axis = right.axis_of(len(shape))
    of_columns = 0 if right_turned else len(shape) - 1
    if left.block_size or right.block_size or not left.is_single or len(shape) < 2:
        return None
    if axis is not None and (len(shape) != 2 or axis != of_columns):
        return None
    a, b = call.lift(left.integers), call.lift(right.integers)
    a = tnp.matrix_transpose(a) if left_turned else a
    b = tnp.matrix_transpose(b) if right_turned else b
    total = integer_product(a, b, left.zero, right.zero)
    factor = tnp.multiply(one_or_row(call.lift(left.scale)), one_or_row(call.lift(right.scale)))
    return _summed(total, factor)


def _weights_only(call: FormCall, form: Codes, left_turned: bool, right_turned: bool) -> Found:
    """Returns floats by weights of few bits, of which the model is a constant; None for many rows."""
    x = call.input(0)
    if not is_known(form.integers) or is_known(x) or x.dtype != FLOAT32 or left_turned:
        return None
    codes = call.lift(form.integers)
    scale, zero = call.lift(form.scale), None if form.zero is None else call.lift(form.zero)
    found = product_with_weights(x, codes, scale, zero, form.axis, form.block_size, right_turned)
    return None if found is None else (found, None)


@form_op("Conv")
def conv(call: FormCall) -> Found:
    image, kernel = call.codes(0), call.codes(1)
    if image is None or kernel is None or not _are_bytes(image) or not _are_bytes(kernel):
        return None
    if (
        not image.is_single
        or kernel.axis_of(len(kernel.integers.shape)) not in (None, 0)
        or kernel.block_size
    ):
        return None
    x, weights = call.lift(image.integers), call.lift(kernel.integers)
    total = conv_integer(x, weights, image.zero, kernel.zero, **call.attributes)
    rank = len(x.shape) - 1
    factor = tnp.multiply(one_or_row(call.lift(image.scale)), one_or_row(call.lift(kernel.scale)))
    value, form = _summed(total, along_first(factor, rank))
    return _with_bias(call, value, form, lambda each: along_first(each, rank))


def _with_bias(
    call: FormCall, value: Value, form: Form | None, place: Callable[[Any], Any] = lambda each: each
) -> Found:
    """
    Returns a product with the bias of the call, if there is one: added to sums where it has their scale, else
    to floats. `place` gives it the shape in which it broadcasts.
    """
    bias, codes = call.input(2), call.codes(2)
    if bias is None:
        return value, form
    if isinstance(form, Sums) and codes is not None and _is_bias_of(codes, call.codes(0), call.codes(1)):
        return _summed(tnp.add(form.total, place(call.lift(codes.integers))), form.factor)
    return tnp.add(value, place(call.lift(bias))), None


def _summed(total: Any, factor: Any) -> tuple[Value, Form]:
    return tnp.multiply(tnp.astype(total, FLOAT32), factor), Sums(total, factor)


def _are_bytes(form: Codes) -> bool:
    return form.integers.dtype.name in _BYTES


def _is_bias_of(bias: Codes, left: Codes | None, right: Codes | None) -> bool:
    """Returns whether a bias has the scale of a product, so that it can be added to its sums."""
    if left is None or right is None or bias.integers.dtype != INT32 or bias.block_size:
        return False
    scales = bias.scale, left.scale, right.scale
    if not all(isinstance(each, np.ndarray) for each in scales) or len(bias.integers.shape) != 1:
        return False
    if bias.zero is not None and (not is_known(bias.zero) or np.asarray(bias.zero).any()):
        return False
    wanted = np.float32(left.scale) * np.float32(right.scale)
    own = np.float32(bias.scale)
    fits = own.size == 1 or own.size == wanted.size
    return fits and bool(np.allclose(own.reshape(-1), wanted.reshape(-1), rtol=1e-5, atol=0))
