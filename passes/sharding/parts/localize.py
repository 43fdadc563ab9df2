"""What a rank computes of each op that is split."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.element_types import compute_type, element_type_of, is_float
from ....dialects.graph import ReduceKind, tensor_of
from ....dialects.graph.types import shape_of
from .boxes import dynamic_slice, dynamic_update
from .contractions import contract
from .cumulating import cumulate
from .indexing import gather, scatter
from .op_at_rank import OpAtRank, Partial
from .ordering import order
from .reshaping import reshape

Localize = Callable[[OpAtRank], SSAValue | Partial]


def same(at: OpAtRank) -> SSAValue:
    """The op on this rank's parts."""
    return at.program.add(at.copied(at.operands, [at.result_type]))


def _search_sorted(at: OpAtRank) -> SSAValue | Partial:
    return Partial(same(at), ReduceKind.ADD) if at.reduced else same(at)


def _reduce(at: OpAtRank) -> SSAValue | Partial:
    op = at.op
    assert isinstance(op, graph.ReduceOp)
    type = element_type_of(op.result.type)
    if not at.reduced:
        return same(at)
    source = at.operand(0)
    wide = compute_type(type) if is_float(type) else type
    shape = shape_of(at.result_type)
    if wide != type:
        # Partial results are rounded once, at the end.
        source = at.program.add(graph.CastOp(source, tensor_of(wide, at.program.shape(source))))
    value = at.program.add(at.copied([source], [tensor_of(wide, shape)]))
    return Partial(value, op.kind.data, None if wide == type else at.program.cast_to(type))


LOCALIZE: dict[type[Operation], Localize] = {
    graph.ReduceOp: _reduce,
    graph.ContractOp: contract,
    graph.ReshapeOp: reshape,
    graph.GatherOp: gather,
    graph.ScatterOp: scatter,
    graph.DynamicSliceOp: dynamic_slice,
    graph.DynamicUpdateOp: dynamic_update,
    graph.CumulateOp: cumulate,
    graph.SortOp: order,
    graph.ArgsortOp: order,
    graph.SearchSortedOp: _search_sorted,
}
"""What computes a rank's part where that is not the op on its parts."""
