"""
Loops that hardly ever run an iteration: `{tenon.rare}` on an `scf.for` says so. It changes no result, and a
backend may pass over it, or write such a loop apart from the code around it.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr

RARE = "tenon.rare"


def set_rare(loop: scf.ForOp) -> None:
    """Says that a loop hardly ever runs."""
    loop.attributes[RARE] = UnitAttr()


def is_rare(loop: scf.ForOp) -> bool:
    """Returns whether a loop is said to hardly ever run."""
    return RARE in loop.attributes
