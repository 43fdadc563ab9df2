"""Integers that are in the order of elements: what is sorted where NaN has a place of its own."""

from __future__ import annotations

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
    key = ops.bitcast(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    zero, greatest = scalar_like(key, 0), scalar_like(key, np.iinfo(key.dtype).max)
    key = ops.select(ops.lt(key, zero), ops.xor(key, greatest), key)
    key = ops.select(ops.eq(x, scalar_like(x, 0.0)), zero, key)
    nan = greatest if nan_is_greatest else scalar_like(key, least_of(key.dtype))
    return ops.select(ops.isnan(x), nan, key)
