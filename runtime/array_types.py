"""The numpy dtypes that a program's tensors have on the host."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from ..dialects.element_types import ui8
from ..errors import TenonError

_DTYPES: dict[Attribute, np.dtype[Any]] = {
    f64: np.dtype(np.float64),
    f32: np.dtype(np.float32),
    f16: np.dtype(np.float16),
    bf16: np.dtype(ml_dtypes.bfloat16),
    i64: np.dtype(np.int64),
    i32: np.dtype(np.int32),
    i16: np.dtype(np.int16),
    i8: np.dtype(np.int8),
    ui8: np.dtype(np.uint8),
    i1: np.dtype(np.bool_),
}


@cache
def dtype_of(element_type: Attribute) -> np.dtype[Any]:
    """
    Returns the dtype of arrays of `element_type`. It has the size and the bytes of the element's storage: a
    bool is a byte of 0 or 1.

    Raises:
        TenonError: it is no element type of Tenon's.
    """
    if element_type not in _DTYPES:
        raise TenonError(f"there are no numpy arrays of {element_type}")
    return _DTYPES[element_type]
