"""The steps of a program, which a driver binds: what runs, on which of the program's buffers, after what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Runs a kernel on the buffers of these numbers. `grid` counts work-groups, `block` work-items of one."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    buffers: tuple[int, ...]
    after: tuple[int, ...] = ()
    """The steps, by number, that must be done before."""
    nanoseconds: int = 0
    """What the run is expected to take on one thread; 0 where nothing is known."""
    sizes: tuple[int, ...] = ()
    """The values of the kernel's dims, which are its arguments before the buffers."""
    reads: tuple[int, ...] = field(default=(), compare=False)
    writes: tuple[int, ...] = field(default=(), compare=False)
    """Which of `buffers` the kernel reads and writes, for people; both are empty where nobody has looked."""


@dataclass(frozen=True, slots=True)
class CopyStep:
    """Copies one buffer to another."""

    source: int
    target: int
    nbytes: int
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncStep:
    """Makes all later steps wait for all earlier ones."""


HostFunction = Callable[[Sequence[npt.NDArray[np.uint8]], Sequence[npt.NDArray[np.uint8]]], None]
"""
What a program calls on the host: it is given the bytes of the buffers that it reads, and fills those that it
writes. Both are views that are not to be used after it returns.
"""


@dataclass(frozen=True, slots=True)
class HostStep:
    """
    Calls a function in the thread that runs the program, after all steps before it; those that come later
    wait for it. No later step runs after it raised, and the error is the caller's. `what` says what it does
    for people, `call` is its number among the program's calls of the host. `function` is None until the
    program is linked; meanwhile no lock of the driver is held that others wait for.
    """

    what: str
    call: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    after: tuple[int, ...] = ()
    nbytes: tuple[int, ...] = ()
    """The bytes of each buffer that it reads, then of those that it writes."""
    takes: bool = True
    """Whether its function looks at what it reads: not where it waits for what an earlier step has taken."""
    fills: bool = True
    """Whether what it writes is there when it returns: else a later step waits for it."""
    function: HostFunction | None = field(default=None, compare=False)

    @property
    def buffers(self) -> tuple[int, ...]:
        return (*self.reads, *self.writes)


@dataclass(frozen=True, slots=True)
class RowPlace:
    """
    A buffer that is a part of another one, and moves: in iteration `i` of its loop buffer `row` begins
    `i * stride_nbytes` bytes into buffer `source`. One that a `PlaceStep` places is that of iteration 1.
    """

    row: int
    source: int
    stride_nbytes: int


@dataclass(frozen=True, slots=True)
class LoopStep:
    """
    Begins a counted loop: the steps behind it, up to step `end`, which is its `NextStep`, run `count` times,
    once or more. While iteration `i` runs, buffer `counter`, an i64, holds `i`, and `rows` lie where they
    say; `i` counts up from 0, or with `reverse` down to 0.
    """

    count: int
    end: int
    reverse: bool = False
    counter: int | None = None
    rows: tuple[RowPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class PlaceStep:
    """Puts rows where they stay: each begins `stride_nbytes` bytes into its source."""

    rows: tuple[RowPlace, ...]


@dataclass(frozen=True, slots=True)
class NextStep:
    """Ends an iteration of the loop that step `begin` begins: goes on behind that, or behind this one."""

    begin: int


@dataclass(frozen=True, slots=True)
class BranchStep:
    """Goes on with step `target`, which is further down, where the byte in buffer `condition` is 0."""

    condition: int
    target: int


@dataclass(frozen=True, slots=True)
class JumpStep:
    """Goes on with step `target`. One further up is the condition of a loop without a count."""

    target: int


ControlStep = LoopStep | NextStep | BranchStep | JumpStep | PlaceStep

CONTROL_STEPS = (LoopStep, NextStep, BranchStep, JumpStep, PlaceStep)
"""The steps that say which step is next, or where rows are. Programs with such steps run in their order."""

Step = LaunchStep | CopyStep | SyncStep | HostStep | ControlStep


def buffers_of(step: Step) -> tuple[int, ...]:
    """Returns the numbers of the buffers that a step uses."""
    match step:
        case LaunchStep() | HostStep():
            return step.buffers
        case CopyStep():
            return (step.source, step.target)
        case LoopStep():
            return () if step.counter is None else (step.counter,)
        case BranchStep():
            return (step.condition,)
        case SyncStep() | NextStep() | JumpStep() | PlaceStep():
            return ()


@dataclass(frozen=True, slots=True)
class StepTime:
    """
    When one step of a timed run began and ended, in nanoseconds since the run began, and how often it ran.
    One that ran several times began when it first did, and ends as much later as all its runs took together.
    """

    begin_ns: int
    end_ns: int
    n_runs: int = 1
