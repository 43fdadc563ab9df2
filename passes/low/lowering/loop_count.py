"""How many iterations a loop with a `count` has."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...indices.analysis import Loop
from ...scalar.builder import INDEX
from .illegal_mapping import refuse_mapping
from .state import KernelState


def count_of(state: KernelState, op: Loop) -> SSAValue:
    """
    Returns the `count` of a loop that has one, held between 0 and its extent.

    Raises PassFailedException, naming an axis around it that runs in lanes, where each lane has a count of
    its own.
    """
    assert op.count is not None, f"{op.name}: has no count"
    expr = state.analysis.expr(op.count)
    lanes = state.lanes.active(frozenset(expr.axes()))
    if lanes:
        around = op.parent_op()
        while not (isinstance(around, Loop) and state.analysis.axis(around) is lanes[0].axis):
            assert around is not None, f"{op.name}: runs in lanes of an axis that is not around it"
            around = around.parent_op()
        refuse_mapping(around, f"the count of axis %{op.index.name_hint} in it depends on it")
    constants, indices = state.writer.constants, state.indices
    written = indices.write_for(op, expr)
    most = constants.get(state.analysis.axis(op).extent, INDEX)
    held = indices.op(arith.MinSIOp, written, most, op.location)
    return indices.op(arith.MaxSIOp, held, constants.get(0, INDEX), op.location)
