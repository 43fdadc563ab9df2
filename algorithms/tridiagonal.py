"""Systems of three diagonals, by elimination along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, SSAValue

from ..dialects import graph
from ..dialects.graph.control import COUNTER
from .emitter import Emitter, yield_of
from .factorizations import first_failed
from .matrices import Matrices, stacked_types


@dataclass(frozen=True)
class Tridiagonal:
    """
    Solutions of systems of three diagonals, and the upper triangle that they were found by: its diagonals,
    of shape (batch..., n, 1), and the number from 1 of the first pivot that is 0, else 0, as i32.
    """

    solution: Matrices
    diagonal: Matrices
    above: Matrices
    second_above: Matrices
    failed: Matrices


def tridiagonal_solved(lower: Matrices, diagonal: Matrices, upper: Matrices, b: Matrices) -> Tridiagonal:
    """
    Solves systems for right-hand sides of shape (batch..., n, columns), of f32 or f64. The diagonals are of
    shape (batch..., n, 1); the first element of the lower one and the last of the upper one are not read. Of
    a row and the next one that with the larger element is the pivot (gtsv). `above` is of n - 1 rows,
    `second_above`, which rows exchanged leave, of n - 2.
    """
    c, n, rank = b.c, b.n_rows, len(b.shape)

    def rows_of(x: Matrices) -> SSAValue:
        """Returns rows along axis 0, as loops take them."""
        return c.permute(x.value, [rank - 2, *range(rank - 2), rank - 1])

    def from_rows(x: SSAValue) -> Matrices:
        return b.of(c.permute(x, [*range(1, rank - 1), 0, rank - 1]))

    def first(x: SSAValue) -> Matrices:
        return b.of(c.reshape(c.part(x, 0, 0, 1), c.static_shape(x)[1:]))

    # No row is below the last one.
    upper = upper.part(-2, 0, n - 1).joined(-2, upper.filled(0, 1, 1)) if n else upper
    rows = [rows_of(each) for each in (lower, diagonal, upper, b)]
    if not n:
        nothing = diagonal.filled(0, 0, 1)
        return Tridiagonal(b, diagonal, nothing, nothing, b.filled(0, 1, 1, i32))
    own = [first(each) for each in rows[1:]]
    failed = b.of(c.full(0, i32, (*b.batch, 1)))
    eliminated, triangle = _along_rows(
        c, [*own, failed], [c.part(each, 0, 1, n - 1) for each in rows], _eliminated
    )
    last, _, last_b, failed = eliminated
    failed = (last.equals(0) & failed.equals(0)).where(n, failed)
    x = last_b / last
    nothing = x.of(c.like(0, x.value))
    _, (found,) = _along_rows(c, [x, nothing], triangle, _substituted, reverse=True)
    above, second = (from_rows(triangle[number]) for number in (1, 2))
    return Tridiagonal(
        from_rows(_with_last(c, found, x)),
        from_rows(_with_last(c, triangle[0], last)),
        above,
        second.part(-2, 0, max(n - 2, 0)),
        b.of(c.reshape(failed.value, (*b.batch, 1, 1))),
    )


def _eliminated(
    at: SSAValue, carried: list[Matrices], row: list[Matrices]
) -> tuple[Sequence[Matrices], Sequence[Matrices]]:
    """Returns what is left of a row, and the row of the triangle that comes before it."""
    pivot, above, b, failed = carried
    own, own_pivot, own_above, own_b = row
    stays = pivot.magnitude >= own.magnitude
    factor = stays.where(own, pivot) / stays.where(pivot, own).divisor
    chosen, other = stays.where(pivot, own), stays.where(above, own_pivot)
    left = stays.where(own_pivot, above) - factor * other
    # The row that is eliminated has an element in the third place only where it was not exchanged.
    left_above = stays.where(own_above, factor * own_above * -1)
    chosen_b = stays.where(b, own_b)
    left_b = stays.where(own_b, b) - factor * chosen_b
    failed = first_failed(failed, chosen.equals(0), chosen.number(at))
    return (left, left_above, left_b, failed), (chosen, other, stays.where(0, own_above), chosen_b)


def _substituted(
    at: SSAValue, carried: list[Matrices], row: list[Matrices]
) -> tuple[Sequence[Matrices], Sequence[Matrices]]:
    """Returns a row of the solution, of the two below it."""
    below, second_below = carried
    pivot, above, second_above, b = row
    x = (b - above * below - second_above * second_below) / pivot
    return (x, below), (x,)


def _along_rows(
    c: Emitter,
    initial: Sequence[Matrices],
    rows: Sequence[SSAValue],
    step: Callable[[SSAValue, list[Matrices], list[Matrices]], tuple[Sequence[Matrices], Sequence[Matrices]]],
    reverse: bool = False,
) -> tuple[list[Matrices], list[SSAValue]]:
    """
    Returns what is carried along rows of values, which are along their axis 0, and what steps give of each.
    """
    types = [each.value.type for each in initial]
    count = c.static_shape(rows[0])[0]
    slices = [graph.tensor_of(c.element(each), c.static_shape(each)[1:]) for each in rows]
    inner = Block(arg_types=[COUNTER, *types, *slices])

    def write() -> list[SSAValue]:
        at, *values = (Matrices(c, value) for value in inner.args)
        carried, given = step(at.value, values[: len(types)], values[len(types) :])
        return [each.value for each in (*carried, *given)]

    body = c.nested(write, yield_of, inner)
    stacks = stacked_types(body, count)[len(types) :]
    op = c.put(graph.ScanOp(count, [each.value for each in initial], rows, [*types, *stacks], body, reverse))
    return [Matrices(c, value) for value in op.results[: len(types)]], list(op.results[len(types) :])


def _with_last(c: Emitter, rows: SSAValue, last: Matrices) -> SSAValue:
    """Returns rows with one more behind them."""
    return c.concat([rows, c.reshape(last.value, (1, *last.shape))], 0)
