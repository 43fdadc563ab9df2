"""The kernels of a module by name, for passes that do steps to them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ....dialects import sched
from .loop_nests.errors import ScheduleError
from .steps import Step


def kernels_of(op: ModuleOp) -> dict[str, sched.KernelOp]:
    """Returns the `sched` kernels of a module by name."""
    return {kernel.sym_name.data: kernel for kernel in op.ops if isinstance(kernel, sched.KernelOp)}


def find_kernel(who: str, op: ModuleOp, name: str) -> sched.KernelOp:
    """Returns the kernel of a name. Raises ScheduleError, with the names that there are, for another."""
    kernels = kernels_of(op)
    kernel = kernels.get(name)
    if kernel is None:
        known = ", ".join(f"@{known}" for known in kernels) or "none"
        raise ScheduleError(f"{who}: there is no sched.kernel @{name} (kernels: {known})")
    return kernel


def note_steps(kernel: sched.KernelOp, steps: Sequence[Step]) -> None:
    """Has a kernel say which steps made its schedule, if there were any."""
    if steps:
        names = ", ".join(str(step["step"]) for step in steps)
        kernel.schedule = StringAttr(f"asked for: {names}")
