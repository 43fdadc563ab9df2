"""
Schedules kernels as a database says that was made by `tenon.tune`.

    sched.kernel @f_0(...) {                   sched.kernel @f_0(...) attributes {schedule = "tuned: ..."} {
      sched.axis %i = 64 {           -->         sched.axis %i = 64 block(8) vector(8) {

`database` is the path of the file, `device` what the entries are for; a `digest` that is not empty is that of
the file. An entry is for the kernels that compute what the tuned one did, with the same loops, before they
are scheduled. Kernels without an entry, and mapped ones, stay as they are.

An entry that does not apply is a warning, and ignored: it was made for this program, and matches no kernel of
it any more, or a kernel does not take one of its steps.

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
from xdsl.rewriter import Rewriter

from .....dialects import sched
from ..database import ScheduleEntry, TuningError, kernel_digest, read_database
from ..loop_nests.code import copy_places
from ..loop_nests.errors import ScheduleError
from ..loop_nests.loops import index_of, is_mapped, loops_of
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
        for kernel in list(op.ops):
            if not isinstance(kernel, sched.KernelOp) or is_mapped(kernel):
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
            self._warn(f"what was tuned for {names} fits no kernel of the program any more; they have")

    def _warn(self, what: str) -> None:
        # Warnings of the same text are shown once, and so is an entry that many compiles pass over.
        text = f"{self.database}: {what} the default schedule (hint: tune again)"
        warnings.warn(text, RuntimeWarning, stacklevel=2)

    def _apply(self, entry: ScheduleEntry, kernel: sched.KernelOp) -> None:
        """Replaces a kernel by one that is scheduled; one that does not take all the steps stays."""
        scheduled = kernel.clone()
        copy_places(kernel, scheduled)
        _name_axes(scheduled, entry.axes)
        try:
            if tuple(loops_of(scheduled)) != entry.axes:
                raise ScheduleError(f"its axes are called {', '.join(loops_of(scheduled))}")
            for step in entry.steps:
                run_step(scheduled, step)
        except ScheduleError as error:
            self._warn(
                f"@{kernel.sym_name.data} does not take the steps that were tuned for @{entry.name} of "
                f"@{entry.program}: {error}; it has"
            )
            return
        scheduled.schedule = StringAttr(f"tuned: {entry.gain:.2f} times as fast as the default")
        Rewriter.replace_op(kernel, scheduled)


def _name_axes(kernel: sched.KernelOp, names: Sequence[str]) -> None:
    """Gives loops the names that steps use, where a kernel of the same text has others."""
    loops = loops_of(kernel)
    if tuple(loops) == tuple(names) or len(loops) != len(names):
        return
    for loop, name in zip(loops.values(), names, strict=True):
        hint = re.sub(r"_\d+$", "", name)
        index_of(loop).name_hint = hint if SSAValue.is_valid_name(hint) else None
