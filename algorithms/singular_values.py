"""
Singular values: reflections from both sides to a bidiagonal matrix, and QR iterations with implicit shifts.

Golub and Van Loan, Matrix Computations, 8.6; Demmel and Kahan, Accurate Singular Values of Bidiagonal
Matrices (1990), of which the shift of 0 for singular matrices is. The vectors are kept as rows, so that a
rotation changes two lines of memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..dialects import graph
from ..dialects.graph import ReduceKind
from .factorizations import product_of_reflections, reflection
from .matrices import Matrices
from .rotations import EPSILON, after_one, each_in_f64, in_order, order_of, rotation, scaled

_MOST_SWEEPS = 30
"""For each singular value; 2 are enough on average."""


def singular_vectors(a: Matrices, full: bool) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns U, the singular values in descending order, as a row, and V transposed, of matrices `U S V'`. U
    and V' are square where `full`, else as large as there are singular values. NaN for all of a matrix that
    has one, or an infinity. What is of f32 is computed in f64.
    """
    if not min(a.n_rows, a.n_columns):
        rows, columns = (a.n_rows, a.n_columns) if full else (0, 0)
        return a.identity(a.n_rows, rows), a.filled(0, 1, 0), a.identity(columns, a.n_columns)
    if a.n_rows < a.n_columns:
        v, values, u = singular_vectors(a.transposed, full)
        return u.transposed, values, v.transposed
    n_left = a.n_rows if full else a.n_columns
    values, u, v = each_in_f64(a, lambda one: _found(one, n_left))
    return u, values, v.transposed


def singular_values(a: Matrices) -> Matrices:
    """Returns the singular values alone, which `singular_vectors` gives too, with the same bits."""
    if not min(a.n_rows, a.n_columns):
        return a.filled(0, 1, 0)
    (values,) = each_in_f64(a if a.n_rows >= a.n_columns else a.transposed, lambda one: _found(one, 0))
    return values


def _found(a: Matrices, n_left: int) -> list[Matrices]:
    """
    Returns the singular values of one matrix of f64, and as many left vectors as asked for, and all right
    ones, as columns; no vectors where none are asked for.
    """
    a, scale, is_finite = scaled(a)
    n = a.n_columns
    a, left, right = _bidiagonal(a)
    square = a.part(-2, 0, n)
    # The element beside the last one is 0.
    beside = square.part(-2, 0, n - 1).part(-1, 1, n - 1).diagonal.transposed.joined(-2, a.filled(0, 1, 1))
    vectors: list[Matrices] = []
    others: list[Matrices] = []
    if n_left:
        product = product_of_reflections(a, left, n_left).transposed
        vectors = [product.part(-2, 0, n), _right_product(square, right)]
        others = [product.part(-2, n, n_left - n)] if n_left > n else []
    values, *vectors = _iterated(square.diagonal.transposed, beside, vectors)
    order = order_of(values.magnitude, descending=True)
    found = [in_order(values.magnitude * scale, order).transposed]
    if vectors:
        own, right_rows = vectors
        signs = values.ones.signed_as(values)
        found.append(in_order(own, order).joined(-2, *others).transposed)
        found.append(in_order(right_rows * signs, order).transposed)
    return [is_finite.where(each, float("nan")) for each in found]


