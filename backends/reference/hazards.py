"""Checks that what a program's items wait for covers what they read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from ...dialects import sched
from ...dialects.buffer_size import nbytes_of
from ...dialects.kernel_access import KernelAccess
from ...errors import TenonError


def check_dependencies(program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]) -> None:
    """
    Checks the `after` of every item and of the return; does nothing where none says anything, for then the
    order of the text counts.

    Raises:
        TenonError: an item conflicts with one before it that it does not wait for.
    """
    steps = [op for op in program.body.block.ops if isinstance(op, (*sched.ITEMS, sched.ReturnOp))]
    if not any(op.after for op in steps):
        return
    places = _places(program)
    before: dict[SSAValue, int] = {}
    done: list[tuple[int, Sequence[SSAValue], Sequence[SSAValue]]] = []
    for index, op in enumerate(steps):
        waits_for = 0
        for token in op.after:
            waits_for |= before[token]
        reads, writes = _accessed(op, accesses)
        for earlier, earlier_reads, earlier_writes in done:
            if waits_for >> earlier & 1:
                continue
            conflict = _common((*reads, *writes), earlier_writes, places) or _common(
                writes, earlier_reads, places
            )
            if conflict is not None:
                name = f"'{conflict.name_hint}'" if conflict.name_hint else f"of type {conflict.type}"
                raise TenonError(
                    f"{op.name}: item {index} of @{program.sym_name.data} does not wait for item {earlier}, "
                    f"with which it conflicts on buffer {name}"
                )
        done.append((index, reads, writes))
        if not isinstance(op, sched.ReturnOp):
            before[op.token] = waits_for | 1 << index


_Place = tuple[int, int, int]
"""A pool, and the bytes in it from the second to before the third."""


def _places(program: sched.ProgramOp) -> dict[SSAValue, _Place]:
    places: dict[SSAValue, _Place] = {}
    for op in program.body.block.ops:
        if isinstance(op, sched.BufferOp) and op.slab is not None:
            start = op.slab.offset.data
            places[op.result] = (op.slab.pool.data, start, start + nbytes_of(op.result.type))
    return places


def _accessed(
    op: sched.LaunchOp | sched.TransferOp | sched.SyncOp | sched.ReturnOp,
    accesses: Mapping[str, KernelAccess],
) -> tuple[list[SSAValue], list[SSAValue]]:
    match op:
        case sched.LaunchOp():
            access = accesses[op.kernel.root_reference.data]
            return [op.arguments[i] for i in access.reads], [op.arguments[i] for i in access.writes]
        case sched.TransferOp():
            return [op.source], [op.target]
        case sched.ReturnOp():
            return list(op.buffers), []
        case sched.SyncOp():
            return [], []


def _common(
    buffers: Sequence[SSAValue], others: Sequence[SSAValue], places: Mapping[SSAValue, _Place]
) -> SSAValue | None:
    """Returns the first of `buffers` that is one of `others` or shares bytes with one."""
    for buffer in buffers:
        for other in others:
            if buffer is other:
                return buffer
            if buffer in places and other in places:
                (pool, start, end), (other_pool, other_start, other_end) = places[buffer], places[other]
                if pool == other_pool and start < other_end and other_start < end:
                    return buffer
    return None
