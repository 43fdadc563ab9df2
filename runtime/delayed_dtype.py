"""Element types of tensor nodes, which may be decided after the node is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.ir import Attribute

from ..semantics.numpy_types import BF16, BOOL, F16, F32, dtype_of, element_type_of_dtype, is_floating

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
    Returns the dtype, in the host's byte order.

    Raises:
        TenonError: no element type has this dtype.
    """
    if isinstance(dtype, Attribute):
        return dtype_of(dtype)
    normalized = np.dtype(dtype).newbyteorder("=")
    element_type_of_dtype(normalized)
    return normalized


def promote_dtypes(dtypes: Iterable[Dtype]) -> Dtype:
    """Returns the promotion of one dtype or more; the order does not matter."""
    return reduce(promote_dtype, dtypes)


def promote_dtype(first: Dtype, second: Dtype) -> Dtype:
    """
    Returns the dtype of what is computed from both. Booleans give way to numbers and integers to floats,
    however wide. Of two floats it is the wider, of two integers the narrowest that holds both. f16 and bf16,
    of which neither holds the other, give f32.
    """
    if first == second or second == BOOL:
        return first
    if first == BOOL:
        return second
    if is_floating(first) and is_floating(second):
        if {first, second} == {F16, BF16}:
            return F32
        return max(first, second, key=lambda dtype: dtype.itemsize)
    if is_floating(first):
        return first
    return second if is_floating(second) else np.promote_types(first, second)
