"""
Eigenvalues and singular values by Jacobi's rotations.

In each round half of the rows, and of the columns, are rotated with the other half, so that a round is a few
ops on whole matrices; rows and columns then move on by one place, as teams of a tournament do, so that after
a sweep all have met and are where they were. An odd number gets one more row and column of zeros, which no
rotation changes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i64

from ..dialects import graph
from .factorizations import product_of_reflections, qr
from .matrices import Matrices

_MOST_SWEEPS = 30
"""Each sweep squares what is left; 6 to 10 are enough."""


_DOUBLE, _SINGLE = 2.0**-52, 2.0**-30
"""
How small what is left is to be, beside the whole. Rotations add up their errors: what is of f32 is computed
in f64, so that its results are exact to the last bits of f32.
"""


def eigenvalues(a: Matrices, lower: bool) -> tuple[Matrices, Matrices]:
    """
    Returns the eigenvectors of symmetric matrices, of which one triangle is read, as columns, and the
    eigenvalues in ascending order, as a row; NaN for all of a matrix that has one, or an infinity.
    """
    if not a.n_rows:
        return a, a.filled(0, 1, 0)
    if a.c.element(a.value) != f64:
        vectors, values = _eigenvalues(a.cast(f64), lower, _SINGLE)
        return vectors.cast(f32), values.cast(f32)
    return _eigenvalues(a, lower, _DOUBLE)


def _eigenvalues(a: Matrices, lower: bool, epsilon: float) -> tuple[Matrices, Matrices]:
    n = a.n_rows
    triangle = a.in_triangle(lower).where(a, 0)
    a = triangle + a.on_diagonal.where(0, triangle.transposed)
    scale = a.largest.divisor
    half = (n + 1) // 2
    work = _padded(a / scale, 2 * half, 2 * half)
    bound = (work * work).whole.root * (4 * epsilon)
    vectors = work.identity(2 * half, 2 * half)

    def off_diagonal(work: Matrices) -> Matrices:
        outside = work.on_diagonal.where(0, work)
        return (outside * outside).whole.root

    def round_of(work: Matrices, vectors: Matrices) -> tuple[Matrices, Matrices]:
        p, q, pq = _diagonals(work, half)
        c, s = _rotation(q - p, pq, bound * (0.25 / n) >= pq.magnitude)
        work = _rotated(_rotated(work, c.transposed, s.transposed, -2), c, s, -1)
        return _moved(_moved(work, -2), -1), _moved(_rotated(vectors, c, s, -1), -1)

    def sweep(values: list[Matrices]) -> Sequence[Matrices]:
        work, vectors, count = values
        work, vectors = work.repeated(2 * half - 1, (work, vectors), lambda _, found: round_of(*found))
        return [work, vectors, count + 1]

    first = work.number(work.c.scalar(0, i64))
    work, vectors, _ = work.repeated_while(
        (work, vectors, first),
        lambda found: (off_diagonal(found[0]) > bound) & _below(found[2]),
        sweep,
    )
    values = work.diagonal * scale
    values, vectors = values.part(-1, 0, n), vectors.part(-2, 0, n).part(-1, 0, n)
    order = _order(values, descending=False)
    valid = (scale - scale).equals(0)
    return valid.where(_ordered(vectors, order), float("nan")), valid.where(
        _ordered(values, order), float("nan")
    )


def singular_values(a: Matrices, full: bool) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns U, the singular values in descending order, as a row, and V transposed, of matrices `U S V'`. U
    and V' are square where `full`, else as large as there are singular values. NaN as for `eigenvalues`.
    """
    if not min(a.n_rows, a.n_columns):
        rows, columns = (a.n_rows, a.n_columns) if full else (0, 0)
        return a.identity(a.n_rows, rows), a.filled(0, 1, 0), a.identity(columns, a.n_columns)
    if a.c.element(a.value) != f64:
        u, values, v = _singular_values(a.cast(f64), full, _SINGLE)
        return u.cast(f32), values.cast(f32), v.cast(f32)
    return _singular_values(a, full, _DOUBLE)


