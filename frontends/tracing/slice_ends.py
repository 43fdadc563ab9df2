"""
Where slices begin and end that traced integers say: sums of such integers and numbers, which are told apart
and compared while a function is traced. Two ends are equal where they are written as the same sum, of what is
computed alike: `starts[i]` is itself, however often it is written.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ...dialects import graph
from ...dialects.dims.expressions import DimExpr, Extent
from ..arrays.aval import aval_of, dtype_of_type
from . import graph_ops as ops
from .trace import TracedArray

_INT64 = np.dtype(np.int64)

MOST_OPS_COMPARED = 32
"""How many ops are looked through to find that two integers are computed alike."""


@dataclass(frozen=True)
class Unknown:
    """
    An integer of the program, of which the trace knows what it counts at most. `form` is how it is computed,
    the same for all that are computed alike.
    """

    value: SSAValue
    array: TracedArray
    form: Hashable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and other.form == self.form

    def __hash__(self) -> int:
        return hash(self.form)


@dataclass(frozen=True)
class Clipped:
    """An end as Python takes it: counted from the end of an axis where it is below 0, and moved into that."""

    end: End
    extent: Extent


@dataclass(frozen=True)
class Positive:
    """A length: 0 where a slice ends before it begins."""

    end: End


Term = Unknown | Clipped | Positive | DimExpr


@dataclass(frozen=True)
class End:
    """A sum of terms, each so many times, and a number."""

    terms: frozenset[tuple[Term, int]]
    number: int = 0

    def __add__(self, other: End) -> End:
        counts = dict(self.terms)
        for term, count in other.terms:
            counts[term] = counts.get(term, 0) + count
        left = frozenset((term, count) for term, count in counts.items() if count)
        return End(left, self.number + other.number)

    def __neg__(self) -> End:
        return End(frozenset((term, -count) for term, count in self.terms), -self.number)

    def __sub__(self, other: End) -> End:
        return self + -other

    @property
    def known(self) -> int | None:
        """The number, where there is nothing else."""
        return None if self.terms else self.number


def number(value: int) -> End:
    """Returns a number as an end."""
    return End(frozenset(), value)


def of_term(term: Term) -> End:
    """Returns a term as an end."""
    return End(frozenset(((term, 1),)))


def of_extent(extent: Extent) -> End:
    """Returns the extent of an axis as an end."""
    return number(extent) if isinstance(extent, int) else of_term(extent)


def end_of(x: TracedArray) -> End:
    """Returns an integer of rank 0 as a sum of what it is computed of."""
    return _sum_of(x.value, x)


def _sum_of(value: SSAValue, x: TracedArray) -> End:
    op = value.owner
    dtype = dtype_of_type(cast(Any, value.type))
    if isinstance(op, graph.ConstantOp):
        return number(int(cast(DenseIntOrFPElementsAttr[Any], op.value).get_values()[0]))
    if isinstance(op, graph.CastOp) and _holds(dtype, dtype_of_type(cast(Any, op.operands[0].type))):
        return _sum_of(op.operands[0], x)
    # Narrower integers may wrap around, which a sum of such terms does not.
    if isinstance(op, Operation) and dtype == _INT64:
        parts = op.operands
        if isinstance(op, graph.AddOp):
            return _sum_of(parts[0], x) + _sum_of(parts[1], x)
        if isinstance(op, graph.SubOp):
            return _sum_of(parts[0], x) - _sum_of(parts[1], x)
        if isinstance(op, graph.NegOp):
            return -_sum_of(parts[0], x)
    aval = aval_of(dtype, ())
    return of_term(Unknown(value, TracedArray(x.trace, x.scope, value, aval), _form_of(value)))


def _form_of(value: SSAValue) -> Hashable:
    """Returns how a value is computed of others, of which those far behind stand for themselves."""
    left = MOST_OPS_COMPARED

    def form(value: SSAValue) -> Hashable:
        nonlocal left
        op = value.owner
        if left == 0 or not isinstance(op, Operation) or not _gives_the_same_again(op):
            return value
        left -= 1
        said = tuple(sorted({**op.attributes, **op.properties}.items()))
        return (type(op), op.results.index(cast(Any, value)), said, *map(form, op.operands))

    return form(value)


def _gives_the_same_again(op: Operation) -> bool:
    """Returns whether an op gives the same wherever it stands, and is quickly compared."""
    if op.regions or not is_side_effect_free(op):
        return False
    return not isinstance(op, graph.ConstantOp) or op.value.is_splat()


def _holds(dtype: np.dtype[Any], source: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and source.kind in "iu" and np.can_cast(source, dtype)


def clipped(end: End, extent: Extent) -> End:
    """Returns where an axis is cut at an end: the end itself where it is known to lie in the axis."""
    low, high = bounds_of(end)
    if low is not None and low >= 0 and high is not None and isinstance(extent, int) and high <= extent:
        return end
    if end == of_extent(extent):
        return end
    if high is not None and high < 0 and low is not None and isinstance(extent, int) and low >= -extent:
        return end + of_extent(extent)
    return of_term(Clipped(end, extent))


def length_of(first: End, stop: End) -> End:
    """Returns how many elements there are from one end to another."""
    found = stop - first
    low, high = bounds_of(found)
    if low is not None and low >= 0:
        return found
    return number(0) if high is not None and high <= 0 else of_term(Positive(found))


Bounds = tuple[int | None, int | None]


def bounds_of(end: End) -> Bounds:
    """Returns the least and the greatest that an end may be, each None where it is not known."""
    low: int | None = end.number
    high: int | None = end.number
    for term, count in end.terms:
        least, greatest = _bounds_of_term(term)
        if count < 0:
            least, greatest = greatest, least
        low = None if low is None or least is None else low + count * least
        high = None if high is None or greatest is None else high + count * greatest
    return low, high


def _bounds_of_term(term: Term) -> Bounds:
    if isinstance(term, Unknown):
        return term.array.trace.counted.get(term.value, (None, None))
    if isinstance(term, Clipped):
        return 0, term.extent if isinstance(term.extent, int) else None
    if isinstance(term, Positive):
        high = bounds_of(term.end)[1]
        return 0, None if high is None else max(high, 0)
    return 0, None


def array_of(end: End) -> TracedArray:
    """Returns an end as an integer of the program, in int64."""
    total: TracedArray | None = None
    # Terms are in an order that does not depend on where objects lie.
    for term, count in sorted(end.terms, key=lambda pair: (-pair[1], _place(pair[0]))):
        value = _array_of_term(term)
        if count not in (1, -1) or (count == -1 and total is None):
            value = ops.mul(value, ops.full(count, _INT64, ()))
        total = value if total is None else (ops.sub if count == -1 else ops.add)(total, value)
    if total is None:
        return ops.full(end.number, _INT64, ())
    return ops.add(total, ops.full(end.number, _INT64, ())) if end.number else total


def _place(term: Term) -> tuple[int, ...]:
    """Returns a key that orders terms as the program has them."""
    if isinstance(term, Unknown):
        owner = term.value.owner
        if isinstance(owner, Block):
            return (0, _depth(owner), owner.args.index(cast(Any, term.value)))
        block = owner.parent
        assert block is not None, "an integer of no program"
        return (1, _depth(block), block.get_operation_index(owner))
    if isinstance(term, DimExpr):
        return (2, *map(ord, str(term)))
    inner = [_place(each) for each, _ in term.end.terms]
    return (3, term.end.number, *[part for place in sorted(inner) for part in place])


def _depth(block: Block) -> int:
    count, around = 0, block.parent_op()
    while around is not None:
        count, around = count + 1, around.parent_op()
    return count


def _array_of_term(term: Term) -> TracedArray:
    if isinstance(term, Unknown):
        return ops.cast(term.array, _INT64)
    if isinstance(term, DimExpr):
        return ops.cast(ops.extent(term), _INT64)
    zero = ops.full(0, _INT64, ())
    value = array_of(term.end)
    if isinstance(term, Positive):
        return ops.max(value, zero)
    low, high = bounds_of(term.end)
    extent = array_of(of_extent(term.extent))
    if low is None or low < 0:
        value = ops.max(ops.select(ops.lt(value, zero), ops.add(value, extent), value), zero)
    is_within = high is not None and isinstance(term.extent, int) and high <= term.extent
    return value if is_within else ops.min(value, extent)


def terms_text(end: End) -> str:
    """Returns an end for errors, with `?` for what only the program knows."""
    low, high = bounds_of(end)
    if end.known is not None:
        return str(end.known)
    return f"from {'?' if low is None else low} to {'?' if high is None else high}"
