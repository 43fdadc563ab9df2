"""Boxes that begin at indices that are values, along dims that are split."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.element_types import element_type_of
from ....dialects.graph import ScatterKind, tensor_of
from ....dialects.sharding import Interval
from ....dialects.sharding.blocks import common, within
from ..part import Part
from ..program import RankProgram
from ..starts import constant_start
from .op_at_rank import OpAtRank, Partial
from .owned_indices import chosen, clamped, factor_of, index_of, inside, known, moved


def dynamic_slice(at: OpAtRank) -> SSAValue | Partial:
    op, program = at.op, at.program
    assert isinstance(op, graph.DynamicSliceOp)
    source, *starts = at.operands
    shape = program.shape(op.source)
    sizes = list(op.sizes.data)
    split: list[int] = []
    for dim in range(len(shape)):
        axes = at.axes[factor_of(at, 0, dim)]
        if axes and shape[dim] != sizes[dim]:
            split.append(dim)
        elif axes:
            begin, end = at.interval(factor_of(at, 0, dim), shape[dim])
            sizes[dim] = end - begin
    if not split:
        return program.add(graph.DynamicSliceOp(source, starts, sizes))
    for dim in range(len(shape)):
        if dim in split:
            begin, end = at.interval(factor_of(at, 0, dim), shape[dim])
            sizes[dim], starts[dim] = end - begin, program.scalar(0, element_type_of(starts[dim].type))
    if tuple(sizes) != program.shape(source):
        source = program.add(graph.DynamicSliceOp(source, starts, sizes))
    is_mine: SSAValue | None = None
    for dim in split:
        begin, end = at.interval(factor_of(at, 0, dim), shape[dim])
        size = op.sizes.data[dim]
        index = _box_indices(program, program.local(op.starts[dim]), size, 1, known(shape[dim]) - size)
        index = moved(program, index, begin)
        source = _taken(program, source, index, dim)
        mask = _along(program, inside(program, index, end - begin), dim, len(shape))
        if is_mine is not None:
            mask = program.add(graph.AndOp(*_both(program, is_mine, mask)))
        is_mine = mask
    assert is_mine is not None, "no dim is split"
    after = program.shape(source)
    if program.shape(is_mine) != after:
        is_mine = program.add(graph.BroadcastOp(is_mine, tensor_of(i1, after)))
    return chosen(program, source, is_mine)


def _box_indices(program: RankProgram, start: SSAValue, size: int, step: int, last: int) -> SSAValue:
    """Returns the indices of a box along a dim: it begins at `start`, moved into 0 to `last`."""
    start = clamped(program, index_of(program, start), last)
    type = tensor_of(i64, (size,))
    numbers = program.add(graph.IotaOp(0, type))
    if step != 1:
        numbers = program.add(graph.MulOp(numbers, program.splat(step, type)))
    return program.add(graph.AddOp(numbers, program.add(graph.BroadcastOp(start, type))))


def _taken(program: RankProgram, source: SSAValue, index: SSAValue, dim: int) -> SSAValue:
    """Returns the elements at some indices of a dim, which stays where it is."""
    taken = program.add(graph.GatherOp(source, [index], [dim]))
    rank = len(program.shape(taken))
    order = [*range(1, dim + 1), 0, *range(dim + 1, rank)]
    return taken if not dim else program.add(graph.PermuteOp(taken, order))


def _along(program: RankProgram, values: SSAValue, dim: int, rank: int) -> SSAValue:
    """Returns a vector as dim `dim` of a tensor of rank `rank` whose other extents are 1."""
    shape = tuple(program.shape(values)[0] if axis == dim else 1 for axis in range(rank))
    return program.add(graph.ReshapeOp(values, tensor_of(element_type_of(values.type), shape)))


def _both(program: RankProgram, first: SSAValue, second: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns two masks in one shape."""
    shape = tuple(
        b if a == 1 else a for a, b in zip(program.shape(first), program.shape(second), strict=True)
    )
    type = tensor_of(i1, shape)
    return program.add(graph.BroadcastOp(first, type)), program.add(graph.BroadcastOp(second, type))


def dynamic_update(at: OpAtRank) -> SSAValue:
    op, program = at.op, at.program
    assert isinstance(op, graph.DynamicUpdateOp)
    source, shape = at.operand(0), program.shape(op.source)
    last = len(op.operands) - 1
    sizes = program.shape(op.update)
    split = [dim for dim in range(len(shape)) if at.axes[factor_of(at, 0, dim)] and sizes[dim] != shape[dim]]
    starts = [at.operand(1 + dim) for dim in range(len(shape))]
    known = {dim: constant_start(op.starts[dim]) for dim in split if op.steps[dim] == 1}
    wants = list(program.wants(op.update, at.sharding(at.rule.operands[last])))
    boxes: dict[int, Interval] = {}
    for dim in split:
        if (start := known.get(dim)) is not None:
            wants[dim], boxes[dim] = _static_box(at, dim, start)
    update = program.local(op.update, tuple(wants))
    if any(begin == end for begin, end in boxes.values()):
        # The box lies in other parts; those that have rows of it have got them.
        return source
    for dim, (begin, _) in boxes.items():
        starts[dim] = program.scalar(begin, element_type_of(starts[dim].type))
    values = [dim for dim in split if dim not in boxes]
    if not values:
        return program.add(graph.DynamicUpdateOp(source, starts, update, op.steps))
    return _scattered(at, source, starts, update, values)


def _static_box(at: OpAtRank, dim: int, start: int) -> tuple[Part, Interval]:
    """Returns which indices of an update members want of a dim, and where in its part this rank puts them."""
    op, program = at.op, at.program
    extent = known(program.shape(op.operands[0])[dim])
    size = known(program.shape(op.operands[-1])[dim])
    begin = min(max(start, 0), extent - size)
    part = at.part(factor_of(at, 0, dim), extent)
    want = Part(part.axes, tuple(within(interval, begin, size) for interval in part.intervals))
    own = program.mine(part)[0]
    box = common(program.mine(part), (begin, begin + size))
    return want, (box[0] - own, box[1] - own)


def _scattered(
    at: OpAtRank, source: SSAValue, starts: Sequence[SSAValue], update: SSAValue, split: Sequence[int]
) -> SSAValue:
    """Returns the source with the update scattered along the dims that it has not all indices of."""
    op, program = at.op, at.program
    assert isinstance(op, graph.DynamicUpdateOp)
    whole, own, sizes = program.shape(op.source), program.shape(source), program.shape(update)
    dims = [dim for dim in range(len(own)) if dim in split or own[dim] != sizes[dim]]
    grid = tuple(sizes[dim] for dim in dims)
    indices: list[SSAValue] = []
    for number, dim in enumerate(dims):
        size, step = known(sizes[dim]), op.steps[dim]
        span = (size - 1) * step + 1
        extent = known((whole if dim in split else own)[dim])
        index = _box_indices(program, starts[dim], size, step, extent - span)
        if dim in split:
            index = moved(program, index, at.interval(factor_of(at, 0, dim), extent)[0])
        index = _along(program, index, number, len(dims))
        indices.append(program.add(graph.BroadcastOp(index, tensor_of(i64, grid))))
    order = [*dims, *(dim for dim in range(len(own)) if dim not in dims)]
    if order != sorted(order):
        update = program.add(graph.PermuteOp(update, order))
    return program.add(graph.ScatterOp(ScatterKind.SET, source, indices, update, dims))
