"""Which ops can do several iterations of an axis at once, and how many."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation

from ...dialects import sched
from ...dialects.element_types import NBYTES
from .analysis import IndexAnalysis, Loop
from .expressions import Axis

MOST_LANES = 16
"""The most lanes of a vector: those of the widest of OpenCL."""

LEAST_LANES = 4
"""A loop of fewer iterations is no vector, however wide those of the machine are."""

LOADED_STRIDES = (-1, 0, 1)
"""How far apart the elements may be that the lanes of a load read."""


def runs_in_lanes(op: Operation, axis: Axis, analysis: IndexAnalysis) -> bool:
    """
    Returns whether an op can do several iterations of an axis at once. A load reads neighbours, in reductions
    and loops of a count also the other way around, or one element, a store writes neighbours; what makes a
    number of an index has one for all lanes, but for `arith.index_cast`.
    """
    if isinstance(op, memref.LoadOp | memref.StoreOp):
        stride = analysis.address(op).stride(axis)
        if isinstance(op, memref.StoreOp) or stride != -1:
            return stride == 1 or (stride == 0 and isinstance(op, memref.LoadOp))
        # Of other loops LLVM makes vectors itself, which take up to 0.5 of the time where rows are short. It
        # makes none of loops of a count: NPBench's durbin took twice as long.
        return _is_reduced(op, axis, analysis)
    if isinstance(op, Loop) or (op.results and isinstance(op.results[0].type, IndexType)):
        return True
    indices = [value for value in op.operands if isinstance(value.type, IndexType)]
    strides = [analysis.expr(value).stride(axis) for value in indices]
    if isinstance(op, arith.IndexCastOp):
        return None not in strides
    return all(stride == 0 for stride in strides)


def _is_reduced(op: Operation, axis: Axis, analysis: IndexAnalysis) -> bool:
    """Returns whether an axis that an op stands in is that of a reduction, or runs a count of iterations."""
    around = op.parent_op()
    while around is not None:
        if isinstance(around, Loop) and analysis.axis(around) == axis:
            return isinstance(around, sched.ReduceOp) or around.count is not None
        around = around.parent_op()
    return False


def lanes_for(ops: Sequence[Operation], vector_nbytes: int, least: int = 2) -> int:
    """Returns how many lanes a vector has of the widest of what ops compute, `least` at least."""
    widths = [NBYTES.get(result.type, 1) for op in ops for result in op.results]
    return min(max(vector_nbytes // max(widths, default=1), least), MOST_LANES)
