"""Schedules as `tenon.compile` takes them: steps, or functions that do them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....errors import TenonError
from .kernels import find_kernel, note_steps
from .passes.schedule_kernels import ScheduleKernelsPass
from .schedule import Schedule, Scheduling
from .steps import are_steps


def schedule_pass(schedules: Mapping[str, Scheduling]) -> ModulePass:
    """
    Returns the pass that schedules kernels by name; where all are steps, one that prints as they are.

    Raises:
        TenonError: a kernel has neither a function nor steps, or steps hold what is no JSON.
    """
    for name, how in schedules.items():
        if not callable(how) and not are_steps(how):
            raise TenonError(
                f"compile: the schedule of @{name} is {how!r}, expected a function or a list of steps"
            )
    steps = {name: list(how) for name, how in schedules.items() if not callable(how)}
    if len(steps) < len(schedules):
        return ScheduleByFunctions(schedules)
    try:
        return ScheduleKernelsPass(json.dumps(steps))
    except TypeError as error:
        raise TenonError(f"compile: steps of a schedule are no JSON ({error})") from error


@dataclass(frozen=True)
class ScheduleByFunctions(ModulePass):
    """Gives each kernel's schedule to a function, or does the steps."""

    name = "schedule-by-functions"
    schedules: Mapping[str, Scheduling]

    def __str__(self) -> str:
        return self.name

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, how in self.schedules.items():
            schedule = Schedule(find_kernel(self.name, op, name))
            if callable(how):
                how(schedule)
            else:
                schedule.replay(how)
            note_steps(schedule.kernel, schedule.steps)
