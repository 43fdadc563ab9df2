"""
Begins collectives early and awaits them late, so that kernels run while ranks exchange.

    %t0 = sched.collective all_reduce add ... (%a) to(%x)      %t0 = sched.collective ... (%a) to(%x)
    %t1 = sched.await channel = 1(%a) to(%x)                   %t1 = sched.launch @g(%c, %d)
    %t2 = sched.launch @f(%x, %y)                         -->  %t2 = sched.collective ... (%d) to(%z)
    %t3 = sched.launch @g(%c, %d)                              %t3 = sched.await channel = 1(%a) to(%x)
    %t4 = sched.collective all_reduce add ... (%d) to(%z)      %t4 = sched.launch @f(%x, %y)
    %t5 = sched.await channel = 2(%d) to(%z)                   %t5 = sched.await channel = 2(%d) to(%z)

The items of a block that has collectives are put into another order that their hazards allow: a collective
begins as soon as it can, and nothing is awaited as long as there is something else to do. Collectives begin
in the order of the text, as they do on all other ranks: what lies between them may differ from rank to rank,
their order must not. Collectives of one `bundle`, an attribute that says the same on all ranks, are sums of
one kind and dtype that do not wait for one another; they begin as one.

Requires: every launch's kernel is in the module; dependencies are built afterwards.
Ensures: collectives begin in the order that they had; every item comes after those that it conflicts with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import sched
from ....dialects.collective import BUNDLE, DIVERGENT
from ....dialects.element_types import element_type_of
from ....dialects.modules.hazards import Item, hazards_of, items_in
from ....dialects.modules.kernel_access import accesses_of
from .dependencies import set_after


@dataclass(frozen=True)
class ScheduleCollectivesPass(ModulePass):
    """Begins collectives early and awaits them late."""

    name = "schedule-collectives"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(each, sched.CollectiveOp) for each in op.walk()):
            return
        accesses = accesses_of(op)
        for program in op.body.ops:
            if not isinstance(program, sched.ProgramOp):
                continue
            # All hazards are found before the first item moves.
            for block, hazards in list(hazards_of(program, accesses)):
                items = items_in(block)
                if any(isinstance(item, sched.CollectiveOp) for item in items):
                    conflicts = _conflicts(items, [[each.item for each in one] for one in hazards])
                    _schedule(block, items, conflicts)


def _conflicts(items: Sequence[Item], hazards: Sequence[Sequence[int]]) -> list[set[int]]:
    """Returns, for each item, those before it that it must not overtake."""
    before = [set(found) for found in hazards[: len(items)]]
    fence: int | None = None
    awaited: dict[int, int] = {}
    for number, item in enumerate(items):
        if fence is not None:
            before[number].add(fence)
        match item:
            case sched.SyncOp():
                before[number].update(range(number))
                fence = number
            case sched.CollectiveOp():
                # One channel is awaited before it is used again.
                last = awaited.get(item.collective.data.channel)
                if last is not None:
                    before[number].add(last)
            case sched.AwaitOp():
                awaited[item.channel.data] = number
            case _:
                pass
    return before


def _schedule(block: Block, items: Sequence[Item], before: list[set[int]]) -> None:
    """Puts the items of a block into the order that is best for what is exchanged."""
    joined = _bundles(items)
    leader = {number: group[0] for group in joined for number in group}
    units: dict[int, list[int]] = {}
    for number in range(len(items)):
        units.setdefault(leader.get(number, number), []).append(number)
    waits = {
        unit: {leader.get(each, each) for number in members for each in before[number]} - {unit}
        for unit, members in units.items()
    }
    order = _order(items, waits)
    # What defines buffers comes first: an item may stand before what was defined right before it.
    end = block.last_op if block.last_op not in items else None
    for op in (*items, *(() if end is None else (end,))):
        if isinstance(op, Item | sched.ReturnOp):
            set_after(op, [])
    for unit in order:
        merged = _merged([items[number] for number in units[unit]])
        for item in (items[number] for number in units[unit]):
            item.detach()
        if end is None:
            block.add_op(merged)
        else:
            block.insert_op_before(merged, end)


def _order(items: Sequence[Item], waits: Mapping[int, set[int]]) -> list[int]:
    """
    Returns the items in their new order: the next collective where it can begin, else the first item that is
    no await, else the first await.
    """
    readers: dict[int, list[int]] = {unit: [] for unit in waits}
    for unit, needed in waits.items():
        for each in needed:
            readers[each].append(unit)
    left = {unit: len(needed) for unit, needed in waits.items()}
    ready = [(_turn(items[unit]), unit) for unit, count in left.items() if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, unit = heappop(ready)
        order.append(unit)
        for reader in readers[unit]:
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, (_turn(items[reader]), reader))
    if len(order) < len(waits):
        op = next(items[unit] for unit in waits if unit not in order)
        raise PassFailedException(f"{op.name}: collectives of one bundle wait for one another")
    return order


def _turn(item: Item) -> int:
    match item:
        case sched.CollectiveOp():
            return 0
        case sched.AwaitOp():
            return 2
        case _:
            return 1


def _bundles(items: Sequence[Item]) -> list[list[int]]:
    """Returns the numbers of the items that are one, those that begin and those that are awaited."""
    groups: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        bundle = item.attributes.get(BUNDLE) if isinstance(item, sched.CollectiveOp) else None
        if isinstance(bundle, IntegerAttr):
            groups.setdefault(bundle.value.data, []).append(number)
    joined: list[list[int]] = []
    for group in groups.values():
        begun = [item for number in group if isinstance(item := items[number], sched.CollectiveOp)]
        _check_alike(begun)
        joined += [group, [items.index(item.awaited) for item in begun if item.awaited is not None]]
    return [group for group in joined if len(group) > 1]


def _check_alike(bundle: Sequence[sched.CollectiveOp]) -> None:
    first = bundle[0]
    mine = first.collective.data
    for op in bundle:
        its = op.collective.data
        is_alike = replace(its.asked, channel=mine.channel) == mine.asked
        types = [element_type_of(each.function_type.inputs.data[0]) for each in (first, op)]
        if not is_alike or mine.kind != "all_reduce" or types[0] != types[1]:
            raise PassFailedException(
                f"{op.name}: {its.text} is in one bundle with {mine.text}, which is no sum of its kind"
            )


def _merged(items: Sequence[Item]) -> Operation:
    """Returns the one item that stands for several: it begins, or awaits, all that they do."""
    first = items[0]
    if len(items) == 1:
        return first
    parts = [item for item in items if isinstance(item, sched.CollectiveItem)]
    type = FunctionType.from_lists(
        [each for part in parts for each in part.function_type.inputs],
        [each for part in parts for each in part.function_type.outputs],
    )
    arguments = [buffer for part in parts for buffer in part.arguments]
    targets = [buffer for part in parts for buffer in part.targets]
    merged: sched.CollectiveItem
    if isinstance(first, sched.CollectiveOp):
        merged = sched.CollectiveOp(first.collective, type, arguments, targets)
        # In one block: all of them are, or none is.
        if (said := first.attributes.get(DIVERGENT)) is not None:
            merged.attributes[DIVERGENT] = said
    else:
        assert isinstance(first, sched.AwaitOp), f"{first.name}: is in a bundle"
        merged = sched.AwaitOp(first.channel, type, arguments, targets)
    merged.location = first.location
    merged.token.name_hint = first.token.name_hint
    return merged
