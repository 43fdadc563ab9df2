"""
Schedules kernels as a database says that was made by `tenon.tune`.

    sched.kernel @f_0(...) {                   sched.kernel @f_0(...) attributes {schedule = "tuned: ..."} {
      sched.axis %i = 64 {           -->         sched.axis %i = 64 block(8) vector(8) {

`database` is the path of the file, `device` what the entries are for; a `digest` that is not empty is that of
the file. An entry is for the kernel with the very text that it was tuned with, before it is scheduled.
Kernels without an entry stay as they are.

An entry that was made for this program, and matches no kernel of it any more, is a warning; one whose steps
are not legal is an error.

Requires: `sched` kernels, as `fuse-loops` leaves them. Ensures: what each kernel computes is unchanged but
for the order of combination of reductions, which the mapping defines.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from .....dialects import sched
from ..database import ScheduleEntry, TuningError, kernel_digest, read_database
from ..loop_nests.errors import ScheduleError
from ..loop_nests.loops import index_of, loops_of
from ..steps import run_step


@dataclass(frozen=True)
class ApplySchedulesPass(ModulePass):
    """Schedules kernels as a database of `tenon.tune` says."""

    name = "apply-schedules"
    database: str
    device: str
    digest: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        digest, entries = read_database(Path(self.database))
        if self.digest and digest != self.digest:
            raise TuningError(f"{self.database}: has changed while a program was compiled with it")
        mine = {entry.kernel: entry for entry in entries if entry.device == self.device}
        programs = {
            (program.sym_name.data, str(program.function_type))
            for program in op.ops
            if isinstance(program, sched.ProgramOp)
        }
        used: set[str] = set()
        for kernel in op.ops:
            if not isinstance(kernel, sched.KernelOp):
                continue
            entry = mine.get(kernel_digest(kernel))
            if entry is not None:
                self._apply(entry, kernel)
                used.add(entry.kernel)
        stale = [
            entry
            for entry in mine.values()
            if (entry.program, entry.signature) in programs and entry.kernel not in used
        ]
        if stale:
            names = ", ".join(f"@{entry.name}" for entry in stale)
            warnings.warn(
                f"{self.database}: what was tuned for {names} fits no kernel of the program any more; they "
                "have the default schedule (hint: tune again)",
                RuntimeWarning,
                stacklevel=2,
            )

    def _apply(self, entry: ScheduleEntry, kernel: sched.KernelOp) -> None:
        _name_axes(kernel, entry.axes)
        try:
            if tuple(loops_of(kernel)) != entry.axes:
                raise ScheduleError(f"its axes are called {', '.join(loops_of(kernel))}")
            for step in entry.steps:
                run_step(kernel, step)
        except ScheduleError as error:
            raise TuningError(
                f"{self.database}: the steps for @{kernel.sym_name.data}, tuned as @{entry.name} of "
                f"@{entry.program}, are not legal: {error} (hint: tune again)"
            ) from error
        kernel.schedule = StringAttr(f"tuned: {entry.gain:.2f} times as fast as the default")


def _name_axes(kernel: sched.KernelOp, names: Sequence[str]) -> None:
    """Gives loops the names that steps use, where a kernel of the same text has others."""
    loops = loops_of(kernel)
    if tuple(loops) == tuple(names) or len(loops) != len(names):
        return
    for loop, name in zip(loops.values(), names, strict=True):
        hint = re.sub(r"_\d+$", "", name)
        index_of(loop).name_hint = hint if SSAValue.is_valid_name(hint) else None
