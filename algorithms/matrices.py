"""Batches of matrices as values with operators, from which algorithms of linear algebra are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.dims.expressions import Extent
from ..dialects.graph import ReduceKind, tensor_of
from ..dialects.graph.control import COUNTER
from ..dialects.graph.types import shape_of, tensor_type_of
from .contraction import dot
from .emitter import Emitter, yield_of

Number = int | float


@dataclass(frozen=True, eq=False)
class Matrices:
    """
    A value of shape (batch..., rows, columns). Operators work element by element, and repeat rows and columns
    where there is one; a number is one for all elements.
    """

    c: Emitter
    value: SSAValue

    @property
    def shape(self) -> tuple[int, ...]:
        return self.c.static_shape(self.value)

    @property
    def batch(self) -> tuple[int, ...]:
        return self.shape[:-2]

    @property
    def n_rows(self) -> int:
        return self.shape[-2]

    @property
    def n_columns(self) -> int:
        return self.shape[-1]

    def of(self, value: SSAValue) -> Matrices:
        return Matrices(self.c, value)

    def _binary(self, op: type[graph.BinaryOp] | type[graph.CompareOp], other: Matrices | Number) -> Matrices:
        if not isinstance(other, Matrices):
            return self.of(self.c.binary(op, self.value, other))
        shape = _repeated_shape(self, other)
        sides = [self.c.broadcast(each.value, shape) for each in (self, other)]
        return self.of(self.c.binary(op, *sides))

    def __add__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.AddOp, other)

    def __sub__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.SubOp, other)

    def __mul__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.MulOp, other)

    def __truediv__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.DivOp, other)

    def __and__(self, other: Matrices) -> Matrices:
        return self._binary(graph.AndOp, other)

    def __or__(self, other: Matrices) -> Matrices:
        return self._binary(graph.OrOp, other)

    def __lt__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.LtOp, other)

    def __gt__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.GtOp, other)

    def __ge__(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.GeOp, other)

    def equals(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.EqOp, other)

    def at_least(self, other: Matrices | Number) -> Matrices:
        return self._binary(graph.MaxOp, other)

    def signed_as(self, other: Matrices) -> Matrices:
        return self._binary(graph.CopysignOp, other)

    def unary(self, op: type[graph.UnaryOp] | type[graph.PredicateOp]) -> Matrices:
        return self.of(self.c.unary(op, self.value))

    @property
    def root(self) -> Matrices:
        return self.unary(graph.SqrtOp)

    @property
    def magnitude(self) -> Matrices:
        return self.unary(graph.AbsOp)

    def where(self, one: Matrices | Number, other: Matrices | Number) -> Matrices:
        """Returns elements of `one` where these are true, else of `other`; one of the two is no number."""
        values = [each for each in (one, other) if isinstance(each, Matrices)]
        shape = _repeated_shape(self, *values)
        sides = [
            self.c.broadcast(each.value, shape)
            if isinstance(each, Matrices)
            else self.c.full(each, self.c.element(values[0].value), shape)
            for each in (one, other)
        ]
        return self.of(self.c.select(self.c.broadcast(self.value, shape), *sides))

    def reduced(self, kind: ReduceKind, axis: int) -> Matrices:
        """Returns what is left of rows (-2) or columns (-1), of which there is one then."""
        shape, axis = self.shape, axis % len(self.shape)
        kept = [1 if k == axis else extent for k, extent in enumerate(shape)]
        return self.of(self.c.reshape(self.c.reduce(kind, self.value, [axis]), kept))

    def summed(self, axis: int) -> Matrices:
        return self.reduced(ReduceKind.ADD, axis)

    @property
    def whole(self) -> Matrices:
        """The sum of all elements of each matrix, as a matrix of one element."""
        return self.summed(-1).summed(-2)

    @property
    def largest(self) -> Matrices:
        """The largest magnitude in each matrix, as a matrix of one element."""
        return self.magnitude.reduced(ReduceKind.MAX, -1).reduced(ReduceKind.MAX, -2)

    @property
    def divisor(self) -> Matrices:
        """These with 1 where they are 0."""
        return self.equals(0).where(self.ones, self)

    @property
    def on_diagonal(self) -> Matrices:
        """Whether an element is on the diagonal."""
        return self.places(-2).equals(self.places(-1))

    @property
    def diagonal(self) -> Matrices:
        """The elements of the diagonal, as a row."""
        count, length = min(self.n_rows, self.n_columns), self.n_rows * self.n_columns
        lines = self.c.reshape(self.value, (*self.batch, length))
        found = self.c.part(lines, len(self.batch), 0, count, self.n_columns + 1)
        return self.of(self.c.reshape(found, (*self.batch, 1, count)))

    def in_triangle(self, lower: bool) -> Matrices:
        """Returns whether an element is in the lower triangle, or in the upper one, with the diagonal."""
        rows, columns = self.places(-2), self.places(-1)
        return (rows >= columns) if lower else (columns >= rows)

    @property
    def transposed(self) -> Matrices:
        rank = len(self.shape)
        return self.of(self.c.permute(self.value, [*range(rank - 2), rank - 1, rank - 2]))

    def __matmul__(self, other: Matrices) -> Matrices:
        rank = len(self.shape)
        pairs = tuple(range(rank - 2))
        contracted = ((rank - 1,), (rank - 2,))
        return self.of(
            dot(self.c, self.value, other.value, (pairs, pairs), contracted, self.c.element(self.value))
        )

    def part(self, axis: int, offset: int, size: int) -> Matrices:
        return self.of(self.c.part(self.value, axis % len(self.shape), offset, size))

    def joined(self, axis: int, *others: Matrices) -> Matrices:
        """Returns these and others one after the other, without those that have no elements."""
        parts = [each for each in (self, *others) if each.shape[axis]] or [self]
        return self.of(self.c.concat([each.value for each in parts], axis % len(self.shape)))

    def row(self, at: SSAValue) -> Matrices:
        return self._lines(-2, at, 1)

    def column(self, at: SSAValue) -> Matrices:
        return self._lines(-1, at, 1)

    def rows(self, at: SSAValue, count: int) -> Matrices:
        return self._lines(-2, at, count)

    def columns(self, at: SSAValue, count: int) -> Matrices:
        return self._lines(-1, at, count)

    def _lines(self, axis: int, at: SSAValue, count: int) -> Matrices:
        sizes = list(self.shape)
        sizes[axis] = count
        return self.of(self.c.add(graph.DynamicSliceOp(self.value, self._starts(axis, at), sizes)))

    def with_row(self, at: SSAValue, row: Matrices) -> Matrices:
        return self.with_rows(at, row)

    def with_rows(self, at: SSAValue, rows: Matrices) -> Matrices:
        return self.of(self.c.add(graph.DynamicUpdateOp(self.value, self._starts(-2, at), rows.value)))

    def with_columns(self, at: SSAValue, columns: Matrices) -> Matrices:
        return self.of(self.c.add(graph.DynamicUpdateOp(self.value, self._starts(-1, at), columns.value)))

    def row_of_each(self, at: Matrices) -> Matrices:
        """Returns a row of each matrix, which is another one in each; `at` is of matrices of one element."""
        if not self.batch:
            return self.row(self.c.reshape(at.value, ()))
        return self.places(-2).equals(at).where(self, 0).summed(-2)

    def with_row_of_each(self, at: Matrices, row: Matrices) -> Matrices:
        """Returns matrices with another row, as `row_of_each` finds it."""
        if not self.batch:
            return self.with_row(self.c.reshape(at.value, ()), row)
        return self.places(-2).equals(at).where(row, self)

    def with_rows_exchanged(self, at: SSAValue, other: Matrices) -> Matrices:
        """Returns matrices of which a row, the same in all, is exchanged with another one of each."""
        own, found = self.row(at), self.row_of_each(other)
        return self.with_row_of_each(other, own).with_row(at, found)

    def each(self, algorithm: Callable[[Matrices], Sequence[Matrices]]) -> list[Matrices]:
        """Returns what an algorithm makes of each matrix by itself, one after the other."""
        batch, count = self.batch, math.prod(self.batch)
        stack = self.c.reshape(self.value, (count, self.n_rows, self.n_columns))
        inner = Block(arg_types=[COUNTER, tensor_of(self.c.element(stack), self.shape[-2:])])
        body = self.c.nested(
            lambda: [found.value for found in algorithm(self.of(inner.args[1]))], yield_of, inner
        )
        op = self.c.put(graph.ScanOp(count, [], [stack], stacked_types(body, count), body))
        return [
            self.of(self.c.reshape(value, (*batch, *self.c.static_shape(value)[1:]))) for value in op.results
        ]

    def _starts(self, axis: int, at: SSAValue) -> list[SSAValue]:
        origin = self.c.scalar(0, i64)
        starts = [origin] * len(self.shape)
        starts[axis] = at
        return starts

    def places(self, axis: int) -> Matrices:
        """Returns the numbers of rows (-2), as a column, or of columns (-1), as a row."""
        shape = [1] * len(self.shape)
        shape[axis] = self.shape[axis]
        return self.of(self.c.iota(axis % len(shape), i64, shape))

    def number(self, at: SSAValue) -> Matrices:
        """Returns a number of the program as a matrix of one element."""
        return self.of(self.c.broadcast(at, (1,) * len(self.shape)))

    def filled(
        self, value: Number, n_rows: int, n_columns: int, element: Attribute | None = None
    ) -> Matrices:
        """Returns matrices of one value, as many as these."""
        element = self.c.element(self.value) if element is None else element
        return self.of(self.c.full(value, element, (*self.batch, n_rows, n_columns)))

    @property
    def zeros(self) -> Matrices:
        """Zeros of this shape."""
        return self.of(self.c.like(0, self.value))

    @property
    def ones(self) -> Matrices:
        """Ones of this shape."""
        return self.of(self.c.like(1, self.value))

    def cast(self, element: Attribute) -> Matrices:
        return self.of(self.c.cast(self.value, element))

    def identity(self, n_rows: int, n_columns: int) -> Matrices:
        ones = self.filled(0, n_rows, n_columns).on_diagonal.cast(self.c.element(self.value))
        return self.of(self.c.broadcast(ones.value, (*self.batch, n_rows, n_columns)))

    def repeated(
        self,
        count: int,
        initial: Sequence[Matrices],
        step: Callable[[SSAValue, list[Matrices]], Sequence[Matrices]],
        reverse: bool = False,
    ) -> list[Matrices]:
        """Returns what `count` steps make of values, each of which is given its number."""
        if not count:
            return list(initial)
        types = [each.value.type for each in initial]
        inner = Block(arg_types=[COUNTER, *types])

        def write() -> list[SSAValue]:
            number, *values = inner.args
            if reverse:
                number = self.c.binary(graph.SubOp, self.c.scalar(count - 1, i64), number)
            return [each.value for each in step(number, [self.of(value) for value in values])]

        body = self.c.nested(write, yield_of, inner)
        op = self.c.put(graph.ScanOp(count, [each.value for each in initial], [], types, body))
        return [self.of(value) for value in op.results]

    def repeated_while(
        self,
        initial: Sequence[Matrices],
        holds: Callable[[list[Matrices]], Matrices],
        step: Callable[[list[Matrices]], Sequence[Matrices]],
    ) -> list[Matrices]:
        """Returns what steps make of values, as long as something holds for any of the matrices."""
        types = [each.value.type for each in initial]

        def condition() -> list[SSAValue]:
            found = holds([self.of(value) for value in before.args])
            every = self.c.reduce(ReduceKind.OR, found.value, list(range(len(found.shape))))
            return [every]

        before, inner = Block(arg_types=types), Block(arg_types=types)
        first = self.c.nested(condition, lambda found: graph.ConditionOp(found[0]), before)
        body = self.c.nested(
            lambda: [each.value for each in step([self.of(value) for value in inner.args])], yield_of, inner
        )
        op = self.c.put(graph.WhileOp([each.value for each in initial], first, body))
        return [self.of(value) for value in op.results]


def stacked_types(body: Region, count: Extent) -> list[Attribute]:
    """Returns the types of what a loop collects: `count` of each value that its body ends with."""
    last = body.block.last_op
    assert last is not None
    types = [tensor_type_of(value, "scan") for value in last.operands]
    return [tensor_of(type.element_type, (count, *shape_of(type))) for type in types]


def _repeated_shape(*values: Matrices) -> tuple[int, ...]:
    """Returns the shape that values have together: what is there once is repeated, or not there at all."""
    return tuple(
        next((extent for extent in extents if extent != 1), 1)
        for extents in zip(*(each.shape for each in values), strict=True)
    )


def matrices_of(c: Emitter, value: SSAValue) -> Matrices:
    """Returns a value as matrices. Raises `VerifyException` where it is none of floats of f32 or f64."""
    found = Matrices(c, value)
    if len(found.shape) < 2 or c.element(value) not in (f32, f64):
        raise VerifyException(f"{c.who}: {c.type(value)} is not of matrices of f32 or f64")
    return found
