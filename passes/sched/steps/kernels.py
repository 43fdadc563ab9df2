"""Runs steps on the kernels of a module, for passes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr

from ....dialects import sched
from .errors import ScheduleError
from .steps import Step, run_step


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


def run_step_on(who: str, op: ModuleOp, kernel: str, step: Step) -> None:
    """Does one step to the kernel of that name. Raises ScheduleError as `find_kernel` and `run_step` do."""
    run_step(find_kernel(who, op, kernel), step)


def note_steps(kernel: sched.KernelOp, steps: Sequence[Step]) -> None:
    """Has a kernel say which steps made its schedule, if there were any."""
    if steps:
        names = ", ".join(str(step["step"]) for step in steps)
        kernel.schedule = StringAttr(f"asked for: {names}")
