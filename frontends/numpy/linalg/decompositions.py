"""Factorizations of matrices, which are the last two axes of float32 or float64; integers become float64."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....algorithms.eigenvalues import eigenvalues, eigenvectors
from ....algorithms.factorizations import product_of_reflections
from ....algorithms.factorizations import qr as reflections
from ....algorithms.matrices import Matrices
from ....algorithms.singular_values import singular_values, singular_vectors
from ....algorithms.triangles import factored
from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing.trace import TracedArray
from .matrices import rectangular, square, vectors_of, write

__all__ = ["cholesky", "eigh", "eigvalsh", "qr", "svd", "svdvals"]


class QRResult(NamedTuple):
    """An orthogonal matrix and an upper triangle, of which it is the product."""

    Q: Array
    R: Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and their vectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class SVDResult(NamedTuple):
    """Left vectors as columns, singular values in descending order, and right vectors as rows."""

    U: Array
    S: Array
    Vh: Array


@array_function(static=("upper",))
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """
    The lower triangles L of positive definite matrices `L L^T`, or the upper ones U of `U^T U`; 0 elsewhere.
    One triangle is read. A matrix that is not positive definite has NaN in its result, where numpy raises.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: the matrices are not square, or their shape is not known when tracing.
    """
    source = square("cholesky", x)
    (found,) = write("cholesky", lambda a: [factored(a, not upper)], source)
    return found


def _reflected(a: Matrices, mode: str) -> list[Matrices]:
    m, n = a.n_rows, a.n_columns
    reflected, factors = reflections(a)
    size = m if mode == "complete" else min(m, n)
    triangle = reflected.part(-2, 0, size)
    r = triangle.in_triangle(lower=False).where(triangle, 0)
    if mode == "r":
        return [r]
    wide = reflected.part(-1, 0, min(n, size))
    if size > n:
        wide = wide.joined(-1, wide.filled(0, m, size - n))
    return [product_of_reflections(wide, factors), r]


@array_function(static=("mode",))
def qr(x: Array, /, *, mode: str = "reduced") -> Any:
    """
    The factors (Q, R) of matrices (..., M, N), by Householder's reflections and with their signs, as LAPACK
    has them: (..., M, K) and (..., K, N), where K is the lesser of M and N, or M where `mode` is `complete`;
    R alone where it is `r`.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: there is no such mode, the rank is below 2, or the shape is not known when tracing.
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode is {mode!r}, expected 'reduced', 'complete' or 'r'")
    source = rectangular("qr", x)
    found = write("qr", lambda a: _reflected(a, mode), source)
    return found[0] if mode == "r" else QRResult(*found)


def _symmetric(who: str, x: Array, uplo: str) -> TracedArray:
    if uplo not in ("L", "U"):
        raise ValueError(f"{who}: UPLO is {uplo!r}, expected 'L' or 'U'")
    return square(who, x)


@array_function(static=("UPLO",))
def eigh(x: Array, /, UPLO: str = "L") -> Any:
    """
    The eigenvalues of symmetric matrices in ascending order, and their vectors as columns, by
    reflections and QL iterations. One triangle is read. NaN for a matrix that has NaN or an infinity in it.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: UPLO is neither L nor U, the matrices are not square, or their shape is not known when
            tracing.
    """
    source = _symmetric("eigh", x, UPLO)
    vectors, values = write("eigh", lambda a: eigenvectors(a, UPLO == "L"), source)
    return EighResult(vectors_of(values), vectors)


@array_function(static=("UPLO",))
def eigvalsh(x: Array, /, UPLO: str = "L") -> Array:
    """The eigenvalues that `eigh` gives. Raises what it does."""
    source = _symmetric("eigvalsh", x, UPLO)
    (values,) = write("eigvalsh", lambda a: [eigenvalues(a, UPLO == "L")], source)
    return vectors_of(values)


def singular_parts(who: str, source: TracedArray, full: bool) -> list[TracedArray]:
    """Returns left vectors, singular values and right vectors as rows, of matrices of floats."""
    u, values, v = write(who, lambda a: singular_vectors(a, full), source)
    return [u, vectors_of(values), v]


@array_function(static=("full_matrices", "compute_uv"))
def svd(x: Array, /, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """
    The singular values of matrices (..., M, N) in descending order, with their left vectors as columns and
    their right vectors as rows, by reflections and QR iterations: (..., M, M), (..., K) and (..., N, N),
    where K is the lesser of M and N, or (..., M, K), (..., K) and (..., K, N) unless `full_matrices`. The
    values alone unless `compute_uv`. NaN for a matrix that has NaN or an infinity in it.

    Raises:
        TypeError: the dtype is neither float32 nor float64, nor of integers.
        ValueError: the rank is below 2, or the shape is not known when tracing.
    """
    source = rectangular("svd", x)
    return (
        SVDResult(*singular_parts("svd", source, bool(full_matrices)))
        if compute_uv
        else values_alone("svd", source)
    )


@array_function
def svdvals(x: Array, /) -> Array:
    """The singular values that `svd` gives. Raises what it does."""
    return values_alone("svdvals", rectangular("svdvals", x))


def values_alone(who: str, source: TracedArray) -> TracedArray:
    (values,) = write(who, lambda a: [singular_values(a)], source)
    return vectors_of(values)
