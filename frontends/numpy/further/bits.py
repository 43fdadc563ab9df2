"""The bits of integers: how many are set, and eight of them in a byte."""

from __future__ import annotations

import builtins
from typing import Literal

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ..arguments.axes import integer_of
from ..arguments.operands import BOOL, Operand, is_integer, no_loop, operands
from ..creation import asarray, zeros
from ..dtypes import astype
from ..elementwise import abs, bitwise_and, bitwise_left_shift, bitwise_right_shift
from ..manipulation import concat, moveaxis, reshape
from ..predicates import not_equal
from ..statistics import sum
from .layouts import with_axis

__all__ = ["bitwise_count", "packbits", "unpackbits"]

_UINT8 = np.dtype(np.uint8)

Order = Literal["big", "little"]


@array_function
def bitwise_count(x: Operand, /) -> Array:
    """
    How many bits are set in the absolute value of each element, as uint8, by sums of neighbours in parallel
    (H. S. Warren, Hacker's Delight, 5-1). Raises TypeError for other dtypes than those of integers.
    """
    (found,) = operands("bitwise_count", x)
    if not is_integer(found.dtype):
        raise no_loop("bitwise_count", found.dtype)
    width = found.dtype.itemsize * 8
    unsigned = np.dtype(f"u{found.dtype.itemsize}")
    counts = astype(abs(found), unsigned)
    distance = 1
    while distance < width:
        mask = unsigned.type(builtins.sum(1 << at for at in range(width) if not at & distance))
        shifted = bitwise_right_shift(counts, unsigned.type(distance))
        counts = bitwise_and(counts, mask) + bitwise_and(shifted, mask)
        distance *= 2
    return astype(counts, _UINT8)


def packbits(x: Operand, /, axis: int | None = None, bitorder: Order = "big") -> Array:
    """
    Bytes of which each bit says whether one of eight neighbours along `axis`, in row-major order where that
    is None, is other than 0; those behind the end are. The first is the highest bit, or with "little" the
    lowest one.

    Raises:
        AxisError: there is no such axis.
        TypeError: the array is not of integers or booleans.
        ValueError: there is no such order of bits.
    """
    source, along = with_axis("packbits", x, axis)
    if not is_integer(source.dtype) and source.dtype != BOOL:
        raise no_loop("packbits", source.dtype)
    return _packed(source, along, _shifts("packbits", bitorder))


@array_function(static=("axis", "shifts"))
def _packed(x: Array, axis: int, shifts: tuple[int, ...]) -> Array:
    bits = moveaxis(astype(not_equal(x, 0), _UINT8), axis, -1)
    count = bits.shape[-1]
    n_bytes = (count + 7) // 8
    bits = concat([bits, zeros((*bits.shape[:-1], n_bytes * 8 - count), _UINT8)], axis=-1)
    of_bytes = reshape(bits, (*bits.shape[:-1], n_bytes, 8))
    shifted = bitwise_left_shift(of_bytes, asarray(shifts, dtype=_UINT8))
    return moveaxis(sum(shifted, axis=-1, dtype=_UINT8), -1, axis)


def unpackbits(
    x: Operand, /, axis: int | None = None, count: int | None = None, bitorder: Order = "big"
) -> Array:
    """
    The bits of bytes as uint8, eight for each along `axis`; else as `packbits`. Of them there are `count`,
    with 0 behind the last one, and where it is negative so many are left out at the end.

    Raises:
        AxisError: there is no such axis.
        TypeError: the array is not of uint8.
        ValueError: there is no such order of bits, or more are to be left out than there are.
    """
    source, along = with_axis("unpackbits", x, axis)
    if source.dtype != _UINT8:
        raise no_loop("unpackbits", source.dtype)
    shifts, extent = _shifts("unpackbits", bitorder), source.shape[along] * 8
    length = extent if count is None else integer_of("unpackbits", "count", count)
    if length < -extent:
        raise ValueError(f"unpackbits: count is {length}, of {extent} bits")
    return _unpacked(source, along, length if length >= 0 else extent + length, shifts)


@array_function(static=("axis", "length", "shifts"))
def _unpacked(x: Array, axis: int, length: int, shifts: tuple[int, ...]) -> Array:
    of_bytes = moveaxis(x, axis, -1)
    apart = bitwise_right_shift(of_bytes[..., None], asarray(shifts, dtype=_UINT8))
    bits = reshape(
        bitwise_and(apart, asarray(1, dtype=_UINT8)), (*of_bytes.shape[:-1], of_bytes.shape[-1] * 8)
    )
    behind = zeros((*bits.shape[:-1], max(length - bits.shape[-1], 0)), _UINT8)
    return moveaxis(concat([bits, behind], axis=-1)[..., :length], -1, axis)


def _shifts(who: str, bitorder: str) -> tuple[int, ...]:
    if bitorder not in ("big", "little"):
        raise ValueError(f"{who}: bitorder is {bitorder!r}, expected 'big' or 'little'")
    return tuple(range(7, -1, -1) if bitorder == "big" else range(8))
