"""
`stablehlo.sort`, `chlo.top_k`, and the call that jax writes for the approximately greatest elements.

A comparator that compares keys, one after the other, is a sort by the last key, then by the one before, each
stable. Any other comparator is asked in a network of exchanges, whose places break ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import width_of
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent
from ...dialects.element_types import is_float
from ...dialects.graph import Extremum
from ...dialects.graph.types import check_axes
from ...dialects.stablehlo import chlo
from .combining import text_of
from .conversion import Conversion, Rule
from .elementwise import total_order

_MOST_PASSES = 16
"""
The most elements that are looked for one after the other. A pass over rows of 1,000 to 50,000 elements of f32
took 0.3 to 0.7 ns an element, a sort of all 11 to 12; of 8 and 64 elements two took 0.13 and 0.19 of a sort.
"""


@dataclass(frozen=True)
class _Key:
    """What a comparator compares: a value of its region, computed of the first of two rows."""

    value: SSAValue
    descending: bool
    is_total: bool


def _sort(c: Conversion, op: stablehlo.SortOp) -> Sequence[SSAValue]:
    values = c.operands(op)
    if not values or len(op.results) != len(values):
        raise VerifyException(f"{op.name}: {len(values)} operands and {len(op.results)} results")
    rank = len(c.shape(values[0]))
    axis = op.number("dimension", -1)
    axis += rank if axis < 0 else 0
    check_axes(op.name, (axis,), c.type(values[0]), "operand")
    if any(c.shape(value) != c.shape(values[0]) for value in values):
        raise VerifyException(f"{op.name}: operands are of several shapes")
    keys = _keys_of(c, op.regions[0], len(values))
    if keys is None:
        return _by_exchanges(c, op.regions[0], values, axis)
    block = op.regions[0].block
    if len(values) == 1 and len(keys) == 1 and keys[0].value is block.args[0] and not keys[0].is_total:
        return (c.add(graph.SortOp(values[0], axis, keys[0].descending)),)
    order = _order_of(c, op.regions[0], keys, values, axis)
    return [taken(c, value, order, axis) for value in values]


def _order_of(
    c: Conversion, region: Region, keys: Sequence[_Key], values: Sequence[SSAValue], axis: int
) -> SSAValue:
    """Returns the places of rows in the order that a comparator's keys say."""
    pairs = [value for value in values for _ in range(2)]
    c.lifted(region, pairs, 1)
    found: list[tuple[SSAValue, bool]] = []
    for key in keys:
        array = c.broadcast(c.value(key.value), c.shape(values[0]))
        is_bits = key.is_total and is_float(c.element(array))
        found.append((total_order(c, array) if is_bits else array, key.descending))
    order: SSAValue | None = None
    for array, descending in reversed(found):
        seen = array if order is None else taken(c, array, order, axis)
        step = c.add(graph.ArgsortOp(seen, axis, descending))
        order = step if order is None else taken(c, order, step, axis)
    assert order is not None, "no key"
    return order


def taken(c: Conversion, x: SSAValue, order: SSAValue, axis: int) -> SSAValue:
    """Returns the elements of `x` at positions along an axis."""
    shape = c.shape(order)
    where = [order if k == axis else c.iota(k, i64, shape) for k in range(len(shape))]
    return c.add(graph.GatherOp(x, where, range(len(shape))))


def _keys_of(c: Conversion, region: Region, n_values: int) -> list[_Key] | None:
    """
    Returns what a comparator of rows of so many values compares, the first key first; None where it does
    something else.
    """
    block = region.block
    last = block.last_op
    if len(block.args) != 2 * n_values or last is None or len(last.operands) != 1:
        raise VerifyException(f"{c.who}: the comparator does not take two elements of each operand")
    value = last.operands[0]
    first: dict[SSAValue, str] = {}
    second: dict[SSAValue, str] = {}
    for number, argument in enumerate(block.args):
        first[argument] = f"{'xy'[number % 2]}{number // 2}"
        second[argument] = f"{'yx'[number % 2]}{number // 2}"
    keys: list[_Key] = []
    while True:
        op = value.owner
        if isinstance(op, stablehlo.CompareOp):
            key = _key_of(op, first, second)
            return None if key is None else [*keys, key]
        if not isinstance(op, stablehlo.OrOp):
            return None
        less, both = op.operands[0].owner, op.operands[1].owner
        if not isinstance(less, stablehlo.CompareOp) or not isinstance(both, stablehlo.AndOp):
            return None
        same = both.operands[0].owner
        key = _key_of(less, first, second)
        is_same = (
            isinstance(same, stablehlo.CompareOp)
            and _direction(same) == "EQ"
            and [text_of(each, first) for each in same.operands]
            == [text_of(each, first) for each in less.operands]
        )
        if key is None or not is_same:
            return None
        keys.append(key)
        value = both.operands[1]


