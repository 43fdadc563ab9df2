"""
What functions do with slices whose ends are traced: they run on the whole axes, and what is outside of the
windows changes no result. Functions that have no rule here take no such slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ..arrays.array import Array, function
from ..arrays.promotion import result_type
from ..calls.dispatch import EagerFunction
from ..tracing import graph_ops as ops
from ..tracing.leaves import lift
from ..tracing.slice_ends import array_of
from ..tracing.trace import TracedArray
from ..tracing.traced_slice import TracedSlice, Window, refuse_slice
from . import elementwise, predicates
from .arguments.axes import axes_of, axis_of
from .arguments.operands import FLOAT32, FLOAT64, is_float, reshaped
from .arguments.windows import Windows, aligned, count_of, masked, parts, slice_or_array, together_along
from .dtypes import greatest_of, least_of
from .statistics import of_floats

Rule = Callable[[EagerFunction, tuple[Any, ...], dict[str, Any]], Any]


def _traced(eager: EagerFunction, arguments: Sequence[Any]) -> list[Array]:
    trace = next(each for each in arguments if isinstance(each, TracedSlice)).base.trace
    return [
        each if isinstance(each, TracedSlice) else lift(trace, each, f"{eager.name}: an operand")
        for each in arguments
    ]


def _elementwise(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Of each element: the windows are brought to one place, and stay."""
    given: dict[int | str, Any] = {**dict(enumerate(arguments)), **named}
    places = [place for place, value in given.items() if value is not None and place not in eager.static]
    bases, windows = aligned(eager.name, _traced(eager, [given[place] for place in places]))
    given.update(zip(places, bases, strict=True))
    whole = [given[place] for place in range(len(arguments))]
    result = eager.function(*whole, **{name: given[name] for name in named})
    if isinstance(result, TracedArray):
        return slice_or_array(result, windows)
    return type(result)(*[slice_or_array(each, windows) for each in result])


