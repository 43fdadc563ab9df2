"""Checks that what a program's items wait for covers what they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, SSAValue

from ...dialects import sched
from ...dialects.modules.hazards import Hazard, hazards_of, item_blocks, items_in, return_of
from ...dialects.modules.kernel_access import KernelAccess
from ...errors import TenonError


def check_dependencies(program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]) -> None:
    """
    Checks the `after` of every item and of the return; does nothing where none says anything, for then the
    order of the text counts.

    Raises:
        TenonError: an item conflicts with one before it that it does not wait for.
    """
    blocks = item_blocks(program)
    if not any(item.after for block in blocks for item in items_in(block)) and not return_of(program).after:
        return
    for block, hazards in hazards_of(program, accesses):
        _check_block(program.sym_name.data, block, hazards)


def _check_block(name: str, block: Block, hazards_of_steps: Sequence[Sequence[Hazard]]) -> None:
    items = items_in(block)
    end = block.last_op
    steps = (*items, end) if isinstance(end, sched.ReturnOp) else items
    before: dict[SSAValue, int] = {}
    for index, (op, hazards) in enumerate(zip(steps, hazards_of_steps, strict=True)):
        waits_for = 0
        for token in op.after:
            waits_for |= before[token]
        for hazard in hazards:
            if not waits_for >> hazard.item & 1:
                raise TenonError(
                    f"{op.name}: item {index} of @{name} does not wait for item {hazard.item}, "
                    f"{_conflict(hazard.buffer)}"
                )
        if not isinstance(op, sched.ReturnOp):
            before[op.token] = waits_for | 1 << index


def _conflict(buffer: SSAValue | None) -> str:
    if buffer is None:
        return "before which the host must not see it"
    label = f"'{buffer.name_hint}'" if buffer.name_hint else f"of type {buffer.type}"
    return f"with which it conflicts on buffer {label}"
