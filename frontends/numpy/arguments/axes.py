"""
Axes and shapes as callers write them, made canonical; what numpy rejects is rejected with its exceptions.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, cast

from numpy.exceptions import AxisError

from ....dialects.dims.expressions import DimExpr
from ...tracing.extents import check_quotients, is_at_least, refuse, text_of

MAX_RANK = 64
"""The most dims of an array, as numpy's."""


def integer_of(who: str, what: str, value: object) -> int:
    """
    Returns a python or numpy integer as an int. Raises TypeError, naming `who` and `what`, for anything else.
    """
    if type(value) is int:
        return value
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{who}: {what} is {value!r}, of type {type(value).__name__}, expected an integer")


def extent_of(who: str, value: object, what: str = "an extent") -> Any:
    """Returns an integer as an int, and a named dim as it is. Raises TypeError for anything else."""
    if isinstance(value, DimExpr):
        check_quotients(value)
        return value
    return integer_of(who, what, value)


def axis_of(who: str, axis: object, rank: int, what: str = "axis") -> int:
    """
    Returns `axis` counted from the front.

    Raises:
        AxisError: it is out of range for `rank`.
        TypeError: it is no integer.
    """
    value = integer_of(who, what, axis)
    if not -rank <= value < rank:
        raise AxisError(f"{who}: {what} {value} is out of bounds for array of dimension {rank}")
    return value % rank


def axes_of(who: str, axes: object, rank: int, what: str = "axis") -> tuple[int, ...]:
    """
    Returns axes counted from the front: all of them for None, one for an integer.

    Raises:
        AxisError: one is out of range for `rank`.
        ValueError: one is given twice.
        TypeError: one is no integer.
    """
    if axes is None:
        return tuple(range(rank))
    if not isinstance(axes, tuple | list):
        return (axis_of(who, axes, rank, what),)
    given = cast("Sequence[object]", axes)
    result = tuple(axis_of(who, axis, rank, what) for axis in given)
    if len(set(result)) != len(result):
        raise ValueError(f"{who}: an {what} is given twice ({what} {tuple(given)}, rank {rank})")
    return result


def extents_of(who: str, shape: object) -> tuple[int, ...]:
    """
    Returns a shape as a tuple; one integer is a shape of rank 1.

    Raises:
        TypeError: an extent is no integer.
        TracingError: an extent may be negative.
        ValueError: an extent is negative, or the shape has too many dims or elements.
    """
    values = cast("Sequence[object]", shape) if isinstance(shape, tuple | list) else (shape,)
    extents = tuple(extent_of(who, value) for value in values)
    for extent in extents:
        if isinstance(extent, int) and extent < 0:
            raise ValueError(f"{who}: negative dimensions are not allowed (shape {extents})")
        if isinstance(extent, DimExpr) and not is_at_least(extent, 0):
            refuse(
                f"{who}: negative dimensions are not allowed, and {text_of(extent)} may be (shape {extents})",
                "a tenon.Dim with another minimum",
            )
    return checked_shape(who, extents)


def is_known(extent: object) -> bool:
    """Returns whether an extent is a number, and not known at each call only."""
    return isinstance(extent, int)


def checked_shape(who: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """
    Returns `shape`. Raises ValueError if an array of that shape is too large to address, or has too many
    dims.
    """
    if len(shape) > MAX_RANK:
        raise ValueError(f"{who}: {len(shape)} dims, at most {MAX_RANK} (shape {shape})")
    count = 1
    for extent in shape:
        # A named dim has bounds of its own, which are checked where the program is called.
        count *= max(extent, 1) if is_known(extent) else 1
    if count > 2**60:
        raise ValueError(f"{who}: the array is too big ({count} elements, shape {shape})")
    return shape


def broadcast_shapes(who: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """
    Returns the shape that arrays of `shapes` have when aligned at the last dim.

    Raises ValueError, with all shapes and the axis, where extents differ and none is 1.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[axis] not in (1, extent):
                raise ValueError(
                    f"{who}: shapes {' '.join(map(str, shapes))} cannot be broadcast together "
                    f"(axis {axis - rank} is {result[axis]} and {extent})"
                )
            if extent != 1:
                result[axis] = extent
    return checked_shape(who, tuple(result))
