"""
Tells maxima along rows that nobody sees which zero they are, or that they are NaN.

    %m = graph.reduce max %x axes [1] keep                %m = graph.reduce max %x axes [1] keep
    %b = graph.broadcast %m                                   fastmath<nnan,nsz>
    %d = graph.sub %x, %b                          -->    ...
    %e = graph.exp %d
    %s = graph.reduce add %e axes [1] keep

In a softmax, the maximum is subtracted so that exponentials do not overflow. Where an element of a row is
NaN, so is its exponential, and with it their sum: all that the row gives is NaN, whatever the maximum is.
Where the maximum is a zero, its sign changes no exponential. A maximum that passes over NaN, and takes the
zero that comes first, is one instruction for each vector instead of four.

That holds where the maximum, the differences and the exponentials go nowhere but

* from one to the next
* the exponentials into sums over the same axes, also of products
* with such a sum, or what is computed of it alone, as factor, divisor or term, each with that of its own row

Requires: nothing; it is best last, when all that reads a value is known.
Ensures: what programs compute is unchanged, bit for bit, but for the sign and the payload of NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ...dialects import graph
from ...dialects.element_types import element_type_of, is_float
from ...dialects.graph import Combination, ReduceKind
from ...dialects.graph.types import shape_of, tensor_type_of
from .rules.fast_math import allows

UNSEEN = {FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS}

# By design: between the sum of a row and what it divides stand a logarithm or a reciprocal, a reshape and a
# broadcast.
MOST_OPS = 6
"""The most ops that are looked at between a sum and what is computed with it."""

_VIEWS = (graph.ReshapeOp, graph.BroadcastOp, graph.PermuteOp)
_OF_NAN = (graph.LogOp, graph.RecipOp, graph.NegOp, graph.SqrtOp, graph.CastOp)
"""Ops of one operand that are NaN where that is."""
_WITH_SUM = (graph.AddOp, graph.SubOp, graph.MulOp, graph.DivOp)
"""Ops that are NaN where one of their operands is."""

_Rows = tuple[int | None, ...]
"""
Of each dim of a value that has one element for each row, which axis of the maximum's source it is; None where
it has the same row all along.
"""


@dataclass(frozen=True)
class RelaxMaximaPass(ModulePass):
    """Tells maxima along rows that nobody sees which zero they are, or that they are NaN."""

    name = "relax-maxima"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for maximum in op.walk():
            if isinstance(maximum, graph.ReduceOp) and maximum.kind.data is ReduceKind.MAX:
                is_wide = element_type_of(maximum.result.type) in (f32, f64)
                if is_wide and not allows(maximum, *UNSEEN) and _Row(maximum).is_unseen():
                    maximum.fastmath = arith.FastMathFlagsAttr(
                        [flag for flag in FastMathFlag if flag in UNSEEN or allows(maximum, flag)]
                    )


class _Row:
    """What is computed of the maximum of a row, and of the exponentials that it is subtracted for."""

    def __init__(self, maximum: graph.ReduceOp):
        self.maximum = maximum
        axes, shape = maximum.axes.data, shape_of(tensor_type_of(maximum.source, maximum.name))
        self.all: _Rows = tuple(None if n in axes or shape[n] == 1 else n for n in range(len(shape)))
        """Those of the elements of the rows."""
        self.others: list[tuple[Operation, SSAValue, _Rows]] = []
        """What else reads the maximum, a difference or an exponential, and its rows."""
        self.sums: dict[SSAValue, _Rows] = {}
        self.products: list[tuple[graph.ContractOp, SSAValue]] = []
        differences: list[SSAValue] = []
        for user, value, rows in _readers(maximum.result, self._reduced(maximum), 0):
            is_subtracted = isinstance(user, graph.SubOp) and user.rhs is value and rows == self.all
            if is_subtracted and user.operands[0] is maximum.source:
                differences.append(user.results[0])
            else:
                self.others.append((user, value, rows))
        exponentials: list[SSAValue] = []
        for difference in differences:
            for user in _users(difference):
                if isinstance(user, graph.ExpOp):
                    exponentials.append(user.result)
                else:
                    self.others.append((user, difference, self.all))
        while exponentials:
            value = exponentials.pop()
            for user in _users(value):
                if isinstance(user, graph.CastOp) and is_float(element_type_of(user.result.type)):
                    exponentials.append(user.result)
                elif isinstance(user, graph.ReduceOp) and self._is_sum(user):
                    self.sums[user.result] = self._reduced(user)
                elif isinstance(user, graph.ContractOp):
                    self.products.append((user, value))
                else:
                    self.others.append((user, value, self.all))

    def _reduced(self, op: graph.ReduceOp) -> _Rows:
        """Returns the rows of a reduction over the axes of the maximum."""
        if op.keep is not None:
            return self.all
        return tuple(row for axis, row in enumerate(self.all) if axis not in op.axes.data)

    def is_unseen(self) -> bool:
        """Returns whether every result that depends on the maximum is NaN where an element of the row is."""
        return (
            bool(self.sums)
            and all(self._adds_up(product, value) for product, value in self.products)
            and all(self._has_sum(*other) for other in self.others)
        )

    def _is_sum(self, op: graph.ReduceOp) -> bool:
        """Returns whether an op adds up what it reads over the axes of the maximum."""
        return op.kind.data is ReduceKind.ADD and {*op.axes.data} == {*self.maximum.axes.data}

    def _adds_up(self, op: graph.ContractOp, value: SSAValue) -> bool:
        """Returns whether a contraction adds up products of all elements of each row of an operand."""
        if op.combine.data is not Combination.MUL or op.accumulate.data is not ReduceKind.ADD:
            return False
        for operand, map in zip(op.inputs, op.operand_maps, strict=True):
            if operand is value:
                dims = [map.results[axis] for axis in self.maximum.axes.data]
                if not all(isinstance(dim, AffineDimExpr) for dim in dims):
                    return False
                if any(dim.position in op.result_dims for dim in dims if isinstance(dim, AffineDimExpr)):
                    return False
        return True

    def _has_sum(self, op: Operation, value: SSAValue, rows: _Rows) -> bool:
        """Returns whether the other operand of an op is NaN in the same rows."""
        if not isinstance(op, _WITH_SUM):
            return False
        other = op.rhs if op.lhs is value else op.lhs
        return other is not value and self._of_sum(other, 0) == rows

    def _of_sum(self, value: SSAValue, number: int) -> _Rows | None:
        """Returns the rows of a value that is computed of a sum, and of constants; None for others."""
        op = value.owner
        if value in self.sums:
            return self.sums[value]
        if number == MOST_OPS or not is_float(element_type_of(value.type)):
            return None
        if isinstance(op, _WITH_SUM):
            varying = [each for each in op.operands if not isinstance(each.owner, graph.ConstantOp)]
            return self._of_sum(varying[0], number + 1) if len(varying) == 1 else None
        if not isinstance(op, (*_VIEWS, *_OF_NAN)):
            return None
        rows = self._of_sum(op.operands[0], number + 1)
        return _viewed(op, rows) if rows is not None and isinstance(op, _VIEWS) else rows


def _readers(value: SSAValue, rows: _Rows, number: int) -> Iterator[tuple[Operation, SSAValue, _Rows]]:
    """Yields what reads a value, by way of views too: what is read there, and its rows."""
    for user in _users(value):
        seen = _viewed(user, rows) if isinstance(user, _VIEWS) and number < MOST_OPS else None
        if seen is None:
            yield user, value, rows
        else:
            yield from _readers(user.results[0], seen, number + 1)


def _viewed(op: graph.ReshapeOp | graph.BroadcastOp | graph.PermuteOp, rows: _Rows) -> _Rows | None:
    """Returns the rows of a view; None where a dim is made of several."""
    if isinstance(op, graph.PermuteOp):
        return tuple(rows[axis] for axis in op.permutation.data)
    source, shape = (shape_of(tensor_type_of(each, op.name)) for each in (op.source, op.result))
    if isinstance(op, graph.BroadcastOp):
        return (None,) * (len(shape) - len(source)) + rows
    if [extent for extent in source if extent != 1] != [extent for extent in shape if extent != 1]:
        return None
    left = iter([row for row, extent in zip(rows, source, strict=True) if extent != 1])
    return tuple(None if extent == 1 else next(left) for extent in shape)


def _users(value: SSAValue) -> list[Operation]:
    return [*dict.fromkeys(use.operation for use in value.uses)]
