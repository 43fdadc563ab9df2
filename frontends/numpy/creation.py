"""
Functions that make arrays from extents and values. In a trace they write ops, elsewhere numpy makes the
values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...dialects.dims.expressions import DimExpr, Extent
from ..arrays.array import Array
from ..arrays.concrete import ConcreteArray, NumpyArray, as_concrete
from ..arrays.promotion import result_type
from ..calls.dispatch import array_function
from ..sharding.sharded_array import ShardedArray
from ..tracing import graph_ops as ops
from ..tracing.extents import greatest, is_at_least, quotient_up
from ..tracing.trace import TracedArray, current_trace
from .arguments.axes import checked_shape, extent_of, extents_of, integer_of, is_known
from .arguments.operands import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    Operand,
    array_of,
    extent_like,
    is_float,
    operands,
    reshaped,
    scalar_like,
    shape_of,
)
from .dtypes import astype, check_device, dtype_of
from .manipulation import broadcast_to, check_rank, stack
from .products.contraction import diagonal_of

__all__ = [
    "arange",
    "array",
    "asarray",
    "diag",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "identity",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

DType = np.dtype[Any]
Shape = int | Sequence[int]


def _is_traced() -> bool:
    return current_trace() is not None


def _default_dtype(value: object) -> DType:
    """Returns the dtype of an array of python scalars like `value`."""
    if isinstance(value, bool | np.bool_):
        return BOOL
    return INT64 if isinstance(value, int | np.integer) else FLOAT64


def _filled(who: str, shape: Shape, value: float | int | bool, dtype: object, device: str | None) -> Array:
    check_device(who, device)
    wanted = _default_dtype(value) if dtype is None else dtype_of(who, dtype)
    extents = extents_of(who, shape)
    if _is_traced():
        return ops.full(value, wanted, extents)
    return as_concrete(np.full(extents, value, wanted))


def zeros(shape: Shape, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns an array of zeros, of float64 unless `dtype` says otherwise."""
    return _filled("zeros", shape, 0, FLOAT64 if dtype is None else dtype, device)


