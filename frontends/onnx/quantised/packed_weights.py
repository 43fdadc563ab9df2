"""Products with weights of 4 and 8 bits in blocks, each with a scale: onnxruntime's MatMulNBits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ..registry import onnx_op
from .linear import FLOAT32
from .weights import MOST_ROWS, product_of_blocks


@onnx_op("MatMulNBits", domain="com.microsoft")
def matmul_of_blocks(
    a: Any,
    b: Any,
    scales: Any,
    zero_points: Any = None,
    order: Any = None,
    bias: Any = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Any:
    """
    The product of rows of K with the transpose of N rows of weights, in float32. Of weights, and of zero
    points in uint8, those of 4 bits lie two in a byte, the first in the lower half.
    """
    if bits not in (4, 8) or block_size < 16 or block_size & (block_size - 1) or weight_prepacked:
        raise TenonError(
            f"weights of {bits} bits in blocks of {block_size}{', prepacked,' if weight_prepacked else ''} "
            "are not supported"
        )
    if order is not None:
        raise TenonError("input 'g_idx' is not supported")
    n_blocks = -(-K // block_size)
    wanted = (N, n_blocks, block_size * bits // 8)
    if tuple(b.shape) != wanted or b.dtype != np.dtype(np.uint8):
        raise TenonError(f"weights are {b.dtype} of shape {b.shape}, expected uint8 of {wanted}")
    if a.shape[-1] != K:
        raise TenonError(f"rows of {a.shape[-1]}, expected {K}")
    lead, dtype = a.shape[:-1], a.dtype
    n_rows: Any = math.prod(lead)
    x = tnp.reshape(tnp.astype(a, FLOAT32), (n_rows, K))
    if n_blocks * block_size != K:
        x = tnp.pad(x, [(0, 0), (0, n_blocks * block_size - K)])
    scale = tnp.transpose(tnp.reshape(tnp.astype(scales, FLOAT32), (N, n_blocks)))
    zero = _zeros(zero_points, N, n_blocks, bits)
    weights = tnp.astype(_signed(b, bits), FLOAT32)
    if isinstance(n_rows, int) and n_rows <= MOST_ROWS:
        found = product_of_blocks(x, weights, scale, zero)
    else:
        if zero is not None:
            weights = tnp.subtract(weights, tnp.expand_dims(zero, 1))
        weights = tnp.multiply(weights, tnp.expand_dims(scale, 1))
        found = tnp.matmul(x, tnp.reshape(weights, (n_blocks * block_size, N)))
    if bias is not None:
        found = tnp.add(found, tnp.astype(bias, FLOAT32))
    return tnp.reshape(tnp.astype(found, dtype), (*lead, N))


def _signed(b: Any, bits: int) -> Any:
    """Returns weights in int8, less the half of their range: an array of block, place in it, and column."""
    # The highest bit of each number is turned: what was without a sign has one.
    turned = tnp.permute_dims(tnp.bitwise_xor(b, 0x88 if bits == 4 else 0x80), (1, 2, 0))
    return tnp.unpack_int4(turned, axis=1) if bits == 4 else tnp.astype(turned, np.dtype(np.int8))


def _zeros(zero_points: Any, n: int, n_blocks: int, bits: int) -> Any:
    """Returns zero points less the half of the range, as floats of block and column; None where all are 0."""
    if zero_points is None:
        return None
    half = 1 << (bits - 1)
    if zero_points.dtype != np.dtype(np.uint8):
        found = tnp.reshape(tnp.astype(zero_points, FLOAT32), (n, n_blocks))
    elif bits == 8:
        found = tnp.astype(tnp.reshape(zero_points, (n, n_blocks)), FLOAT32)
    else:
        packed = tnp.reshape(zero_points, (n, -(-n_blocks // 2)))
        pair = tnp.stack([tnp.bitwise_and(packed, 15), tnp.bitwise_right_shift(packed, 4)], axis=-1)
        each = tnp.reshape(pair, (n, 2 * packed.shape[1]))
        found = tnp.astype(each[:, :n_blocks], FLOAT32)
    return tnp.transpose(tnp.subtract(found, half))
