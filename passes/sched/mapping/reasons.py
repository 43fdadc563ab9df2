"""Why a kernel is scheduled as it is: the clauses of its `schedule`, which passes add to."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from ....dialects import sched


def reasons_of(kernel: sched.KernelOp) -> list[str]:
    """Returns the reasons that a kernel has by now."""
    return [] if kernel.schedule is None else kernel.schedule.data.split("; ")


def add_reason(kernel: sched.KernelOp, reason: str) -> None:
    """Adds a reason, if the kernel does not have it."""
    reasons = reasons_of(kernel)
    if reason not in reasons:
        kernel.schedule = StringAttr("; ".join([*reasons, reason]))
