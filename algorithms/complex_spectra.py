"""
Eigenvalues and singular values of complex matrices: reflections from both sides leave real matrices that have
the same ones, of three diagonals and of two, whose are found as those of all real ones.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, SSAValue

from .complex_matrices import ComplexMatrices, complex_reflection
from .eigenvalues import eigenvectors
from .matrices import Matrices
from .singular_values import singular_vectors


def complex_eigenvalues(a: ComplexMatrices, lower: bool) -> tuple[ComplexMatrices, Matrices]:
    """As `eigenvectors`, of Hermitian matrices."""
    element = a.re.c.element(a.re.value)
    if not a.re.n_rows:
        return a, a.re.filled(0, 1, 0)
    triangle = _cast(a, f64).with_real_diagonal.kept(a.re.in_triangle(lower))
    off = triangle.kept(a.re.on_diagonal.equals(0)).conjugate.transposed
    a = ComplexMatrices(triangle.re + off.re, triangle.im + off.im)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        work, q = ComplexMatrices(*values[:2]), ComplexMatrices(*values[2:])
        vector, factor, _ = complex_reflection(work, at, 1)
        across = vector.conjugate.transposed
        work = work - vector * (factor.conjugate * (across @ work))
        work = work - (work @ vector) * (factor * across)
        q = q - (q @ vector) * (factor * across)
        return [work.re, work.im, q.re, q.im]

    n = a.re.n_rows
    identity = a.re.identity(n, n)
    re, _, q_re, q_im = a.re.repeated(n - 1, (a.re, a.im, identity, identity * 0), step)
    vectors, values = eigenvectors(_near_diagonal(re, -1, 0), lower=True)
    found = ComplexMatrices(q_re @ vectors, q_im @ vectors)
    return _cast(found, element), values.cast(element)


def complex_singular_values(
    a: ComplexMatrices, full: bool
) -> tuple[ComplexMatrices, Matrices, ComplexMatrices]:
    """As `singular_vectors`: U, the singular values, and V transposed and conjugated."""
    m, n = a.re.n_rows, a.re.n_columns
    if m < n:
        u, values, v = complex_singular_values(a.conjugate.transposed, full)
        return v.conjugate.transposed, values, u.conjugate.transposed
    if not n:
        u, v = a.re.identity(m, m if full else 0), a.re.identity(0, 0)
        return ComplexMatrices(u, u * 0), a.re.filled(0, 1, 0), ComplexMatrices(v, v * 0)
    element = a.re.c.element(a.re.value)
    a = _cast(a, f64)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        work, q, p = (ComplexMatrices(*values[begin : begin + 2]) for begin in (0, 2, 4))
        vector, factor, _ = complex_reflection(work, at, 0)
        across = vector.conjugate.transposed
        work = work - vector * (factor.conjugate * (across @ work))
        q = q - (q @ vector) * (factor * across)
        # The row, from behind the diagonal on, is the column of the adjoint matrix.
        vector, factor, _ = complex_reflection(work.conjugate.transposed, at, 1)
        across = vector.conjugate.transposed
        work = work - (work @ vector) * (factor * across)
        p = p - (p @ vector) * (factor * across)
        return [each for pair in (work, q, p) for each in (pair.re, pair.im)]

    rows, columns = a.re.identity(m, m), a.re.identity(n, n)
    initial = (a.re, a.im, rows, rows * 0, columns, columns * 0)
    re, _, q_re, q_im, p_re, p_im = a.re.repeated(n, initial, step)
    inner, values, outer = singular_vectors(_near_diagonal(re, 0, 1), full)
    u = ComplexMatrices(q_re @ inner, q_im @ inner)
    # Of P conjugated and transposed.
    v = ComplexMatrices(outer @ p_re.transposed, outer @ p_im.transposed * -1)
    return _cast(u, element), values.cast(element), _cast(v, element)


def _near_diagonal(a: Matrices, least: int, most: int) -> Matrices:
    """Returns matrices with 0 but on diagonals from one to another; 0 is that in the middle, 1 above it."""
    rows, columns = a.places(-2), a.places(-1)
    # Everywhere 0 but where a matrix is not finite.
    rest = (a - a).largest
    return ((columns >= rows + least) & (rows + most >= columns)).where(a, 0) + rest


def _cast(a: ComplexMatrices, element: Attribute) -> ComplexMatrices:
    return ComplexMatrices(a.re.cast(element), a.im.cast(element))
