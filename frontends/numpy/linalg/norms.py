"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.axes import axes_of
from ..arguments.operands import FLOAT64, is_float, numbers, scalar_like
from ..creation import asarray
from ..manipulation import expand_dims, moveaxis
from ..predicates import isnan
from ..products.linear_algebra import rank_of_matrices
from ..searching import where
from ..statistics import any
from .decompositions import svdvals, values_alone
from .matrices import rectangular
from .systems import inv

__all__ = ["cond", "matrix_norm", "norm", "vector_norm"]


def _in_floats(who: str, x: Array) -> TracedArray:
    (source,) = numbers(who, x)
    return source if is_float(source.dtype) else ops.cast(source, FLOAT64)


@array_function(static=("keepdims", "ord"))
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """
    The norms of matrices, which are the last two axes: `fro` (or None), or 1, -1, inf or -inf, which are the
    greatest or least sum of the absolute values of a column, or of a row, or 2, -2 or `nuc`, which are the
    greatest or least singular value, or their sum.

    Raises ValueError for another norm, below rank 2, and where there is nothing to choose from.
    """
    source = _in_floats("matrix_norm", x)
    rank = rank_of_matrices("matrix_norm", source)
    if ord in ("fro", None):
        return _rooted(source, (rank - 2, rank - 1), bool(keepdims))
    if ord in (2, -2, "nuc"):
        return _of_singular_values(source, ord, bool(keepdims))
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise ValueError(
            f"matrix_norm: there is no norm of ord {ord!r} (expected 'fro', 'nuc', 1, -1, 2, -2, inf or -inf)"
        )
    along = rank - 2 if abs(ord) == 1 else rank - 1
    sums = ops.reduce("add", ops.abs(source), (along,), True)
    other = (rank - 1) + (rank - 2) - along
    if not sums.shape[other]:
        if ord < 0:
            raise ValueError(
                f"matrix_norm: no {'columns' if abs(ord) == 1 else 'rows'} to choose from (shape "
                f"{source.shape})"
            )
        sums = ops.full(
            0,
            sums.dtype,
            tuple(max(extent, 1) if d == other else extent for d, extent in enumerate(sums.shape)),
        )
    found = ops.reduce("max" if ord > 0 else "min", sums, (other,), True)
    return found if keepdims else ops.reshape(found, source.shape[:-2])


def _of_singular_values(x: TracedArray, ord: float | str, keep: bool) -> TracedArray:
    if 0 in x.shape[-2:] and ord != "nuc":
        raise ValueError(f"matrix_norm: no singular values to choose from (shape {x.shape})")
    values = values_alone("matrix_norm", rectangular("matrix_norm", x))
    kind = "add" if ord == "nuc" else "max" if ord == 2 else "min"
    found = ops.reduce(kind, values, (len(values.shape) - 1,))
    return ops.reshape(found, (*found.shape, 1, 1)) if keep else found


def _rooted(x: TracedArray, axes: tuple[int, ...], keep: bool) -> TracedArray:
    return ops.sqrt(ops.reduce("add", ops.mul(x, x), axes, keep))


@array_function(static=("axis", "keepdims", "ord"))
def vector_norm(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """
    The norms of vectors along `axis`, of all elements for None: inf and -inf are the greatest and the least
    absolute value, 0 the number of elements that are not zero, and any other number the root of the sum of
    powers.

    Raises AxisError where there is no such axis, ValueError where there is nothing to choose from.
    """
    source = _in_floats("vector_norm", x)
    axes, keep = axes_of("vector_norm", axis, len(source.shape)), bool(keepdims)
    sizes = [source.shape[each] for each in axes]
    magnitude = ops.abs(source)
    if abs(ord) == math.inf:
        if 0 in sizes and ord < 0:
            raise ValueError(f"vector_norm: no elements to choose from (axes {axes} of shape {source.shape})")
        if 0 in sizes:
            return ops.reduce("add", magnitude, axes, keep)
        return ops.reduce("max" if ord > 0 else "min", magnitude, axes, keep)
    if ord == 0:
        counted = ops.cast(ops.ne(source, scalar_like(source, 0)), source.dtype)
        return ops.reduce("add", counted, axes, keep)
    if ord == 1:
        return ops.reduce("add", magnitude, axes, keep)
    if ord == 2:
        return _rooted(source, axes, keep)
    total = ops.reduce("add", ops.pow(magnitude, scalar_like(source, ord)), axes, keep)
    return ops.pow(total, scalar_like(total, 1 / ord))


def norm(
    x: Array,
    /,
    ord: float | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Array:
    """
    The norm of vectors along one axis, or of matrices along two, as `vector_norm` and `matrix_norm` give it.
    Without `axis` it is that of all elements where `ord` is None, else of the array, of one or two axes.

    Raises:
        AxisError: there is no such axis.
        ValueError: there is no such norm, or it is of neither one nor two axes.
    """
    source = asarray(x)
    if axis is None and ord is None:
        return vector_norm(source, keepdims=keepdims)
    axes = axes_of("norm", axis, source.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm: there is no norm of vectors of ord {ord!r}")
        return vector_norm(source, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"norm: {len(axes)} axes of shape {source.shape}, expected one or two")
    found = matrix_norm(moveaxis(source, axes, (-2, -1)), ord=ord)
    return expand_dims(found, axis=axes) if keepdims else found


def cond(x: Array, /, p: float | str | None = None) -> Array:
    """
    The condition numbers of matrices: the greatest singular value over the least, or the reverse for `p` -2,
    and for any other `p` the norm of the matrices times that of their inverses.

    Raises ValueError where there is no such norm, where the matrices have no elements, and for `p` other than
    None, 2 and -2 where they are not square.
    """
    source = asarray(x)
    if source.ndim < 2 or 0 in source.shape[-2:]:
        raise ValueError(f"cond: the array must be of matrices with elements (shape {source.shape})")
    if p in (None, 2, -2):
        values = svdvals(source)
        first, last = values[..., 0], values[..., -1]
        return last / first if p == -2 else first / last
    found = matrix_norm(source, ord=p) * matrix_norm(inv(source), ord=p)
    # The inverse of a singular matrix is NaN, of which numpy makes an infinity where the matrix has none.
    return where(isnan(found) & ~any(isnan(source), axis=(-2, -1)), float("inf"), found)
