"""
The hazards of a program: which earlier items each item must not overtake, and on which buffer.

Read after write, write after read, write after write; and what the host sees in the order of the text: lines
that are printed, which count as writes of one cell. Two buffers conflict where they are the same, where
their slabs share bytes, or where they are of one tensor node or rows of one buffer: which part an index names
is not known yet. An item with regions reads and writes what the items in them do; items wait for items of the
same region only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue

from .. import graph, sched
from ..buffer_size import nbytes_bound
from .kernel_access import KernelAccess

Item = sched.LaunchOp | sched.TransferOp | sched.SyncOp | sched.HostItem | sched.ControlItem


@dataclass(frozen=True, slots=True)
class Hazard:
    """
    The number of an earlier item, and the buffer of the later one that it conflicts on; None where both are
    seen by the host.
    """

    item: int
    buffer: SSAValue | None


def items_of(program: sched.ProgramOp) -> list[Item]:
    """Returns the items of a program in their order, without those in regions of others."""
    return items_in(program.body.block)


def items_in(block: Block) -> list[Item]:
    """Returns the items of a block in their order, without those in regions of others."""
    return [op for op in block.ops if is_item(op)]


def items_between(first: Item, last: Item) -> Iterator[Item]:
    """Yields the items after one up to another of its block, which is not before it and not yielded."""
    op = first.next_op
    while op is not last:
        assert op is not None, "items of two blocks"
        if is_item(op):
            yield op
        op = op.next_op


def is_item(op: Operation) -> TypeGuard[Item]:
    return _is_item_kind(type(op))


@cache
def _is_item_kind(kind: type[Operation]) -> bool:
    return issubclass(kind, sched.ITEMS)


def all_items(block: Block) -> Iterator[Item]:
    """Yields the items of a block in the order of the text, those in regions too, after what they are in."""
    for item in items_in(block):
        yield item
        if isinstance(item, sched.ControlItem):
            for inner in item.blocks:
                yield from all_items(inner)


def item_blocks(program: sched.ProgramOp) -> list[Block]:
    """Returns the block of a program and those of all regions in it, in the order of the text."""
    blocks = [program.body.block]
    for item in all_items(program.body.block):
        if isinstance(item, sched.ControlItem):
            blocks.extend(item.blocks)
    return blocks


def base_of(buffer: SSAValue) -> SSAValue:
    """Returns the buffer that a row lies in, any other buffer itself."""
    while isinstance(buffer.owner, sched.RowOp):
        buffer = buffer.owner.source
    return buffer


def may_share_rows(first: SSAValue, second: SSAValue) -> bool:
    """Returns whether two buffers of a program may have memory in common, by the rows that they are."""
    mine, its = _rows_around(first), _rows_around(second)
    if mine[0] is not its[0]:
        return False
    return all(
        not isinstance(at, int) or not isinstance(other, int) or at == other
        for at, other in zip(mine[1:], its[1:], strict=False)
    )


def _rows_around(buffer: SSAValue) -> list[SSAValue | int | None]:
    """Returns the buffer that a row lies in, and the index of each row around it, outermost first."""
    indices: list[SSAValue | int | None] = []
    while isinstance(buffer.owner, sched.RowOp):
        row = buffer.owner
        indices.append(row.index if row.number is None else row.number)
        buffer = row.source
    return [buffer, *reversed(indices)]


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
        case sched.HostItem():
            return list(op.arguments), list(op.targets)
        case sched.ControlItem():
            return _accessed_in_regions(op, accesses)


def aliased_write(op: sched.LaunchOp, access: KernelAccess) -> str | None:
    """
    Returns what is wrong with a launch that gives its kernel a buffer twice, or two that overlap, which the
    kernel writes to: kernels are compiled for arguments that are apart.
    """
    arguments = list(op.arguments)
    for number in access.writes:
        if sum(may_share_rows(arguments[number], argument) for argument in arguments) > 1:
            name = arguments[number].name_hint or "a buffer"
            return f"{op.name}: @{op.kernel.root_reference.data} writes to {name}, which it is given twice"
    return None


def _accessed_in_regions(
    op: sched.ControlItem, accesses: Mapping[str, KernelAccess]
) -> tuple[list[SSAValue], list[SSAValue]]:
    is_loop = isinstance(op, sched.ForOp)
    reads: dict[SSAValue, None] = {} if is_loop else dict.fromkeys(op.own_operands)
    writes: dict[SSAValue, None] = dict.fromkeys(op.own_operands) if is_loop else {}
    for block in op.blocks:
        for item in items_in(block):
            read, written = accessed_buffers(item, accesses)
            reads.update((base_of(buffer), None) for buffer in read)
            writes.update((base_of(buffer), None) for buffer in written)
    return list(reads), list(writes)


def _ops_around(op: Operation) -> Iterable[Operation]:
    return () if op.parent is None else op.parent.ops


def hazards_of(
    program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]
) -> Iterator[tuple[Block, list[list[Hazard]]]]:
    """
    Yields, for each block of items of `program`, the hazards of each of its items, and last of the program's
    return. They name the last writer of the same memory and its readers only: the other hazards follow from
    theirs.
    """
    cells = _cells(program)
    for block in item_blocks(program):
        ends = [return_of(program)] if block is program.body.block else []
        yield block, list(_hazards_in((*items_in(block), *ends), cells, accesses))


def _hazards_in(
    steps: Sequence[Item | sched.ReturnOp],
    cells: Mapping[SSAValue, list[_Cell]],
    accesses: Mapping[str, KernelAccess],
) -> Iterator[list[Hazard]]:
    writer: dict[_Cell, int] = {}
    readers: dict[_Cell, list[int]] = {}
    last_seen: int | None = None
    for index, op in enumerate(steps):
        hazards: list[Hazard] = []
        reads, writes = accessed_buffers(op, accesses)
        read_cells = [(buffer, cell) for buffer in reads for cell in _cells_of(buffer, cells)]
        written_cells = [(buffer, cell) for buffer in writes for cell in _cells_of(buffer, cells)]
        for buffer, cell in (*read_cells, *written_cells):
            if cell in writer:
                hazards.append(Hazard(writer[cell], buffer))
        for buffer, cell in written_cells:
            hazards.extend(Hazard(reader, buffer) for reader in readers.get(cell, ()))
        is_seen = isinstance(op, sched.HostItem | sched.ControlItem) and sched.orders_items(op)
        if last_seen is not None and (is_seen or isinstance(op, sched.ReturnOp)):
            hazards.append(Hazard(last_seen, None))
        yield hazards
        if is_seen:
            last_seen = index
        for _, cell in read_cells:
            readers.setdefault(cell, []).append(index)
        for _, cell in written_cells:
            writer[cell] = index
            readers[cell] = []


_Cell = SSAValue | tuple[int, int] | str
"""Memory that is used as a whole: a buffer, the bytes of a pool between two ends of slabs, or a node."""


def _cells_of(buffer: SSAValue, cells: Mapping[SSAValue, list[_Cell]]) -> Sequence[_Cell]:
    base = base_of(buffer)
    return cells.get(base, (base,))


def _cells(program: sched.ProgramOp) -> dict[SSAValue, list[_Cell]]:
    """Returns the cells of each buffer that has a slab or a node; any other buffer is a cell itself."""
    spans: dict[SSAValue, tuple[int, int, int]] = {}
    ends: dict[int, set[int]] = {}
    cells: dict[SSAValue, list[_Cell]] = {}
    dims = graph.dims_around(program)
    for op in program.body.block.ops:
        if isinstance(op, sched.NodeOp):
            cells[op.result] = [op.node_name]
        elif isinstance(op, sched.BufferOp) and op.slab is not None:
            pool, start = op.slab.pool.data, op.slab.offset.data
            end = start + nbytes_bound(op.result.type, dims)
            spans[op.result] = (pool, start, end)
            ends.setdefault(pool, set()).update((start, end))
    borders = {pool: sorted(found) for pool, found in ends.items()}
    for buffer, (pool, start, end) in spans.items():
        inside = borders[pool][bisect_left(borders[pool], start) : bisect_left(borders[pool], end)]
        cells[buffer] = [(pool, border) for border in inside]
    return cells
