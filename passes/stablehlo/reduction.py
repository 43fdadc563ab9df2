"""
`stablehlo.reduce` and `stablehlo.reduce_window`, and the call that jax writes for windows of named dims.

A region that is one op of a known kind is `graph.reduce`, or `graph.contract` over windows; that of argmax is
`graph.arg_reduce`. Any other is applied to whole arrays: neighbours are combined, and their results, until
one is left, which keeps the order of the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.ir import Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent
from ...dialects.element_types import is_float
from ...dialects.graph import Extremum, ReduceKind, tensor_of
from ...dialects.graph.types import check_axes
from .combining import COMBINE, constant_of, is_identity, kind_of, text_of
from .contraction import n_windows
from .conversion import Conversion, Rule
from .movement import padded_by_extents

_ARG_MAX = (
    "select(or(GT(x, y), NE(x, x)), x, y)",
    "select(or(or(GT(x, y), NE(x, x)), and(EQ(x, y), LT(i, j))), i, j)",
)
_ARG_MAX_WHOLE = (
    "select(GT(x, y), x, y)",
    "select(or(GT(x, y), and(EQ(x, y), LT(i, j))), i, j)",
)


def _reduce(c: Conversion, op: stablehlo.ReduceOp) -> Sequence[SSAValue]:
    axes = op.ints("dimensions") or ()
    n = len(op.operands) // 2
    values, inits = c.operands(op)[:n], c.operands(op)[n:]
    for value in values:
        check_axes(op.name, axes, c.type(value), "input")
        if c.shape(value) != c.shape(values[0]):
            raise VerifyException(f"{op.name}: inputs are of several shapes")
    region = op.regions[0]
    kind = kind_of(region.block, c.element(values[0])) if n == 1 else None
    if kind is not None:
        return (_with_init(c, op, kind, c.reduce(kind, values[0], axes), 1, inits[0]),)
    if n == 2 and (found := _arg_reduce(c, op, values, axes)) is not None:
        return found
    return _combined(c, region, values, inits, axes)


def _with_init(
    c: Conversion, op: stablehlo.StablehloOp, kind: ReduceKind, reduced: SSAValue, number: int, init: SSAValue
) -> SSAValue:
    """Returns a reduction combined with where it starts from, unless that changes nothing."""
    if is_identity(kind, c.element(reduced), op.operands[number]):
        return reduced
    return c.binary(COMBINE[kind], reduced, c.broadcast(init, c.shape(reduced)))


def _arg_reduce(
    c: Conversion, op: stablehlo.ReduceOp, values: Sequence[SSAValue], axes: Sequence[int]
) -> Sequence[SSAValue] | None:
    """Returns the greatest or least elements and the first places of them, None where that is not asked."""
    block, iota = op.regions[0].block, op.operands[1].owner
    last = block.last_op
    if len(axes) != 1 or last is None or len(block.args) != 4:
        return None
    is_iota = isinstance(iota, stablehlo.IotaOp | stablehlo.DynamicIotaOp)
    if not is_iota or iota.number("iota_dimension", -1) != axes[0]:
        return None
    names: dict[SSAValue, str] = dict(zip(block.args, "xiyj", strict=True))
    texts = tuple(text_of(value, names) for value in last.operands)
    element = c.element(values[0])
    for extremum, kind in ((Extremum.MAX, ReduceKind.MAX), (Extremum.MIN, ReduceKind.MIN)):
        forms = [_ARG_MAX, _ARG_MAX_WHOLE] if not is_float(element) else [_ARG_MAX]
        if extremum is Extremum.MIN:
            forms = [(value.replace("GT", "LT"), index.replace("GT", "LT", 1)) for value, index in forms]
        if texts not in forms or constant_of(op.operands[3]) != 0:
            continue
        if not is_identity(kind, element, op.operands[2]):
            continue
        extreme = c.reduce(kind, values[0], axes)
        place = c.add(graph.ArgReduceOp(extremum, values[0], axes[0]))
        return extreme, c.cast(place, c.element(values[1]))
    return None


def _combined(
    c: Conversion,
    region: Region,
    values: Sequence[SSAValue],
    inits: Sequence[SSAValue],
    axes: Sequence[int],
) -> Sequence[SSAValue]:
    """Returns what a region makes of all elements along `axes`, by pairs of neighbours."""
    shape = c.shape(values[0])
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    extents = c.static([shape[axis] for axis in axes], "the extent that is reduced")
    rest = [shape[axis] for axis in kept]
    count = 1
    for extent in extents:
        count *= extent
    starts = [c.broadcast(init, rest) for init in inits]
    if not count:
        return starts
    parts = [c.reshape(c.permute(value, [*axes, *kept]), (count, *rest)) for value in values]
    while count > 1:
        half, odd = divmod(count, 2)
        left = [c.part(part, 0, 0, half, 2) for part in parts]
        right = [c.part(part, 0, 1, half, 2) for part in parts]
        pairs = c.lifted(region, [*left, *right], len(left))
        if odd:
            ends = [c.part(part, 0, count - 1, 1) for part in parts]
            pairs = [c.concat(both, 0) for both in zip(pairs, ends, strict=True)]
        parts, count = pairs, half + odd
    return c.lifted(region, [*starts, *(c.reshape(part, rest) for part in parts)], len(starts))


def window_of(op: stablehlo.StablehloOp, name: str, rank: int, default: int) -> tuple[int, ...]:
    """Returns the numbers of a window, one for each axis."""
    values = op.ints(name)
    if values is None:
        return (default,) * rank
    if len(values) == 1 and rank != 1:
        values *= rank
    if len(values) != rank:
        raise VerifyException(f"{op.name}: {name} has {len(values)} numbers, expected {rank}")
    return values


class _Windows(NamedTuple):
    """Numbers of windows, one for each axis, of `padding` two."""

    sizes: Sequence[Extent]
    strides: Sequence[Extent]
    base_dilations: Sequence[Extent]
    dilations: Sequence[Extent]
    padding: Sequence[Extent]


def _reduce_window(c: Conversion, op: stablehlo.ReduceWindowOp) -> Sequence[SSAValue]:
    n = len(op.operands) // 2
    if not n or len(op.operands) != 2 * n or len(op.results) != n:
        raise VerifyException(f"{op.name}: expected as many initial values and results as inputs")
    rank = len(c.shape(c.operand(op, 0)))
    windows = _Windows(
        window_of(op, "window_dimensions", rank, 1),
        window_of(op, "window_strides", rank, 1),
        window_of(op, "base_dilations", rank, 1),
        window_of(op, "window_dilations", rank, 1),
        window_of(op, "padding", 2 * rank, 0),
    )
    return _windowed(c, op, n, op.regions[0], windows)


DYNAMIC_REDUCE_WINDOW = "stablehlo.dynamic_reduce_window"
"""The function that jax calls for windows along named dims: their numbers are operands, behind the values."""


def dynamic_reduce_window(c: Conversion, op: stablehlo.CustomCallOp) -> Sequence[SSAValue]:
    """Returns what a call of `DYNAMIC_REDUCE_WINDOW` gives, whose numbers must be known, as extents."""
    region = c.called(op)
    n = len(op.results)
    if region is None or not n or len(op.operands) != 2 * n + len(_Windows._fields):
        raise VerifyException(f"{op.name}: @{op.target} has {len(op.operands)} operands and {n} results")
    extents = [c.extents(op, number) for number in range(2 * n, len(op.operands))]
    rank = len(c.shape(c.operand(op, 0)))
    if [len(each) for each in extents] != [rank] * 4 + [2 * rank]:
        raise VerifyException(f"{op.name}: @{op.target} of windows that do not fit {rank} dims")
    return _windowed(c, op, n, region, _Windows(*extents))


def _windowed(
    c: Conversion, op: stablehlo.StablehloOp, n: int, region: Region, windows: _Windows
) -> Sequence[SSAValue]:
    """Returns `n` values reduced in windows, which begin at the operands behind them."""
    values, inits = c.operands(op)[:n], c.operands(op)[n : 2 * n]
    kind = kind_of(region.block, c.element(values[0])) if n == 1 else None
    if kind is not None and (scan := _cumulated(c, op, kind, values[0], windows)) is not None:
        return (scan,)
    numbers = [[each for each in extents if isinstance(each, int)] for extents in windows[:-1]]
    if list(map(len, numbers)) != list(map(len, windows[:-1])):
        raise c.unsupported("windows whose extents are known at run time only")
    sizes, strides, base, inner = numbers
    if min(*sizes, *strides, *base, *inner, 1) < 1:
        raise VerifyException(f"{op.name}: windows, strides and dilations are 1 or more")
    low, high = windows.padding[::2], windows.padding[1::2]
    gaps = [each - 1 for each in base]
    values = [
        padded_by_extents(c, value, init, low, high, gaps) for value, init in zip(values, inits, strict=True)
    ]
    reach = [(size - 1) * step + 1 for size, step in zip(sizes, inner, strict=True)]
    counts = [
        n_windows(c, extent, far, step)
        for extent, far, step in zip(c.shape(values[0]), reach, strides, strict=True)
    ]
    if kind is not None:
        made = _window_contract(c, kind, values[0], sizes, strides, inner, counts)
        return (_with_init(c, op, kind, made, n, inits[0]),)
    found = [c.broadcast(init, counts) for init in inits]
    for place in places_of(sizes):
        offsets = [at * step for at, step in zip(place, inner, strict=True)]
        seen = [c.slice(value, offsets, counts, strides) for value in values]
        found = c.lifted(region, [*found, *seen], len(found))
    return found


def places_of(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns the index of each element of a window, in row-major order."""
    places: list[tuple[int, ...]] = [()]
    for size in sizes:
        places = [(*place, at) for place in places for at in range(size)]
    return places


