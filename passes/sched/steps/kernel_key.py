"""What tells kernels apart: two of equal text compute the same, whatever they and their values are called."""

from __future__ import annotations

from ....dialects import low, sched
from ....dialects.modules.canonical_text import AttributeTexts, canonical_text
from .recipe import RECIPE

_APART = ("sym_name", RECIPE)
"""What a kernel is called, and what is noted of its schedule."""


def kernel_text(kernel: sched.KernelOp | low.KernelOp, attributes: AttributeTexts | None = None) -> str:
    """
    Returns the canonical text of a kernel, without its name, recipe, locations and the names of its values.
    `attributes` are as in `canonical_text`.
    """
    return canonical_text(kernel, without=_APART, attributes=attributes)
