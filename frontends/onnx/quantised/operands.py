"""
What products of quantised integers multiply: elements of 8 bits as uint8 by int8 where that can be had, which
processors multiply the fastest, else differences from the zero points in int16.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ..values import NumpyArray
from .linear import INT32, UINT8, beside, is_single

INT8, INT16 = np.dtype(np.int8), np.dtype(np.int16)

_MIDDLE = 128


def check_integers(*arrays: Any) -> None:
    """Raises TenonError, naming the dtype, for what no product of quantised integers takes."""
    for each in arrays:
        if each.dtype.name not in ("int8", "uint8", "int16", "uint16"):
            raise TenonError(f"products of {each.dtype} are not supported, expected integers of 8 bits")


def signed(weights: Any, zero: Any) -> tuple[Any, Any]:
    """
    Returns weights of 8 bits and their zero point as it was given, such that they are int8 where the zero
    point is that of int8, or that of uint8 which lies in the middle.
    """
    if weights.dtype != UINT8 or not isinstance(zero, np.ndarray):
        return weights, zero
    known = cast(NumpyArray, zero)
    if (known != _MIDDLE).any():
        return weights, known
    return turned(weights, INT8), None


def unsigned(x: Any, zero: Any) -> tuple[Any, Any]:
    """Returns int8 as uint8, with a zero point in int32 that is larger by as much; others as they are."""
    return (turned(x, UINT8), less(-_MIDDLE, zero, x)) if x.dtype == INT8 else (x, zero)


def less(count: int, zero: Any, like: Any) -> Any:
    """Returns a zero point in int32, None for 0, that is less by `count`."""
    moved = beside(like, np.array(-count, np.int32))
    return moved if zero is None else tnp.add(zero, moved)


def difference(x: Any, zero: Any) -> Any:
    """
    Returns elements less their zero point, which broadcasts, is of int32 and None for 0; those of 8 bits in
    int16.
    """
    wide = INT16 if x.dtype.itemsize == 1 else INT32
    wider = tnp.astype(x, wide)
    return wider if zero is None else tnp.subtract(wider, tnp.astype(zero, wide))


def along_first(x: Any, rank: int) -> Any:
    """Returns what there is of each index of the first axis, or one for all, so that it broadcasts."""
    return tnp.reshape(x, () if is_single(x) else (-1, *[1] * (rank - 1)))


def turned(x: Any, dtype: np.dtype[Any]) -> Any:
    """Returns numbers of 8 bits with a sign as those without, or the other way round, in the same order."""
    bits = tnp.astype(x, UINT8) if x.dtype != UINT8 else x
    return tnp.astype(tnp.bitwise_xor(bits, 0x80), dtype)
