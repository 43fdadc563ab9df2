"""Loops each iteration of which may need the one before."""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.ir import Operation

Loop = scf.ForOp | scf.WhileOp


def loop_around(op: Operation) -> Loop | None:
    """Returns the innermost loop that an op stands in."""
    around = op.parent_op()
    while around is not None and not isinstance(around, Loop):
        around = around.parent_op()
    return around


def is_serial(loop: Loop) -> bool:
    """
    Returns whether the iterations of a loop cannot become lanes of vectors: it carries values, loads what it
    stores to, or does not know how often it runs.
    """
    if isinstance(loop, scf.WhileOp) or loop.iter_args:
        return True
    loaded = {op.memref for op in loop.walk() if isinstance(op, memref.LoadOp)}
    return any(isinstance(op, memref.StoreOp) and op.memref in loaded for op in loop.walk())
