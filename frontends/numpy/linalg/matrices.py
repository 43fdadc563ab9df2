"""What the algorithms of linear algebra are given: matrices of floats, in the trace that is being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....algorithms.matrices import Matrices
from ....dialects.graph.types import is_symbolic
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.operands import FLOAT32, FLOAT64, is_float, no_loop, operands
from ..products.contraction import product

Algorithm = Callable[[Matrices], Sequence[Matrices]]
"""A function of matrices that gives matrices."""


def in_floats(who: str, *values: Any) -> list[TracedArray]:
    """
    Returns `values` as arrays of one dtype, float32 or float64; booleans and integers become float64. They
    keep their shapes.

    Raises TypeError where that dtype is another one, as in numpy.
    """
    arrays = [operands(who, value)[0] for value in values]
    dtypes = [x.dtype if is_float(x.dtype) else FLOAT64 for x in arrays]
    for dtype in dtypes:
        if dtype not in (FLOAT32, FLOAT64):
            raise no_loop(who, *[x.dtype for x in arrays], hint="cast to float32 or float64")
    common = FLOAT32 if all(dtype == FLOAT32 for dtype in dtypes) else FLOAT64
    return [ops.cast(x, common) for x in arrays]


def check_matrices(who: str, x: TracedArray, is_square: bool = False) -> TracedArray:
    """
    Returns `x`, whose last two axes are matrices.

    Raises ValueError where there are fewer axes, where extents are known at each call only, or where they
    must be square and are not.
    """
    if len(x.shape) < 2:
        raise ValueError(f"{who}: the array must have 2 dimensions or more (shape {x.shape})")
    if is_symbolic(x.aval.type):
        raise ValueError(f"{who}: the shape must be known when tracing (shape {x.shape})")
    if is_square and x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{who}: last 2 dimensions of the array must be square (shape {x.shape})")
    return x


def square(who: str, x: Any) -> TracedArray:
    """Returns `x` as square matrices of floats; raises what `in_floats` and `check_matrices` do."""
    return check_matrices(who, in_floats(who, x)[0], is_square=True)


def rectangular(who: str, x: Any) -> TracedArray:
    """Returns `x` as matrices of floats; raises what `in_floats` and `check_matrices` do."""
    return check_matrices(who, in_floats(who, x)[0])


def write(who: str, algorithm: Algorithm, x: TracedArray) -> list[TracedArray]:
    """Writes what an algorithm does with matrices, of the user's line, and returns what it gives."""
    x.check_usable()
    return x.trace.write(who, lambda emitter: [each.value for each in algorithm(Matrices(emitter, x.value))])


def vectors_of(x: TracedArray) -> TracedArray:
    """Returns matrices of one row or one column as vectors."""
    return ops.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def transposed(x: TracedArray) -> TracedArray:
    rank = len(x.shape)
    return ops.permute(x, [*range(rank - 2), rank - 1, rank - 2])


def multiplied(lhs: TracedArray, rhs: TracedArray) -> TracedArray:
    """Returns the products of matrices, of which there are as many on both sides."""
    batch = tuple(range(len(lhs.shape) - 2))
    return product(lhs, (*batch, "row", "k"), rhs, (*batch, "k", "column"), (*batch, "row", "column"))
