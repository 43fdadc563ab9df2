"""
Eigenvalues and singular values of complex matrices: reflections from both sides leave real matrices that have
the same ones, of three diagonals and of two, whose are found as those of all real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, SSAValue

from .complex_matrices import ComplexMatrices, complex_reflection
from .eigenvalues import eigenvalues, eigenvectors
from .matrices import Matrices
from .singular_values import singular_values, singular_vectors


def complex_eigenvectors(a: ComplexMatrices, lower: bool) -> tuple[ComplexMatrices, Matrices]:
    """As `eigenvectors`, of Hermitian matrices."""
    if not a.re.n_rows:
        return a, a.re.filled(0, 1, 0)
    element = a.re.c.element(a.re.value)
    identity = a.re.identity(a.re.n_rows, a.re.n_rows).cast(f64)
    near, q_re, q_im = _tridiagonal(a, lower, (identity, identity * 0))
    vectors, values = eigenvectors(near, lower=True)
    found = ComplexMatrices(q_re @ vectors, q_im @ vectors)
    return _cast(found, element), values.cast(element)


def complex_eigenvalues(a: ComplexMatrices, lower: bool) -> Matrices:
    """Returns the eigenvalues alone, which `complex_eigenvectors` gives too, with the same bits."""
    if not a.re.n_rows:
        return a.re.filled(0, 1, 0)
    (near,) = _tridiagonal(a, lower, ())
    return eigenvalues(near, lower=True).cast(a.re.c.element(a.re.value))


def _tridiagonal(a: ComplexMatrices, lower: bool, vectors: Sequence[Matrices]) -> list[Matrices]:
    """Returns real matrices of three diagonals, and the product of the reflections, if asked for."""
    triangle = _cast(a, f64).with_real_diagonal.kept(a.re.in_triangle(lower))
    off = triangle.kept(a.re.on_diagonal.equals(0)).conjugate.transposed
    a = ComplexMatrices(triangle.re + off.re, triangle.im + off.im)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        work, products = ComplexMatrices(*values[:2]), values[2:]
        vector, factor, _ = complex_reflection(work, at, 1)
        across = vector.conjugate.transposed
        work = work - vector * (factor.conjugate * (across @ work))
        work = work - (work @ vector) * (factor * across)
        return [work.re, work.im, *_reflected(products, vector, factor)]

    re, _, *products = a.re.repeated(a.re.n_rows - 1, (a.re, a.im, *vectors), step)
    return [_near_diagonal(re, -1, 0), *products]


def complex_singular_vectors(
    a: ComplexMatrices, full: bool
) -> tuple[ComplexMatrices, Matrices, ComplexMatrices]:
    """As `singular_vectors`: U, the singular values, and V transposed and conjugated."""
    m, n = a.re.n_rows, a.re.n_columns
    if m < n:
        u, values, v = complex_singular_vectors(a.conjugate.transposed, full)
        return v.conjugate.transposed, values, u.conjugate.transposed
    if not n:
        u, v = a.re.identity(m, m if full else 0), a.re.identity(0, 0)
        return ComplexMatrices(u, u * 0), a.re.filled(0, 1, 0), ComplexMatrices(v, v * 0)
    element = a.re.c.element(a.re.value)
    rows, columns = (a.re.identity(size, size).cast(f64) for size in (m, n))
    near, q_re, q_im, p_re, p_im = _bidiagonal(a, (rows, rows * 0), (columns, columns * 0))
    inner, values, outer = singular_vectors(near, full)
    u = ComplexMatrices(q_re @ inner, q_im @ inner)
    # Of P conjugated and transposed.
    v = ComplexMatrices(outer @ p_re.transposed, outer @ p_im.transposed * -1)
    return _cast(u, element), values.cast(element), _cast(v, element)


def complex_singular_values(a: ComplexMatrices) -> Matrices:
    """Returns the singular values alone, which `complex_singular_vectors` gives too, with the same bits."""
    if a.re.n_rows < a.re.n_columns:
        a = a.conjugate.transposed
    if not a.re.n_columns:
        return a.re.filled(0, 1, 0)
    (near,) = _bidiagonal(a, (), ())
    return singular_values(near).cast(a.re.c.element(a.re.value))


def _bidiagonal(a: ComplexMatrices, left: Sequence[Matrices], right: Sequence[Matrices]) -> list[Matrices]:
    """Returns real matrices of two diagonals, and the products of the reflections, if asked for."""
    wide = _cast(a, f64)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        work, rest = ComplexMatrices(*values[:2]), values[2:]
        vector, factor, _ = complex_reflection(work, at, 0)
        across = vector.conjugate.transposed
        work = work - vector * (factor.conjugate * (across @ work))
        products = _reflected(rest[: len(left)], vector, factor)
        # The row, from behind the diagonal on, is the column of the adjoint matrix.
        vector, factor, _ = complex_reflection(work.conjugate.transposed, at, 1)
        work = work - (work @ vector) * (factor * vector.conjugate.transposed)
        return [work.re, work.im, *products, *_reflected(rest[len(left) :], vector, factor)]

    re, _, *products = a.re.repeated(a.re.n_columns, (wide.re, wide.im, *left, *right), step)
    return [_near_diagonal(re, 0, 1), *products]


def _reflected(
    products: Sequence[Matrices], vector: ComplexMatrices, factor: ComplexMatrices
) -> Sequence[Matrices]:
    """Returns the parts of products with one more reflection, where there are any."""
    if not products:
        return ()
    q = ComplexMatrices(*products)
    q = q - (q @ vector) * (factor * vector.conjugate.transposed)
    return q.re, q.im


def _near_diagonal(a: Matrices, least: int, most: int) -> Matrices:
    """Returns matrices with 0 but on diagonals from one to another; 0 is that in the middle, 1 above it."""
    rows, columns = a.places(-2), a.places(-1)
    # Everywhere 0 but where a matrix is not finite.
    rest = (a - a).largest
    return ((columns >= rows + least) & (rows + most >= columns)).where(a, 0) + rest


def _cast(a: ComplexMatrices, element: Attribute) -> ComplexMatrices:
    return ComplexMatrices(a.re.cast(element), a.im.cast(element))
