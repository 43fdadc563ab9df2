"""Running sums along a dim that is split."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.element_types import compute_type, element_type_of, is_float
from ....dialects.graph import CumulateKind, ReduceKind, tensor_of
from ..program import RankProgram
from .op_at_rank import OpAtRank

_REDUCE = {
    CumulateKind.ADD: ReduceKind.ADD,
    CumulateKind.MUL: ReduceKind.MUL,
    CumulateKind.MAX: ReduceKind.MAX,
    CumulateKind.MIN: ReduceKind.MIN,
}
_COMBINE = {
    CumulateKind.ADD: graph.AddOp,
    CumulateKind.MUL: graph.MulOp,
    CumulateKind.MAX: graph.MaxOp,
    CumulateKind.MIN: graph.MinOp,
}


def cumulate(at: OpAtRank) -> SSAValue:
    """
    What is combined so far in this rank's part, combined with all of the parts before it. The ranks exchange
    one element for each part.
    """
    op, program = at.op, at.program
    assert isinstance(op, graph.CumulateOp)
    source, axis = at.operand(0), op.axis.data
    factor = at.rule.results[0][axis]
    axes = () if factor is None else at.axes[factor]
    if not axes:
        return program.add(at.copied([source], [source.type]))
    type = element_type_of(op.result.type)
    wide = compute_type(type) if is_float(type) else type
    shape = program.shape(source)
    if wide != type:
        source = program.add(graph.CastOp(source, tensor_of(wide, shape)))
    kind = op.kind.data
    own = program.add(at.copied([source], [source.type]))
    total = program.add(graph.ReduceOp(_REDUCE[kind], source, [axis], keep=True))
    totals = _gathered(program, total, axes, axis)
    member, count = program.mesh.member(axes, program.rank), program.mesh.count(axes)
    before = (member + 1, count) if op.reverse is not None else (0, member)
    if before[0] < before[1]:
        others = program.slice(totals, axis, before)
        if before[1] - before[0] > 1:
            others = program.add(graph.ReduceOp(_REDUCE[kind], others, [axis], keep=True))
        others = program.add(graph.BroadcastOp(others, tensor_of(wide, shape)))
        # What comes first is the left operand, as in the order of the elements.
        pair = (own, others) if op.reverse is not None else (others, own)
        own = program.add(_COMBINE[kind](*pair))
    return own if wide == type else program.add(graph.CastOp(own, tensor_of(type, shape)))


def _gathered(program: RankProgram, total: SSAValue, axes: tuple[int, ...], axis: int) -> SSAValue:
    return program.add(
        graph.AllGatherOp(total, program.mesh.name, axes, axis, program.channel(), program.mesh.count(axes))
    )
