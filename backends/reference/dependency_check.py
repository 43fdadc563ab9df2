"""Checks that what a program's items wait for covers what they read and write."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ...dialects import sched
from ...dialects.hazards import hazards_of, items_of, return_of
from ...dialects.kernel_access import KernelAccess
from ...errors import TenonError


def check_dependencies(program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]) -> None:
    """
    Checks the `after` of every item and of the return; does nothing where none says anything, for then the
    order of the text counts.

    Raises:
        TenonError: an item conflicts with one before it that it does not wait for.
    """
    steps = [*items_of(program), return_of(program)]
    if not any(op.after for op in steps):
        return
    before: dict[SSAValue, int] = {}
    for index, (op, hazards) in enumerate(zip(steps, hazards_of(program, accesses), strict=True)):
        waits_for = 0
        for token in op.after:
            waits_for |= before[token]
        for hazard in hazards:
            if not waits_for >> hazard.item & 1:
                buffer = hazard.buffer
                name = f"'{buffer.name_hint}'" if buffer.name_hint else f"of type {buffer.type}"
                raise TenonError(
                    f"{op.name}: item {index} of @{program.sym_name.data} does not wait for item "
                    f"{hazard.item}, with which it conflicts on buffer {name}"
                )
        if not isinstance(op, sched.ReturnOp):
            before[op.token] = waits_for | 1 << index
