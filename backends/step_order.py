"""Which steps of a program must wait for which."""

from __future__ import annotations

from collections.abc import Sequence

from .steps import CONTROL_STEPS, CopyStep, HostStep, LaunchStep, Step, SyncStep


def check_order(steps: Sequence[Step]) -> None:
    """Asserts that each step waits only for steps before it."""
    for number, step in enumerate(steps):
        if isinstance(step, LaunchStep | CopyStep | HostStep):
            late = [before for before in step.after if not 0 <= before < number]
            assert not late, f"step {number} waits for steps {late}, which are not before it"


def runs_as_written(steps: Sequence[Step]) -> bool:
    """
    Returns whether steps run in the order they give: some several times, only sometimes, or on the host.
    """
    return any(isinstance(step, (*CONTROL_STEPS, HostStep)) for step in steps)


def waits_of(steps: Sequence[Step]) -> list[tuple[int, ...]]:
    """
    Returns the steps that each step waits for, without those that another one of them waits for already. A
    `SyncStep` waits for all that nothing before it waits for, and everything after it waits for it.

    Programs with steps of control flow or of the host have no such order: they run one after the other.
    """
    assert not runs_as_written(steps), "steps that run in an order of their own"
    check_order(steps)
    waits: list[tuple[int, ...]] = []
    # one bit for each step: all that a step comes after
    before: list[int] = []
    last_sync = -1
    leaves: set[int] = set()
    for number, step in enumerate(steps):
        if isinstance(step, SyncStep):
            wanted = tuple(sorted(leaves))
            last_sync = number
        else:
            assert isinstance(step, LaunchStep | CopyStep)
            wanted = tuple(sorted({*step.after, last_sync} - {-1}))
        implied = 0
        for other in wanted:
            implied |= before[other]
        kept = tuple(other for other in wanted if not implied >> other & 1)
        waits.append(kept)
        for other in kept:
            implied |= 1 << other
        before.append(implied)
        leaves.difference_update(kept)
        leaves.add(number)
    return waits


def leaves_of(waits: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Returns the steps that no step waits for."""
    waited = {other for wanted in waits for other in wanted}
    return tuple(number for number in range(len(waits)) if number not in waited)


def is_chain(waits: Sequence[Sequence[int]]) -> bool:
    """Returns whether each step waits for the one before it, so that no two could run at once."""
    return all(list(wanted) == [number - 1] for number, wanted in enumerate(waits) if number)