def ones(shape: Shape, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns an array of ones, of float64 unless `dtype` says otherwise."""
    return _filled("ones", shape, 1, FLOAT64 if dtype is None else dtype, device)


def empty(shape: Shape, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns an array of zeros: no element is left to chance."""
    return _filled("empty", shape, 0, FLOAT64 if dtype is None else dtype, device)


def full(shape: Shape, fill_value: Operand, dtype: object = None, *, device: str | None = None) -> Array:
    """
    Returns an array of one value at all indices, or of the elements of `fill_value` repeated to `shape`.

    Raises:
        OverflowError: the dtype cannot hold a python integer.
        ValueError: an extent is negative, or `fill_value` cannot be repeated to `shape`.
    """
    if isinstance(fill_value, np.ndarray | np.generic):
        fill_value = asarray(fill_value)
    if isinstance(fill_value, Array):
        check_device("full", device)
        value = fill_value if dtype is None else astype(fill_value, dtype)
        return broadcast_to(value, extents_of("full", shape))
    if isinstance(fill_value, complex):
        raise TypeError(f"full: {fill_value} is complex (there are no complex dtypes)")
    return _filled("full", shape, fill_value, dtype, device)


def _dtype_like(x: object) -> DType:
    return getattr(x, "dtype", None) or _default_dtype(x)


def zeros_like(x: Array, /, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns zeros of the shape of `x`, and of its dtype unless `dtype` says otherwise."""
    return _filled(
        "zeros_like", shape_of("zeros_like", x), 0, _dtype_like(x) if dtype is None else dtype, device
    )


def ones_like(x: Array, /, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns ones of the shape of `x`, and of its dtype unless `dtype` says otherwise."""
    return _filled(
        "ones_like", shape_of("ones_like", x), 1, _dtype_like(x) if dtype is None else dtype, device
    )


def empty_like(x: Array, /, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns what `zeros_like` does."""
    return _filled(
        "empty_like", shape_of("empty_like", x), 0, _dtype_like(x) if dtype is None else dtype, device
    )


def full_like(x: Array, /, fill_value: Operand, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns what `full` does, of the shape of `x` and of its dtype unless `dtype` says otherwise."""
    return full(
        shape_of("full_like", x),
        fill_value,
        dtype=_dtype_like(x) if dtype is None else dtype,
        device=device,
    )


def asarray(
    obj: object, /, dtype: object = None, *, device: str | None = None, copy: bool | None = None
) -> Array:
    """
    Returns an array, a numpy array, a python scalar, or nested lists of these as an array.

    Arrays never change: `copy=None` copies what numpy may change, and returns an array itself; `copy=False`
    shares the memory of a numpy array, which nobody must write to from then on. While a function is traced, a
    numpy array from outside of it becomes one that is read at each call.

    Raises:
        TypeError: it is nothing of these, or arrays cannot have its dtype.
        ValueError: `copy` is False and a copy is needed, nested lists are not of one shape, or they are
            nested more than 64 deep, as a list is that contains itself.
    """
    check_device("asarray", device)
    wanted = None if dtype is None else dtype_of("asarray", dtype)
    if isinstance(obj, Array):
        return _array_as(obj, wanted, copy)
    if isinstance(obj, DimExpr):
        return _array_as(ops.extent(obj), wanted, copy)
    if isinstance(obj, list | tuple):
        items = cast("Sequence[object]", obj)
        if copy is False:
            raise ValueError("asarray: unable to avoid creating a copy of nested sequences (copy=False)")
        if _has_traced(items):
            stacked = stack([asarray(each) for each in items])
            return stacked if wanted is None else astype(stacked, wanted)
    elif hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray | np.generic):
        return _array_as(from_dlpack(obj, copy=copy), wanted, copy)
    trace = current_trace()
    if trace is not None and isinstance(obj, np.ndarray) and not copy:
        values = cast("NumpyArray", obj)
        dtype_of("asarray", values.dtype)
        return _array_as(trace.capture(values), wanted, copy)
    return _from_numpy(cast(Any, obj), wanted, copy)


def _array_as(x: Array, wanted: DType | None, copy: bool | None) -> Array:
    if wanted is not None and wanted != x.dtype:
        if copy is False:
            raise ValueError(f"asarray: unable to avoid a copy from {x.dtype} to {wanted} (copy=False)")
        return astype(x, wanted)
    return as_concrete(x, copy=True) if copy and isinstance(x, ConcreteArray) else x


def _from_numpy(obj: object, wanted: DType | None, copy: bool | None) -> Array:
    if copy is False and isinstance(obj, bool | int | float):
        raise ValueError(f"asarray: unable to avoid creating a copy of {obj!r} (copy=False)")
    values = np.asarray(cast(Any, obj))
    if values.dtype.kind == "O" and wanted is None:
        raise TypeError(f"asarray: cannot take {type(obj).__name__} {obj!r}, expected numbers of one kind")
    if not isinstance(obj, np.ndarray | np.generic) and wanted is not None:
        values = np.asarray(cast(Any, obj), wanted)
    values_dtype = dtype_of("asarray", values.dtype)
    if wanted is not None and wanted != values_dtype:
        if copy is False:
            raise ValueError(f"asarray: unable to avoid a copy from {values_dtype} to {wanted} (copy=False)")
        return astype(as_concrete(values), wanted)
    return as_concrete(values, copy=isinstance(obj, np.ndarray) if copy is None else copy)


_MOST_AXES = 64
"""How many axes arrays of numpy have, and so how deep lists of numbers can be nested."""


def _has_traced(values: Sequence[object], depth: int = 1) -> bool:
    if depth > _MOST_AXES:
        raise ValueError(
            f"asarray: lists are nested more than {_MOST_AXES} deep, or one contains itself, and arrays have "
            "no more axes"
        )
    return any(
        _has_traced(cast("Sequence[object]", value), depth + 1)
        if isinstance(value, list | tuple)
        else isinstance(value, TracedArray | ShardedArray)
        for value in values
    )


def array(obj: object, /, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns what `asarray` does, always with memory of its own."""
    return asarray(obj, dtype=dtype, device=device, copy=True)


def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Array:
    """
    Returns an array of another library in the same memory, which nobody must write to from then on; with
    memory of its own if `copy`.

    Raises:
        TypeError: `x` does not speak DLPack, or arrays cannot have its dtype.
        ValueError: `copy` is False and a copy is needed.
    """
    check_device("from_dlpack", device)
    if isinstance(x, Array):
        return as_concrete(x, copy=True) if copy and isinstance(x, ConcreteArray) else x
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} has no __dlpack__")
    values = np.from_dlpack(x)  # pyright: ignore[reportArgumentType]
    dtype_of("from_dlpack", values.dtype)
    return as_concrete(values, copy=copy)


def arange(
    start: float | int,
    /,
    stop: float | int | None = None,
    step: float | int = 1,
    *,
    dtype: object = None,
    device: str | None = None,
) -> Array:
    """
    Returns the numbers from `start` on, `step` apart, up to and without `stop`; from 0 to `start` if there is
    no `stop`. The dtype is int64 if all are integers, else float64. In a trace,
    ends may be extents that vary.

    Raises:
        ZeroDivisionError: `step` is 0.
        TypeError: an argument is no number that is known when tracing, or `dtype` is bool.
    """
    check_device("arange", device)
    first, last = (0, start) if stop is None else (start, stop)
    values = tuple(_number("arange", value) for value in (first, last, step))
    first, last, step = values
    wanted = (
        (INT64 if all(isinstance(v, int | DimExpr) for v in values) else FLOAT64)
        if dtype is None
        else dtype_of("arange", dtype)
    )
    if wanted == BOOL:
        raise TypeError("arange: no arithmetic on bool (dtype bool)")
    if step == 0:
        raise ZeroDivisionError(f"arange: step is 0 (start {first}, stop {last})")
    if any(isinstance(value, DimExpr) for value in values):
        return _varying_range(first, last, step, wanted)
    count = _arange_count(first, last, step)
    checked_shape("arange", (count,))
    if _is_traced():
        return _sequence(count, first, step, wanted)
    if wanted.kind in "iuf":
        return as_concrete(np.arange(first, last, step, dtype=wanted))
    return as_concrete(np.arange(first, last, step, dtype=FLOAT32).astype(wanted))


def _number(who: str, value: object) -> float | int:
    """Returns a python number. Raises TypeError for what has no value yet, or is none."""
    if isinstance(value, bool | np.bool_):
        return int(cast(Any, value))
    if isinstance(value, int | float | DimExpr):
        return cast("float | int", value)
    if isinstance(value, np.integer | np.floating) or (isinstance(value, ConcreteArray) and not value.shape):
        return cast("float | int", value.item())
    raise TypeError(f"{who}: {value!r} is not a number that is known when the function is traced")


def _varying_range(start: Any, stop: Any, step: Any, dtype: DType) -> TracedArray:
    """Returns a range with ends that are known at each call only."""
    if not (isinstance(step, int) and all(isinstance(end, int | DimExpr) for end in (start, stop))):
        raise TypeError(
            f"arange: from {start} to {stop} in steps of {step}, expected a step that is known when the "
            "function is traced, and integers beside an extent"
        )
    length = greatest(stop - start if step > 0 else start - stop, 0)
    return _sequence(quotient_up(length, abs(step)), start, step, dtype)


def _arange_count(start: float | int, stop: float | int, step: float | int) -> int:
    span = stop - start
    if all(isinstance(value, int) for value in (start, stop, step)):
        return max(-(-int(span) // int(step)), 0)
    if not math.isfinite(span / step):
        raise ValueError(f"arange: the length is not finite (start {start}, stop {stop}, step {step})")
    return max(math.ceil(span / step), 0)


def _sequence(count: Extent, start: float | Extent, step: float | int, dtype: DType) -> TracedArray:
    """Returns `start + k * step` for k up to `count`, computed in `dtype`, in float32 for narrower floats."""
    wide = FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype
    index = ops.iota(0, wide, (count,))  # type: ignore[arg-type]  (the extent may be known at each call)
    steps = ops.mul(index, scalar_like(index, step))
    begin = extent_like(index, start) if isinstance(start, DimExpr) else scalar_like(index, start)
    return ops.cast(ops.add(steps, begin), dtype)


def linspace(
    start: Operand,
    stop: Operand,
    /,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: object = None,
    device: str | None = None,
) -> Array:
    """
    Returns `num` numbers from `start` to `stop`, evenly apart, with `stop` the last one if `endpoint`.
    `start` and `stop` are scalars or arrays of rank 0. Integer dtypes take the floor.

    Raises ValueError where `num` is negative, or the rank is not 0.
    """
    check_device("linspace", device)
    count = extent_of("linspace", num, "num")
    if not is_at_least(count, 0):
        raise ValueError(f"linspace: number of samples, {count}, must be non-negative")
    checked_shape("linspace", (count,))
    wanted = None if dtype is None else dtype_of("linspace", dtype)
    if not isinstance(start, Array) and not isinstance(stop, Array) and not _is_traced():
        first, last = _number("linspace", start), _number("linspace", stop)
        values = np.linspace(first, last, count, endpoint=endpoint)
        if wanted is not None and wanted.kind in "iu":
            values = np.floor(values)
        return as_concrete(values.astype(wanted or FLOAT64))
    return _linspace(start, stop, count, wanted, bool(endpoint))


@array_function(static=("count", "dtype", "endpoint"))
def _linspace(start: Operand, stop: Operand, count: int, dtype: DType | None, endpoint: bool) -> Array:
    wide = result_type(start, stop)
    wide = wide if wide.kind == "f" else FLOAT64
    first, last = array_of(start, wide), array_of(stop, wide)
    for name, value in (("start", first), ("stop", last)):
        if value.shape:
            raise ValueError(f"linspace: {name} must have no dimensions (shape {value.shape})")
    gaps = count - 1 if endpoint else count
    index = ops.iota(0, wide, (count,))
    if not is_known(count) or gaps > 0:
        step = ops.div(ops.sub(last, first), extent_like(first, greatest(gaps, 1)))
        values = ops.add(ops.mul(index, ops.broadcast(step, (count,))), ops.broadcast(first, (count,)))
        if endpoint:
            # One number is the first one.
            is_last = ops.eq(index, extent_like(index, greatest(gaps, 1)))
            values = ops.select(is_last, ops.broadcast(last, (count,)), values)
    else:
        values = ops.broadcast(first, (count,))
    if dtype is not None and dtype.kind in "iu":
        values = ops.floor(values)
    return values if dtype is None else ops.cast(values, dtype)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: object = None,
    *,
    device: str | None = None,
) -> Array:
    """Returns a matrix of zeros with ones on the diagonal `k` above the main one, below it if negative."""
    check_device("eye", device)
    wanted = FLOAT64 if dtype is None else dtype_of("eye", dtype)
    offset = integer_of("eye", "k", k)
    shape = extents_of("eye", (n_rows, n_rows if n_cols is None else n_cols))
    if not _is_traced():
        return as_concrete(np.eye(*shape, k=max(min(offset, shape[1]), -shape[0]), dtype=wanted))
    return ops.cast(ops.eq(*_diagonal_indices(shape, offset)), wanted)


def _diagonal_indices(shape: tuple[int, ...], offset: int) -> tuple[TracedArray, TracedArray]:
    """
    Returns for each element the number of its column, and that of the column of diagonal `offset` in its row.
    """
    rank = len(shape)
    rows, columns = ops.iota(rank - 2, INT64, shape), ops.iota(rank - 1, INT64, shape)
    return columns, ops.add(rows, scalar_like(rows, offset))


def _triangle(who: str, x: Array, k: int, upper: bool) -> TracedArray:
    (x,) = operands(who, x)
    check_rank(who, x, 2)
    limit = 1 + sum(extent for extent in x.shape[-2:] if is_known(extent))
    offset = integer_of(who, "k", k)
    if all(is_known(extent) for extent in x.shape[-2:]):
        offset = max(min(offset, limit), -limit)
    columns, diagonal = _diagonal_indices(x.shape, offset)
    kept = ops.ge(columns, diagonal) if upper else ops.le(columns, diagonal)
    return ops.select(kept, x, scalar_like(x, 0))


@array_function(static=("k",))
def tril(x: Array, /, k: int = 0) -> Array:
    """Returns matrices with zeros above the diagonal `k`. Raises ValueError below rank 2."""
    return _triangle("tril", x, k, upper=False)


@array_function(static=("k",))
def triu(x: Array, /, k: int = 0) -> Array:
    """Returns matrices with zeros below the diagonal `k`. Raises ValueError below rank 2."""
    return _triangle("triu", x, k, upper=True)


@array_function(static=("k",))
def diag(x: Array, /, k: int = 0) -> Array:
    """
    Returns of a vector the matrix with it on the diagonal `k` above the main one, of a matrix that diagonal.

    Raises ValueError for other ranks.
    """
    (source,) = operands("diag", x)
    offset = integer_of("diag", "k", k)
    if len(source.shape) == 2:
        return diagonal_of(source, 0, 1, offset)
    if len(source.shape) != 1:
        raise ValueError(f"diag: input must be 1- or 2-d (shape {source.shape})")
    extent = source.size + abs(offset)
    shape = checked_shape("diag", (extent, extent))
    start = (max(-offset, 0), max(offset, 0))
    rows = reshaped(source, (source.size, 1))
    columns, diagonal = _diagonal_indices(shape, offset)
    zero = ops.full(0, source.dtype, ())
    padded = ops.pad(rows, zero, (start[0], 0), (extent - source.size - start[0], 0))
    return ops.select(
        ops.eq(columns, diagonal), ops.broadcast(padded, shape), ops.full(0, source.dtype, shape)
    )


def identity(n: int, /, dtype: object = None, *, device: str | None = None) -> Array:
    """Returns the matrix of `n` rows with ones on the diagonal and zeros elsewhere."""
    return eye(n, dtype=dtype, device=device)


@array_function(static=("indexing",))
def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """
    Returns the coordinates of the points of a grid, from arrays of rank 1 (or 0) with those along each axis.
    `ij` gives array k the axis k, `xy` exchanges the first two axes.

    Raises ValueError for another `indexing`, and for arrays of a higher rank.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: valid values for indexing are 'xy' and 'ij' (got {indexing!r})")
    vectors = [operands("meshgrid", x)[0] for x in arrays]
    for position, x in enumerate(vectors):
        if len(x.shape) > 1:
            raise ValueError(f"meshgrid: array {position} must have one dimension (shape {x.shape})")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[0], places[1] = 1, 0
    shape = [1] * len(vectors)
    for place, x in zip(places, vectors, strict=True):
        shape[place] = x.size
    grid = checked_shape("meshgrid", tuple(shape))
    return [
        ops.broadcast(reshaped(x, tuple(x.size if axis == place else 1 for axis in range(len(grid)))), grid)
        for place, x in zip(places, vectors, strict=True)
    ]
