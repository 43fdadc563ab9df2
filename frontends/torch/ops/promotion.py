"""
The dtypes of torch's ops: tensors with axes come before those of rank 0, and these before Python's scalars; a
later one counts only where it is of a higher kind (bool, integer, float).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....semantics.numpy_types import BF16, F16
from ...arrays.promotion import kind_of, promote_dtypes
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from .table import DEFAULT_FLOAT, NotCoveredError, Traced

DType = np.dtype[Any]

BOOL, INT64, FLOAT32 = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float32)

HALVES = (F16, BF16)
"""What torch computes in float32 and rounds at the end of each op."""


def default_float() -> DType:
    """Returns what torch makes of integers where an op gives floats."""
    return np.dtype(DEFAULT_FLOAT.get())


def _promote(first: DType, second: DType) -> DType:
    """Returns torch's dtype for two of one level: an integer with a float is that float."""
    kinds = (kind_of(first), kind_of(second))
    if kinds[0] != kinds[1]:
        return first if kinds[0] > kinds[1] else second
    return promote_dtypes(first, second)


def _together(first: DType | None, second: DType | None) -> DType | None:
    """Returns what a level makes of the one before it."""
    if first is None or second is None:
        return first or second
    return _promote(first, second) if kind_of(second) > kind_of(first) else first


def _of_scalar(value: Any) -> DType:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float) or (isinstance(value, TracedArray) and kind_of(value.dtype) == 2):
        return default_float()
    return INT64


def result_dtype(*values: Any) -> DType:
    """Returns the dtype that torch's type promotion gives for tensors and numbers."""
    levels: list[DType | None] = [None, None, None]
    for value in values:
        is_tensor = isinstance(value, TracedArray) and not value.weak
        level = (0 if value.shape else 1) if is_tensor else 2
        dtype = value.dtype if is_tensor else _of_scalar(value)
        before = levels[level]
        levels[level] = dtype if before is None else _promote(before, dtype)
    found = _together(_together(levels[0], levels[1]), levels[2])
    assert found is not None, "a promotion of nothing"
    return found


def computed_in(dtype: DType) -> DType:
    """Returns the dtype in which torch computes an op that gives `dtype`."""
    return FLOAT32 if dtype in HALVES else dtype


def as_dtype(value: Any, dtype: DType) -> Traced:
    """
    Returns a tensor or a number as a traced array of a dtype.

    Raises:
        NotCoveredError: it is a number that the dtype does not hold.
    """
    if isinstance(value, TracedArray):
        return ops.cast(value, dtype)
    if not isinstance(value, bool | int | float):
        return ops.cast(ops.extent(value), dtype)
    if dtype.kind in "iu" and isinstance(value, int):
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise NotCoveredError(f"the number {value} is none of {dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        return ops.constant(np.array(value).astype(dtype))


def promoted(*values: Any) -> tuple[list[Traced], DType]:
    """Returns operands in the dtype that torch computes with, and the dtype of the result."""
    dtype = result_dtype(*values)
    return [as_dtype(value, computed_in(dtype)) for value in values], dtype


def promoted_floats(*values: Any) -> tuple[list[Traced], DType]:
    """As `promoted`, for ops that give floats of integers."""
    dtype = result_dtype(*values)
    if kind_of(dtype) < 2:
        dtype = default_float()
    return [as_dtype(value, computed_in(dtype)) for value in values], dtype
