"""Integers that are in the order of elements: what is sorted where NaN has a place of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracing import graph_ops as ops
from ..tracing.trace import TracedArray
from .arguments.operands import BOOL, is_integer, scalar_like
from .dtypes import least_of

__all__: list[str] = []


def order_keys(x: TracedArray, nan_is_greatest: bool = False) -> TracedArray:
    """
    Returns integers that are in the order of the elements, of as many bits, with NaN as the least, or as the
    greatest. Those of 0.0 and -0.0 are equal.
    """
    if x.dtype == BOOL:
        return ops.cast(x, np.dtype(np.uint8))
    if is_integer(x.dtype):
        return x
    key = _in_order(x)
    key = ops.select(ops.eq(x, scalar_like(x, 0.0)), scalar_like(key, 0), key)
    return _with_nan(x, key, nan_is_greatest)


def float_keys(x: TracedArray, nan_is_greatest: bool = False) -> TracedArray:
    """As `order_keys` of floats, with that of -0.0 below that of 0.0."""
    return _with_nan(x, _in_order(x), nan_is_greatest)


def floats_of(key: TracedArray, dtype: np.dtype[Any]) -> TracedArray:
    """Returns the floats of which `float_keys` gives these, NaN for both of its places."""
    greatest = scalar_like(key, np.iinfo(key.dtype).max)
    is_negative = ops.lt(key, scalar_like(key, 0))
    return ops.bitcast(ops.select(is_negative, ops.xor(key, greatest), key), dtype)


def _in_order(x: TracedArray) -> TracedArray:
    key = ops.bitcast(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    greatest = scalar_like(key, np.iinfo(key.dtype).max)
    return ops.select(ops.lt(key, scalar_like(key, 0)), ops.xor(key, greatest), key)


def _with_nan(x: TracedArray, key: TracedArray, is_greatest: bool) -> TracedArray:
    place = np.iinfo(key.dtype).max if is_greatest else least_of(key.dtype)
    return ops.select(ops.isnan(x), scalar_like(key, place), key)
