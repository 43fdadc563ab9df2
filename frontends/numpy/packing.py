"""Numbers of four bits, two in a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects import graph
from ..arrays.array import Array
from ..arrays.concrete import ConcreteArray
from ..calls.dispatch import array_function
from ..tracing import graph_ops as ops
from .arguments.axes import axis_of, is_known
from .arguments.operands import operands, part_of, reshaped, scalar_like

__all__ = ["pack_int4", "unpack_int4"]

_INT8 = np.dtype(np.int8)
_UINT8 = np.dtype(np.uint8)
_LEAST, _GREATEST = -8, 7


def pack_int4(x: Array, /, *, axis: int) -> Array:
    """
    Packs numbers from -8 to 7 two in a byte, in uint8: of neighbours along `axis` the first is in the lower
    four bits. In a trace, where values are not known, the lower four bits of other numbers are taken.

    Raises:
        AxisError: there is no such axis.
        TypeError: `x` is not of int8.
        ValueError: the extent of the axis is odd, or a number does not fit.
    """
    given: Any = x
    if isinstance(given, ConcreteArray | np.ndarray):
        values: Any = np.asarray(x)
        if (
            values.dtype == _INT8
            and values.size
            and not (values.min() >= _LEAST and values.max() <= _GREATEST)
        ):
            wrong = values[(values < _LEAST) | (values > _GREATEST)][0]
            raise ValueError(f"pack_int4: {wrong} is out of bounds for four bits (-8 to 7)")
    return _packed(x, axis)


@array_function(static=("axis",))
def _packed(x: Array, axis: int) -> Array:
    (x,) = operands("pack_int4", x)
    axis = axis_of("pack_int4", axis, len(x.shape))
    if x.dtype != _INT8:
        raise TypeError(f"pack_int4: dtype {x.dtype.name}, expected int8")
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    if not is_known(extent) or extent % 2:
        raise ValueError(f"pack_int4: {extent} numbers along axis {axis}, expected an even number")
    pairs = reshaped(ops.cast(x, _UINT8), (*before, extent // 2, 2, *after))
    lower, upper = (
        reshaped(part_of(pairs, axis + 1, number, 1), (*before, extent // 2, *after)) for number in (0, 1)
    )
    lower = ops.and_(lower, scalar_like(lower, 15))
    return ops.or_(lower, ops.shl(upper, scalar_like(upper, 4)))


@array_function(static=("axis",))
def unpack_int4(x: Array, /, *, axis: int) -> Array:
    """
    The numbers from -8 to 7, in int8, that `pack_int4` has packed along `axis`: twice as many along it.

    A product that adds up along that axis reads the bytes as they are and unpacks them in registers, where it
    has few rows: `(row @ unpack_int4(weights, axis=0).astype(float32)) * scale`.

    Raises:
        AxisError: there is no such axis.
        TypeError: `x` is not of uint8 or int8.
    """
    (x,) = operands("unpack_int4", x)
    axis = axis_of("unpack_int4", axis, len(x.shape))
    if x.dtype not in (_INT8, _UINT8):
        raise TypeError(f"unpack_int4: dtype {x.dtype.name}, expected uint8")
    before, extent, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    shape = (*before, extent, 2, *after)
    pairs = ops.broadcast(reshaped(ops.cast(x, _INT8), (*before, extent, 1, *after)), shape)
    return reshaped(
        ops.binary(graph.NibbleOp, pairs, ops.iota(axis + 1, _INT8, shape)), (*before, 2 * extent, *after)
    )
