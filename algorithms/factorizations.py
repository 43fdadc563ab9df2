"""Decompositions into triangles and rotations, in the form that LAPACK gives them in."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from ..dialects import graph
from ..dialects.graph import ReduceKind
from .matrices import Matrices
from .triangles import BLOCK, LEAST_BLOCKED, solved


def lu(a: Matrices) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns both triangles of each matrix in one, the diagonal of the lower one being 1, the rows from 1 that
    were exchanged with each, as a column of i32, and the number from 1 of the first pivot that is 0, else 0
    (getrf). Column by column: the largest element becomes the pivot. Large matrices are changed by blocks of
    columns, right of them (Golub and Van Loan, Matrix Computations, 3.2.11).
    """
    count = min(a.n_rows, a.n_columns)
    pivots, failed = a.filled(0, count, 1, i32), a.filled(0, 1, 1, i32)
    if count < LEAST_BLOCKED:
        return _eliminated(a, pivots, failed, 0, count)
    if a.batch:
        factors, pivots, failed = a.each(lambda one: lu(one))
        return factors, pivots, failed
    n_blocks, m = count // BLOCK, a.n_rows
    a, pivots, failed = a.repeated(
        n_blocks, (a, pivots, failed), lambda at, values: _block_eliminated(at, *values)
    )
    done = n_blocks * BLOCK
    if done == count:
        return a, pivots, failed
    rest, last, failed = _eliminated(
        a.part(-2, done, m - done), pivots.part(-2, done, count - done), failed, done, count - done
    )
    pivots = pivots.part(-2, 0, done).joined(-2, last)
    return a.part(-2, 0, done).joined(-2, rest), pivots, failed


def _eliminated(
    a: Matrices, pivots: Matrices, failed: Matrices, done: int, count: int
) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns what `lu` does after `count` columns, where `done` columns are done, and as many rows taken off.
    """
    c = a.c

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, pivots, failed = values
        number, rows, columns = a.number(at), a.places(-2), a.places(-1)
        place = c.binary(graph.AddOp, at, c.scalar(done, i64)) if done else at
        chosen = _pivot_row(a.column(place), number)
        own, other = a.row(at), a.row_of_each(chosen)
        a = a.with_row_of_each(chosen, own).with_row(at, other)
        pivot = other.column(place)
        is_zero = pivot.equals(0)
        factor = (rows > number).where(a.column(place) / pivot.divisor, 0)
        rest = (columns > number + done).where(other, 0)
        a = a - factor * rest
        a = ((rows > number) & columns.equals(number + done)).where(factor, a)
        row = (chosen + (done + 1)).cast(i32)
        first = (is_zero & failed.equals(0)).where((number + (done + 1)).cast(i32), failed)
        return [a, pivots.with_row(at, row), first]

    factors, pivots, failed = a.repeated(count, (a, pivots, failed), step)
    return factors, pivots, failed


def _pivot_row(column: Matrices, number: Matrices) -> Matrices:
    """Returns the place of the largest element of columns from a row on, as matrices of one element."""
    size = (column.places(-2) >= number).where(column.magnitude, -1)
    axis = len(column.shape) - 2
    found = column.c.add(graph.ArgReduceOp(graph.Extremum.MAX, size.value, axis, keep=True))
    return column.of(found).cast(i64)


def _block_eliminated(at: SSAValue, a: Matrices, pivots: Matrices, failed: Matrices) -> list[Matrices]:
    """Returns what is left of one matrix after a block of columns, and the rows right of it."""
    c = a.c
    begin = c.binary(graph.MulOp, at, c.scalar(BLOCK, i64))
    rows, first = a.places(-2), a.number(begin)

    def step(inner: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, panel, pivots, failed = values
        place = c.binary(graph.AddOp, begin, inner)
        number, columns = panel.number(place), panel.places(-1)
        chosen = _pivot_row(panel.column(inner), number)
        a = a.with_rows_exchanged(place, chosen)
        panel = panel.with_rows_exchanged(place, chosen)
        own = panel.row(place)
        pivot = own.column(inner)
        factor = (rows > number).where(panel.column(inner) / pivot.divisor, 0)
        panel = panel - factor * (columns > panel.number(inner)).where(own, 0)
        panel = ((rows > number) & columns.equals(panel.number(inner))).where(factor, panel)
        failure = (pivot.equals(0) & failed.equals(0)).where((number + 1).cast(i32), failed)
        return [a, panel, pivots.with_row(place, (chosen + 1).cast(i32)), failure]

    initial = (a, a.columns(begin, BLOCK), pivots, failed)
    a, panel, pivots, failed = a.repeated(BLOCK, initial, step)
    a = a.with_columns(begin, panel)
    is_right = a.places(-1) >= first + BLOCK
    block = a.rows(begin, BLOCK)
    triangle = panel.rows(begin, BLOCK)
    right = is_right.where(block, 0)
    right = a.of(solved(c, triangle.value, right.value, left=True, lower=True, unit=True, transposed=False))
    a = a.with_rows(begin, is_right.where(right, block))
    below = (rows >= first + BLOCK).where(panel, 0)
    return [a - below @ right, pivots, failed]


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
