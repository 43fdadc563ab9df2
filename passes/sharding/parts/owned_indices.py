"""What the ops at indices that are values share: indices in a rank's part, and what is read there."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import element_type_of, ui64
from ....dialects.graph import tensor_of
from ..bits import as_numbers, chosen_by
from ..program import RankProgram
from .op_at_rank import OpAtRank, Partial


def index_of(program: RankProgram, index: SSAValue) -> SSAValue:
    """Returns an index as i64: one of ui64 that is too large for it is the largest."""
    element, shape = element_type_of(index.type), program.shape(index)
    if element == i64:
        return index
    type = tensor_of(i64, shape)
    if element == ui64:
        limit = program.splat(2**63 - 1, tensor_of(element, shape))
        index = program.add(graph.MinOp(index, limit))
    return program.add(graph.CastOp(index, type))


def splat_like(program: RankProgram, value: int, like: SSAValue) -> SSAValue:
    return program.splat(value, tensor_of(element_type_of(like.type), program.shape(like)))


def clamped(program: RankProgram, index: SSAValue, last: int) -> SSAValue:
    low = program.add(graph.MaxOp(index, splat_like(program, 0, index)))
    return program.add(graph.MinOp(low, splat_like(program, last, index)))


def moved(program: RankProgram, index: SSAValue, begin: int) -> SSAValue:
    """Returns where in a part that begins there an index lies."""
    return program.add(graph.SubOp(index, splat_like(program, begin, index))) if begin else index


def inside(program: RankProgram, index: SSAValue, extent: int) -> SSAValue:
    first = program.add(graph.GeOp(index, splat_like(program, 0, index)))
    last = program.add(graph.LtOp(index, splat_like(program, extent, index)))
    return program.add(graph.AndOp(first, last))


def chosen(program: RankProgram, value: SSAValue, is_mine: SSAValue) -> Partial:
    """Returns a value where it is this rank's, as bits that are combined with those of the others."""
    element = element_type_of(value.type)
    value = program.bits_as(value, as_numbers(element))
    bits = program.add(graph.SelectOp(is_mine, value, splat_like(program, 0, value)))
    return Partial(bits, chosen_by(element), lambda combined: program.bits_as(combined, element))


def factor_of(at: OpAtRank, operand: int, dim: int) -> int:
    factor = at.rule.operands[operand][dim]
    assert factor is not None, f"{at.op.name}: dim {dim} of operand {operand} has no factor"
    return factor


def known(extent: Extent) -> int:
    assert isinstance(extent, int), f"a dim of {extent} is split"
    return extent
