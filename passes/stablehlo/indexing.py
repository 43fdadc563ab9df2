"""
`stablehlo.gather`, `scatter` and `select_and_scatter`.

Slices are written out in indices: an axis that a slice takes a part of gets the index where it begins, and
the place in the slice added to it. Axes that slices take whole are not indexed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i1, i8, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import is_unsigned, width_of, yield_of
from ...algorithms.extent_values import extent_value
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import LARGEST_DIM, Extent, product
from ...dialects.graph import ReduceKind, ScatterKind
from ...dialects.graph.control import COUNTER, slice_type
from .combining import COMBINE, kind_of
from .conversion import Conversion, Rule
from .reduction import n_windows, places_of, window_of


def _starts(c: Conversion, indices: SSAValue, vector: int, count: int) -> list[SSAValue]:
    """Returns the numbers of the index vectors, each as an array of all of them."""
    shape = c.shape(indices)
    if vector == len(shape):
        return [indices] * count
    if not 0 <= vector < len(shape) or shape[vector] != count:
        raise VerifyException(
            f"{c.who}: index vectors along axis {vector} of {c.type(indices)}, expected {count} numbers"
        )
    rest = [*shape[:vector], *shape[vector + 1 :]]
    return [c.reshape(c.part(indices, vector, k, 1), rest) for k in range(count)]


def _checked(c: Conversion, numbers: stablehlo.DimensionNumbersAttr, *limits: tuple[str, int]) -> None:
    """Raises `VerifyException` unless lists of dims are in range, and name none twice."""
    for name, limit in limits:
        dims = numbers.dims(name)
        if len(set(dims)) != len(dims) or any(not 0 <= dim < limit for dim in dims):
            raise VerifyException(f"{c.who}: {name} is {list(dims)}, expected dims below {limit}, each once")


def _check_batches(
    c: Conversion,
    dropped: Sequence[int],
    batching: Sequence[int],
    mapped: Sequence[int],
    of_indices: Sequence[int],
) -> None:
    """Raises `VerifyException` unless batching dims are no others, and there are as many of the indices."""
    if {*batching} & {*dropped, *mapped} or len(batching) != len(of_indices):
        raise VerifyException(
            f"{c.who}: batching dims {list(batching)} and {list(of_indices)} of the indices do not fit"
        )


def _gather(c: Conversion, op: stablehlo.GatherOp) -> SSAValue:
    assert op.dimension_numbers is not None, "verified"
    x, indices = c.operands(op)
    return gather(c, x, indices, op.dimension_numbers, op.ints("slice_sizes") or ())


def gather(
    c: Conversion, x: SSAValue, indices: SSAValue, numbers: stablehlo.GatherAttr, sizes: Sequence[Extent]
) -> SSAValue:
    """Returns slices of `x` of these sizes, which begin at indices that are moved so that they fit."""
    shape, rank = c.shape(x), len(c.shape(x))
    vector = numbers.number("index_vector_dim")
    batch = [extent for axis, extent in enumerate(c.shape(indices)) if axis != vector]
    collapsed, batching = numbers.dims("collapsed_slice_dims"), numbers.dims("operand_batching_dims")
    offset_dims = numbers.dims("offset_dims")
    mapped = numbers.dims("start_index_map")
    _checked(
        c,
        numbers,
        ("collapsed_slice_dims", rank),
        ("operand_batching_dims", rank),
        ("start_index_map", rank),
        ("start_indices_batching_dims", len(c.shape(indices))),
    )
    if len(sizes) != rank:
        raise VerifyException(f"{c.who}: {len(sizes)} slice sizes for rank {rank}")
    if any(sizes[axis] not in (0, 1) for axis in (*collapsed, *batching)):
        raise VerifyException(f"{c.who}: collapsed and batching dims have slice sizes of 1")
    _check_batches(c, collapsed, batching, mapped, numbers.dims("start_indices_batching_dims"))
    kept = [axis for axis in range(rank) if axis not in (*collapsed, *batching)]
    if len(kept) != len(offset_dims):
        raise VerifyException(f"{c.who}: {len(offset_dims)} offset dims for {len(kept)} axes of a slice")
    starts = dict(zip(mapped, _starts(c, indices, vector, len(mapped)), strict=True))
    if not batch and not batching and all(isinstance(size, int) for size in sizes):
        # One slice.
        every = [starts[axis] if axis in starts else c.scalar(0, i64) for axis in range(rank)]
        box = c.add(graph.DynamicSliceOp(x, every, c.static(sizes, "the slice"))) if rank else x
        return c.reshape(box, [sizes[axis] for axis in kept])
    # An axis that is taken whole begins at 0 wherever the index says; one without an index begins there too.
    whole = [axis for axis in range(rank) if axis not in batching and sizes[axis] == shape[axis]]
    whole = [axis for axis in whole if axis not in starts or sizes[axis] != 1 or axis in kept]
    for axis in range(rank):
        if axis not in starts and axis not in batching and axis not in whole:
            x = c.part(x, axis, 0, sizes[axis])
            whole.append(axis)
    whole.sort()
    indexed = [axis for axis in range(rank) if axis not in whole]
    wide = [axis for axis in indexed if axis not in batching and sizes[axis] != 1]
    grid = [*batch, *(sizes[axis] for axis in wide)]
    where: list[SSAValue] = []
    batch_axes = _batch_axes(numbers.dims("start_indices_batching_dims"), vector)
    for axis in indexed:
        if axis in batching:
            where.append(c.iota(batch_axes[batching.index(axis)], i64, grid))
        elif axis in wide:
            begin = _clamped(c, starts[axis], shape[axis] - sizes[axis])
            begin = c.along(begin, range(len(batch)), grid)
            step = c.iota(len(batch) + wide.index(axis), i64, grid)
            where.append(c.binary(graph.AddOp, begin, step))
        else:
            where.append(c.along(starts[axis], range(len(batch)), grid))
    found = c.add(graph.GatherOp(x, where, indexed)) if indexed else c.broadcast(x, [*grid, *c.shape(x)])
    return _placed(c, found, batch, kept, wide, whole, sizes, offset_dims)


def _placed(
    c: Conversion,
    found: SSAValue,
    batch: Sequence[Extent],
    kept: Sequence[int],
    wide: Sequence[int],
    whole: Sequence[int],
    sizes: Sequence[Extent],
    offset_dims: Sequence[int],
) -> SSAValue:
    """Returns what was gathered, [batch, wide axes, whole axes], with the axes of slices at `offset_dims`."""
    thin = [axis for axis in kept if axis not in wide and axis not in whole]
    order = [*wide, *thin, *(axis for axis in whole if axis in kept)]
    found = c.reshape(found, [*batch, *(sizes[axis] for axis in order)])
    rank = len(batch) + len(kept)
    _check_positions(c, offset_dims, rank)
    from_axis: dict[int, int] = {
        dim: len(batch) + order.index(axis) for dim, axis in zip(offset_dims, kept, strict=True)
    }
    others = iter(range(len(batch)))
    return c.permute(found, [from_axis[dim] if dim in from_axis else next(others) for dim in range(rank)])


def _check_positions(c: Conversion, dims: Sequence[int], rank: int) -> None:
    if list(dims) != sorted(set(dims)) or any(not 0 <= dim < rank for dim in dims):
        raise VerifyException(f"{c.who}: {list(dims)} are no dims of rank {rank} in order")


def _batch_axes(dims: Sequence[int], vector: int) -> list[int]:
    """Returns dims of the indices as axes of what is left without that of the index vectors."""
    return [dim - (dim > vector) for dim in dims]


def _clamped(c: Conversion, start: SSAValue, limit: Extent) -> SSAValue:
    """Returns indices moved into 0 to `limit`, in i64."""
    type = c.element(start)
    if isinstance(limit, int):
        if is_unsigned(type) and width_of(type) == 64:
            start = c.binary(graph.MinOp, start, limit)
        start = c.cast(start, i64)
        return c.binary(graph.MinOp, c.binary(graph.MaxOp, start, 0), limit)
    if is_unsigned(type) and width_of(type) == 64:
        start = c.binary(graph.MinOp, start, LARGEST_DIM)
    start = c.binary(graph.MaxOp, c.cast(start, i64), 0)
    return c.binary(graph.MinOp, start, c.broadcast(extent_value(c, limit), c.shape(start)))


_KINDS = {
    ReduceKind.ADD: ScatterKind.ADD,
    ReduceKind.MUL: ScatterKind.MUL,
    ReduceKind.MAX: ScatterKind.MAX,
    ReduceKind.MIN: ScatterKind.MIN,
}


def _scatter(c: Conversion, op: stablehlo.ScatterOp) -> Sequence[SSAValue]:
    numbers = op.scatter_dimension_numbers
    assert numbers is not None, "verified"
    n = len(op.results)
    if len(op.operands) != 2 * n + 1 or not n:
        raise VerifyException(f"{op.name}: {len(op.operands)} operands for {n} results")
    operands = c.operands(op)
    inputs, indices, updates = operands[:n], operands[n], operands[n + 1 :]
    shape = c.shape(inputs[0])
    if any(c.shape(each) != shape for each in inputs):
        raise VerifyException(f"{op.name}: inputs are of several shapes")
    _check_scatter(c, shape, indices, updates, numbers)
    window = _one_window(c, op, numbers, inputs, updates)
    if window is not None:
        return (window,)
    where, axes, arranged = _scattered(c, shape, indices, updates, numbers)
    if not axes:
        raise c.unsupported("without an index")
    return _put(c, op.regions[0], inputs, where, axes, arranged, op.number("unique_indices", 0) != 0)


def _check_scatter(
    c: Conversion,
    shape: Sequence[Extent],
    indices: SSAValue,
    updates: Sequence[SSAValue],
    numbers: stablehlo.ScatterAttr,
) -> None:
    rank, vector = len(shape), numbers.number("index_vector_dim")
    update_shape = c.shape(updates[0])
    window = numbers.dims("update_window_dims")
    inserted, batching = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims")
    mapped = numbers.dims("scatter_dims_to_operand_dims")
    _checked(
        c,
        numbers,
        ("inserted_window_dims", rank),
        ("input_batching_dims", rank),
        ("scatter_dims_to_operand_dims", rank),
        ("scatter_indices_batching_dims", len(c.shape(indices))),
    )
    _check_positions(c, window, len(update_shape))
    _check_batches(c, inserted, batching, mapped, numbers.dims("scatter_indices_batching_dims"))
    n_kept = rank - len({*inserted, *batching})
    if n_kept != len(window):
        raise VerifyException(f"{c.who}: {len(window)} dims of windows for {n_kept} axes")
    batch = [extent for axis, extent in enumerate(update_shape) if axis not in window]
    expected = [extent for axis, extent in enumerate(c.shape(indices)) if axis != vector]
    if batch != expected:
        raise VerifyException(f"{c.who}: updates of {c.type(updates[0])} for indices of {c.type(indices)}")


def _scattered(
    c: Conversion,
    shape: Sequence[Extent],
    indices: SSAValue,
    updates: Sequence[SSAValue],
    numbers: stablehlo.ScatterAttr,
) -> tuple[list[SSAValue], list[int], list[SSAValue]]:
    """Returns the indices of `graph.scatter`, the axes that they are of, and the updates in its order."""
    rank, vector = len(shape), numbers.number("index_vector_dim")
    update_shape = c.shape(updates[0])
    window = numbers.dims("update_window_dims")
    inserted, batching = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims")
    mapped = numbers.dims("scatter_dims_to_operand_dims")
    kept = [axis for axis in range(rank) if axis not in (*inserted, *batching)]
    others = [axis for axis in range(len(update_shape)) if axis not in window]
    batch = [update_shape[axis] for axis in others]
    size: dict[int, Extent] = dict.fromkeys((*inserted, *batching), 1)
    size |= {axis: update_shape[dim] for axis, dim in zip(kept, window, strict=True)}
    starts = dict(zip(mapped, _starts(c, indices, vector, len(mapped)), strict=True))
    whole = [axis for axis in kept if axis not in starts and size[axis] == shape[axis]]
    indexed = [axis for axis in range(rank) if axis not in whole]
    wide = [axis for axis in indexed if axis in kept]
    grid = [*batch, *(size[axis] for axis in wide)]
    batch_axes = _batch_axes(numbers.dims("scatter_indices_batching_dims"), vector)
    where: list[SSAValue] = []
    for axis in indexed:
        if axis in batching:
            where.append(c.iota(batch_axes[batching.index(axis)], i64, grid))
            continue
        begin = starts.get(axis)
        if begin is not None:
            is_moved = axis in wide and size[axis] != 1
            begin = c.along(c.cast(begin, i64) if is_moved else begin, range(len(batch)), grid)
        if begin is None or (axis in wide and size[axis] != 1):
            is_wide = axis in wide
            step = c.iota(len(batch) + wide.index(axis), i64, grid) if is_wide else c.full(0, i64, grid)
            begin = step if begin is None else c.binary(graph.AddOp, begin, step)
        where.append(begin)
    place = {axis: dim for axis, dim in zip(kept, window, strict=True)}
    order = [*others, *(place[axis] for axis in wide), *(place[axis] for axis in whole)]
    return where, indexed, [c.permute(update, order) for update in updates]


def _one_window(
    c: Conversion,
    op: stablehlo.ScatterOp,
    numbers: stablehlo.ScatterAttr,
    inputs: Sequence[SSAValue],
    updates: Sequence[SSAValue],
) -> SSAValue | None:
    """
    Returns an array with one window of it updated, None where there are several, or where a part of one
    may lie outside: along each axis it begins at a number that is known, or is one element.
    """
    window, inserted = numbers.dims("update_window_dims"), numbers.dims("inserted_window_dims")
    (x, *more), (update, *_) = inputs, updates
    shape, sizes = c.shape(x), list(c.shape(update))
    block, element = op.regions[0].block, c.element(x)
    last = block.last_op
    assert last is not None, "verified"
    is_set = block.first_op is last and len(block.args) == 2 and last.operands[0] is block.args[1]
    kind = None if more or is_set else kind_of(block, element)
    if more or len(window) != len(sizes) or numbers.dims("input_batching_dims") or not (is_set or kind):
        return None
    for axis in sorted(inserted):
        sizes.insert(axis, 1)
    mapped, vector = numbers.dims("scatter_dims_to_operand_dims"), numbers.number("index_vector_dim")
    known = c.numbers.of(op.operands[1]) or (None,) * len(mapped)
    values = dict(zip(mapped, _starts(c, c.operand(op, 1), vector, len(mapped)), strict=True))
    starts: list[SSAValue] = []
    unknown: list[int] = []
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        start = known[mapped.index(axis)] if axis in values else 0
        if isinstance(start, bool) or not isinstance(size, int) or not isinstance(extent, int):
            return None
        if isinstance(start, int):
            if not 0 <= start <= extent - size:
                return None
            starts.append(c.scalar(start, i64))
        elif size != 1:
            return None
        else:
            unknown.append(axis)
            starts.append(c.cast(values[axis], i64))
    update = c.reshape(update, sizes)
    if unknown or not is_set:
        part = c.add(graph.DynamicSliceOp(x, starts, c.static(sizes, "the window")))
        if kind is not None:
            update = c.binary(COMBINE[kind], part, update)
        for axis in unknown:
            bound = cast(int, shape[axis]) - 1
            above, below = c.binary(graph.GeOp, starts[axis], 0), c.binary(graph.LeOp, starts[axis], bound)
            inside = c.broadcast(c.binary(graph.AndOp, above, below), sizes)
            update = c.select(inside, update, part)
    return c.add(graph.DynamicUpdateOp(x, starts, update))


def _put(
    c: Conversion,
    region: Region,
    inputs: Sequence[SSAValue],
    where: Sequence[SSAValue],
    axes: Sequence[int],
    updates: Sequence[SSAValue],
    unique: bool,
) -> Sequence[SSAValue]:
    """Returns the inputs with updates put in as a region says."""
    (x, *more), (update, *_) = inputs, updates
    block, element = region.block, c.element(x)
    last = block.last_op
    if not more and last is not None and block.first_op is last and len(block.args) == 2:
        if last.operands[0] is block.args[1]:
            return (c.add(graph.ScatterOp(ScatterKind.SET, x, where, update, axes)),)
        if last.operands[0] is block.args[0]:
            return (x,)
    kind = None if more else kind_of(block, element)
    if kind is not None and kind in _KINDS:
        return (c.add(graph.ScatterOp(_KINDS[kind], x, where, update, axes)),)
    if kind is not None and element == i1:
        made = ScatterKind.MAX if kind is ReduceKind.OR else ScatterKind.MIN
        scattered = c.add(graph.ScatterOp(made, c.cast(x, i8), where, c.cast(update, i8), axes))
        return (c.cast(scattered, i1),)
    if unique:
        return _replaced(c, region, inputs, where, axes, updates)
    return _one_by_one(c, region, inputs, where, axes, updates)


def _replaced(
    c: Conversion,
    region: Region,
    inputs: Sequence[SSAValue],
    where: Sequence[SSAValue],
    axes: Sequence[int],
    updates: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """Returns the inputs with what a region makes of elements and updates; no two share an element."""
    seen = [c.add(graph.GatherOp(x, where, axes)) for x in inputs]
    made = c.lifted(region, [*seen, *updates], len(seen))
    pairs = zip(inputs, made, strict=True)
    return [c.add(graph.ScatterOp(ScatterKind.SET, x, where, value, axes)) for x, value in pairs]


def _one_by_one(
    c: Conversion,
    region: Region,
    inputs: Sequence[SSAValue],
    where: Sequence[SSAValue],
    axes: Sequence[int],
    updates: Sequence[SSAValue],
) -> Sequence[SSAValue]:
    """Returns the inputs with one update after the other put in, in the order of the indices."""
    grid = c.shape(where[0])
    count = product(grid)
    rows = [c.reshape(each, (count,)) for each in where]
    rows += [c.reshape(each, (count, *c.shape(each)[len(grid) :])) for each in updates]
    carried = [x.type for x in inputs]
    inner = Block(arg_types=[COUNTER, *carried, *(slice_type(row.type) for row in rows)])
    _, *arguments = inner.args

    def write() -> list[SSAValue]:
        state, index = arguments[: len(inputs)], arguments[len(inputs) :][: len(where)]
        one = [c.reshape(each, (1,)) for each in index]
        update = [c.reshape(each, (1, *c.shape(each))) for each in arguments[len(inputs) + len(where) :]]
        return list(_replaced(c, region, state, one, axes, update))

    body = c.nested(write, yield_of, inner)
    return c.put(graph.ScanOp(count, inputs, rows, carried, body)).results


def _select_and_scatter(c: Conversion, op: stablehlo.SelectAndScatterOp) -> SSAValue:
    x, source, init = c.operands(op)
    rank, shape = len(c.shape(x)), c.static_shape(x)
    sizes, strides = window_of(op, "window_dimensions", rank, 1), window_of(op, "window_strides", rank, 1)
    padding = window_of(op, "padding", 2 * rank, 0)
    if min(*sizes, *strides, *padding, 1) < 0 or min(*sizes, *strides, 1) < 1:
        raise VerifyException(f"{op.name}: windows and strides are 1 or more, paddings 0 or more")
    low, high = padding[::2], padding[1::2]
    around = [extent + a + b for extent, a, b in zip(shape, low, high, strict=True)]
    counts = [
        n_windows(c, extent, size, step) for extent, size, step in zip(around, sizes, strides, strict=True)
    ]
    if tuple(counts) != c.shape(source):
        raise VerifyException(f"{op.name}: source is {c.type(source)}, expected windows {counts}")
    filled = c.add(graph.PadOp(x, init, low, high)) if any(padding) else x
    linear = c.reshape(c.iota(0, i64, (product(shape),)), shape)
    if any(padding):
        linear = c.add(graph.PadOp(linear, c.scalar(-1, i64), low, high))
    best: SSAValue | None = None
    at = linear
    for place in places_of(sizes):
        value, number = c.slice(filled, place, counts, strides), c.slice(linear, place, counts, strides)
        if best is None:
            best, at = value, number
            continue
        keeps = c.lifted(op.regions[0], [best, value], 1)[0]
        if any(padding):
            is_inside = c.binary(graph.GeOp, number, 0)
            has_none = c.binary(graph.LtOp, at, 0)
            goes = c.binary(graph.OrOp, has_none, c.unary(graph.NotOp, keeps))
            keeps = c.unary(graph.NotOp, c.binary(graph.AndOp, is_inside, goes))
        best, at = c.select(keeps, best, value), c.select(keeps, at, number)
    flat = c.broadcast(init, (product(shape),))
    total = product(counts)
    where, updates = [c.reshape(at, (total,))], [c.reshape(source, (total,))]
    (found,) = _put(c, op.regions[1], [flat], where, [0], updates, False)
    return c.reshape(found, shape)


RULES: dict[type[Operation], Rule] = {
    stablehlo.GatherOp: _gather,
    stablehlo.ScatterOp: _scatter,
    stablehlo.SelectAndScatterOp: _select_and_scatter,
}
