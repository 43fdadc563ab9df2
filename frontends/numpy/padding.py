"""Padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from .arguments.axes import axis_of, checked_shape, integer_of
from .arguments.operands import Operand, array_of, operands, shape_of
from .arguments.varying_axes import check_not_empty

__all__ = ["pad"]

MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def pad(x: Array, pad_width: Any, /, mode: str = "constant", *, constant_values: Operand = 0) -> Array:
    """
    Returns `x` with more elements before and after it along each axis, of which the modes say:

    - `constant`: `constant_values`, one scalar
    - `edge`: the element at the edge
    - `reflect`: the elements mirrored at the one at the edge
    - `symmetric`: the elements mirrored at the edge
    - `wrap`: the elements from the other end

    `pad_width` is an integer, a pair for all axes, or a pair for each; or such by axis, as a dict.

    Raises:
        ValueError: a width is negative, the widths are not as many as axes, there is no such mode, or an axis
            to pad from has no elements.
        TypeError: a width is no integer.
    """
    if mode not in MODES:
        raise ValueError(f"pad: mode {mode!r} is not one of {', '.join(map(repr, MODES))}")
    return _padded(x, _pairs(pad_width, len(shape_of("pad", x))), constant_values, mode)


def _pairs(given: Any, rank: int) -> tuple[tuple[int, int], ...]:
    """Returns how many elements go before and after each axis."""
    if isinstance(given, Mapping):
        widths = cast("Mapping[int, Any]", given)
        by_axis = {axis_of("pad", axis, rank): _pair(each) for axis, each in widths.items()}
        return tuple(by_axis.get(axis, (0, 0)) for axis in range(rank))
    values: Any = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(values, list | tuple):
        return (_pair(values),) * rank
    items = cast("Sequence[Any]", values)
    if any(isinstance(each, list | tuple) for each in items):
        if len(items) not in (1, rank):
            raise ValueError(f"pad: {len(items)} pairs of widths for {rank} axes (pad_width {given})")
        pairs = tuple(_pair(each) for each in items)
        return pairs if len(pairs) == rank else pairs * rank
    return (_pair(items),) * rank


def _pair(widths: Any) -> tuple[int, int]:
    values = tuple(cast("Sequence[Any]", widths)) if isinstance(widths, list | tuple) else (widths,)
    if len(values) not in (1, 2):
        raise ValueError(f"pad: {len(values)} widths for an axis, expected one or two ({widths})")
    low, high = (integer_of("pad", "a width", width) for width in (values[0], values[-1]))
    if low < 0 or high < 0:
        raise ValueError(f"pad: index can't contain negative values (widths {low} and {high})")
    return low, high


@array_function(static=("widths", "mode"))
def _padded(x: Array, widths: tuple[tuple[int, int], ...], value: Operand, mode: str) -> Array:
    (source,) = operands("pad", x)
    shape = tuple(low + extent + high for extent, (low, high) in zip(source.shape, widths, strict=True))
    checked_shape("pad", shape)
    if shape == source.shape:
        return source
    if mode == "constant":
        filled = array_of(value, source.dtype)
        if filled.shape:
            raise ValueError(f"pad: constant_values must be a scalar (shape {filled.shape})")
        return ops.pad(source, filled, [low for low, _ in widths], [high for _, high in widths])
    for axis, (low, high) in enumerate(widths):
        if low or high:
            check_not_empty("pad", source.shape, (axis,))
        if (low or high) and source.shape[axis] == 0:
            raise ValueError(
                f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty' "
                f"(shape {source.shape})"
            )
    return ops.pad_with(mode, source, [low for low, _ in widths], [high for _, high in widths])
