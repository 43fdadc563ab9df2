"""What follows from elimination with rows exchanged: systems of equations, inverses and determinants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from xdsl.dialects.builtin import i32

from ....algorithms.factorizations import lu
from ....algorithms.matrices import Matrices
from ....algorithms.triangles import solved
from ....dialects import graph
from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.axes import axis_of, broadcast_shapes, integer_of
from ..arguments.operands import INT64, operands
from ..products.linear_algebra import rank_of_matrices
from .matrices import check_matrices, in_floats, multiplied, square, vectors_of, write

__all__ = ["det", "inv", "matrix_power", "slogdet", "solve", "tensorinv", "tensorsolve"]


class SlogdetResult(NamedTuple):
    """The sign of determinants, and the logarithms of their absolute values."""

    sign: Array
    logabsdet: Array


def _solution(joined: Matrices) -> list[Matrices]:
    """Eliminates with the right sides as further columns, so that these are exchanged and reduced with it."""
    n = joined.n_rows
    reduced, _, _ = lu(joined)
    upper, right = reduced.part(-1, 0, n), reduced.part(-1, n, joined.n_columns - n)
    return [solved(upper, right, left=True, lower=False, unit=False, transposed=False)]


def _solved(who: str, a: TracedArray, b: TracedArray) -> TracedArray:
    """Returns x of `a x = b`, of matrices whose axes before the last two broadcast."""
    batch = broadcast_shapes(who, [a.shape[:-2], b.shape[:-2]])
    sides = [ops.broadcast(x, (*batch, *x.shape[-2:])) for x in (a, b)]
    if 0 in sides[1].shape:
        return sides[1]
    return write(who, _solution, ops.concat(sides, len(batch) + 1))[0]


@array_function
def solve(x1: Array, x2: Array, /) -> Array:
    """
    The x of `x1 x = x2`, where `x1` is of square matrices (..., M, M), by elimination with rows exchanged.
    `x2` is one vector (M,), or matrices (..., M, K); the axes before the last two broadcast. A singular
    matrix gives infinities and NaN, where numpy raises.

    Raises:
        TypeError: the dtypes are not of integers, float32 or float64.
        ValueError: the matrices are not square, the shapes do not go together, or are not known when tracing.
    """
    a, b = in_floats("solve", x1, x2)
    check_matrices("solve", a, is_square=True)
    is_vector = len(b.shape) == 1
    right = ops.reshape(b, (*b.shape, 1)) if is_vector else b
    check_matrices("solve", right)
    if right.shape[-2] != a.shape[-1]:
        raise ValueError(f"solve: the right sides have not as many rows (shapes {a.shape} and {b.shape})")
    found = _solved("solve", a, right)
    return vectors_of(found) if is_vector else found


@array_function
def inv(x: Array, /) -> Array:
    """
    The inverses of square matrices; infinities and NaN for a singular one, where numpy raises.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: the matrices are not square, or their shape is not known when tracing.
    """
    return _inverse("inv", square("inv", x))


def _inverse(who: str, source: TracedArray) -> TracedArray:
    return _solved(who, source, _identity(source))


def _identity(x: TracedArray) -> TracedArray:
    rank = len(x.shape)
    row, column = (ops.iota(axis, INT64, x.shape) for axis in (rank - 2, rank - 1))
    return ops.cast(ops.eq(row, column), x.dtype)


def _pivots(a: Matrices) -> list[Matrices]:
    """Returns the pivots as a row, and whether an odd number of rows was exchanged, as 0 or 1."""
    factors, exchanged, _ = lu(a)
    own = (a.places(-2) + 1).cast(i32)
    is_other = a.of(a.c.binary(graph.NeOp, exchanged.value, a.c.broadcast(own.value, exchanged.shape)))
    count = is_other.cast(i32).summed(-2)
    odd = count - (count / 2) * 2
    return [factors.diagonal, odd.cast(a.c.element(a.value))]


def _determinants(who: str, source: TracedArray) -> tuple[TracedArray, TracedArray]:
    """Returns the pivots as vectors, and 1, or -1 where an odd number of rows was exchanged."""
    pivots, odd = write(who, _pivots, source)
    one = ops.full(1, source.dtype, source.shape[:-2])
    odd = ops.reshape(odd, source.shape[:-2])
    return vectors_of(pivots), ops.sub(one, ops.add(odd, odd))


@array_function
def det(x: Array, /) -> Array:
    """
    The determinants of square matrices, 1 of those without elements.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: the matrices are not square, or their shape is not known when tracing.
    """
    source = square("det", x)
    if not source.shape[-1]:
        return ops.full(1, source.dtype, source.shape[:-2])
    pivots, sign = _determinants("det", source)
    return ops.mul(ops.reduce("mul", pivots, (len(pivots.shape) - 1,), False), sign)


@array_function
def slogdet(x: Array, /) -> Any:
    """
    The signs of the determinants of square matrices, and the logarithms of their absolute values: 0 and minus
    infinity of singular ones. Raises what `det` does.
    """
    source = square("slogdet", x)
    if not source.shape[-1]:
        empty = source.shape[:-2]
        return SlogdetResult(ops.full(1, source.dtype, empty), ops.full(0, source.dtype, empty))
    pivots, sign = _determinants("slogdet", source)
    last = (len(pivots.shape) - 1,)
    signs = ops.reduce("mul", ops.unary(graph.SignOp, pivots), last, False)
    logarithms = ops.reduce("add", ops.log(ops.abs(pivots)), last, False)
    return SlogdetResult(ops.mul(sign, signs), logarithms)


@array_function(static=("n",))
def matrix_power(x: Array, n: int, /) -> Array:
    """
    The product of `n` times the same square matrices, the identity for 0, and of their inverses for a
    negative `n`.

    Raises:
        TypeError: `n` is negative, and the dtype neither float32 nor float64, nor of integers.
        ValueError: the matrices are not square.
    """
    (source,) = operands("matrix_power", x)
    rank_of_matrices("matrix_power", source)
    if source.shape[-1] != source.shape[-2]:
        raise ValueError(
            f"matrix_power: last 2 dimensions of the array must be square (shape {source.shape})"
        )
    exponent = integer_of("matrix_power", "n", n)
    if exponent < 0:
        source, exponent = _inverse("matrix_power", square("matrix_power", x)), -exponent
    result = _identity(source)
    for position, bit in enumerate(reversed(bin(exponent)[2:])):
        if position:
            source = multiplied(source, source)
        if bit == "1":
            result = source if exponent & -exponent == 1 << position else multiplied(result, source)
    return result


@array_function(static=("ind",))
def tensorinv(x: Array, /, ind: int = 2) -> Array:
    """
    The inverse of the matrix whose rows are the first `ind` axes, and whose columns are the others: of shape
    `x.shape[ind:] + x.shape[:ind]`.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: `ind` is not above 0, or there are not as many rows as columns.
    """
    (source,) = in_floats("tensorinv", x)
    split = integer_of("tensorinv", "ind", ind)
    if split < 1:
        raise ValueError(f"tensorinv: ind is {split}, expected 1 or more")
    rows, columns = source.shape[:split], source.shape[split:]
    matrix = ops.reshape(source, (math.prod(rows), math.prod(columns)))
    found = _inverse("tensorinv", check_matrices("tensorinv", matrix, is_square=True))
    return ops.reshape(found, (*columns, *rows))


@array_function(static=("axes",))
def tensorsolve(x1: Array, x2: Array, /, axes: Sequence[int] | None = None) -> Array:
    """
    The x of `tensordot(x1, x, x.ndim) = x2`, of shape `x1.shape[x2.ndim:]`. `axes` of `x1` are moved to the
    end before.

    Raises:
        AxisError: there is no such axis.
        TypeError: the dtypes are not of integers, float32 or float64.
        ValueError: there are not as many equations as unknowns.
    """
    a, b = in_floats("tensorsolve", x1, x2)
    if axes is not None:
        last = [axis_of("tensorsolve", axis, len(a.shape)) for axis in axes]
        a = ops.permute(a, [*(axis for axis in range(len(a.shape)) if axis not in last), *last])
    unknown = a.shape[len(b.shape) :]
    matrix = ops.reshape(a, (math.prod(a.shape[: len(b.shape)]), math.prod(unknown)))
    check_matrices("tensorsolve", matrix, is_square=True)
    if matrix.shape[0] != math.prod(b.shape):
        raise ValueError(
            f"tensorsolve: the right side has not as many elements (shapes {a.shape} and {b.shape})"
        )
    found = _solved("tensorsolve", matrix, ops.reshape(b, (math.prod(b.shape), 1)))
    return ops.reshape(found, unknown)
