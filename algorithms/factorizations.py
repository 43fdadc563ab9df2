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
        column = c.binary(graph.AddOp, at, done) if done else at
        a, chosen, pivot = _column_eliminated(a, at, column)
        pivots = pivots.with_row(at, (chosen + (done + 1)).cast(i32))
        return [a, pivots, first_failed(failed, pivot.equals(0), a.number(column))]

    factors, pivots, failed = a.repeated(count, (a, pivots, failed), step)
    return factors, pivots, failed


def _column_eliminated(a: Matrices, row: SSAValue, column: SSAValue) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns matrices after a step of elimination, the row that became the pivot's, and the pivot, as matrices
    of one element.
    """
    rows, number = a.places(-2), a.number(row)
    chosen = pivot_row(a.column(column), number)
    a = a.with_rows_exchanged(row, chosen)
    own, below = a.row(row), rows > number
    pivot = own.column(column)
    factor = a.column(column) / pivot.divisor
    is_left = below & (a.places(-1) > a.number(column))
    a = is_left.where(a - factor * own, a)
    return a.with_columns(column, below.where(factor, a.column(column))), chosen, pivot


def pivot_row(column: Matrices, number: Matrices) -> Matrices:
    """Returns the place of the largest element of columns from a row on, as matrices of one element."""
    size = (column.places(-2) >= number).where(column.magnitude, -1)
    axis = len(column.shape) - 2
    found = column.c.add(graph.ArgReduceOp(graph.Extremum.MAX, size.value, axis, keep=True))
    return column.of(found).cast(i64)


def first_failed(failed: Matrices, is_failing: Matrices, column: Matrices) -> Matrices:
    """Returns the number from 1 of the first column that failed: of this one where none did before."""
    return (is_failing & failed.equals(0)).where((column + 1).cast(i32), failed)


def _block_eliminated(at: SSAValue, a: Matrices, pivots: Matrices, failed: Matrices) -> list[Matrices]:
    """Returns what is left of one matrix after a block of columns, and the rows right of it."""
    c = a.c
    begin = c.binary(graph.MulOp, at, BLOCK)
    rows, first = a.places(-2), a.number(begin)

    def step(inner: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, panel, pivots, failed = values
        place = c.binary(graph.AddOp, begin, inner)
        panel, chosen, pivot = _column_eliminated(panel, place, inner)
        pivots = pivots.with_row(place, (chosen + 1).cast(i32))
        failed = first_failed(failed, pivot.equals(0), panel.number(place))
        return [a.with_rows_exchanged(place, chosen), panel, pivots, failed]

    initial = (a, a.columns(begin, BLOCK), pivots, failed)
    a, panel, pivots, failed = a.repeated(BLOCK, initial, step)
    a = a.with_columns(begin, panel)
    is_right = a.places(-1) >= first + BLOCK
    block = a.rows(begin, BLOCK)
    right = is_right.where(block, 0)
    right = solved(panel.rows(begin, BLOCK), right, left=True, lower=True, unit=True, transposed=False)
    a = a.with_rows(begin, is_right.where(right, block))
    below = (rows >= first + BLOCK).where(panel, 0)
    return [a - below @ right, pivots, failed]


def reflection(column: Matrices, at: SSAValue) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns the vector, 1 in a row and 0 above it, and the factor of the reflection that takes what a column
    has there and below to a multiple of the row's unit vector, and that multiple (larfg). No reflection where
    the row is the last one, or behind it.
    """
    rows, number = column.places(-2), column.number(at)
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
        column, rows, number = a.column(at), a.places(-2), a.number(at)
        vector, factor, diagonal = reflection(column, at)
        is_left = (rows >= number) & (a.places(-1) > number)
        a = is_left.where(a - vector * (_seen(a, vector, number) * factor), a)
        column = rows.equals(number).where(diagonal, (rows > number).where(vector, column))
        return [a.with_columns(at, column), factors.with_row(at, factor)]

    reflected, factors = a.repeated(count, (a, a.filled(0, count, 1)), step)
    return reflected, factors


def _seen(a: Matrices, vector: Matrices, number: Matrices) -> Matrices:
    """Returns the products of columns with a vector that is 0 in the rows before one, as a row."""
    return (a.places(-2) >= number).where(a * vector, 0).summed(-2)


def product_of_reflections(a: Matrices, factors: Matrices, n_columns: int | None = None) -> Matrices:
    """
    Returns the first columns, as many as `a` has or as asked for, of the product of `qr`'s reflections
    (orgqr).
    """
    n_columns = a.n_columns if n_columns is None else n_columns

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (q,) = values
        rows, number = a.places(-2), a.number(at)
        column = a.column(at)
        vector = rows.equals(number).where(column.ones, (rows > number).where(column, 0))
        # Columns before that of the reflection are of the identity still.
        is_left = (rows >= number) & (q.places(-1) >= number)
        return [is_left.where(q - vector * (_seen(q, vector, number) * factors.row(at)), q)]

    initial = (a.identity(a.n_rows, n_columns),)
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
