"""The rule of every op of `graph`: what it lets be split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects.builtin import IndexType, i64
from xdsl.dialects.shard import ShardOp
from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.dims.expressions import Extent
from ...dialects.element_types import element_type_of
from ...dialects.graph import ReduceKind, ScatterKind
from ...dialects.graph.index_map import LinearIndex
from ...dialects.graph.types import shape_of, tensor_type_of
from .reshapes import dim_groups
from .rule import EXCHANGED, PARALLEL, WHOLE, Dims, Rule, RuleBuilder, reduction
from .starts import constant_start


def extents(value: SSAValue) -> tuple[Extent, ...]:
    """Returns the extents of a value: none of an index, which is the same on all ranks."""
    if isinstance(value.type, IndexType):
        return ()
    return shape_of(tensor_type_of(value, "sharding"))


def _elementwise(op: Operation) -> Rule:
    b = RuleBuilder()
    dims = b.dims(len(extents(op.results[0])))
    return b.rule([dims] * len(op.operands), [dims])


def _source(op: Operation) -> Rule:
    b = RuleBuilder()
    return b.rule([], [b.dims(len(extents(op.results[0])))])


def _broadcast(op: Operation) -> Rule:
    assert isinstance(op, graph.BroadcastOp)
    b = RuleBuilder()
    before, after = extents(op.source), extents(op.result)
    dims = b.dims(len(after))
    added = len(after) - len(before)
    source = tuple(
        None if extent == 1 != after[axis + added] else dims[axis + added]
        for axis, extent in enumerate(before)
    )
    return b.rule([source], [dims])


def _permute(op: Operation) -> Rule:
    assert isinstance(op, graph.PermuteOp)
    b = RuleBuilder()
    dims = b.dims(len(extents(op.source)))
    return b.rule([dims], [tuple(dims[axis] for axis in op.permutation.data)])


def _reshape(op: Operation) -> Rule:
    """The outermost dims of each group are one factor: a part of either are neighbouring elements."""
    assert isinstance(op, graph.ReshapeOp)
    b = RuleBuilder()
    before, after = extents(op.source), extents(op.result)
    source: list[int | None] = [None] * len(before)
    result: list[int | None] = [None] * len(after)
    loose: list[tuple[int, int]] = []
    for group in dim_groups(before, after):
        is_static = all(
            isinstance(extent, int)
            for extent in (*[before[d] for d in group.before], *[after[d] for d in group.after])
        )
        is_same = len(group.before) == len(group.after) == 1
        factor = b.new(PARALLEL if is_static or is_same else WHOLE)
        for dims, found in ((group.before, source), (group.after, result)):
            for dim in dims:
                found[dim] = factor if dim == dims[0] else b.new(WHOLE)
        if not is_same and group.before:
            loose.append((0, group.before[0]))
    return b.rule([tuple(source)], [tuple(result)], loose)


def _same_dims(op: Operation, loose: Callable[[int], bool]) -> Rule:
    """Dim k of the first operand is dim k of the result; other operands have rank 0."""
    b = RuleBuilder()
    dims = b.dims(len(extents(op.results[0])))
    rest: list[Dims] = [()] * (len(op.operands) - 1)
    return b.rule([dims, *rest], [dims], [(0, dim) for dim in range(len(dims)) if loose(dim)])


def _slice(op: Operation) -> Rule:
    assert isinstance(op, graph.SliceOp)
    before, after = extents(op.source), extents(op.result)
    return _same_dims(op, lambda dim: before[dim] != after[dim])


def _pad(op: Operation) -> Rule:
    before, after = extents(op.operands[0]), extents(op.results[0])
    return _same_dims(op, lambda dim: before[dim] != after[dim])


def _pad_with(op: Operation) -> Rule:
    """Where extents are numbers `pad_pieces.py` has written it as views."""
    assert isinstance(op, graph.PadWithOp)
    b = RuleBuilder()
    dims = tuple(
        b.new(WHOLE if low or high else PARALLEL) for low, high in zip(op.low.data, op.high.data, strict=True)
    )
    return b.rule([dims], [dims])


def _flip(op: Operation) -> Rule:
    assert isinstance(op, graph.FlipOp)
    return _same_dims(op, lambda dim: dim in op.axes.data)


def _concat(op: Operation) -> Rule:
    assert isinstance(op, graph.ConcatOp)
    b = RuleBuilder()
    dims = b.dims(len(extents(op.result)))
    along = [(number, op.axis.data) for number in range(len(op.inputs))]
    return b.rule([dims] * len(op.inputs), [dims], along)


def _reduce(op: Operation) -> Rule:
    assert isinstance(op, graph.ReduceOp)
    b = RuleBuilder()
    kind = reduction(op.kind.data)
    axes = op.axes.data
    dims = tuple(b.new(kind if dim in axes else PARALLEL) for dim in range(len(extents(op.source))))
    kept = [dim for dim in range(len(dims)) if op.keep is not None or dim not in axes]
    result = tuple(None if dim in axes else dims[dim] for dim in kept)
    return b.rule([dims], [result])


def _contract(op: Operation) -> Rule:
    assert isinstance(op, graph.ContractOp)
    b = RuleBuilder()
    kept = op.result_dims
    kind = reduction(op.accumulate.data)
    for dim in range(op.result_map.num_dims):
        b.new(PARALLEL if dim in kept else kind)
    operands: list[Dims] = []
    loose: list[tuple[int, int]] = []
    for number, map in enumerate(op.operand_maps):
        dims: list[int | None] = []
        for axis, expr in enumerate(map.results):
            index = LinearIndex.of(expr)
            dims.append(_leading(index, kept))
            if index.plain_dim is None:
                loose.append((number, axis))
        operands.append(tuple(dims))
    return b.rule(operands, [kept], loose)


def _leading(index: LinearIndex, kept: Sequence[int]) -> int | None:
    """Returns the dim along which an operand is split: of a window the one that it moves along."""
    if index.plain_dim is not None:
        return index.plain_dim
    dims = [dim for dim, _ in index.factors if dim in kept]
    return dims[0] if len(dims) == 1 else None


def _gather(op: Operation) -> Rule:
    assert isinstance(op, graph.GatherOp)
    b = RuleBuilder()
    shape = b.dims(len(extents(op.indices[0])))
    along = counted_axes(op)
    source = tuple(
        shape[along[axis]]
        if axis in along
        else b.new(reduction(ReduceKind.ADD) if axis in op.axes.data else PARALLEL)
        for axis in range(len(extents(op.source)))
    )
    rest = tuple(factor for axis, factor in enumerate(source) if axis not in op.axes.data)
    return b.rule([source, *[shape] * len(op.indices)], [(*shape, *rest)])


def counted_axes(op: graph.GatherOp) -> dict[int, int]:
    """
    Returns the axes of the source whose index only counts along a dim of the indices as long as they are,
    each with that dim: what is read there lies in the same part. No dim is in it twice.
    """
    shape, source = extents(op.indices[0]), extents(op.source)
    found: dict[int, int] = {}
    for axis, index in zip(op.axes.data, op.indices, strict=True):
        while isinstance(owner := index.owner, ShardOp):
            index = owner.src
        if isinstance(owner, graph.IotaOp) and element_type_of(index.type) == i64:
            dim = owner.axis.data
            if shape[dim] == source[axis] and dim not in found.values():
                found[axis] = dim
    return found


_COMBINED = {
    ScatterKind.ADD: ReduceKind.ADD,
    ScatterKind.MUL: ReduceKind.MUL,
    ScatterKind.MAX: ReduceKind.MAX,
    ScatterKind.MIN: ReduceKind.MIN,
}


def _scatter(op: Operation) -> Rule:
    assert isinstance(op, graph.ScatterOp)
    b = RuleBuilder()
    kind = _COMBINED.get(op.kind.data)
    shape = b.dims(len(extents(op.indices[0])), WHOLE if kind is None else reduction(kind))
    source = b.dims(len(extents(op.source)))
    rest = tuple(factor for axis, factor in enumerate(source) if axis not in op.axes.data)
    return b.rule([source, *[shape] * len(op.indices), (*shape, *rest)], [source])


def _dynamic_slice(op: Operation) -> Rule:
    assert isinstance(op, graph.DynamicSliceOp)
    b = RuleBuilder()
    source: list[int | None] = []
    result: list[int | None] = []
    for extent, size in zip(extents(op.source), op.sizes.data, strict=True):
        is_whole = extent == size
        source.append(b.new(PARALLEL if is_whole else reduction(ReduceKind.ADD)))
        result.append(source[-1] if is_whole else None)
    starts: list[Dims] = [()] * len(op.starts)
    return b.rule([tuple(source), *starts], [tuple(result)])


def _dynamic_update(op: Operation) -> Rule:
    assert isinstance(op, graph.DynamicUpdateOp)
    b = RuleBuilder()
    source = b.dims(len(extents(op.source)))
    update: list[int | None] = []
    loose: list[tuple[int, int]] = []
    last = len(op.operands) - 1
    sizes = zip(extents(op.source), extents(op.update), op.starts, strict=True)
    for dim, (extent, size, start) in enumerate(sizes):
        if extent == size:
            update.append(source[dim])
        elif op.steps[dim] == 1 and isinstance(size, int) and constant_start(start) is not None:
            update.append(source[dim])
            loose.append((last, dim))
        else:
            update.append(b.new(WHOLE))
    starts: list[Dims] = [()] * len(op.starts)
    return b.rule([source, *starts, tuple(update)], [source], loose)


def _ordering(op: Operation) -> Rule:
    assert isinstance(op, graph.SortOp | graph.ArgsortOp)
    b = RuleBuilder()
    axis = op.axis.data
    dims = tuple(b.new(EXCHANGED if dim == axis else PARALLEL) for dim in range(len(extents(op.source))))
    return b.rule([dims], [dims])


def _search_sorted(op: Operation) -> Rule:
    """As many elements come before a value in the whole as come before it in all parts together."""
    b = RuleBuilder()
    sorted = b.dims(1, reduction(ReduceKind.ADD))
    values = b.dims(len(extents(op.operands[1])))
    return b.rule([sorted, values], [values])


def _threefry(op: Operation) -> Rule:
    b = RuleBuilder()
    key = b.dims(1, WHOLE)
    counter = (b.new(WHOLE), *b.dims(len(extents(op.operands[1])) - 1))
    return b.rule([key, counter], [counter])


def whole_rule(op: Operation) -> Rule:
    """Returns the rule of an op of which nothing can be split."""
    b = RuleBuilder()
    operands = [b.dims(len(extents(value)), WHOLE) for value in op.operands]
    return b.rule(operands, [(None,) * len(extents(value)) for value in op.results])


RULES: dict[type[Operation], Callable[[Operation], Rule]] = {
    **{
        op: _elementwise
        for op in graph.GRAPH.operations
        if issubclass(op, graph.ElementwiseOp | graph.MarkerOp)
    },
    graph.ConstantOp: _source,
    graph.IotaOp: _source,
    graph.BroadcastOp: _broadcast,
    graph.PermuteOp: _permute,
    graph.ReshapeOp: _reshape,
    graph.SliceOp: _slice,
    graph.PadOp: _pad,
    graph.PadWithOp: _pad_with,
    graph.FlipOp: _flip,
    graph.ConcatOp: _concat,
    graph.ReduceOp: _reduce,
    graph.ContractOp: _contract,
    graph.GatherOp: _gather,
    graph.ScatterOp: _scatter,
    graph.DynamicSliceOp: _dynamic_slice,
    graph.DynamicUpdateOp: _dynamic_update,
    graph.CumulateOp: _elementwise,
    graph.SortOp: _ordering,
    graph.ArgsortOp: _ordering,
    graph.SearchSortedOp: _search_sorted,
    graph.ThreefryOp: _threefry,
    graph.ReadOp: whole_rule,
    graph.WriteOp: whole_rule,
    graph.CallbackOp: whole_rule,
    graph.PrintOp: whole_rule,
}
"""What each op lets be split."""

WITHOUT_A_RULE: dict[type[Operation], str] = {
    graph.ArgReduceOp: "decompose-composites has to run first",
    graph.LogsumexpOp: "decompose-composites has to run first",
    graph.WinogradInputTransformOp: "winograd-convolutions runs in the program of a rank",
    graph.WinogradFilterTransformOp: "winograd-convolutions runs in the program of a rank",
    graph.WinogradOutputTransformOp: "winograd-convolutions runs in the program of a rank",
    graph.MergeOp: "merge buffers are one device's",
    graph.AllReduceOp: "it is in the program of a rank already",
    graph.AllGatherOp: "it is in the program of a rank already",
    graph.ReduceScatterOp: "it is in the program of a rank already",
    graph.AllToAllOp: "it is in the program of a rank already",
    graph.CollectivePermuteOp: "it is in the program of a rank already",
    graph.AxisIndexOp: "it is in the program of a rank already",
}
"""The ops that cannot be partitioned, and why."""

WITH_REGIONS = (graph.IfOp, graph.WhileOp, graph.ScanOp, graph.ManualComputationOp)
"""
The ops with regions, which are partitioned in turn: `ties.py` says what is split alike. A manual computation
says itself how what it takes and gives is split, and its region is that of a rank.
"""


def rule_of(op: Operation) -> Rule:
    """Returns what an op lets be split: nothing if it has no rule."""
    make = RULES.get(type(op))
    return whole_rule(op) if make is None else make(op)


def points(op: Operation) -> int:
    """Returns how many elements an op computes or combines, those of named dims counted as one."""
    shape: Sequence[Extent]
    match op:
        case graph.ContractOp():
            shape = graph.iteration_extents(op)
        case graph.ReduceOp() | graph.CumulateOp():
            shape = extents(op.source)
        case _:
            shape = extents(op.results[0]) if op.results else ()
    return prod(extent for extent in shape if isinstance(extent, int) and extent > 0)