def _cast(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Of each element of the first argument; the others are no arrays."""
    x = cast(TracedSlice, arguments[0])
    return TracedSlice(eager.function(x.base, *arguments[1:], **named), x.windows)


_OUTSIDE: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "sum": lambda dtype: 0,
    "mean": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "all": lambda dtype: 1,
    "any": lambda dtype: 0,
    "max": least_of,
    "min": greatest_of,
    "argmax": least_of,
    "argmin": greatest_of,
}
"""What stands outside of the windows of each reduction, for a dtype: it changes no result."""


def _reduction(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Along axes: what is outside of their windows is what changes nothing, and other windows stay."""
    bound = eager.signature.bind(*arguments, **named)
    bound.apply_defaults()
    x, axis, keeps = bound.args[0], bound.arguments["axis"], bool(bound.arguments["keepdims"])
    axes = axes_of(eager.name, axis, x.ndim)
    windows = cast("tuple[Window | None, ...]", x.windows)
    inside = tuple(window if at in axes else None for at, window in enumerate(windows))
    base = masked(x.base, inside, _OUTSIDE[eager.name](x.dtype))
    rest = {name: value for name, value in bound.arguments.items() if name != "x"}
    # Other functions are written with these; a mean is a sum, of another count of elements.
    if eager.name == "mean":
        result = _mean(x, of_floats("mean", base, rest["dtype"]), axes, keeps)
    elif eager.name in ("argmax", "argmin"):
        result = _place(eager, x, base, axes, rest)
    else:
        result = eager.function(base, **rest)
    left = [None if at in axes else window for at, window in enumerate(windows) if keeps or at not in axes]
    return slice_or_array(result, tuple(left))


def _mean(x: TracedSlice, base: TracedArray, axes: Sequence[int], keeps: bool) -> TracedArray:
    dtype = base.dtype if is_float(base.dtype) else FLOAT64
    total = function("sum")(ops.cast(base, dtype), axis=tuple(axes), keepdims=keeps)
    return cast(TracedArray, function("divide")(total, ops.cast(count_of(x, axes), dtype)))


def _place(
    eager: EagerFunction, x: TracedSlice, base: TracedArray, axes: Sequence[int], rest: dict[str, Any]
) -> TracedArray:
    """Returns the index within a window of the first greatest or least element."""
    if len(axes) != 1:
        refuse_slice(x, eager.name, "goes along one axis of slices with traced ends", "an axis")
    window = x.windows[axes[0]]
    found = eager.function(base, **{**rest, "axis": axes[0]})
    if window is None:
        return found
    if window.backwards:
        refuse_slice(x, eager.name, "takes no slices that are reversed", "the slice from front to end")
    first = ops.broadcast(array_of(window.first), found.shape)
    # Where all elements are as what stands outside, the first of them is outside, before the window.
    return ops.sub(ops.max(found, first), first)


def _flip(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Windows are read in the other direction."""
    bound = eager.signature.bind(*arguments, **named)
    bound.apply_defaults()
    x = cast(TracedSlice, bound.args[0])
    axes = axes_of(eager.name, bound.arguments["axis"], x.ndim)
    plain = tuple(axis for axis in axes if x.windows[axis] is None)
    base = ops.flip(x.base, plain) if plain else x.base
    windows = [
        Window(window.first, window.stop, not window.backwards)
        if window is not None and at in axes
        else window
        for at, window in enumerate(x.windows)
    ]
    return TracedSlice(base, tuple(windows))


def _transpose(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Windows go with their axes."""
    bound = eager.signature.bind(*arguments, **named)
    bound.apply_defaults()
    x = cast(TracedSlice, bound.args[0])
    order: Sequence[int] = range(x.ndim)[::-1]
    if eager.name == "matrix_transpose":
        order = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    elif bound.arguments["axes"] is not None:
        order = [axis_of(eager.name, axis, x.ndim) for axis in bound.arguments["axes"]]
    base = cast(TracedArray, function("permute_dims")(x.base, tuple(order)))
    return TracedSlice(base, tuple(x.windows[axis] for axis in order))


def _outer(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """A product for each pair of elements, in the windows of both."""
    pairs = [parts(x) for x in _traced(eager, arguments)]
    for base, windows in pairs:
        if len(windows) != 1:
            refuse_slice(TracedSlice(base, windows), eager.name, "takes slices of rank 1", "a loop")
    return slice_or_array(eager.function(*[base for base, _ in pairs]), (*pairs[0][1], *pairs[1][1]))


def _product(eager: EagerFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """
    Of vectors and matrices: a sum over windows of the same length, outside of which both sides are 0. So is
    the side that has windows on other axes: nothing is added up for these.
    """
    left, right = [parts(x) for x in _traced(eager, arguments)]
    for base, windows in (left, right):
        if len(windows) not in (1, 2):
            refuse_slice(
                TracedSlice(base, windows),
                eager.name,
                "takes slices with traced ends of rank 1 or 2",
                "a loop",
            )
    (lhs, lhs_windows), (rhs, rhs_windows) = left, right
    row, column = len(lhs_windows) - 1, max(len(rhs_windows) - 2, 0)
    if eager.name in ("inner", "vecdot"):
        column = len(rhs_windows) - 1
        if eager.name == "vecdot" and (row or column):
            refuse_slice(TracedSlice(lhs, lhs_windows), eager.name, "takes slices of rank 1", "matmul")
    (lhs, rhs), inner = together_along(
        eager.name, [(lhs, row, lhs_windows[row]), (rhs, column, rhs_windows[column])]
    )
    rows = [each for at, each in enumerate(lhs_windows) if at != row]
    columns = [each for at, each in enumerate(rhs_windows) if at != column]
    if inner is not None:
        right_windows = tuple(inner if at == column else each for at, each in enumerate(rhs_windows))
        is_of_floats = result_type(lhs, rhs) in (FLOAT32, FLOAT64)
        if is_of_floats and not named and (not rows or not columns):
            summed = _summed(lhs, rhs, column, (*rows, inner) if rows else right_windows)
            return slice_or_array(summed, (*rows, *columns))
        lhs, rhs = masked(lhs, (*rows, inner), 0), masked(rhs, right_windows, 0)
    return slice_or_array(eager.function(lhs, rhs, **named), (*rows, *columns))


def _summed(lhs: TracedArray, rhs: TracedArray, column: int, windows: Windows) -> TracedArray:
    """
    Returns the product of a matrix and a vector, or of two vectors, as a sum of products in windows, which
    kernels compute without a masked copy of the vector.
    """
    if len(rhs.shape) == 2 and column == 0:
        lhs = reshaped(lhs, (*lhs.shape, 1))
    products = cast(TracedArray, function("multiply")(lhs, rhs))
    axis = column if len(rhs.shape) == 2 else len(products.shape) - 1
    return ops.reduce("add", masked(products, windows, 0), (axis,))


_RULES: dict[Rule, Sequence[str]] = {
    _elementwise: (*elementwise.__all__, *predicates.__all__, "where"),
    _cast: ("astype",),
    _reduction: tuple(_OUTSIDE),
    _flip: ("flip",),
    _transpose: ("permute_dims", "transpose", "matrix_transpose"),
    _outer: ("outer",),
    _product: ("matmul", "dot", "inner", "vecdot"),
}
"""The functions that follow each rule."""


def add_rules() -> None:
    """Has all functions of arrays that are there follow their rules."""
    rules = {name: rule for rule, names in _RULES.items() for name in names}
    for eager in EagerFunction.FUNCTIONS:
        eager.on_slices = rules.get(eager.name)
