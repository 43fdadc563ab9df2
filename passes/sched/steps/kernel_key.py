"""What tells kernels apart: two of equal text compute the same, whatever they and their values are called."""

from __future__ import annotations

from ....dialects import low, sched
from ....dialects.modules.canonical_text import AttributeTexts, canonical_text

_NAME = ("sym_name",)


def kernel_text(kernel: sched.KernelOp | low.KernelOp, attributes: AttributeTexts | None = None) -> str:
    """
    Returns the canonical text of a kernel, without its name, locations and the names of its values.
    `attributes` are as in `canonical_text`.
    """
    return canonical_text(kernel, without=_NAME, attributes=attributes)
