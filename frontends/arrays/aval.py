"""What a trace knows of an array: its dtype and shape, and whether a Python scalar gave it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ...dialects import graph
from ...dialects.dims.expressions import Extent
from ...dialects.graph.types import shape_of
from ...semantics.numpy_types import dtype_of, element_type_of_dtype
from .interned import Interned


class Aval:
    """
    An abstract array. There is one for each dtype, shape and weakness, so that they are compared by identity.
    A weak one has the dtype that its kind of Python scalar has, and gives way to every array of that kind.
    """

    __slots__ = ("__weakref__", "dtype", "fits", "is_static", "shape", "type", "weak")

    KNOWN: ClassVar[Interned[tuple[np.dtype[Any], tuple[int, ...], bool], Aval]] = Interned()

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], weak: bool):
        self.dtype = dtype
        self.shape = shape
        self.weak = weak
        self.is_static = all(isinstance(extent, int) for extent in cast("tuple[Extent, ...]", shape))
        """Whether all extents are numbers; a named dim is not."""
        self.type = graph.tensor_of(element_type_of_dtype(dtype), shape)
        self.fits: set[type[Operation]] = set()
        """The ops that were seen to take operands of the kind."""

    def __repr__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"{'weak ' if self.weak else ''}{self.dtype}[{extents}]"


@lru_cache(4096)
def aval_of(dtype: np.dtype[Any], shape: tuple[int, ...], weak: bool = False) -> Aval:
    """
    Returns the one abstract array of these.

    Raises:
        TenonError: arrays of `dtype` are not known.
    """
    key = (dtype, shape, weak)
    found = Aval.KNOWN.get(key)
    if found is None:
        found = Aval.KNOWN.add(key, Aval(dtype, shape, weak))
    return found


@cache
def _dtype_of_element_type(type: Any) -> np.dtype[Any]:
    return dtype_of(type)


def dtype_of_type(type: TensorType[Any]) -> np.dtype[Any]:
    """Returns the dtype of the elements of a tensor type."""
    return _dtype_of_element_type(type.element_type)


def shape_of_type(type: Any) -> tuple[int, ...]:
    """Returns the extents of a tensor type."""
    return cast("tuple[int, ...]", shape_of(cast("TensorType[Any]", type)))


BOOL, INT, FLOAT = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
UINT = np.dtype(np.uint64)
"""The dtypes of Python's scalars; `UINT` of integers that only an unsigned one holds."""
