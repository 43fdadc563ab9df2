"""Arrays and Python scalars that programs are called with."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...dialects.dims.expressions import DimExpr
from ...errors import TenonError
from ..arrays.aval import BOOL, FLOAT, INT, UINT, Aval, aval_of
from ..arrays.concrete import ConcreteArray, as_concrete
from ..arrays.static_key import shown
from .trace import Trace, TracedArray, current_trace
from .traced_slice import TracedSlice, refuse_slice

WEAK: dict[type, Aval] = {
    bool: aval_of(BOOL, (), True),
    int: aval_of(INT, (), True),
    float: aval_of(FLOAT, (), True),
}
"""What stands for Python's scalars."""

_INT64_END, _UINT64_END = 2**63, 2**64


def aval_of_value(value: Any, who: str) -> Aval:
    """
    Returns what stands for an array, one of another library that DLPack hands over among them, a Python
    scalar, or an extent that varies, which is an integer.

    Raises:
        TypeError: it is none, or there are no arrays of its dtype.
        OverflowError: it is an integer of more than 64 bits.
    """
    kind: Any = value.__class__
    if kind is ConcreteArray or kind is TracedArray:
        return value.aval
    if kind in WEAK:
        return aval_of_scalar(value)
    if kind is np.ndarray and value.dtype.isnative:
        try:
            return aval_of(value.dtype, value.shape)
        except TenonError as error:
            raise TypeError(f"{who}: {error.message}") from None
    if isinstance(value, np.ndarray | np.generic):
        return as_concrete(value).aval
    if isinstance(value, DimExpr):
        return WEAK[int]
    if kind is TracedSlice:
        refuse_slice(value, who)
    if hasattr(value, "__dlpack__"):
        return as_concrete(value).aval
    if (refuse := getattr(value, "refuse", None)) is not None:
        if current_trace() is None:
            refuse()  # An array that ranks have parts of, which says what it is for.
        return value.aval
    raise TypeError(f"{who} is {shown(value)}, expected an array or a number")


def aval_of_scalar(value: bool | int | float) -> Aval:
    """
    Returns what stands for a Python scalar.

    Raises:
        OverflowError: an integer has more than 64 bits.
    """
    if type(value) is int and not -_INT64_END <= value < _INT64_END:
        if not 0 <= value < _UINT64_END:
            raise OverflowError(f"Python integer {value} is out of bounds for int64 and uint64")
        return aval_of(UINT, (), True)
    return WEAK[type(value)]


def values_of(value: Any) -> Any:
    """Returns an array or a Python scalar that has an abstract array as a plain numpy array."""
    kind: Any = value.__class__
    if kind is ConcreteArray:
        return value.values
    if kind is np.ndarray and (flags := value.flags).c_contiguous and flags.aligned and value.dtype.isnative:
        return value
    if kind in WEAK:
        return np.array(value, aval_of_scalar(value).dtype)
    return as_concrete(value).values


def plain_values(arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Aval | None, ...] | None]:
    """
    Returns arrays of Tenon, arrays of numpy and Python scalars as numpy arrays, and what stands for each
    scalar, None for each array: nothing where all are arrays. Where there is anything else, or an integer of
    more than 64 bits, it is None instead.
    """
    values: list[Any] = [each.values for each in arguments if type(each) is ConcreteArray]
    if len(values) == len(arguments):
        return tuple(values), ()
    values = []
    scalars: list[Aval | None] = []
    has_scalars = False
    for argument in arguments:
        kind = type(cast(object, argument))
        if kind is ConcreteArray:
            values.append(argument.values)
            scalars.append(None)
        elif kind is np.ndarray:
            values.append(argument)
            scalars.append(None)
        elif kind in WEAK:
            try:
                aval = aval_of_scalar(argument)
            except OverflowError:
                return (), None
            values.append(np.array(argument, aval.dtype))
            scalars.append(aval)
            has_scalars = True
        elif issubclass(kind, np.generic):
            values.append(np.asarray(argument))
            scalars.append(None)
        else:
            return (), None
    return tuple(values), tuple(scalars) if has_scalars else ()


def check_range(value: int, dtype: np.dtype[Any]) -> None:
    """Raises OverflowError, as numpy does, where a Python integer does not fit a dtype."""
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def lift(trace: Trace, value: Any, who: str) -> TracedArray:
    """
    Returns an array or a Python scalar from outside of a trace as one of it, an array of it as it is, and an
    extent that varies as an integer.

    Raises:
        TypeError: it is neither, or there are no arrays of its dtype.
        OverflowError: it is an integer of more than 64 bits.
        TracingError: it is an array of a trace that is over.
    """
    if isinstance(value, TracedArray):
        value.check_usable()
        return value
    if isinstance(value, TracedSlice):
        refuse_slice(value, who)
    if isinstance(value, DimExpr):
        from .graph_ops import extent

        return extent(value)
    if (in_trace := getattr(value, "in_trace", None)) is not None:
        return in_trace(trace)  # An array that ranks have parts of, which says itself how.
    aval = aval_of_value(value, who)
    if aval.weak:
        return trace.constant(np.array(value, aval.dtype), True)
    if isinstance(value, np.generic):
        return trace.constant(np.asarray(cast(Any, value)))
    return trace.capture(value)
