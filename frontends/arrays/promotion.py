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


@lru_cache(4096)
def promote_dtypes(first: DType, second: DType) -> DType:
    """
    Returns the dtype that holds the values of both, float64 for an int64 with a uint64 or a float.

    Raises:
        TypeError: there is none, as for int32 with bfloat16.
    """
    if first == second:
        return first
    kinds = (kind_of(first), kind_of(second))
    narrow = {first, second} & _NARROW
    if kinds == (2, 2) and narrow:
        other = second if first in narrow else first
        return np.dtype(np.float32) if other in _NARROW else other
    try:
        if narrow and 1 in kinds:
            raise TypeError
        return np.promote_types(first, second)
    except TypeError:
        if {first, second} == {BF16, F16}:
            return np.dtype(np.float32)
        raise TypeError(
            f"promotion: no dtype holds the values of {first} and of {second} (hint: cast one of them)"
        ) from None


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
