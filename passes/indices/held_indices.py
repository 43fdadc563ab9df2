"""Clamps of indices that the bounds of a loop make needless: sums of values with known bounds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, SSAValue

from ...dialects import low
from ...dialects.element_types import width_of
from .analysis import Loop

Leaf = Hashable

_INDEX_WIDTH = 64


@dataclass(frozen=True)
class Sum:
    """A number and values, each so many times; `values` has one value for each leaf."""

    number: int
    counts: dict[Leaf, int]
    values: dict[Leaf, SSAValue]

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """Returns this sum and `times` another one."""
        counts = dict(self.counts)
        for leaf, count in other.counts.items():
            counts[leaf] = counts.get(leaf, 0) + times * count
        left = {leaf: count for leaf, count in counts.items() if count}
        return Sum(self.number + times * other.number, left, {**self.values, **other.values})


def sum_of(value: SSAValue, is_exact: bool = False) -> Sum:
    """
    Returns an integer as a sum of what it is computed of. Equal values have equal leaves. An integer of 64
    bits may wrap around where the sum does not, unless this `is_exact`; narrower ones never do.
    """
    owner = value.owner
    if isinstance(owner, Block):
        return Sum(0, {value: 1}, {value: value})
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return Sum(owner.value.value.data, {}, {})
    is_exact = is_exact or _width(value) < _INDEX_WIDTH
    found: Sum | None = None
    if isinstance(owner, arith.IndexCastOp):
        found = sum_of(owner.input, is_exact)
    elif isinstance(owner, arith.AddiOp):
        found = sum_of(owner.lhs, is_exact).plus(sum_of(owner.rhs, is_exact))
    elif isinstance(owner, arith.SubiOp):
        found = sum_of(owner.lhs, is_exact).plus(sum_of(owner.rhs, is_exact), -1)
    if found is not None and (not is_exact or _fits(found, _width(value))):
        return found
    leaf = _leaf_of(value)
    return Sum(0, {leaf: 1}, {leaf: value})


def _width(value: SSAValue) -> int:
    return _INDEX_WIDTH if isinstance(value.type, IndexType) else width_of(value.type)


def _fits(found: Sum, width: int) -> bool:
    """Returns whether a sum is a signed integer of so many bits, whatever its leaves are."""
    low, high = _extremes(found)
    least, greatest = _limits(width)
    return least <= low and high <= greatest


def _limits(width: int) -> tuple[int, int]:
    """Returns the least and the greatest signed integer of so many bits."""
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


def _leaf_of(value: SSAValue) -> Leaf:
    """Returns a key that values share which are computed alike: of the same loads and numbers."""
    owner = value.owner
    if isinstance(owner, Block):
        return value
    if isinstance(owner, arith.IndexCastOp) and _width(value) >= _width(owner.input):
        return _leaf_of(owner.input)
    if isinstance(owner, memref.LoadOp):
        stores = any(isinstance(use.operation, memref.StoreOp) for use in owner.memref.uses)
        return value if stores else (owner.name, owner.memref, *map(_leaf_of, owner.indices))
    if owner.name.startswith("arith.") or isinstance(owner, low.SelectOp):
        return (
            owner.name,
            value.type,
            *sorted(owner.properties.items(), key=itemgetter(0)),
            *map(_leaf_of, owner.operands),
        )
    return value


def _bounds_of(value: SSAValue) -> tuple[int, int]:
    """Returns the least and the greatest that a value may be, of all that its type has."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = owner.parent_op()
        if isinstance(loop, Loop) and loop.index is value and isinstance(loop.extent, int):
            return 0, loop.extent - 1
    elif isinstance(owner, arith.IndexCastOp) and _width(value) >= _width(owner.input):
        return _bounds_of(owner.input)
    elif isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data, owner.value.value.data
    elif isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
        choose = min if isinstance(owner, arith.MinSIOp) else max
        (low, high), (other_low, other_high) = map(_bounds_of, owner.operands)
        return choose(low, other_low), choose(high, other_high)
    return _limits(_width(value))


def _extremes(found: Sum) -> tuple[int, int]:
    """Returns the least and the greatest that a sum may be."""
    low = high = found.number
    for leaf, count in found.counts.items():
        ends = [count * bound for bound in _bounds_of(found.values[leaf])]
        low, high = low + min(ends), high + max(ends)
    return low, high


def clamp_of(value: SSAValue) -> tuple[SSAValue, int] | None:
    """Returns `x` and `last` where a value is `min(max(x, 0), last)`, else None."""
    lesser = value.owner
    if not isinstance(lesser, arith.MinSIOp) or not isinstance(lesser.lhs.owner, arith.MaxSIOp):
        return None
    greater, last = lesser.lhs.owner, lesser.rhs.owner
    zero = greater.rhs.owner
    if (
        isinstance(last, arith.ConstantOp)
        and isinstance(last.value, IntegerAttr)
        and isinstance(zero, arith.ConstantOp)
        and isinstance(zero.value, IntegerAttr)
        and zero.value.value.data == 0
    ):
        return greater.lhs, last.value.value.data
    return None


def stays_within(index: Sum, moving: SSAValue, lows: Sequence[Sum], highs: Sequence[Sum], last: int) -> bool:
    """
    Returns whether an index is from 0 to `last` as long as `moving`, which is in it once, is at least each of
    `lows` and at most each of `highs`.
    """
    direction = index.counts.get(moving)
    if direction not in (1, -1):
        return False
    rest = index.plus(Sum(0, {moving: 1}, {moving: moving}), -direction)
    beginnings, ends = (lows, highs) if direction == 1 else (highs, lows)
    lowest = [_extremes(rest.plus(each, direction))[0] for each in beginnings]
    highest = [_extremes(rest.plus(each, direction))[1] for each in ends]
    return any(low >= 0 for low in lowest) and any(high <= last for high in highest)
