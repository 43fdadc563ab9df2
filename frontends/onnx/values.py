"""
What stands for a value of a graph while it is traced: a numpy array where it is known, which may hold extents
that vary; a traced array; a list of these for a sequence; None for what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ...dialects.dims.expressions import DimExpr
from ...errors import TenonError
from ..arrays.concrete import ConcreteArray, as_concrete
from ..tracing import graph_ops as ops
from ..tracing.trace import Trace, TracedArray
from .storage import CARRIERS, Stored, carried

NumpyArray = npt.NDArray[Any]

Value = Any
"""A numpy array, a `TracedArray`, a list of values, or None."""

_LARGEST_CONSTANT = 512
"""The bytes of the largest array that is a constant of a program; larger ones are frozen arguments."""


MOST_MADE = 1 << 26
"""The elements of the largest array that is made when a model is imported."""


class ValueNeeded(TenonError):
    """
    A rule needs the values of an input that are not known: those that depend on the inputs of the model in
    `inputs` are known in a program for the values of a call.
    """

    def __init__(self, message: str, inputs: frozenset[str]) -> None:
        super().__init__(message)
        self.inputs = inputs


@dataclass(frozen=True, slots=True)
class GraphInput:
    """What a model, or a graph in it, says of an input or a result."""

    name: str
    kind: str
    """`tensor`, `sequence` or `optional`."""
    dtype: np.dtype[Any] | None
    """The dtype of the elements, None where it is not said."""
    shape: tuple[int | str | None, ...] | None
    """An extent is a number, the name of a dim, or None; None for the whole where the rank is not said."""

    def __str__(self) -> str:
        shape = "..." if self.shape is None else ", ".join("?" if e is None else str(e) for e in self.shape)
        return f"{self.name}: {self.kind if self.kind != 'tensor' else ''}{self.dtype}[{shape}]"


def is_known(value: Value) -> bool:
    """Returns whether a value, or all of a list, is known; what is left out is."""
    if isinstance(value, list):
        return all(map(is_known, cast("list[Value]", value)))
    return value is None or isinstance(value, np.ndarray)


def has_extents(value: Value) -> bool:
    """Returns whether a known array holds extents that vary."""
    return isinstance(value, np.ndarray) and cast(NumpyArray, value).dtype.kind == "O"


def size_of(value: Value) -> int:
    """Returns how many elements a value has; extents that vary count as none."""
    if value is None:
        return 0
    if isinstance(value, list):
        return sum(map(size_of, cast("list[Value]", value)))
    shape: Sequence[Any] = value.shape
    return prod(extent for extent in shape if isinstance(extent, int))


def leaves_of(value: Value) -> Iterator[Any]:
    """Yields the arrays of a value."""
    if isinstance(value, list):
        for each in cast("list[Value]", value):
            yield from leaves_of(each)
    elif value is not None:
        yield value


def extents(shape: Sequence[Any]) -> NumpyArray:
    """Returns the extents of a shape as a known array of integers."""
    if all(isinstance(extent, int) for extent in shape):
        return np.array(shape, np.int64).reshape(len(shape))
    return tidied(np.array([*shape, None], object)[:-1])


def tidied(values: NumpyArray) -> NumpyArray:
    """Returns integers as such where an array of dtype object holds no extent that varies."""
    if values.dtype.kind != "O" or any(isinstance(each, DimExpr) for each in values.reshape(-1)):
        return values
    return values.astype(np.int64)


def check_count(what: str, count: Any) -> None:
    """Raises TenonError where a file asks for more elements than an importer makes."""
    if isinstance(count, int) and count > MOST_MADE:
        raise TenonError(f"{what}: {count} elements, expected {MOST_MADE} or less")


def ints(values: NumpyArray | None) -> tuple[Any, ...]:
    """Returns the elements of a known array of rank 0 or 1 as Python's integers and extents."""
    if values is None:
        return ()
    return tuple(each if isinstance(each, DimExpr) else int(each) for each in values.reshape(-1))


class Lifting:
    """Makes traced arrays of known ones, in the trace that is written: the same for the same array."""

    def __init__(self) -> None:
        self._frozen: dict[int, tuple[NumpyArray, ConcreteArray]] = {}

    def lift(self, trace: Trace, value: Value) -> Any:
        """
        Returns a known or traced array as a traced one, a `Stored` one where programs do not compute in its
        dtype.
        """
        if isinstance(value, TracedArray | Stored):
            return value
        if value.dtype in CARRIERS:
            return Stored(self._lifted(trace, carried(value)), value.dtype)
        return self._lifted(trace, value)

    def _lifted(self, trace: Trace, value: NumpyArray) -> TracedArray:
        if value.dtype.kind == "O":
            scalars = [_scalar(trace, each) for each in value.reshape(-1)]
            flat = ops.concat(scalars, 0) if len(scalars) > 1 else scalars[0]
            return ops.reshape(flat, value.shape)
        if value.nbytes <= _LARGEST_CONSTANT:
            return trace.constant(np.ascontiguousarray(value).reshape(value.shape))
        found = self._frozen.get(id(value))
        if found is None:
            found = self._frozen[id(value)] = value, frozen(value)
        return trace.capture(found[1])


def frozen(values: NumpyArray) -> ConcreteArray:
    """Returns an array of a model's file, which nobody writes to, as a frozen one, without a copy."""
    shared = as_concrete(values)
    array = ConcreteArray(shared.values, shared.aval)
    array.is_frozen = True
    return array


def _scalar(trace: Trace, value: Any) -> TracedArray:
    if isinstance(value, DimExpr):
        return ops.reshape(ops.cast(ops.extent(value), np.dtype(np.int64)), (1,))
    return trace.constant(np.array([value], np.int64))
