"""Decompositions into triangles and rotations, in the form that LAPACK gives them in."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ..dialects import graph
from ..dialects.graph import ReduceKind
from .matrices import Matrices


def lu(a: Matrices) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns both triangles of each matrix in one, the diagonal of the lower one being 1, the rows from 1 that
    were exchanged with each, as a column of i32, and the number from 1 of the first pivot that is 0, else 0
    (getrf). Column by column: the largest element becomes the pivot.
    """
    c, rank = a.c, len(a.shape)
    count = min(a.n_rows, a.n_columns)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, pivots, failed = values
        number, rows, columns = a.number(at), a.places(-2), a.places(-1)
        column = a.column(at)
        size = (rows >= number).where(column.magnitude, -1)
        found = c.add(graph.ArgReduceOp(graph.Extremum.MAX, size.value, rank - 2, keep=True))
        chosen = a.of(found).cast(i64)
        own, other = a.row(at), rows.equals(chosen).where(a, 0).summed(-2)
        a = rows.equals(number).where(other, rows.equals(chosen).where(own, a))
        pivot = other.column(at)
        is_zero = pivot.equals(0)
        below = rows > number
        factor = below.where(a.column(at) / is_zero.where(pivot.ones, pivot), 0)
        rest = (columns > number).where(other, 0)
        a = a - factor * rest
        a = (below & columns.equals(number)).where(factor, a)
        row = (chosen + 1).cast(i32)
        first = (is_zero & failed.equals(0)).where((number + 1).cast(i32), failed)
        return [a, pivots.with_row(at, row), first]

    initial = (a, a.filled(0, count, 1, i32), a.filled(0, 1, 1, i32))
    factors, pivots, failed = a.repeated(count, initial, step)
    return factors, pivots, failed


def _reflection(a: Matrices, at: SSAValue) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns the vector, 1 at the diagonal and 0 above it, and the factor of the reflection that takes a column
    of `a` to a multiple of the diagonal's unit vector, and that multiple (larfg).
    """
    rows, number = a.places(-2), a.number(at)
    column = a.column(at)
    alpha = column.row(at)
    rest = (rows > number).where(column, 0)
    # Scaled, so that no square overflows or vanishes.
    unit = (rows >= number).where(column, 0).largest.divisor
    scaled, first = rest / unit, alpha / unit
    tail = (scaled * scaled).summed(-2)
    is_done = tail.equals(0)
    norm = (first * first + tail).root
    beta = norm.signed_as(alpha) * -1
    factor = is_done.where(0, (beta - first) / beta.divisor)
    below = scaled / is_done.where(beta.ones, first - beta)
    vector = rows.equals(number).where(below.ones, below)
    return vector, factor, is_done.where(alpha, beta * unit)


def qr(a: Matrices) -> tuple[Matrices, Matrices]:
    """
    Returns the upper triangle of each matrix with the vectors of the reflections below it, and the factors of
    these, as a column (geqrf).
    """
    count = min(a.n_rows, a.n_columns)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, factors = values
        vector, factor, diagonal = _reflection(a, at)
        rows, columns, number = a.places(-2), a.places(-1), a.number(at)
        seen = vector.transposed @ a
        changed = a - vector * (factor * seen)
        column = rows.equals(number).where(diagonal, (rows > number).where(vector, a.column(at)))
        a = (columns > number).where(changed, columns.equals(number).where(column, a))
        return [a, factors.with_row(at, factor)]

    reflected, factors = a.repeated(count, (a, a.filled(0, count, 1)), step)
    return reflected, factors


def product_of_reflections(a: Matrices, factors: Matrices) -> Matrices:
    """Returns the first columns, as many as `a` has, of the product of `qr`'s reflections (orgqr)."""

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (q,) = values
        rows, number = a.places(-2), a.number(at)
        column = a.column(at)
        vector = rows.equals(number).where(column.ones, (rows > number).where(column, 0))
        return [q - vector * (factors.row(at) * (vector.transposed @ q))]

    initial = (a.identity(a.n_rows, a.n_columns),)
    (q,) = a.repeated(factors.n_rows, initial, step, reverse=True)
    return q


def first_failure(diagonal: Matrices) -> Matrices:
    """Returns the number from 1 of the first element of a row that is not above 0, else 0, as i32."""
    c = diagonal.c
    n = diagonal.n_columns
    places = (diagonal.places(-1) + 1).cast(i32)
    bad = (diagonal > 0).where(diagonal.of(c.full(n + 1, i32, diagonal.shape)), places)
    least = bad.reduced(ReduceKind.MIN, -1)
    return least.equals(n + 1).where(0, least)
