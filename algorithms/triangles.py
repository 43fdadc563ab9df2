"""Triangular systems and Cholesky's decomposition, row by row, and by blocks where there are many."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.element_types import NARROW_FLOATS
from .matrices import Matrices

BLOCK = 32
"""How many rows or columns are done one by one, before a product of matrices changes the others."""

LEAST_BLOCKED = 3 * BLOCK
"""
Smaller matrices are eliminated and solved row by row, which is less code. On a Xeon with AVX-512, in f64:
`solve` of 100x100 by blocks takes 0.45 of the time of that by rows (of 200x200 0.24), and 0.6 instead of
0.2 s to compile.
"""

_LEAST_FACTORED_BY_BLOCKS = 8 * BLOCK
"""Cholesky's decomposition by blocks, likewise: of 200x200 0.96, of 300x300 0.76, of 1000x1000 0.16."""


def solved(a: Matrices, b: Matrices, *, left: bool, lower: bool, unit: bool, transposed: bool) -> Matrices:
    """
    Returns x of `a x = b`, or of `x a = b` where not `left`, by substitution, one row after the other.

    Raises `VerifyException` where the shapes do not go together.
    """
    c, element = a.c, a.c.element(a.value)
    if element in NARROW_FLOATS:
        wide = solved(a.cast(f32), b.cast(f32), left=left, lower=lower, unit=unit, transposed=transposed)
        return wide.cast(element)
    fits = len(a.shape) >= 2 and a.n_rows == a.n_columns and a.batch == b.shape[:-2]
    if not fits or b.shape[-2 if left else -1] != a.n_rows:
        raise VerifyException(f"{c.who}: operands are {c.type(a.value)} and {c.type(b.value)}")
    if not left:
        # x a = b is the transposed a' x' = b'.
        b, transposed = b.transposed, not transposed
    if transposed:
        a, lower = a.transposed, not lower
    x = (_substituted if a.n_rows < LEAST_BLOCKED else _substituted_by_blocks)(a, b, lower, unit)
    return x if left else x.transposed


def _substituted(a: Matrices, b: Matrices, lower: bool, unit: bool) -> Matrices:
    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (x,) = values
        line, number, rows = a.row(at), a.number(at), a.places(-2)
        is_known = (rows < number) if lower else (rows > number)
        found = b.row(at) - is_known.where(x * line.transposed, 0).summed(-2)
        return [x.with_row(at, found if unit else found / line.column(at))]

    (x,) = a.repeated(a.n_rows, (b.zeros,), step, reverse=not lower)
    return x


def _substituted_by_blocks(a: Matrices, b: Matrices, lower: bool, unit: bool) -> Matrices:
    """
    Returns what `_substituted` does, in blocks of rows: what is known before one is taken off by a product of
    matrices. Rows that make up no block come first.
    """
    c, n = a.c, a.n_rows
    n_first = n % BLOCK
    x = b.zeros
    if n_first:
        begin = 0 if lower else n - n_first
        own = a.part(-2, begin, n_first).part(-1, begin, n_first)
        found = _substituted(own, b.part(-2, begin, n_first), lower, unit)
        others = b.filled(0, n - n_first, b.n_columns)
        x = found.joined(-2, others) if lower else others.joined(-2, found)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (x,) = values
        place = c.binary(graph.MulOp, at, BLOCK)
        begin = c.binary(graph.AddOp, place, n_first) if lower else place
        rows = a.rows(begin, BLOCK)
        # Rows that are not solved yet are 0, so that all columns may be multiplied with them.
        rest = b.rows(begin, BLOCK) - rows @ x
        return [x.with_rows(begin, _substituted(rows.columns(begin, BLOCK), rest, lower, unit))]

    (x,) = a.repeated(n // BLOCK, (x,), step, reverse=not lower)
    return x


def factored(a: Matrices, lower: bool) -> Matrices:
    """
    Returns Cholesky's triangle, 0 elsewhere. Column by column: what the columns before explain is taken off,
    and the rest is divided by the root of its diagonal element. What is not positive definite is NaN from
    there on.

    Raises `VerifyException` where the matrices are not square.
    """
    element = a.c.element(a.value)
    if len(a.shape) < 2 or a.n_rows != a.n_columns:
        raise VerifyException(f"{a.c.who}: {a.c.type(a.value)} is not of square matrices")
    wide = a.cast(f32) if element in NARROW_FLOATS else a
    wide = wide if lower else wide.transposed
    made = (_factored if a.n_rows < _LEAST_FACTORED_BY_BLOCKS else _factored_by_blocks)(wide)
    return (made if lower else made.transposed).cast(element)


def _factored(a: Matrices) -> Matrices:
    """Returns the lower triangle, column by column."""

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (found,) = values
        number, is_below = a.number(at), a.places(-2) >= a.number(at)
        is_known = is_below & (a.places(-1) < number)
        rest = a.column(at) - is_known.where(found * found.row(at), 0).summed(-1)
        return [found.with_columns(at, is_below.where(rest / rest.row(at).root, 0))]

    (found,) = a.repeated(a.n_rows, (a.zeros,), step)
    return found


def _factored_by_blocks(a: Matrices) -> Matrices:
    """
    Returns what `_factored` does, by blocks of columns: what those before explain is taken off by a product
    of matrices. Columns that make up no block come first.
    """
    c, n = a.c, a.n_rows
    n_first = n % BLOCK
    found = a.zeros
    if n_first:
        columns = a.part(-1, 0, n_first)
        made = _columns_factored(columns.part(-2, 0, n_first), columns)
        made = made.in_triangle(lower=True).where(made, 0)
        found = made.joined(-1, a.filled(0, n, n - n_first))

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        (found,) = values
        begin = c.binary(graph.AddOp, c.binary(graph.MulOp, at, BLOCK), n_first)
        rest = a.columns(begin, BLOCK) - found @ found.rows(begin, BLOCK).transposed
        made = _columns_factored(rest.rows(begin, BLOCK), rest)
        # What is above the block's diagonal is of no use.
        is_below = made.places(-2) >= made.places(-1) + made.number(begin)
        return [found.with_columns(begin, is_below.where(made, 0))]

    (found,) = a.repeated(n // BLOCK, (found,), step)
    return found


def _columns_factored(square: Matrices, columns: Matrices) -> Matrices:
    """Returns the columns of a triangle, of what is left of them: those on its diagonal, and all."""
    return solved(_factored(square), columns, left=False, lower=True, unit=False, transposed=True)