def _direction(op: stablehlo.CompareOp) -> str:
    assert op.comparison_direction is not None, "verified"
    return op.comparison_direction.data.value


def _key_of(op: stablehlo.CompareOp, first: dict[SSAValue, str], second: dict[SSAValue, str]) -> _Key | None:
    direction = _direction(op)
    text = text_of(op.operands[0], first)
    # The same of the second row as of the first, and of no other.
    if direction not in ("LT", "GT") or "?" in text or text != text_of(op.operands[1], second):
        return None
    if "y" in {name[0] for name in _arguments_of(op.operands[0], first)}:
        return None
    is_total = op.compare_type is not None and op.compare_type.data.value == "TOTALORDER"
    return _Key(op.operands[0], direction == "GT", is_total)


def _arguments_of(value: SSAValue, names: dict[SSAValue, str]) -> set[str]:
    """Returns the names of the arguments that a value is computed of."""
    found: set[str] = set()
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        if isinstance(each.owner, Block):
            found.add(names.get(each, "y"))
        else:
            waiting += each.owner.operands
    return found


def _by_exchanges(
    c: Conversion, comparator: Region, values: Sequence[SSAValue], axis: int
) -> Sequence[SSAValue]:
    """Returns rows sorted by Batcher's odd-even merge: all exchanges of a step are one comparison."""
    shape = c.shape(values[0])
    (count,) = c.static([shape[axis]], "the extent that is sorted")
    order = [axis, *(k for k in range(len(shape)) if k != axis)]
    rows = [c.permute(value, order) for value in values]
    rows.append(c.iota(0, i64, [shape[k] for k in order]))
    for pairs in _exchanges(count):
        low = [c.constant([a for a, _ in pairs], i64, (len(pairs),))]
        high = [c.constant([b for _, b in pairs], i64, (len(pairs),))]
        first = [c.add(graph.GatherOp(row, low, (0,))) for row in rows]
        second = [c.add(graph.GatherOp(row, high, (0,))) for row in rows]
        goes = _precedes(c, comparator, second, first)
        for number, (a, b) in enumerate(zip(first, second, strict=True)):
            row = c.add(graph.ScatterOp(graph.ScatterKind.SET, rows[number], low, c.select(goes, b, a), (0,)))
            rows[number] = c.add(
                graph.ScatterOp(graph.ScatterKind.SET, row, high, c.select(goes, a, b), (0,))
            )
    back = [order.index(k) for k in range(len(shape))]
    return [c.permute(row, back) for row in rows[:-1]]


def _precedes(
    c: Conversion, comparator: Region, first: Sequence[SSAValue], second: Sequence[SSAValue]
) -> SSAValue:
    """Returns whether rows come before others: by the comparator, else where they stood before."""

    def asked(a: Sequence[SSAValue], b: Sequence[SSAValue]) -> SSAValue:
        pairs = [value for both in zip(a[:-1], b[:-1], strict=True) for value in both]
        return c.lifted(comparator, pairs, 1)[0]

    before = asked(first, second)
    after = asked(second, first)
    stood = c.binary(graph.LtOp, first[-1], second[-1])
    tie = c.binary(graph.AndOp, c.unary(graph.NotOp, after), stood)
    return c.binary(graph.OrOp, before, tie)


def _exchanges(count: int) -> list[list[tuple[int, int]]]:
    """Returns the steps of Batcher's network, each of exchanges that share no place."""
    steps: list[list[tuple[int, int]]] = []
    size = 1
    while size < count:
        distance = size
        while distance:
            pairs = [
                (at + k, at + k + distance)
                for at in range(distance % size, count - distance, 2 * distance)
                for k in range(min(distance, count - at - distance))
                if (at + k) // (2 * size) == (at + k + distance) // (2 * size)
            ]
            if pairs:
                steps.append(pairs)
            distance //= 2
        size *= 2
    return steps


def _top_k(c: Conversion, op: chlo.TopKOp) -> Sequence[SSAValue]:
    x, k = c.operand(op, 0), op.number("k", 0)
    rank = len(c.shape(x))
    if not rank:
        raise VerifyException(f"{op.name}: {c.type(x)} has no axis")
    axis = rank - 1
    keys = total_order(c, x) if is_float(c.element(x)) else x
    if _is_found_by_passes(c, keys, k, c.shape(x)[axis]):
        order = _greatest(c, keys, k, is_float(c.element(x)))
    else:
        order = c.part(c.add(graph.ArgsortOp(keys, axis, True)), axis, 0, k)
    return taken(c, x, order, axis), c.cast(order, i32)


APPROXIMATE_TOP_K = "ApproxTopK"
"""The function that jax calls for elements of which some may be missed, and others be there for them."""

_OPTIONS = "mhlo.backend_config"


