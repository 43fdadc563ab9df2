"""
Gathers and scatters along dims that are split.

Each rank computes where in its own part an index lies. What is read there is combined as bits, of which all
members but one have zeros; what is written elsewhere is dropped. An index that only counts along a dim
counts along the part.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_float
from ....dialects.graph import ScatterKind, tensor_of
from ..program import RankProgram
from ..rules import counted_axes
from .op_at_rank import OpAtRank, Partial
from .owned_indices import chosen, clamped, factor_of, index_of, inside, known, moved


def gather(at: OpAtRank) -> SSAValue | Partial:
    op, program = at.op, at.program
    assert isinstance(op, graph.GatherOp)
    counted = {axis: dim for axis, dim in counted_axes(op).items() if at.axes[factor_of(at, 0, axis)]}
    source, *indices = at.operands
    for number, axis in enumerate(op.axes.data):
        if axis in counted:
            own_shape = program.shape(indices[number])
            indices[number] = program.add(graph.IotaOp(counted[axis], tensor_of(i64, own_shape)))
    split = {axis for axis in op.axes.data if at.axes[factor_of(at, 0, axis)] and axis not in counted}
    if not split:
        return program.add(graph.GatherOp(source, indices, op.axes))
    shape = program.shape(op.source)
    own: list[SSAValue] = []
    is_mine: SSAValue | None = None
    for axis, index in zip(op.axes.data, indices, strict=True):
        if axis not in split:
            own.append(index)
            continue
        begin, end = at.interval(factor_of(at, 0, axis), shape[axis])
        index = moved(program, clamped(program, index_of(program, index), known(shape[axis]) - 1), begin)
        mask = inside(program, index, end - begin)
        is_mine = mask if is_mine is None else program.add(graph.AndOp(is_mine, mask))
        own.append(index)
    # The indices of one gather need not have one type.
    value = program.add(graph.GatherOp(source, own, op.axes))
    assert is_mine is not None, "no axis is split"
    return chosen(program, value, _spread(program, is_mine, value))


def _spread(program: RankProgram, mask: SSAValue, value: SSAValue) -> SSAValue:
    """Returns a mask of the leading dims of a value for all of its elements."""
    before, after = program.shape(mask), program.shape(value)
    if before == after:
        return mask
    lined = (*before, *[1] * (len(after) - len(before)))
    if lined != before:
        mask = program.add(graph.ReshapeOp(mask, tensor_of(i1, lined)))
    return program.add(graph.BroadcastOp(mask, tensor_of(i1, after)))


def scatter(at: OpAtRank) -> SSAValue | Partial:
    op, program = at.op, at.program
    assert isinstance(op, graph.ScatterOp)
    source, *indices, updates = at.operands
    shape = program.shape(op.source)
    own: list[SSAValue] = []
    for axis, index in zip(op.axes.data, indices, strict=True):
        factor = factor_of(at, 0, axis)
        if at.axes[factor]:
            # What lies in another part is out of range here, and dropped.
            index = moved(program, index_of(program, index), at.interval(factor, shape[axis])[0])
        own.append(index)
    if at.reduced:
        source = _counted_once(at, op.kind.data, source)
    value = program.add(graph.ScatterOp(op.kind, source, own, updates, op.axes))
    if not at.reduced:
        return value
    kind = next(factor.reduction for factor in at.rule.factors if factor.reduction is not None)
    return Partial(value, kind)


def _counted_once(at: OpAtRank, kind: ScatterKind, source: SSAValue) -> SSAValue:
    """Returns the source for the first member of those whose results are combined, what changes none else."""
    program = at.program
    is_first = program.mesh.member(at.reduced, program.rank) == 0
    if is_first or kind in (ScatterKind.MAX, ScatterKind.MIN):
        return source
    element = element_type_of(source.type)
    if kind is ScatterKind.MUL:
        return program.splat(1, tensor_of(element, program.shape(source)))
    # The sum of -0.0 and 0.0 is 0.0.
    return program.splat(-0.0 if is_float(element) else 0, tensor_of(element, program.shape(source)))
