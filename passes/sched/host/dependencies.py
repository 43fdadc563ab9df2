"""Sets what the items of a program wait for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Block, SSAValue

from ....dialects import sched
from ....dialects.modules.hazards import Hazard, Item, hazards_of, items_in
from ....dialects.modules.kernel_access import KernelAccess


def set_after(op: Item | sched.ReturnOp, tokens: Sequence[SSAValue]) -> None:
    """Makes `tokens` the items that `op` depends on."""
    n_others = len(op.operands) - len(op.after)
    op.operands = (*op.operands[:n_others], *tokens)
    segments = op.properties.get("operandSegmentSizes")
    if isinstance(segments, DenseArrayBase):  # The items are the last segment.
        *sizes, _ = map(int, segments.get_values())
        op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [*sizes, len(tokens)])


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
    for block, hazards in hazards_of(program, accesses):
        _fill_block(block, hazards)


def _fill_block(block: Block, hazards_of_steps: Sequence[Sequence[Hazard]]) -> None:
    items = items_in(block)
    predecessors = _Predecessors()
    last_sync: int | None = None
    end = block.last_op
    steps = (*items, end) if isinstance(end, sched.ReturnOp) else items
    for index, (op, hazards) in enumerate(zip(steps, hazards_of_steps, strict=True)):
        candidates = [] if last_sync is None else [last_sync]
        if isinstance(op, sched.SyncOp):
            candidates = list(range(last_sync or 0, index))
            last_sync = index
        candidates.extend(hazard.item for hazard in hazards)
        after = predecessors.least(candidates)
        predecessors.add(after)
        set_after(op, [items[i].token for i in after])
