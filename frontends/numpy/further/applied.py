"""Functions of Python applied to slices, places and pieces of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from ...arrays.array import Array
from ...control_flow import scan
from ..arguments.axes import axes_of, axis_of, broadcast_shapes
from ..arguments.operands import FLOAT64, INT64, Operand, is_integer, no_loop
from ..creation import asarray, zeros_like
from ..dtypes import astype
from ..elementwise import clip, remainder
from ..indexing import take_along_axis
from ..manipulation import broadcast_to, expand_dims, moveaxis, reshape, stack
from ..searching import where
from ..values import values_of
from .layouts import indices, shape

__all__ = ["apply_along_axis", "apply_over_axes", "choose", "fromfunction", "piecewise"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Operand, /, *args: Any, **kwargs: Any
) -> Array:
    """
    What a function gives of each slice along `axis`, an array of rank 1 that comes before `args`, with the
    axes of its result in the place of `axis`. The function is traced once, and called in a loop.

    Raises AxisError where there is no such axis.
    """
    source = asarray(arr)
    along = axis_of("apply_along_axis", axis, source.ndim)
    moved = moveaxis(source, along, -1)
    rows = reshape(moved, (math.prod(moved.shape[:-1]), moved.shape[-1]))
    _, found = scan(lambda carried, row: (carried, asarray(func1d(row, *args, **kwargs))), (), rows)
    rank = found.ndim - 1
    result = reshape(found, (*moved.shape[:-1], *found.shape[1:]))
    last = range(moved.ndim - 1, moved.ndim - 1 + rank)
    return moveaxis(result, tuple(last), tuple(range(along, along + rank)))


def apply_over_axes(func: Callable[[Array, int], Array], a: Operand, axes: int | Sequence[int], /) -> Array:
    """
    What a function, such as `sum`, gives of an array along the first of some axes, of that along the next
    one, and so on; an axis that it takes away is kept with extent 1.

    Raises:
        AxisError: there is no such axis.
        ValueError: the function takes more than an axis away.
    """
    found = asarray(a)
    for axis in axes_of("apply_over_axes", axes, found.ndim):
        reduced = asarray(func(found, axis))
        if reduced.ndim == found.ndim - 1:
            reduced = expand_dims(reduced, axis=axis)
        if reduced.ndim != found.ndim:
            raise ValueError(
                f"apply_over_axes: the function made rank {reduced.ndim} of {found.ndim}, expected that "
                "or one less"
            )
        found = reduced
    return found


def choose(
    a: Operand, choices: Array | Sequence[Operand], /, mode: Literal["raise", "wrap", "clip"] = "raise"
) -> Array:
    """
    The element, at each place, of the choice that `a` has the number of there; all are broadcast. A number
    that there is no choice of is counted from the last one again with "wrap", and the nearest with "clip".

    Raises:
        TracingError: the numbers are traced, and `mode` is "raise".
        TypeError: the numbers are no integers.
        ValueError: a number has no choice, there is none, or there is no such mode.
    """
    numbers, given = asarray(a), [asarray(each) for each in choices]
    if not is_integer(numbers.dtype):
        raise no_loop("choose", numbers.dtype)
    if not given:
        raise ValueError("choose: there are no choices")
    count = len(given)
    if mode == "raise":
        known = values_of("choose", numbers, "choose(a, choices, mode='clip')")
        if known.size and not 0 <= known.min() <= known.max() < count:
            raise ValueError(f"choose: numbers from {known.min()} to {known.max()}, of {count} choices")
    elif mode == "wrap":
        numbers = remainder(numbers, count)
    elif mode == "clip":
        numbers = clip(numbers, 0, count - 1)
    else:
        raise ValueError(f"choose: mode is {mode!r}, expected 'raise', 'wrap' or 'clip'")
    common_shape = broadcast_shapes("choose", [numbers.shape, *(each.shape for each in given)])
    table = stack([broadcast_to(each, common_shape) for each in given])
    return take_along_axis(table, astype(broadcast_to(numbers, common_shape), INT64)[None], axis=0)[0]


def fromfunction(
    function: Callable[..., Any], extents: Sequence[int], /, *, dtype: object = FLOAT64, **kwargs: Any
) -> Any:
    """What a function gives of the indices of all places of a shape, an array for each axis."""
    return function(*indices(tuple(extents), dtype=dtype), **kwargs)


def piecewise(
    x: Operand,
    condlist: Sequence[Operand] | Array,
    funclist: Sequence[Callable[..., Any] | Operand],
    /,
    *args: Any,
    **kwargs: Any,
) -> Array:
    """
    What functions, or constants, give of the elements for which the last of some conditions holds that does;
    of those for which none does what one function more gives, or 0. In the dtype of `x`. Each function is
    given all elements.

    Raises ValueError where there are neither as many functions as conditions, nor one more.
    """
    source = asarray(x)
    # As in numpy: of numbers it is one condition, for an array that has axes.
    is_one = source.ndim and (not shape(condlist) or not len(condlist) or not shape(condlist[0]))
    conditions: list[Any] = [condlist] if is_one else list(condlist)
    extra = len(funclist) - len(conditions)
    if extra not in (0, 1):
        raise ValueError(
            f"piecewise: {len(funclist)} functions and {len(conditions)} conditions, expected as many or one "
            "function more"
        )

    def values_by(function: Any) -> Array:
        found = function(source, *args, **kwargs) if callable(function) else function
        return astype(asarray(found), source.dtype)

    result = values_by(funclist[-1]) if extra else zeros_like(source)
    for condition, function in zip(conditions, funclist, strict=False):
        result = where(asarray(condition), values_by(function), result)
    return broadcast_to(result, source.shape)
