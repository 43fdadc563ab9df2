"""
Eigenvalues of symmetric matrices: reflections to a tridiagonal matrix, and QL iterations with implicit
shifts.

Golub and Van Loan, Matrix Computations, 8.3; Bowdler, Martin, Reinsch and Wilkinson, The QR and QL Algorithms
for Symmetric Matrices (1968). The vectors are kept as rows, so that a rotation changes two lines of memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..dialects import graph
from ..dialects.graph import ReduceKind
from .factorizations import product_of_reflections, reflection
from .matrices import Matrices
from .rotations import EPSILON, Rotation, after_one, each_in_f64, in_order, order_of, rotation, scaled

_MOST_SWEEPS = 30
"""For each eigenvalue; 2 are enough on average."""


def eigenvectors(a: Matrices, lower: bool) -> tuple[Matrices, Matrices]:
    """
    Returns the eigenvectors of symmetric matrices, of which one triangle is read, as columns, and the
    eigenvalues in ascending order, as a row; NaN for all of a matrix that has one, or an infinity. What is of
    f32 is computed in f64.
    """
    if not a.n_rows:
        return a, a.filled(0, 1, 0)
    vectors, values = each_in_f64(a, lambda one: _found(one, lower, with_vectors=True))
    return vectors, values


def eigenvalues(a: Matrices, lower: bool) -> Matrices:
    """Returns the eigenvalues alone, which `eigenvectors` gives too, with the same bits."""
    if not a.n_rows:
        return a.filled(0, 1, 0)
    (values,) = each_in_f64(a, lambda one: _found(one, lower, with_vectors=False))
    return values


def _found(a: Matrices, lower: bool, with_vectors: bool) -> list[Matrices]:
    """Returns the eigenvectors of one matrix of f64, if asked for, and the eigenvalues."""
    triangle = a.in_triangle(lower).where(a, 0)
    a, scale, is_finite = scaled(triangle + a.on_diagonal.where(0, triangle.transposed))
    a, factors = _tridiagonal(a)
    n = a.n_rows
    # The element beside the last one is 0.
    beside = a.part(-2, 1, n - 1).part(-1, 0, n - 1).diagonal.transposed.joined(-2, a.filled(0, 1, 1))
    vectors = [_transposed_product(a, factors)] if with_vectors else []
    values, *vectors = _iterated(a.diagonal.transposed, beside, vectors)
    order = order_of(values, descending=False)
    found = [in_order(each, order).transposed for each in (*vectors, values * scale)]
    return [is_finite.where(each, float("nan")) for each in found]


def _tridiagonal(a: Matrices) -> tuple[Matrices, Matrices]:
    """
    Returns a symmetric matrix that is tridiagonal, with the vectors of the reflections below, and the factors
    of these as a column (sytrd); what is above the diagonal is of no meaning.
    """
    c, count = a.c, max(a.n_rows - 2, 0)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, factors = values
        rows, number, column = a.places(-2), a.number(at), a.column(at)
        vector, factor, beside = reflection(column, c.binary(graph.AddOp, at, 1))
        # What is done stays as it is, to the bit, and costs nothing.
        is_left = (rows > number) & (a.places(-1) > number)
        seen = is_left.where(a * vector.transposed, 0).summed(-1) * factor
        other = seen - vector * ((seen * vector).summed(-2) * factor * 0.5)
        a = is_left.where(a - vector * other.transposed - other * vector.transposed, a)
        stored = rows.equals(number + 1).where(beside, (rows > number + 1).where(vector, column))
        return [a.with_columns(at, stored), factors.with_row(at, factor)]

    reduced, factors = a.repeated(count, (a, a.filled(0, count, 1)), step)
    return reduced, factors


def _transposed_product(a: Matrices, factors: Matrices) -> Matrices:
    """Returns the product of the reflections of `_tridiagonal`, transposed."""
    n = a.n_rows
    if n < 3:
        return a.identity(n, n)
    vectors = a.part(-2, 1, n - 1).part(-1, 0, n - 1)
    return after_one(product_of_reflections(vectors, factors).transposed)


def _iterated(diagonal: Matrices, beside: Matrices, vectors: list[Matrices]) -> list[Matrices]:
    """
    Returns the eigenvalues of a tridiagonal matrix, given as columns, in no order, and the rotated rows of
    `vectors`.
    """
    c, n = diagonal.c, diagonal.n_rows
    places = diagonal.places(-2)

    def holds(values: list[Matrices]) -> Matrices:
        begin, sweeps = values[:2]
        return (begin < n - 1) & (sweeps < _MOST_SWEEPS * n)

    def sweep(values: list[Matrices]) -> list[Matrices]:
        begin, sweeps, diagonal, beside, *vectors = values
        size = diagonal.magnitude
        others = size.part(-2, 1, n - 1).joined(-2, size.filled(0, 1, 1))
        is_end = ((size + others) * EPSILON >= beside.magnitude) | places.equals(n - 1)
        end = (is_end & (places >= begin)).where(places, n - 1).reduced(ReduceKind.MIN, -2)
        is_single = end.equals(begin)
        first, next_one = diagonal.row_of_each(begin), diagonal.row_of_each(begin + 1)
        off = beside.row_of_each(begin)
        # The eigenvalue of the first two rows that is closer to the first element.
        ratio = (next_one - first) / (off.divisor * 2)
        root = (ratio * ratio + 1).root.signed_as(ratio)
        start = diagonal.row_of_each(end) - first + off / (ratio + root)
        one, zero = start.ones, start.filled(0, 1, 1)
        at = is_single.where(begin, end) - 1
        _, g, _, _, p, diagonal, beside, *vectors = at.repeated_while(
            (at, start, one, one, zero, diagonal, beside, *vectors),
            lambda values: values[0] >= begin,
            rotated,
        )
        diagonal = diagonal.with_row_of_each(begin, is_single.where(first, diagonal.row_of_each(begin) - p))
        beside = beside.with_row_of_each(begin, is_single.where(off, g))
        beside = beside.with_row_of_each(end, is_single.where(beside.row_of_each(end), 0))
        return [begin + is_single.cast(i64), sweeps + 1, diagonal, beside, *vectors]

    def rotated(values: list[Matrices]) -> list[Matrices]:
        at, g, cosine, sine, p, diagonal, beside, *vectors = values
        own = beside.row_of_each(at)
        f, b = sine * own, cosine * own
        turn, r = rotation(g, f)
        cosine, sine = turn.cosine, turn.sine
        beside = beside.with_row_of_each(at + 1, r)
        g = diagonal.row_of_each(at + 1) - p
        r = (diagonal.row_of_each(at) - g) * sine + cosine * b * 2
        p = sine * r
        diagonal = diagonal.with_row_of_each(at + 1, g + p)
        back = Rotation(cosine, sine * -1)
        vectors = [back.of_rows(each, at) for each in vectors]
        return [at - 1, cosine * r - b, cosine, sine, p, diagonal, beside, *vectors]

    nothing = diagonal.number(c.scalar(0, i64))
    _, _, diagonal, _, *vectors = diagonal.repeated_while(
        (nothing, nothing, diagonal, beside, *vectors), holds, sweep
    )
    return [diagonal, *vectors]