def approximate_top_k(c: Conversion, op: stablehlo.CustomCallOp) -> Sequence[SSAValue]:
    """
    Returns what a call of `APPROXIMATE_TOP_K` gives, exactly: the first rows of the order that its comparator
    says, as many as the result has. What `ApproxTopK` may miss nobody can rely on.
    """
    comparator, n = c.called(op), len(op.results)
    if comparator is None or not n or len(op.operands) != 2 * n:
        raise VerifyException(f"{op.name}: @{op.target} has {len(op.operands)} operands and {n} results")
    values = c.operands(op)[:n]
    axis = _option(op, "reduction_dim")
    check_axes(op.name, (axis,), c.type(values[0]), "operand")
    shape, declared = c.shape(values[0]), c.declared(op).get_shape()
    if any(c.shape(value) != shape for value in values) or len(declared) != len(shape):
        raise VerifyException(f"{op.name}: @{op.target} has operands and results of several shapes")
    (k,) = c.static([declared[axis]], "how many elements are asked for")
    keys = _keys_of(c, comparator, n)
    if keys is None:
        return [c.part(each, axis, 0, k) for each in _by_exchanges(c, comparator, values, axis)]
    key = keys[0]
    is_one = len(keys) == 1 and key.value in comparator.block.args and not key.is_total
    x = values[comparator.block.args.index(key.value) // 2] if is_one else None
    if x is not None and _is_found_by_passes(c, x, k, shape[axis]) and is_float(c.element(x)):
        last = len(c.shape(x)) - 1
        order = [*(dim for dim in range(last + 1) if dim != axis), axis]
        places = _greatest(c, _ranks(c, c.permute(x, order), key.descending), k, True)
        places = c.permute(places, [order.index(dim) for dim in range(last + 1)])
    else:
        places = c.part(_order_of(c, comparator, keys, values, axis), axis, 0, k)
    return [taken(c, value, places, axis) for value in values]


def _option(op: stablehlo.CustomCallOp, name: str) -> int:
    """Returns a number that a call says."""
    options = op.attributes.get(_OPTIONS)
    value = options.data.get(name) if isinstance(options, DictionaryAttr) else None
    if not isinstance(value, IntegerAttr):
        raise VerifyException(f"{op.name}: @{op.target} has {name} {value}, expected an integer")
    return cast("IntegerAttr[Any]", value).value.data


def _ranks(c: Conversion, x: SSAValue, descending: bool) -> SSAValue:
    """Returns integers, of which the greatest are those of the floats that come first; NaN is the least."""
    keys = total_order(c, c.select(c.binary(graph.EqOp, x, 0), c.like(0, x), x))
    keys = keys if descending else c.unary(graph.NotOp, keys)
    least = -(1 << (width_of(c.element(keys)) - 1))
    return c.select(c.binary(graph.EqOp, x, x), keys, c.like(least, keys))


def _is_found_by_passes(c: Conversion, x: SSAValue, k: int, extent: Extent) -> bool:
    """Returns whether elements are looked for one after the other, not sorted."""
    is_narrow = width_of(c.element(x)) in (8, 16, 32)
    return is_narrow and isinstance(extent, int) and 0 < k <= min(_MOST_PASSES, extent)


def _greatest(c: Conversion, keys: SSAValue, k: int, is_of_floats: bool) -> SSAValue:
    """
    Returns the places of the greatest integers of the last axis, of equal ones the first first: each is the
    greatest of those that come after the one before.
    """
    shape = c.shape(keys)
    axis = len(shape) - 1
    # Of a type with a number below all of them. Of floats one NaN is the least, which counts as the next one.
    wide = i32 if width_of(c.element(keys)) < 32 or is_of_floats else i64
    least = -(1 << (width_of(wide) - 1))
    keys = c.cast(keys, wide)
    keys = c.binary(graph.MaxOp, keys, least + 1) if is_of_floats else keys
    lowest = c.like(least, keys)
    numbers = c.iota(axis, i64, shape)
    places: list[SSAValue] = []
    left = keys
    for number in range(k):
        place = c.reshape(c.cast(c.add(graph.ArgReduceOp(Extremum.MAX, left, axis)), i64), (*shape[:-1], 1))
        places.append(place)
        if number + 1 < k:
            found, at = c.broadcast(taken(c, keys, place, axis), shape), c.broadcast(place, shape)
            is_less = c.binary(graph.LtOp, keys, found)
            is_behind = c.binary(graph.GtOp, numbers, at)
            ties = c.binary(graph.AndOp, c.binary(graph.EqOp, keys, found), is_behind)
            left = c.select(c.binary(graph.OrOp, is_less, ties), keys, lowest)
    return c.concat(places, axis)


RULES: dict[type[Operation], Rule] = {
    stablehlo.SortOp: _sort,
    chlo.TopKOp: _top_k,
}
