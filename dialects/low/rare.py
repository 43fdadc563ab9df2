"""
Code that hardly ever runs: `{tenon.rare}` on an `scf.for` says that of its iterations, and on an `scf.if` of
its else way. It changes no result, and a backend may pass over it, or write such code apart from the code
around it.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr

RARE = "tenon.rare"


def set_rare(op: scf.ForOp | scf.IfOp) -> None:
    """Says that a loop, or the else way of a branch, hardly ever runs."""
    op.attributes[RARE] = UnitAttr()


def is_rare(op: scf.ForOp | scf.IfOp) -> bool:
    """Returns whether a loop, or the else way of a branch, is said to hardly ever run."""
    return RARE in op.attributes
