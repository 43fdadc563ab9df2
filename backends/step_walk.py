"""Which step of a program is next, where the host decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from .steps import BranchStep, JumpStep, LoopStep, NextStep, PlaceStep, RowPlace, Step, StepTime


class ControlHost(Protocol):
    """What control steps do to buffers."""

    def place_row(self, row: RowPlace, iteration: int) -> None:
        """Puts a row where it is in an iteration of its loop; one without a loop is in iteration 1."""
        ...

    def set_counter(self, buffer: int, iteration: int) -> None:
        """Writes the number of an iteration into an i64 buffer."""
        ...

    def holds(self, buffer: int) -> bool:
        """Waits for all steps so far, and returns whether the byte that a buffer holds is not 0."""
        ...


def walk(steps: Sequence[Step], host: ControlHost) -> Iterator[int]:
    """Yields the numbers of the steps to run, one after the other, and does the control steps on the way."""
    # By the step that begins a loop: a loop in a loop begins anew each time.
    iterations: dict[int, Iterator[int]] = {}
    number = 0
    while number < len(steps):
        step = steps[number]
        following = number + 1
        match step:
            case LoopStep():
                indices = range(step.count)
                iterations[number] = iter(reversed(indices) if step.reverse else indices)
                _enter(step, next(iterations[number]), host)
            case NextStep():
                loop = steps[step.begin]
                assert isinstance(loop, LoopStep), f"step {step.begin} begins no loop"
                iteration = next(iterations[step.begin], None)
                if iteration is not None:
                    _enter(loop, iteration, host)
                    following = step.begin + 1
            case BranchStep():
                if not host.holds(step.condition):
                    following = step.target
            case JumpStep():
                following = step.target
            case PlaceStep():
                for row in step.rows:
                    host.place_row(row, 1)
            case _:
                yield number
        number = following


def _enter(loop: LoopStep, iteration: int, host: ControlHost) -> None:
    if loop.counter is not None:
        host.set_counter(loop.counter, iteration)
    for row in loop.rows:
        host.place_row(row, iteration)


class StepTimes:
    """The times of a program's steps, added up."""

    def __init__(self, n_steps: int) -> None:
        self._times: list[tuple[int, int, int] | None] = [None] * n_steps

    def add(self, number: int, begin_ns: int, end_ns: int, n_runs: int = 1) -> None:
        """Adds one run of a step, or several that took as long together."""
        first, taken, n_before = self._times[number] or (begin_ns, 0, 0)
        self._times[number] = (first, taken + end_ns - begin_ns, n_before + n_runs)

    def all(self) -> list[StepTime]:
        """Returns the times of all steps. One that did not run ends when the one before it does."""
        times: list[StepTime] = []
        end = 0
        for time in self._times:
            if time is None:
                times.append(StepTime(end, end, 0))
            else:
                begin, taken, n_runs = time
                end = begin + taken
                times.append(StepTime(begin, end, n_runs))
        return times