def _bidiagonal(a: Matrices) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns matrices of at least as many rows as columns that are bidiagonal, with the vectors of the
    reflections below and right of it, and the factors of these as columns (gebrd).
    """
    c, n = a.c, a.n_columns

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, left, right = values
        rows, columns, number = a.places(-2), a.places(-1), a.number(at)
        column = a.column(at)
        vector, factor, diagonal = reflection(column, at)
        is_below, is_right = rows >= number, columns > number
        seen = is_right.where(is_below.where(a * vector, 0).summed(-2), 0) * factor
        # The row as the first reflection leaves it, where its vector is 1.
        row = (a.row(at) - seen).transposed
        other, other_factor, beside = reflection(row, c.binary(graph.AddOp, at, 1))
        is_left = (rows > number) & is_right
        seen_right = is_left.where(a * other.transposed, 0).summed(-1)
        seen_right = (
            seen_right - (rows > number).where(vector, 0) * (seen * other.transposed).summed(-1)
        ) * other_factor
        a = is_left.where(a - vector * seen - seen_right * other.transposed, a)
        places = row.places(-2)
        row = places.equals(number + 1).where(beside, (places > number + 1).where(other, row))
        a = a.with_row(at, is_right.where(row.transposed, a.row(at)))
        column = rows.equals(number).where(diagonal, (rows > number).where(vector, column))
        return [a.with_columns(at, column), left.with_row(at, factor), right.with_row(at, other_factor)]

    factors = a.filled(0, n, 1)
    reduced, left, right = a.repeated(n, (a, factors, factors), step)
    return reduced, left, right


def _right_product(square: Matrices, factors: Matrices) -> Matrices:
    """Returns the product of the reflections from the right of `_bidiagonal`, transposed."""
    n = square.n_columns
    if n < 3:
        return square.identity(n, n)
    vectors = square.part(-2, 0, n - 1).part(-1, 1, n - 1).transposed
    return after_one(product_of_reflections(vectors, factors.part(-2, 0, n - 1)).transposed)


def _iterated(diagonal: Matrices, beside: Matrices, vectors: list[Matrices]) -> list[Matrices]:
    """
    Returns the singular values of a bidiagonal matrix, given as columns, in no order and of any sign, and the
    rotated rows of the left and right `vectors`.
    """
    c, n = diagonal.c, diagonal.n_rows
    places = diagonal.places(-2)
    noise = diagonal.largest.at_least(beside.largest) * EPSILON

    def holds(values: list[Matrices]) -> Matrices:
        end, sweeps = values[:2]
        return (end > 0) & (sweeps < _MOST_SWEEPS * n)

    def sweep(values: list[Matrices]) -> list[Matrices]:
        end, sweeps, diagonal, beside, *vectors = values
        # The first row of the last block that hangs together.
        is_gap = (noise >= beside.magnitude) & (places < end)
        begin = is_gap.where(places + 1, 0).reduced(ReduceKind.MAX, -2)
        diagonal = (noise >= diagonal.magnitude).where(0, diagonal)
        is_singular = (diagonal.equals(0) & (places >= begin) & (end >= places)).reduced(ReduceKind.OR, -2)
        first = diagonal.row_of_each(begin)
        shift = is_singular.where(0, _shift(diagonal, beside, begin, end))
        is_single = begin.equals(end)

        def rotated(values: list[Matrices]) -> list[Matrices]:
            at, f, g, diagonal, beside, *vectors = values
            from_right, r = rotation(f, g)
            before = (at - 1).at_least(0)
            beside = beside.with_row_of_each(before, (at > begin).where(r, beside.row_of_each(before)))
            own, off = from_right.of_pair(diagonal.row_of_each(at), beside.row_of_each(at))
            under, below = from_right.of_pair(own.filled(0, 1, 1), diagonal.row_of_each(at + 1))
            from_left, r = rotation(own, under)
            f, below = from_left.of_pair(off, below)
            diagonal = diagonal.with_row_of_each(at, r).with_row_of_each(at + 1, below)
            following = beside.row_of_each(at + 1)
            g, less = from_left.of_pair(following.filled(0, 1, 1), following)
            beside = beside.with_row_of_each(at + 1, (at < end - 1).where(less, following))
            turns = (from_left, from_right)
            vectors = [turn.of_rows(each, at) for turn, each in zip(turns, vectors, strict=False)]
            return [at + 1, f, g, diagonal, beside, *vectors]

        # The first column of the shifted product, over its first element: nothing overflows.
        f = first - shift / first.divisor
        at = is_single.where(end, begin)
        _, f, _, diagonal, beside, *vectors = at.repeated_while(
            (at, f, beside.row_of_each(begin), diagonal, beside, *vectors),
            lambda values: values[0] < end,
            rotated,
        )
        last = end - 1
        beside = beside.with_row_of_each(last, is_single.where(beside.row_of_each(last), f))
        return [end - is_single.cast(i64), sweeps + 1, diagonal, beside, *vectors]

    nothing = diagonal.number(c.scalar(0, i64))
    _, _, diagonal, _, *vectors = diagonal.repeated_while(
        (nothing + (n - 1), nothing, diagonal, beside, *vectors), holds, sweep
    )
    return [diagonal, *vectors]


def _shift(diagonal: Matrices, beside: Matrices, begin: Matrices, end: Matrices) -> Matrices:
    """
    Returns the eigenvalue of the last two rows of B'B, of a bidiagonal block B, that is closer to the last
    element.
    """
    above = end - 1
    own, off, last = diagonal.row_of_each(above), beside.row_of_each(above), diagonal.row_of_each(end)
    before = (above > begin).where(beside.row_of_each((end - 2).at_least(0)), 0)
    corner, product = last * last + off * off, own * off
    half = (own * own + before * before - corner) * 0.5
    root = (half * half + product * product).root.signed_as(half)
    return corner - product * product / (half + root).divisor
