"""What a program sends to other ranks, as a part of its memory plan."""

from __future__ import annotations

from dataclasses import dataclass

from ...backends.steps import HostStep
from ..plan.host_calls import HostCall
from ..plan.program_plan import ProgramPlan


@dataclass(frozen=True, slots=True)
class PlannedExchange:
    """
    One collective. It begins at `first_step`; the buffers `reads` and `writes` are its own until `last_step`
    awaits it. A rank sends `sent_nbytes` each time that it runs. `joined_nbytes` is what the host takes
    besides meanwhile, where several buffers are exchanged as one. `where` is the place of the op that asked
    for it; it may be empty.
    """

    name: str
    channel: int
    first_step: int
    last_step: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    sent_nbytes: int
    joined_nbytes: int
    where: str


def exchanges_of(plan: ProgramPlan) -> tuple[PlannedExchange, ...]:
    """Returns the collectives of a program of known sizes, in the order of their steps."""
    calls = [
        (number, step, plan.host_calls[step.call])
        for number, step in enumerate(plan.steps)
        if isinstance(step, HostStep)
    ]
    return tuple(
        _exchange(plan, number, step, call, calls)
        for number, step, call in calls
        if call.collective is not None and not call.awaits
    )


def _exchange(
    plan: ProgramPlan,
    number: int,
    step: HostStep,
    call: HostCall,
    calls: list[tuple[int, HostStep, HostCall]],
) -> PlannedExchange:
    collective = call.collective
    assert collective is not None, f"{call}: exchanges nothing"
    sent = sum(
        collective.sent_nbytes(source.shape, target.shape, source.dtype.itemsize)
        for source, target in zip(call.argument_types, call.result_types, strict=True)
    )
    awaited = [
        later
        for later, _, other in calls
        if later > number and other.awaits and other.collective is not None
        if other.collective.channel == collective.channel
    ]
    own = sum(plan.buffers[each].nbytes for each in step.buffers)
    return PlannedExchange(
        f"{collective.kind} {collective.reduction or ''}".strip(),
        collective.channel,
        number,
        # In a loop it may be awaited by the next iteration.
        awaited[0] if awaited else len(plan.steps),
        step.reads,
        step.writes,
        round(sent),
        own if len(step.reads) > 1 else 0,
        collective.where,
    )
