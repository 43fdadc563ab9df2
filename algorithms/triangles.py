"""Triangular systems and Cholesky's decomposition, row by row, and by blocks where there are many."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.element_types import NARROW_FLOATS
from ..dialects.graph import ReduceKind
from ..dialects.graph.control import COUNTER
from .contraction import dot
from .emitter import Emitter, yield_of

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


def solved(
    c: Emitter, a: SSAValue, b: SSAValue, *, left: bool, lower: bool, unit: bool, transposed: bool
) -> SSAValue:
    """Returns x of `a x = b`, or of `x a = b` where not `left`, by substitution, one row after the other."""
    rank = len(c.shape(a))
    if rank < 2 or len(c.shape(b)) != rank or c.shape(a)[-1] != c.shape(a)[-2]:
        raise VerifyException(f"{c.who}: operands are {c.type(a)} and {c.type(b)}")
    element = c.element(a)
    if element in NARROW_FLOATS:
        wide = solved(
            c, c.cast(a, f32), c.cast(b, f32), left=left, lower=lower, unit=unit, transposed=transposed
        )
        return c.cast(wide, element)
    swap = [*range(rank - 2), rank - 1, rank - 2]
    if not left:
        # x a = b is the transposed a' x' = b'.
        b, transposed = c.permute(b, swap), not transposed
    if transposed:
        a, lower = c.permute(a, swap), not lower
    (n,) = c.static([c.shape(a)[-1]], "the extent of the matrix")
    if c.shape(b)[-2] != n:
        raise VerifyException(f"{c.who}: operands are {c.type(a)} and {c.type(b)}")
    substituted = _substituted if n < LEAST_BLOCKED else _substituted_by_blocks
    x = substituted(c, a, b, n, lower, unit)
    return x if left else c.permute(x, swap)


def _rows_of(c: Emitter, x: SSAValue, begin: SSAValue, count: int) -> SSAValue:
    """Returns rows of matrices from one on."""
    shape = c.static_shape(x)
    return c.add(graph.DynamicSliceOp(x, _row_starts(c, x, begin), [*shape[:-2], count, shape[-1]]))


def _row_starts(c: Emitter, x: SSAValue, begin: SSAValue) -> list[SSAValue]:
    origin = c.scalar(0, i64)
    return [*(origin for _ in c.shape(x)[:-2]), begin, origin]


def _product(c: Emitter, x: SSAValue, y: SSAValue, is_transposed: bool = False) -> SSAValue:
    rank = len(c.shape(x))
    pairs, last = tuple(range(rank - 2)), rank - 1 if is_transposed else rank - 2
    return dot(c, x, y, (pairs, pairs), ((rank - 1,), (last,)), c.element(x))


def _substituted_by_blocks(c: Emitter, a: SSAValue, b: SSAValue, n: int, lower: bool, unit: bool) -> SSAValue:
    """
    Returns what `_substituted` does, in blocks of rows: what is known before one is taken off by a product of
    matrices. Rows that make up no block come first.
    """
    rank = len(c.shape(a))
    batch, columns = c.static_shape(a)[:-2], c.static_shape(b)[-1]
    n_first = n % BLOCK
    x = c.full(0, c.element(b), c.shape(b))
    if n_first:
        begin = 0 if lower else n - n_first
        own = c.part(c.part(a, rank - 2, begin, n_first), rank - 1, begin, n_first)
        found = _substituted(c, own, c.part(b, rank - 2, begin, n_first), n_first, lower, unit)
        others = c.full(0, c.element(b), (*batch, n - n_first, columns))
        x = c.concat([found, others] if lower else [others, found], rank - 2)
    inner = Block(arg_types=[COUNTER, x.type])
    counter, known = inner.args

    def write() -> list[SSAValue]:
        place = c.binary(graph.MulOp, counter, c.scalar(BLOCK, i64))
        begin = (
            c.binary(graph.AddOp, place, c.scalar(n_first, i64))
            if lower
            else c.binary(graph.SubOp, c.scalar(n - n_first - BLOCK, i64), place)
        )
        rows = _rows_of(c, a, begin, BLOCK)
        # Rows that are not solved yet are 0, so that all columns may be multiplied with them.
        rest = c.binary(graph.SubOp, _rows_of(c, b, begin, BLOCK), _product(c, rows, known))
        starts = _row_starts(c, a, begin)
        starts = [*starts[:-1], begin]
        own = c.add(graph.DynamicSliceOp(a, starts, [*batch, BLOCK, BLOCK]))
        found = _substituted(c, own, rest, BLOCK, lower, unit)
        return [c.add(graph.DynamicUpdateOp(known, _row_starts(c, known, begin), found))]

    body = c.nested(write, yield_of, inner)
    return c.put(graph.ScanOp(n // BLOCK, [x], [], [x.type], body)).results[0]


def _substituted(c: Emitter, a: SSAValue, b: SSAValue, n: int, lower: bool, unit: bool) -> SSAValue:
    if not n:
        return b
    rank = len(c.shape(a))
    batch = c.shape(a)[:-2]
    columns = c.shape(b)[-1]
    zero = c.full(0, c.element(b), c.shape(b))
    inner = Block(arg_types=[COUNTER, b.type])
    counter, x = inner.args

    def write() -> list[SSAValue]:
        row = counter if lower else c.binary(graph.SubOp, c.scalar(n - 1, i64), counter)
        origin = c.scalar(0, i64)
        starts = [*(origin for _ in batch), row, origin]
        line = c.add(graph.DynamicSliceOp(a, starts, [*c.static(batch, "a batch"), 1, n]))
        wanted = c.add(
            graph.DynamicSliceOp(b, starts, [*c.static(batch, "a batch"), 1, *c.static([columns], "b")])
        )
        # Rows that are not solved yet are 0.
        place = c.iota(rank - 1, i64, c.shape(line))
        others = c.binary(graph.NeOp, place, c.broadcast(row, c.shape(line)))
        rest = c.select(others, line, c.like(0, line))
        pairs = tuple(range(len(batch)))
        known = dot(c, rest, x, (pairs, pairs), ((rank - 1,), (rank - 2,)), c.element(b))
        found = c.binary(graph.SubOp, wanted, known)
        if not unit:
            own = c.select(others, c.like(0, line), line)
            diagonal = c.reduce(ReduceKind.ADD, own, [rank - 1])
            diagonal = c.broadcast(c.reshape(diagonal, [*batch, 1, 1]), c.shape(found))
            found = c.binary(graph.DivOp, found, diagonal)
        return [c.add(graph.DynamicUpdateOp(x, starts, found))]

    body = c.nested(write, yield_of, inner)
    return c.put(graph.ScanOp(n, [zero], [], [zero.type], body)).results[0]


def factored(c: Emitter, a: SSAValue, lower: bool) -> SSAValue:
    """
    Returns Cholesky's triangle, 0 elsewhere. Column by column: what the columns before explain is taken off,
    and the rest is divided by the root of its diagonal element. What is not positive definite is NaN from
    there on.
    """
    element = c.element(a)
    wide = c.cast(a, f32) if element in NARROW_FLOATS else a
    shape = c.static_shape(wide)
    rank, n = len(shape), shape[-1] if shape else 0
    if rank < 2 or shape[-2] != n:
        raise VerifyException(f"{c.who}: {c.type(a)} is not of square matrices")
    if not n:
        return a
    swap = [*range(rank - 2), rank - 1, rank - 2]
    if not lower:
        wide = c.permute(wide, swap)
    made = (_factored if n < _LEAST_FACTORED_BY_BLOCKS else _factored_by_blocks)(c, wide, n)
    return c.cast(made if lower else c.permute(made, swap), element)


def _factored_by_blocks(c: Emitter, wide: SSAValue, n: int) -> SSAValue:
    """
    Returns what `_factored` does, by blocks of columns: what those before explain is taken off by a product
    of matrices. Columns that make up no block come first.
    """
    shape = c.static_shape(wide)
    rank, batch = len(shape), shape[:-2]
    n_first = n % BLOCK
    found = c.full(0, c.element(wide), shape)
    if n_first:
        columns = c.part(wide, rank - 1, 0, n_first)
        made = _columns_factored(c, c.part(columns, rank - 2, 0, n_first), columns, n_first)
        row, column = (c.iota(axis, i64, c.shape(made)) for axis in (rank - 2, rank - 1))
        made = c.select(c.binary(graph.GeOp, row, column), made, c.like(0, made))
        found = c.concat([made, c.full(0, c.element(wide), (*batch, n, n - n_first))], rank - 1)
    inner = Block(arg_types=[COUNTER, found.type])
    counter, known = inner.args

    def write() -> list[SSAValue]:
        origin = c.scalar(0, i64)
        begin = c.binary(graph.MulOp, counter, c.scalar(BLOCK, i64))
        begin = c.binary(graph.AddOp, begin, c.scalar(n_first, i64))
        down = [*(origin for _ in batch), origin, begin]
        own = c.add(graph.DynamicSliceOp(wide, down, [*batch, n, BLOCK]))
        explained = _product(c, known, _rows_of(c, known, begin, BLOCK), is_transposed=True)
        rest = c.binary(graph.SubOp, own, explained)
        made = _columns_factored(c, _rows_of(c, rest, begin, BLOCK), rest, BLOCK)
        # What is above the block's diagonal is of no use.
        row, column = (c.iota(axis, i64, c.shape(made)) for axis in (rank - 2, rank - 1))
        column = c.binary(graph.AddOp, column, c.broadcast(begin, c.shape(made)))
        kept = c.select(c.binary(graph.GeOp, row, column), made, c.like(0, made))
        return [c.add(graph.DynamicUpdateOp(known, down, kept))]

    body = c.nested(write, yield_of, inner)
    return c.put(graph.ScanOp(n // BLOCK, [found], [], [found.type], body)).results[0]


def _columns_factored(c: Emitter, square: SSAValue, columns: SSAValue, n: int) -> SSAValue:
    """Returns the columns of a triangle, of what is left of them: those on its diagonal, and all."""
    triangle = _factored(c, square, n)
    return solved(c, triangle, columns, left=False, lower=True, unit=False, transposed=True)


def _factored(c: Emitter, wide: SSAValue, n: int) -> SSAValue:
    """Returns the lower triangle, column by column."""
    shape = c.static_shape(wide)
    rank = len(shape)
    batch, pairs = shape[:-2], tuple(range(rank - 2))
    zero = c.full(0, c.element(wide), shape)
    inner = Block(arg_types=[COUNTER, zero.type])
    column, found = inner.args

    def write() -> list[SSAValue]:
        origin = c.scalar(0, i64)
        across, down = [*(origin for _ in batch), column, origin], [*(origin for _ in batch), origin, column]
        line = c.add(graph.DynamicSliceOp(found, across, [*batch, 1, n]))
        explained = dot(c, found, line, (pairs, pairs), ((rank - 1,), (rank - 1,)), c.element(wide))
        own = c.add(graph.DynamicSliceOp(wide, down, [*batch, n, 1]))
        rest = c.binary(graph.SubOp, own, explained)
        place = c.iota(rank - 2, i64, c.shape(rest))
        at = c.broadcast(column, c.shape(rest))
        is_diagonal = c.binary(graph.EqOp, place, at)
        pivot = c.reduce(ReduceKind.ADD, c.select(is_diagonal, rest, c.like(0, rest)), [rank - 2])
        root = c.unary(graph.SqrtOp, c.broadcast(c.reshape(pivot, [*batch, 1, 1]), c.shape(rest)))
        divided = c.binary(graph.DivOp, rest, root)
        below = c.select(c.binary(graph.GeOp, place, at), divided, c.like(0, rest))
        return [c.add(graph.DynamicUpdateOp(found, down, below))]

    body = c.nested(write, yield_of, inner)
    return c.put(graph.ScanOp(n, [zero], [], [zero.type], body)).results[0]
