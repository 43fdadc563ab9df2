"""The operands of a function, brought to one dtype and one shape."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ....dialects.dims.expressions import Extent
from ....dialects.graph import RoundingOp
from ...arrays.array import Array
from ...arrays.promotion import kind_of, result_type
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from .axes import broadcast_shapes

BOOL = np.dtype(np.bool_)
INT8 = np.dtype(np.int8)
INT64 = np.dtype(np.int64)
UINT64 = np.dtype(np.uint64)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)

Operand = Array | bool | int | float
"""What stands for an array in a call: python scalars take the dtype of the arrays beside them."""


def is_float(dtype: np.dtype[Any]) -> bool:
    """Returns whether `dtype` is of floats."""
    return kind_of(dtype) == 2


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Returns whether `dtype` is of integers; booleans are not."""
    return dtype.kind in "iu"


def no_loop(who: str, *dtypes: np.dtype[Any], hint: str = "") -> TypeError:
    """Returns the error of a function that is not defined for these dtypes."""
    names = ", ".join(dtype.name for dtype in dtypes)
    return TypeError(
        f"{who}: not supported for the input types ({names}){f' (hint: {hint})' if hint else ''}"
    )


def array_of(value: Operand, dtype: np.dtype[Any], weak: bool = False) -> TracedArray:
    """Returns an operand with its elements converted to `dtype`."""
    assert isinstance(value, TracedArray), f"{value!r} is not traced"
    return ops.cast(value, dtype, weak)


def shape_of(who: str, value: object) -> tuple[int, ...]:
    """Returns the shape of an array, or of a Python scalar. Raises TypeError for anything else."""
    if isinstance(value, Array | np.ndarray | np.generic):
        return cast("tuple[int, ...]", value.shape)
    if isinstance(value, bool | int | float):
        return ()
    kind = type(value).__name__
    raise TypeError(f"{who}: argument 'x' is of type {kind}, expected an array or a number")


def reshaped(x: TracedArray, shape: tuple[int, ...]) -> TracedArray:
    """Returns the elements of `x` under another shape of as many, `x` itself if it has that shape."""
    return x if x.shape == shape else ops.reshape(x, shape)


def part_of(x: TracedArray, axis: int, offset: Extent, size: Extent) -> TracedArray:
    """Returns `size` elements along `axis` from `offset` on, `x` itself if that is all."""
    rank = len(x.shape)
    if size == x.shape[axis]:
        return x
    offsets = tuple(offset if dim == axis else 0 for dim in range(rank))
    sizes = tuple(size if dim == axis else extent for dim, extent in enumerate(x.shape))
    return ops.slice(x, offsets, sizes, (1,) * rank)


def scalar_like(x: TracedArray, value: float | int | bool) -> TracedArray:
    """Returns `value` at each element of `x`, of its dtype."""
    return ops.full(value, x.dtype, x.shape)


def extent_like(x: TracedArray, extent: Extent) -> TracedArray:
    """Returns an extent at each element of `x`, of its dtype, also one that is known at each call only."""
    if isinstance(extent, int):
        return scalar_like(x, extent)
    return ops.broadcast(ops.cast(ops.extent(extent), x.dtype), x.shape)


def common(who: str, *values: Operand) -> list[TracedArray]:
    """
    Returns `values` as arrays of one dtype: the one that they promote to.

    Raises TypeError where the dtypes have no common one.
    """
    dtype = result_type(*values)
    weak = all(isinstance(value, TracedArray) and value.aval.weak for value in values)
    return [array_of(value, dtype, weak) for value in values]


def together(who: str, arrays: list[TracedArray]) -> list[TracedArray]:
    """
    Returns `arrays` repeated to the shape that they broadcast to.

    Raises ValueError where their shapes do not go together.
    """
    shape = broadcast_shapes(who, [x.shape for x in arrays])
    return [ops.broadcast(x, shape) for x in arrays]


def operands(who: str, *values: Any) -> list[TracedArray]:
    """
    Returns `values` as arrays of one dtype and one shape.

    Raises:
        TypeError: the dtypes have no common one.
        ValueError: the shapes do not go together.
    """
    aval = getattr(values[0], "aval", None)
    if aval is not None and not aval.weak and all([value.aval is aval for value in values]):
        return list(values)
    return together(who, common(who, *values))


def numbers(who: str, *values: Operand) -> list[TracedArray]:
    """Returns what `operands` does. Raises TypeError also where the common dtype is bool."""
    arrays = operands(who, *values)
    if arrays[0].dtype == BOOL:
        raise no_loop(who, *[x.dtype for x in arrays])
    return arrays


def small_numbers(who: str, *values: Operand) -> list[TracedArray]:
    """Returns what `operands` does, with booleans as int8, as numpy computes with them."""
    return [ops.cast(x, INT8) if x.dtype == BOOL else x for x in operands(who, *values)]


def floats(who: str, *values: Operand) -> list[TracedArray]:
    """
    Returns what `operands` does, in floats: bool, int8 and uint8 become float16, int16 and uint16 float32,
    wider integers float64, each for itself, as in numpy; of Python scalars alone they are weak too.
    """
    strong = [value.dtype for value in values if isinstance(value, TracedArray) and not value.weak]
    base = result_type(*values)
    if strong and kind_of(base) == max(map(kind_of, strong)):
        dtype = result_type(*map(float_for, strong))
    else:
        dtype = float_for(base)
    return together(who, [array_of(value, dtype, not strong) for value in values])


def float_for(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the float dtype that numpy's float functions compute `dtype` in."""
    if is_float(dtype):
        return dtype
    return {1: FLOAT16, 2: FLOAT32}.get(dtype.itemsize, FLOAT64)


def as_float(who: str, x: Operand) -> TracedArray:
    """Returns one operand as `floats` does."""
    return floats(who, x)[0]


def bits(who: str, *values: Operand) -> list[TracedArray]:
    """Returns what `operands` does. Raises TypeError also where the common dtype is a float."""
    arrays = operands(who, *values)
    if is_float(arrays[0].dtype):
        raise no_loop(who, *[x.dtype for x in arrays])
    return arrays


def truths(who: str, *values: Operand) -> list[TracedArray]:
    """Returns `values` as booleans of one shape: whether they are not zero."""
    return together(who, [array_of(value, BOOL) for value in values])


def rounded(op: type[RoundingOp], x: TracedArray) -> TracedArray:
    """Returns a float array rounded, and an integer or boolean array itself."""
    return ops.unary(op, x) if is_float(x.dtype) else x
