"""What singular values say of matrices that have no inverse: ranks, pseudo-inverses, least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.operands import INT64, common, part_of, scalar_like
from .decompositions import singular_parts, values_alone
from .matrices import check_matrices, in_floats, multiplied, rectangular, transposed, vectors_of

__all__ = ["lstsq", "matrix_rank", "pinv"]


class LstsqResult(NamedTuple):
    """Solutions, their squared errors, the rank of the matrix, and its singular values."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


def _epsilons(source: TracedArray, factor: int) -> TracedArray:
    return ops.constant(np.finfo(source.dtype).eps * factor, source.dtype)


def _bound(values: TracedArray, relative: Any, factor: int) -> TracedArray:
    """Returns the greatest value of each vector times a number, a multiple of epsilon where there is none."""
    if relative is None:
        relative = _epsilons(values, factor)
    bound = ops.cast(relative, values.dtype)
    greatest = part_of(values, len(values.shape) - 1, 0, 1)
    if bound.shape:
        bound = ops.reshape(bound, (*bound.shape, 1))
    return ops.broadcast(ops.mul(greatest, ops.broadcast(bound, greatest.shape)), values.shape)


def _reciprocals(values: TracedArray, counts: TracedArray) -> TracedArray:
    zero, one = scalar_like(values, 0), scalar_like(values, 1)
    return ops.select(counts, ops.div(one, ops.select(counts, values, one)), zero)


@array_function
def matrix_rank(x: Array, /, *, tol: Array | None = None, rtol: Array | None = None) -> Array:
    """
    How many singular values of matrices are above a bound: `tol`, or `rtol` times the greatest one, which is
    epsilon times the larger extent where neither is given. An array of rank 0 or 1 has rank 1 unless all of
    it is 0.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: both bounds are given, or the shape is not known when tracing.
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: tol and rtol are given, expected one of them")
    (source,) = in_floats("matrix_rank", x)
    if len(source.shape) < 2:
        is_other = ops.ne(source, scalar_like(source, 0))
        return ops.cast(ops.reduce("or", is_other, tuple(range(len(source.shape)))), INT64)
    check_matrices("matrix_rank", source)
    if 0 in source.shape[-2:]:
        return ops.full(0, INT64, source.shape[:-2])
    values = values_alone("matrix_rank", source)
    if tol is None:
        bound = _bound(values, rtol, max(source.shape[-2:]))
    else:
        (bound,) = common("matrix_rank", tol)
        bound = ops.cast(bound, values.dtype)
        bound = ops.broadcast(ops.reshape(bound, (*bound.shape, 1)) if bound.shape else bound, values.shape)
    return ops.reduce("add", ops.cast(ops.gt(values, bound), INT64), (len(values.shape) - 1,))


@array_function
def pinv(x: Array, /, rcond: Array | None = None, *, rtol: Array | None = None) -> Array:
    """
    The pseudo-inverses of matrices, by singular values: those at or below `rtol` (or `rcond`) times the
    greatest one count as 0, by default epsilon times the larger extent, as the standard says (numpy: 1e-15).

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: both bounds are given, the rank is below 2, or the shape is not known when tracing.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: rcond and rtol are given, expected one of them")
    source = rectangular("pinv", x)
    if 0 in source.shape:
        return ops.full(0, source.dtype, (*source.shape[:-2], source.shape[-1], source.shape[-2]))
    u, values, v = singular_parts("pinv", source, full=False)
    bound = _bound(values, rtol if rcond is None else rcond, max(source.shape[-2:]))
    scale = _reciprocals(values, ops.gt(values, bound))
    rows = transposed(v)
    scale = ops.broadcast(ops.reshape(scale, (*scale.shape[:-1], 1, scale.shape[-1])), rows.shape)
    return multiplied(ops.mul(rows, scale), transposed(u))


@array_function
def lstsq(a: Array, b: Array, /, rcond: Array | None = None) -> Any:
    """
    The x of the least length for which `a x - b` is least, with its squared errors, the rank of `a` (M, N)
    and its singular values, of which those at or below `rcond` times the greatest one count as 0; epsilon
    times the larger extent where it is None. `b` has shape (M,) or (M, K). There are squared errors
    wherever there are more rows than columns, also where the rank is less, of which numpy gives none.

    Raises:
        TypeError: the dtypes are not of integers, float32 or float64.
        ValueError: the shapes do not go together, or are not known when tracing.
    """
    matrix, right = in_floats("lstsq", a, b)
    check_matrices("lstsq", matrix)
    if len(matrix.shape) != 2 or len(right.shape) not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise ValueError(f"lstsq: arrays of shapes {matrix.shape} and {right.shape} do not go together")
    if 0 in matrix.shape:
        raise ValueError(f"lstsq: the matrix has no elements (shape {matrix.shape})")
    m, n = matrix.shape
    is_vector = len(right.shape) == 1
    columns = ops.reshape(right, (m, 1)) if is_vector else check_matrices("lstsq", right)
    u, values, v = singular_parts("lstsq", matrix, full=False)
    counts = ops.gt(values, _bound(values, rcond, max(m, n)))
    scale = ops.reshape(_reciprocals(values, counts), (*values.shape, 1))
    parts = multiplied(transposed(u), columns)
    found = multiplied(transposed(v), ops.mul(parts, ops.broadcast(scale, parts.shape)))
    if m > n:
        errors = ops.sub(multiplied(matrix, found), columns)
        residuals = ops.reduce("add", ops.mul(errors, errors), (0,))
    else:
        residuals = ops.full(0, matrix.dtype, (0,))
    rank = ops.reduce("add", ops.cast(counts, np.dtype(np.int32)), (0,))
    return LstsqResult(vectors_of(found) if is_vector else found, residuals, rank, values)
