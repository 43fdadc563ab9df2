"""Triangular systems and Cholesky's decomposition, row by row."""

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
    x = _substituted(c, a, b, n, lower, unit) if n else b
    return x if left else c.permute(x, swap)


def _substituted(c: Emitter, a: SSAValue, b: SSAValue, n: int, lower: bool, unit: bool) -> SSAValue:
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
    swap = [*range(rank - 2), rank - 1, rank - 2]
    if not lower:
        wide = c.permute(wide, swap)
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
    made = c.put(graph.ScanOp(n, [zero], [], [zero.type], body)).results[0] if n else zero
    return c.cast(made if lower else c.permute(made, swap), element)
