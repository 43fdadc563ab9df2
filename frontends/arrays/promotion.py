"""
The dtype of what several arrays and Python scalars give together.

Arrays promote as the Array API's table says, and where that says nothing (an integer with a float) as numpy
does. A Python scalar is weak: it takes the dtype of the arrays where those are of its kind or a higher one
(bool, integer, float), else the default dtype of its kind.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np

from ...semantics.numpy_types import BF16, F8_DTYPES, F16, is_floating
from .aval import BOOL, FLOAT, INT

DType = np.dtype[Any]

_SCALAR_DTYPES: dict[type, DType] = {bool: BOOL, int: INT, float: FLOAT}
_NARROW = frozenset(F8_DTYPES)
_F32 = np.dtype(np.float32)


@lru_cache(4096)
def promote_dtypes(first: DType, second: DType) -> DType:
    """
    Returns the dtype that holds the values of both, float64 for an int64 with a uint64 or a float.

    Raises:
        TypeError: there is none, as for integers with floats of 8 bits.
    """
    if first == second:
        return first
    # Of floats not its own, numpy's answers are those of the installed ml_dtypes, whose versions differ.
    if second in _NARROW or (second == BF16 and first not in _NARROW):
        first, second = second, first
    if first in _NARROW:
        return _with_eight_bits(first, second)
    return _with_bfloat16(second) if first == BF16 else np.promote_types(first, second)


def _with_eight_bits(narrow: DType, other: DType) -> DType:
    """Returns the dtype of floats of 8 bits with others."""
    kind = kind_of(other)
    if kind == 1:
        raise TypeError(f"promotion: {narrow} and {other} have no dtype in common (hint: cast one of them)")
    if kind == 0:
        return narrow
    return _F32 if other in _NARROW else other


def _with_bfloat16(other: DType) -> DType:
    """Returns the dtype of bfloat16 with others: integers need the bits of their values, as with float16."""
    if other.itemsize == 1:
        return BF16
    if kind_of(other) == 1:
        return _F32 if other.itemsize == 2 else FLOAT
    return _F32 if other == F16 else other


@lru_cache(4096)
def kind_of(dtype: DType) -> int:
    """Returns 0 for bool, 1 for integers, 2 for floats."""
    if dtype == BOOL:
        return 0
    return 2 if is_floating(dtype) else 1


@lru_cache(65536)
def promoted(strong: tuple[DType, ...], weak: tuple[DType, ...]) -> DType:
    """
    Returns the dtype of arrays of the dtypes `strong` with Python scalars of the default dtypes `weak`.

    Raises:
        TypeError: there is none.
    """
    if not strong:
        return max(weak, key=lambda dtype: (kind_of(dtype), dtype.kind == "u"))
    result = strong[0]
    for dtype in strong[1:]:
        result = promote_dtypes(result, dtype)
    for dtype in weak:
        if kind_of(dtype) > kind_of(result):
            result = dtype
    return result


def result_type(*arrays_and_dtypes: Any) -> DType:
    """
    Returns the dtype that arrays, dtypes and Python scalars promote to.

    Raises:
        TypeError: there is none, or an argument is none of these.
        ValueError: there are no arguments.
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type: no arguments, expected at least one array or dtype")
    strong: list[DType] = []
    weak: list[DType] = []
    for value in arrays_and_dtypes:
        scalar = _SCALAR_DTYPES.get(cast("type[Any]", type(value)))
        if scalar is not None:
            weak.append(scalar)
        elif isinstance(value, np.dtype | type | str):
            strong.append(np.dtype(cast(Any, value)))
        elif isinstance(dtype := getattr(value, "dtype", None), np.dtype):
            (weak if getattr(value, "weak", False) else strong).append(cast(DType, dtype))
        else:
            raise TypeError(
                f"result_type: cannot take {type(value).__name__} {value!r}, expected an array or a dtype"
            )
    return promoted(tuple(strong), tuple(weak))


def can_cast(from_: Any, to: Any, /) -> bool:
    """
    Returns whether every value of an array or a dtype is one of the dtype `to`: whether the two promote to
    `to`.

    Raises:
        TypeError: an argument is no array and no dtype.
    """
    source: DType = cast(DType, from_) if isinstance(from_, np.dtype) else result_type(from_)
    target = np.dtype(to)
    try:
        return promote_dtypes(source, target) == target
    except TypeError:
        return False
