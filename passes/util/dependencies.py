"""
The dependencies between the items of a program: read after write, write after read, write after write.

Two buffers conflict where they are the same or where their slabs share bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import OpResult, SSAValue

from ...dialects import sched
from ...dialects.buffer_size import nbytes_of
from ...dialects.kernel_access import KernelAccess

Item = sched.LaunchOp | sched.TransferOp | sched.SyncOp


def items_of(program: sched.ProgramOp) -> list[Item]:
    """Returns the items of a program in their order."""
    return [op for op in program.body.block.ops if isinstance(op, sched.ITEMS)]


def accessed_buffers(
    item: Item, accesses: Mapping[str, KernelAccess]
) -> tuple[list[SSAValue], list[SSAValue]]:
    """Returns the buffers that an item reads and those that it writes."""
    match item:
        case sched.LaunchOp():
            access = accesses[item.kernel.root_reference.data]
            arguments = item.arguments
            return [arguments[i] for i in access.reads], [arguments[i] for i in access.writes]
        case sched.TransferOp():
            return [item.source], [item.target]
        case sched.SyncOp():
            return [], []


def set_after(op: Item | sched.ReturnOp, tokens: Sequence[SSAValue]) -> None:
    """Makes `tokens` the items that `op` depends on."""
    match op:
        case sched.LaunchOp():
            others: Sequence[SSAValue] = op.arguments
        case sched.TransferOp():
            others = (op.source, op.target)
        case sched.SyncOp():
            others = ()
        case sched.ReturnOp():
            others = op.buffers
    op.operands = (*others, *tokens)
    if isinstance(op, sched.LaunchOp | sched.ReturnOp):
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(others), len(tokens)])


class _Predecessors:
    """Which items are known to be done before each item, as bit sets, and the least edges that say so."""

    def __init__(self) -> None:
        self._before: list[int] = []

    def least(self, candidates: Iterable[int]) -> list[int]:
        """Returns the candidates that no other candidate depends on, in ascending order."""
        covered = 0
        kept: list[int] = []
        for candidate in sorted(set(candidates), reverse=True):
            if not covered >> candidate & 1:
                kept.append(candidate)
                covered |= self._before[candidate]
        return kept[::-1]

    def add(self, after: Sequence[int]) -> None:
        """Adds the next item, which depends on the items `after`."""
        before = 0
        for index in after:
            before |= self._before[index] | 1 << index
        self._before.append(before)


def fill_dependencies(program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]) -> None:
    """
    Sets `after` of every item and of the return of `program` to the least set of tokens that keeps every
    hazard in the order of the text. A sync depends on all items before it, and all after it depend on it.
    """
    items = items_of(program)
    aliases = _aliases(program)
    predecessors = _Predecessors()
    writer: dict[SSAValue, int] = {}
    readers: dict[SSAValue, list[int]] = {}
    last_sync: int | None = None

    for index, item in enumerate(items):
        candidates: list[int] = [] if last_sync is None else [last_sync]
        reads, writes = accessed_buffers(item, accesses)
        for buffer in reads:
            candidates.extend(_writers(buffer, writer, aliases))
        for buffer in writes:
            candidates.extend(_writers(buffer, writer, aliases))
            for alias in (buffer, *aliases.get(buffer, ())):
                candidates.extend(readers.get(alias, ()))
        if isinstance(item, sched.SyncOp):
            candidates = list(range(index))
            last_sync = index
        after = predecessors.least(candidates)
        predecessors.add(after)
        set_after(item, [items[i].token for i in after])
        for buffer in reads:
            readers.setdefault(buffer, []).append(index)
        for buffer in writes:
            writer[buffer] = index
            readers[buffer] = []

    last = program.body.block.last_op
    assert isinstance(last, sched.ReturnOp), f"@{program.sym_name.data} ends in no sched.return"
    done = [] if last_sync is None else [last_sync]
    for buffer in last.buffers:
        done.extend(_writers(buffer, writer, aliases))
    set_after(last, [items[i].token for i in predecessors.least(done)])


def _writers(
    buffer: SSAValue, writer: Mapping[SSAValue, int], aliases: Mapping[SSAValue, Sequence[SSAValue]]
) -> Iterable[int]:
    for alias in (buffer, *aliases.get(buffer, ())):
        if alias in writer:
            yield writer[alias]


def _aliases(program: sched.ProgramOp) -> dict[SSAValue, list[SSAValue]]:
    """Returns, for each buffer whose slab shares bytes with the slabs of others, those others."""
    placed: dict[int, list[tuple[int, int, OpResult]]] = {}
    for op in program.body.block.ops:
        if isinstance(op, sched.BufferOp) and op.slab is not None:
            start = op.slab.offset.data
            end = start + nbytes_of(op.result.type)
            if end > start:
                placed.setdefault(op.slab.pool.data, []).append((start, end, op.result))
    aliases: dict[SSAValue, list[SSAValue]] = {}
    for pool in placed.values():
        pool.sort(key=lambda place: place[0])
        open_: list[tuple[int, int, OpResult]] = []
        for place in pool:
            open_ = [other for other in open_ if other[1] > place[0]]
            for other in open_:
                aliases.setdefault(place[2], []).append(other[2])
                aliases.setdefault(other[2], []).append(place[2])
            open_.append(place)
    return aliases
