"""Ops that make arrays of no others: constants, ranges, random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....dialects.dims.expressions import DimExpr
from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ..registry import onnx_op
from ..tensors import dtype_of_number
from ..values import ints


@onnx_op("Constant", raw=True)
def constant(
    *,
    value: Any = None,
    value_float: float | None = None,
    value_floats: list[float] | None = None,
    value_int: int | None = None,
    value_ints: list[int] | None = None,
) -> Any:
    if value is not None:
        return value
    for each, dtype in ((value_float, np.float32), (value_floats, np.float32)):
        if each is not None:
            return np.array(each, dtype)
    for each in (value_int, value_ints):
        if each is not None:
            return np.array(each, np.int64)
    raise TenonError("a constant without a value")


_LARGEST_KNOWN = 1 << 16


@onnx_op("ConstantOfShape", since=9, known=("shape",))
def constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    scalar = np.zeros((), np.float32) if value is None else value.reshape(())
    extents = ints(shape)
    if any(isinstance(each, int) and each < 0 for each in extents):
        raise TenonError(f"the shape {extents} has a negative extent")
    if not any(isinstance(each, DimExpr) for each in extents) and math.prod(extents) <= _LARGEST_KNOWN:
        return np.full(extents, scalar)
    return tnp.full(extents, scalar.item(), dtype=scalar.dtype)


@onnx_op("Range", known=("start", "limit", "delta"))
def number_range(start: Any, limit: Any, delta: Any, *, stash_type: int = 1) -> Any:
    dtype = (
        np.dtype(np.int64) if any(each.dtype.kind == "O" for each in (start, limit, delta)) else start.dtype
    )
    if dtype.kind in "iu":
        first, end, step = (ints(each)[0] for each in (start, limit, delta))
        if not step:
            raise TenonError("delta is 0")
        return tnp.arange(first, end, step, dtype=dtype)
    first, end, step = (float(each.reshape(())) for each in (start, limit, delta))
    if not step or not all(map(math.isfinite, (first, end, step))):
        raise TenonError(f"no range from {first} to {end} by {step}")
    count = max(math.ceil((end - first) / step), 0)
    places = tnp.arange(count, dtype=dtype)
    return tnp.add(tnp.multiply(places, step), first)


@onnx_op("EyeLike")
def eye_like(x: Array, *, dtype: int | None = None, k: int = 0) -> Array:
    wanted = x.dtype if dtype is None else dtype_of_number(dtype, "EyeLike")
    return tnp.eye(x.shape[0], x.shape[1], k=k, dtype=wanted)