def _window_contract(
    c: Conversion,
    kind: ReduceKind,
    x: SSAValue,
    sizes: Sequence[int],
    strides: Sequence[int],
    inner: Sequence[int],
    counts: Sequence[Extent],
) -> SSAValue:
    """Returns windows reduced: axes without a window have no dim of it."""
    rank = len(sizes)
    windowed = [axis for axis in range(rank) if sizes[axis] > 1]
    if not windowed and all(step == 1 for step in strides):
        return c.slice(x, [0] * rank, counts)
    place = {axis: rank + k for k, axis in enumerate(windowed)}
    indices: list[AffineExpr] = []
    for axis in range(rank):
        index = AffineExpr.dimension(axis)
        index = index * strides[axis] if strides[axis] > 1 else index
        if axis in place:
            within = AffineExpr.dimension(place[axis])
            index = index + (within * inner[axis] if inner[axis] > 1 else within)
        indices.append(index)
    total = rank + len(windowed)
    maps = [
        AffineMap(total, 0, tuple(indices)),
        AffineMap(total, 0, tuple(AffineExpr.dimension(axis) for axis in range(rank))),
    ]
    bounds = [*counts, *(sizes[axis] for axis in windowed)]
    type = tensor_of(c.element(x), tuple(counts))
    return c.add(graph.ContractOp((x,), maps, type, bounds=bounds, accumulate=kind))


