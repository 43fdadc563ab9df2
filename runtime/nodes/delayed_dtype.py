"""Element types of tensor nodes, which may be decided after the node is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from ...dialects.element_types import ELEMENT_TYPES
from ...errors import TenonError
from ...semantics.numpy_types import BOOL, F32, dtype_of, element_type_of_dtype, is_floating, is_narrow

Dtype = np.dtype[Any]

DtypeLike = npt.DTypeLike | Attribute
"""What names a dtype: anything of numpy's, or an element type."""

INITIAL_DEFAULT_DTYPE = F32
"""The dtype of what nobody gives one."""


@dataclass(frozen=True, slots=True)
class DefaultDtype:
    """Used as long as nothing better is known."""

    dtype: Dtype

    def resolve(self) -> Dtype:
        return self.dtype

    def __str__(self) -> str:
        return f"default {self.dtype}"


@dataclass(frozen=True, slots=True)
class InferredDtype:
    """The promotion of the dtypes of what the node is computed from, asked for when it is needed."""

    sources: tuple[Callable[[], Dtype], ...]

    def resolve(self) -> Dtype:
        return promote_dtypes(source() for source in self.sources)

    def __str__(self) -> str:
        return "inferred dtype"


@dataclass(frozen=True, slots=True)
class SpecifiedDtype:
    """What somebody asked for; `provenance` says who, or why."""

    dtype: Dtype
    provenance: str

    def resolve(self) -> Dtype:
        return self.dtype

    def __str__(self) -> str:
        return f"specified {self.dtype}"


DelayedDtype = DefaultDtype | InferredDtype | SpecifiedDtype


def normalize_dtype(dtype: DtypeLike) -> Dtype:
    """
    Returns the dtype, in the host's byte order. Names are numpy's: `i8` has 8 bytes.

    Raises:
        TenonError: numpy has no such dtype, or no element type has it.
    """
    if isinstance(dtype, Attribute):
        return dtype_of(dtype)
    try:
        normalized = np.dtype(dtype).newbyteorder("=")
        element_type_of_dtype(normalized)
    except (TypeError, TenonError) as error:
        for element_type in ELEMENT_TYPES:
            if str(element_type) == dtype:
                named = dtype_of(element_type)
                raise TenonError(
                    f"dtype '{dtype}' is the name of an element type (hint: '{named}')"
                ) from None
        raise error if isinstance(error, TenonError) else TenonError(f"dtype: {error}") from None
    return normalized


def promote_dtypes(dtypes: Iterable[Dtype]) -> Dtype:
    """
    Returns the promotion of one dtype or more; the order does not matter.

    Raises:
        TenonError: no dtype holds them.
    """
    distinct = list(dict.fromkeys(dtypes))
    floats = [dtype for dtype in distinct if is_floating(dtype)]
    return reduce(promote_dtype, floats or distinct)


def promote_dtype(first: Dtype, second: Dtype) -> Dtype:
    """
    Returns the dtype of what is computed from both. Booleans give way to numbers and integers to floats,
    however wide. Two integers give the narrowest that holds both. Two floats give the wider one, but float32
    if they differ and are narrower.

    Raises:
        TenonError: they are a uint64 and a signed integer, which no integer dtype holds.
    """
    if first == second or second == BOOL:
        return first
    if first == BOOL:
        return second
    if is_floating(first) and is_floating(second):
        if is_narrow(first) and is_narrow(second):
            return F32
        return max(first, second, key=lambda dtype: dtype.itemsize)
    if is_floating(first):
        return first
    if is_floating(second):
        return second
    promoted = np.promote_types(first, second)
    if promoted.kind == "f":
        raise TenonError(f"no integer dtype holds both {first} and {second} (hint: give a dtype)")
    return promoted
