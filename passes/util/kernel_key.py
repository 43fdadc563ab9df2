"""What tells kernels apart: two of equal text compute the same, whatever they and their values are called."""

from __future__ import annotations

from ...dialects import low, sched
from ...dialects.canonical_text import canonical_text

_NAME = ("sym_name",)


def kernel_text(kernel: sched.KernelOp | low.KernelOp) -> str:
    """Returns the canonical text of a kernel, without its name, locations and the names of its values."""
    return canonical_text(kernel, without=_NAME)