def _singular_values(a: Matrices, full: bool, epsilon: float) -> tuple[Matrices, Matrices, Matrices]:
    if a.n_rows < a.n_columns:
        v, values, u = _singular_values(a.transposed, full, epsilon)
        return u.transposed, values, v.transposed
    m, n = a.n_rows, a.n_columns
    scale = a.largest.divisor
    reflected, factors = qr(a / scale)
    triangle = reflected.part(-2, 0, n)
    triangle = triangle.in_triangle(lower=False).where(triangle, 0)
    half = (n + 1) // 2
    work = _padded(triangle, n, 2 * half)
    vectors = work.identity(2 * half, 2 * half)
    bound = epsilon * max(n, 4)
    noise = (work * work).whole * epsilon

    def round_of(work: Matrices, vectors: Matrices, worst: Matrices) -> list[Matrices]:
        first, second = work.part(-1, 0, half), work.part(-1, half, half)
        p, q = (first * first).summed(-2), (second * second).summed(-2)
        pq = (first * second).summed(-2)
        reached = (p * q).root.at_least(noise)
        angle = pq.magnitude / reached.divisor
        c, s = _rotation(q - p, pq, angle.of(angle.c.binary(graph.LeOp, angle.value, bound)))
        moved = _moved(_rotated(work, c, s, -1), -1), _moved(_rotated(vectors, c, s, -1), -1)
        return [*moved, worst.at_least(angle.largest)]

    def sweep(values: list[Matrices]) -> Sequence[Matrices]:
        work, vectors, _, count = values
        nothing = work.filled(0, 1, 1)
        work, vectors, worst = work.repeated(
            2 * half - 1, (work, vectors, nothing), lambda _, found: round_of(*found)
        )
        return [work, vectors, worst, count + 1]

    initial = (work, vectors, work.filled(1, 1, 1), work.number(work.c.scalar(0, i64)))
    work, vectors, _, _ = work.repeated_while(
        initial, lambda found: (found[2] > bound) & _below(found[3]), sweep
    )
    work, vectors = work.part(-1, 0, n), vectors.part(-2, 0, n).part(-1, 0, n)
    values = (work * work).summed(-2).root
    order = _order(values, descending=True)
    work, vectors, values = (_ordered(each, order) for each in (work, vectors, values))
    # The columns are orthogonal: what reflects them is their directions, also of those that vanish.
    own, own_factors = qr(work)
    signs = own.diagonal
    signs = signs.ones.signed_as(signs)
    inner = product_of_reflections(own, own_factors) * signs
    size = m if full else n
    outer = product_of_reflections(_padded(reflected, m, size), factors)
    u = outer.part(-1, 0, n) @ inner
    if size > n:
        u = u.joined(-1, outer.part(-1, n, size - n))
    valid = (scale - scale).equals(0)
    nan = float("nan")
    return valid.where(u, nan), valid.where(values * scale, nan), valid.where(vectors.transposed, nan)


def _below(count: Matrices) -> Matrices:
    return count.of(count.c.binary(graph.LtOp, count.value, _MOST_SWEEPS))


def _padded(a: Matrices, n_rows: int, n_columns: int) -> Matrices:
    """Returns matrices with rows and columns of zeros after the others."""
    if n_rows > a.n_rows:
        a = a.joined(-2, a.filled(0, n_rows - a.n_rows, a.n_columns))
    return a.joined(-1, a.filled(0, n_rows, n_columns - a.n_columns))


def _diagonals(work: Matrices, half: int) -> tuple[Matrices, Matrices, Matrices]:
    """Returns the diagonals of the first, the last and the upper right quarter, as rows."""
    upper, lower = work.part(-2, 0, half), work.part(-2, half, half)
    quarters = upper.part(-1, 0, half), lower.part(-1, half, half), upper.part(-1, half, half)
    p, q, pq = (each.diagonal for each in quarters)
    return p, q, pq


def _rotation(difference: Matrices, pq: Matrices, is_done: Matrices) -> tuple[Matrices, Matrices]:
    """
    Returns the cosine and the sine of the rotation that makes `pq` 0, the smaller of the two angles; 1 and 0
    where all is done.
    """
    ratio = difference / (is_done.where(pq.ones, pq) * 2)
    tangent = ratio.ones.signed_as(ratio) / (ratio.magnitude + (ratio * ratio + 1).root)
    tangent = is_done.where(0, tangent)
    cosine = tangent.ones / (tangent * tangent + 1).root
    return cosine, cosine * tangent


def _rotated(a: Matrices, c: Matrices, s: Matrices, axis: int) -> Matrices:
    """Returns matrices of which the first half of rows or columns is rotated with the second one."""
    half = a.shape[axis] // 2
    first, second = a.part(axis, 0, half), a.part(axis, half, half)
    return (first * c - second * s).joined(axis, first * s + second * c)


def _moved(a: Matrices, axis: int) -> Matrices:
    """Returns rows or columns of which all but the first have moved on by one place of a tournament."""
    half = a.shape[axis] // 2
    if half < 2:
        return a
    parts = ((half, 1), (1, half - 2), (half + 1, half - 1), (half - 1, 1))
    return a.part(axis, 0, 1).joined(axis, *(a.part(axis, *each) for each in parts))


def _order(values: Matrices, descending: bool) -> Matrices:
    """Returns the places of a row's elements in order, as a row."""
    axis = len(values.shape) - 1
    return values.of(values.c.add(graph.ArgsortOp(values.value, axis, descending)))


def _ordered(a: Matrices, order: Matrices) -> Matrices:
    """Returns columns in an order, as products with the matrix that says it: exact, as each is of one."""
    n = a.n_columns
    square = a.filled(0, n, n)
    places = order.cast(i64)
    return a @ square.places(-2).equals(places).where(square.ones, 0)
