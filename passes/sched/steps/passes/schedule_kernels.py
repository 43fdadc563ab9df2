"""
Does the steps of recorded schedules, of each kernel its own.

`steps` is JSON: `{"f_0": [{"step": "split", "axis": "i", "factor": 8}, ...], ...}`, with the steps as
`tenon.Schedule.steps` gives them.

    sched.axis %i = 64 {                     sched.axis %i_outer = 8 {
      ...                          -->         sched.axis %i_inner = 8 {
    }                                            ...

Requires: `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit but for steps with
`allow_reorder`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import find_kernel, note_steps
from ..loop_nests.errors import ScheduleError
from ..steps import Step, are_steps, run_step


@dataclass(frozen=True)
class ScheduleKernelsPass(ModulePass):
    """Does the steps of a schedule, given as JSON, to each kernel that it names."""

    name = "schedule-kernels"
    steps: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for name, steps in self._parsed().items():
            kernel = find_kernel(self.name, op, name)
            for step in steps:
                run_step(kernel, step)
            note_steps(kernel, steps)

    def _parsed(self) -> Mapping[str, Sequence[Step]]:
        try:
            parsed: Any = json.loads(self.steps)
        except ValueError as error:
            raise ScheduleError(f"{self.name}: the steps are no JSON ({error})") from error
        if not isinstance(parsed, dict):
            raise ScheduleError(f"{self.name}: the steps are {self.steps}, expected lists of them by kernel")
        by_kernel = cast(dict[str, Any], parsed)
        for name, steps in by_kernel.items():
            if not are_steps(steps):
                raise ScheduleError(
                    f"{self.name}: the steps of @{name} are {steps}, expected a list of objects"
                )
        return by_kernel
