"""
Products of a few rows of floats with weights of 8 and 4 bits, which are read as they are: with a scale for
all, for each column, or for each block of rows of a column.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import numpy as tnp
from ..storage import stored_array
from .linear import FLOAT32, beside, is_single, one_or_row

MOST_ROWS = 16
"""The most rows for which weights are read as they lie, with a sum for each block; else they are unpacked."""

_LEAST_WEIGHTS = 1 << 14
"""Fewer are floats: they stay in the first caches anyway."""


def product_with_weights(
    x: Any, codes: Any, scale: Any, zero: Any, axis: int, block_size: int, is_turned: bool
) -> Any:
    """
    Returns floats by a matrix of weights, (codes - zero) * scale as DequantizeLinear says, transposed if
    `is_turned`; None where they are read faster as floats, or lie in another way than a product reads them.
    """
    lead = x.shape[:-1]
    if len(codes.shape) != 2 or not x.shape or not all(isinstance(each, int) for each in lead):
        return None
    if math.prod(lead) > MOST_ROWS or math.prod(codes.shape) < _LEAST_WEIGHTS:
        return None
    bits = 4 if codes.dtype.name.endswith("int4") else 8
    values, scales, zeros = (
        stored_array(codes),
        stored_array(scale),
        None if zero is None else stored_array(zero),
    )
    along = axis % 2
    if is_turned:
        values, along = tnp.transpose(values), 1 - along
        scales, zeros = (
            tnp.transpose(each) if each is not None and len(each.shape) == 2 else each
            for each in (scales, zeros)
        )
    values, zeros = _signed(values, zeros, bits, codes.dtype.name.startswith("u"))
    depth, columns = values.shape
    if x.shape[-1] != depth or not all(isinstance(each, int) for each in (depth, columns)):
        return None
    if block_size:
        size = block_size
        if along != 0 or depth % size:
            return None
    elif is_single(scales) or along == 1:
        size = depth
    else:
        return None
    count = depth // size
    scales, zeros = (
        tnp.broadcast_to(one_or_row(each), (count, columns)) if each is not None else None
        for each in (scales, zeros)
    )
    weights = _narrow(tnp.reshape(values, (count, size, columns)), bits)
    zeros = None if zeros is None else tnp.astype(zeros, FLOAT32)
    rows = tnp.reshape(x, (math.prod(lead), depth))
    return tnp.reshape(product_of_blocks(rows, weights, scales, zeros), (*lead, columns))


def product_of_blocks(x: Any, weights: Any, scale: Any, zero: Any) -> Any:
    """
    Returns rows by weights in float32, an array of block, place in it and column; scales and zero points,
    None for 0, are of block and column. There is a sum for each block.
    """
    count, size = weights.shape[:2]
    n_rows: Any = x.shape[0]
    if count == 1:
        found = tnp.multiply(tnp.matmul(x, weights[0]), scale[0])
        if zero is None:
            return found
        totals = tnp.sum(x, axis=1, keepdims=True)
        return tnp.subtract(found, tnp.multiply(totals, tnp.multiply(zero[0], scale[0])))
    blocks = tnp.permute_dims(tnp.reshape(x, (n_rows, count, size)), (1, 0, 2))
    parts = tnp.multiply(tnp.matmul(blocks, weights), tnp.expand_dims(scale, 1))
    found = tnp.sum(parts, axis=0)
    if zero is None:
        return found
    totals = tnp.transpose(tnp.sum(blocks, axis=2))
    return tnp.subtract(found, tnp.matmul(totals, tnp.multiply(zero, scale)))


def _signed(values: Any, zeros: Any, bits: int, is_unsigned: bool) -> tuple[Any, Any]:
    """Returns weights in int8, and zero points that are less by as much."""
    int8, int16 = np.dtype(np.int8), np.dtype(np.int16)
    if not is_unsigned:
        return values, None if zeros is None else tnp.astype(zeros, int16)
    half = 1 << (bits - 1)
    moved = tnp.astype(tnp.subtract(tnp.astype(values, int16), half), int8)
    if zeros is None:
        return moved, beside(values, np.array(-half, np.int16))
    return moved, tnp.subtract(tnp.astype(zeros, int16), half)


def _narrow(values: Any, bits: int) -> Any:
    """Returns weights as floats that are read in so many bits: in four those of an even depth."""
    if bits == 4 and values.shape[1] % 2 == 0:
        values = tnp.unpack_int4(tnp.pack_int4(values, axis=1), axis=1)
    return tnp.astype(values, FLOAT32)
