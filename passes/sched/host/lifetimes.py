"""When the buffers of a program are used, loops and branches included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import sched
from ....dialects.modules.hazards import Item, accessed_buffers, all_items, base_of, return_of
from ....dialects.modules.kernel_access import KernelAccess


def lifetimes_of(
    program: sched.ProgramOp, accesses: Mapping[str, KernelAccess]
) -> dict[SSAValue, tuple[int, int]]:
    """
    Returns the first and the last item that use each buffer. Items are numbered in the order of the text,
    those in regions too, after the item that they are in; the return counts as one more item.

    A buffer that is used in one region only, and is written there before it is read, lives within one
    iteration: from the first to the last item of the region that uses it. One that is used outside too, or
    holds something from one iteration to the next, lives for the whole of the loop.
    """
    spans = _spans(program)
    uses: dict[SSAValue, list[Item | sched.ReturnOp]] = {}
    for item in (*all_items(program.body.block), return_of(program)):
        for buffer in _used_by(item):
            uses.setdefault(base_of(buffer), []).append(item)
    return {buffer: _lifetime(buffer, ops, spans, accesses) for buffer, ops in uses.items()}


def _spans(program: sched.ProgramOp) -> dict[Operation, tuple[int, int]]:
    """Returns, for each item and the return, its number and that of the last item in its regions."""
    items = [*all_items(program.body.block), return_of(program)]
    numbers: dict[Operation, int] = {op: number for number, op in enumerate(items)}
    spans: dict[Operation, tuple[int, int]] = {}
    for op in items:
        last = numbers[op]
        if isinstance(op, sched.ControlItem):
            last += sum(1 for block in op.blocks for _ in all_items(block))
        spans[op] = (numbers[op], last)
    return spans


def _used_by(item: Item | sched.ReturnOp) -> Sequence[SSAValue]:
    match item:
        case sched.LaunchOp():
            return item.arguments
        case sched.TransferOp():
            return (item.source, item.target)
        case sched.ReturnOp():
            return item.buffers
        case sched.ControlItem():
            return item.own_operands
        case sched.HostItem():
            return (*item.arguments, *item.targets)
        case sched.SyncOp():
            return ()


_Chain = list[tuple[Block, Operation]]
"""The blocks around an item, outermost first, each with the item in it that it is or is in."""


def _lifetime(
    buffer: SSAValue,
    ops: Sequence[Item | sched.ReturnOp],
    spans: Mapping[Operation, tuple[int, int]],
    accesses: Mapping[str, KernelAccess],
) -> tuple[int, int]:
    chains = [_chain(op) for op in ops]
    depth = 0
    while all(len(chain) > depth + 1 for chain in chains) and len({c[depth + 1][0] for c in chains}) == 1:
        depth += 1
    while depth and not _is_written_first(buffer, chains, depth, accesses):
        depth -= 1
    users = [chain[depth][1] for chain in chains]
    return min(spans[op][0] for op in users), max(spans[op][1] for op in users)


def _chain(op: Operation) -> _Chain:
    chain: _Chain = []
    here: Operation | None = op
    while here is not None and not isinstance(here, sched.ProgramOp):
        block = here.parent
        assert block is not None, f"{here.name}: stands in no block"
        chain.append((block, here))
        here = block.parent_op()
    return chain[::-1]


def _is_written_first(
    buffer: SSAValue, chains: Sequence[_Chain], depth: int, accesses: Mapping[str, KernelAccess]
) -> bool:
    """
    Returns whether the uses `chains`, of one block that is `depth` regions deep, begin with one that writes
    the buffer, whatever branches are taken.
    """
    user = chains[0][depth][1]
    own = [chain for chain in chains if chain[depth][1] is user]
    inner = [chain for chain in own if len(chain) > depth + 1]
    match user:
        case sched.ForOp():
            is_counter = len(inner) < len(own)
            return is_counter or _is_written_first(buffer, inner, depth + 1, accesses)
        case sched.WhileOp():
            # The condition is read after the first region has made it.
            return bool(inner) and _is_written_first(buffer, inner, depth + 1, accesses)
        case sched.IfOp():
            branches = [[chain for chain in inner if chain[depth + 1][0] is block] for block in user.blocks]
            return len(inner) == len(own) and all(
                branch and _is_written_first(buffer, branch, depth + 1, accesses) for branch in branches
            )
        case sched.LaunchOp() | sched.TransferOp() | sched.HostItem():
            reads, writes = accessed_buffers(user, accesses)
            is_read = any(base_of(read) is buffer for read in reads)
            return not is_read and any(base_of(written) is buffer for written in writes)
        case _:
            raise AssertionError(f"{user.name}: uses no buffer")
