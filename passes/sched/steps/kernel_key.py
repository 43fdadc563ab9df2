"""
What tells kernels apart. Two of equal text are the same, whatever they and their values are called; two of
equal meaning compute the same with the same loops, however these are to run.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from ....dialects import low, sched
from ....dialects.modules.canonical_text import AttributeTexts, canonical_text
from .recipe import RECIPE

_APART = ("sym_name", RECIPE)
"""What a kernel is called, and what is noted of its schedule."""


def kernel_text(kernel: sched.KernelOp | low.KernelOp, attributes: AttributeTexts | None = None) -> str:
    """
    Returns the canonical text of a kernel, without its name, recipe, locations and the names of its values,
    wherever its constants stand. `attributes` are as in `canonical_text`.
    """
    return canonical_text(kernel, without=_APART, attributes=attributes, constants_in_place=True)


_MEANINGS: dict[type[Operation], tuple[str, ...]] = {
    sched.KernelOp: ("dims",),
    sched.AxisOp: ("extent",),
    sched.ReduceOp: ("kind", "extent", "fastmath", "operandSegmentSizes"),
    sched.AllocOp: ("scope",),
}
"""The properties of ops of `sched` that say what is computed. All others say how."""


def kernel_meaning(kernel: sched.KernelOp) -> str:
    """
    Returns the canonical text of what a kernel computes, with which loops: what a mapping is, what tiles are
    of and what is fetched ahead are no part of it, nor is any property that loops may get. Attributes of ops
    are hints and notes.
    """
    return canonical_text(kernel, kept=_kept)


def _kept(op: Operation) -> Collection[str]:
    return _MEANINGS.get(type(op), op.properties)
