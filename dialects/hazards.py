"""
The hazards of a program: which earlier items each item must not overtake, and on which buffer.

Read after write, write after read, write after write. Two buffers conflict where they are the same, where
their slabs share bytes, or where they are of one tensor node: which part an index names is not known yet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from . import sched
from .buffer_size import nbytes_of
from .kernel_access import KernelAccess

Item = sched.LaunchOp | sched.TransferOp | sched.SyncOp


@dataclass(frozen=True, slots=True)
class Hazard:
    """The number of an earlier item, and the buffer of the later one that it conflicts on."""

    item: int
    buffer: SSAValue


def items_of(program: sched.ProgramOp) -> list[Item]:
    """Returns the items of a program in their order."""
    return [op for op in program.body.block.ops if isinstance(op, sched.ITEMS)]


def return_of(program: sched.ProgramOp) -> sched.ReturnOp:
    """Returns the op that ends a program."""
    last = program.body.block.last_op
    assert isinstance(last, sched.ReturnOp), f"@{program.sym_name.data} ends in no sched.return"
    return last


def accessed_buffers(
    op: Item | sched.ReturnOp, accesses: Mapping[str, KernelAccess]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Returns the buffers that an item, or the return, reads and those that it writes."""
    match op:
        case sched.LaunchOp():
            access = accesses[op.kernel.root_reference.data]
            arguments = op.arguments
            return [arguments[i] for i in access.reads], [arguments[i] for i in access.writes]
        case sched.TransferOp():
            return [op.source], [op.target]
        case sched.ReturnOp():
            # What nodes hold when the program ends counts as read by whoever runs it.
            nodes = [other.result for other in _ops_around(op) if isinstance(other, sched.NodeOp)]
            return [*op.buffers, *nodes], []
        case sched.SyncOp():
            return [], []


def _ops_around(op: Operation) -> Iterable[Operation]:
    return () if op.parent is None else op.parent.ops


def hazards_of(program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]) -> Iterator[list[Hazard]]:
    """
    Yields the hazards of each item of `program`, and last of its return. Of the items that wrote or read the
    same memory they name the last writer and its readers only: the others follow from the hazards of those.
    """
    cells = _cells(program)
    writer: dict[_Cell, int] = {}
    readers: dict[_Cell, list[int]] = {}
    for index, op in enumerate((*items_of(program), return_of(program))):
        hazards: list[Hazard] = []
        reads, writes = accessed_buffers(op, accesses)
        read_cells = [(buffer, cell) for buffer in reads for cell in cells.get(buffer, (buffer,))]
        written_cells = [(buffer, cell) for buffer in writes for cell in cells.get(buffer, (buffer,))]
        for buffer, cell in (*read_cells, *written_cells):
            if cell in writer:
                hazards.append(Hazard(writer[cell], buffer))
        for buffer, cell in written_cells:
            hazards.extend(Hazard(reader, buffer) for reader in readers.get(cell, ()))
        yield hazards
        for _, cell in read_cells:
            readers.setdefault(cell, []).append(index)
        for _, cell in written_cells:
            writer[cell] = index
            readers[cell] = []


_Cell = SSAValue | tuple[int, int] | str
"""Memory that is used as a whole: a buffer, the bytes of a pool between two ends of slabs, or a node."""


def _cells(program: sched.ProgramOp) -> dict[SSAValue, list[_Cell]]:
    """Returns the cells of each buffer that has a slab or a node; any other buffer is a cell itself."""
    spans: dict[SSAValue, tuple[int, int, int]] = {}
    ends: dict[int, set[int]] = {}
    cells: dict[SSAValue, list[_Cell]] = {}
    for op in program.body.block.ops:
        if isinstance(op, sched.NodeOp):
            cells[op.result] = [op.node_name]
        elif isinstance(op, sched.BufferOp) and op.slab is not None:
            pool, start = op.slab.pool.data, op.slab.offset.data
            end = start + nbytes_of(op.result.type)
            spans[op.result] = (pool, start, end)
            ends.setdefault(pool, set()).update((start, end))
    borders = {pool: sorted(found) for pool, found in ends.items()}
    for buffer, (pool, start, end) in spans.items():
        inside = borders[pool][bisect_left(borders[pool], start) : bisect_left(borders[pool], end)]
        cells[buffer] = [(pool, border) for border in inside]
    return cells