_SCANS = {
    ReduceKind.ADD: graph.CumulateKind.ADD,
    ReduceKind.MUL: graph.CumulateKind.MUL,
    ReduceKind.MAX: graph.CumulateKind.MAX,
    ReduceKind.MIN: graph.CumulateKind.MIN,
}


def _cumulated(
    c: Conversion,
    op: stablehlo.StablehloOp,
    kind: ReduceKind,
    x: SSAValue,
    windows: _Windows,
) -> SSAValue | None:
    """Returns a running reduction, where windows are that: as long as an axis, and padded on one side."""
    shape = c.shape(x)
    axes = [axis for axis, size in enumerate(windows.sizes) if size != 1]
    others = (*windows.strides, *windows.base_dilations, *windows.dilations)
    if len(axes) != 1 or kind not in _SCANS or any(each != 1 for each in others):
        return None
    (axis,) = axes
    size = windows.sizes[axis]
    padding = list(windows.padding)
    ends = padding[2 * axis : 2 * axis + 2]
    padding[2 * axis : 2 * axis + 2] = ()
    is_whole = shape[axis] == size and all(each == 0 for each in padding)
    if not is_whole or ends not in ([size - 1, 0], [0, size - 1]):
        return None
    if not is_identity(kind, c.element(x), op.operands[1]):
        return None
    return c.add(graph.CumulateOp(_SCANS[kind], x, axis, reverse=ends[0] == 0))


RULES: dict[type[Operation], Rule] = {
    stablehlo.ReduceOp: _reduce,
    stablehlo.ReduceWindowOp: _reduce_window,
}
