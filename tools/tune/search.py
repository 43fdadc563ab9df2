"""
The search for a schedule of one kernel.

Schedules are tried one by one, in turns of those that `starts` gives and of the neighbours of the best so
far; once one is better, its neighbours are next. Those that `estimate.py` takes for the cheapest come first,
and a seed decides among those that it takes for about as dear. Each one is compiled, its
results are compared with those of the default schedule, and it is timed in turns with that. One that is much
slower at once is given up. In the end the best and the default run in turns once more; the best wins only if
its least time is less by a margin, and it was the faster of the two in most turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log2
from random import Random
from typing import Any

from ...errors import TenonError
from ...passes.sched.steps.kernel_key import kernel_text
from .bench import Bench
from .candidates import Candidate, neighbours, starts
from .estimate import estimated_cost
from .kernels import TunableKernel, TunableProgram, sizes_of
from .report import KernelReport

ROUNDS = 5
"""How often a candidate and the default run in turns."""

FINAL_ROUNDS = 15

MARGIN = 0.97
"""The share of the default's time that a schedule must stay below to be kept."""

WINS = 2 / 3
"""The share of the turns in which it must be the faster one."""

HOPELESS = 1.5
"""How many times as slow as the best a candidate is in its first two runs, to be given up."""

NO_TIME = "no time was left for it"
"""Why a kernel was not searched."""

FINAL_SHARE = 0.1
"""The share of the time that is kept for the last comparison."""

ORDERING_SHARE = 0.1
"""The share of the time that is left in which candidates are put in order, at one place of the search."""

_LONGEST_REASON = 90


class Deadline:
    """A point in time by a clock in seconds, and how long the longest piece of work has taken so far."""

    def __init__(self, clock: Callable[[], float], end: float) -> None:
        self.clock = clock
        self.end = end
        self._longest = 0.0

    def has_time(self) -> bool:
        """Returns whether a piece of work as long as the longest so far would end in time."""
        return self.clock() + self._longest < self.end

    def note(self, begin: float) -> None:
        """Notes that a piece of work that began at `begin` is done."""
        self._longest = max(self._longest, self.clock() - begin)


@dataclass
class _Best:
    """The best candidate so far, and its time as a share of the default's."""

    candidate: Candidate | None = None
    compiled: Any = None
    ratio: float = 1.0


@dataclass
class KernelSearch:
    """Searches for a schedule of one kernel; `seen` is told of each candidate."""

    program: TunableProgram
    kernel: TunableKernel
    bench: Bench
    deadline: Deadline
    share: float
    seed: int = 0
    seen: Callable[[], object] = lambda: None
    measured: int = 0
    rejected: dict[str, int] = field(default_factory=dict[str, int])
    _texts: set[str] = field(default_factory=set[str])
    _illegal: set[str] = field(default_factory=set[str])

    def run(self) -> KernelReport:
        """Returns what was found by the deadline."""
        begin = self.deadline.clock()
        default = self.bench.default
        self.bench.nanoseconds(default)
        self.deadline.note(begin)
        best = _Best()
        ends = self.deadline.end
        self.deadline.end -= FINAL_SHARE * (ends - self.deadline.clock())
        try:
            for candidate in self._candidates(best):
                if not self.deadline.has_time():
                    break
                self._try(candidate, default, best)
                self.seen()
        finally:
            self.deadline.end = ends
        return self._decided(default, best)

    def _candidates(self, best: _Best) -> Iterator[Candidate]:
        """
        Yields what to try next, nothing twice: in turns a place to start from, and a neighbour of what is
        best by then.
        """
        known: set[str] = set()
        random = Random(self.seed)
        others = self._starts(random)
        begun: list[Candidate] = []
        near: list[Candidate] = []
        center: Candidate | None = None
        """The candidate that was best when its neighbours were listed, the first one before there was any."""

        def is_new(candidate: Candidate) -> bool:
            key = candidate.key
            if key in known:
                return False
            known.add(key)
            return True

        # Starts and neighbours take turns: starts alone never improve, neighbours alone stay at one optimum.
        while True:
            start = next((candidate for candidate in others if is_new(candidate)), None)
            if start is not None:
                begun.append(start)
                yield start
            leader = best.candidate or (begun[0] if begun else None)
            if center is not leader and (center is None or best.candidate is not None):
                center = leader
                near = self._ordered_neighbours(center, random)
            neighbour = None
            while near and neighbour is None:
                candidate = near.pop()
                neighbour = candidate if is_new(candidate) else None
            if neighbour is not None:
                yield neighbour
            elif start is None:
                # The best has no untried neighbour left: go on from the starts, the first ones first.
                if not begun:
                    return
                near = self._ordered_neighbours(begun.pop(0), random)

    def _starts(self, random: Random) -> Iterator[Candidate]:
        """Yields the default schedule, and then the other places to start from."""
        found = starts(self.kernel.op, self.program.mapped)
        yield next(found)
        yield from reversed(self.ordered(found, random))

    def _ordered_neighbours(self, center: Candidate | None, random: Random) -> list[Candidate]:
        return [] if center is None else self.ordered(neighbours(center, self.kernel.op), random)

    def ordered(self, candidates: Iterable[Candidate], random: Random) -> list[Candidate]:
        """
        Returns candidates, the ones that are expected to be the fastest last; without those that are not
        legal, and, where that would take too much of the time, without those that nobody has looked at yet.
        """
        now, sizes = self.deadline.clock(), sizes_of(self.program, ())
        end = now + ORDERING_SHARE * (self.deadline.end - now)
        costs: list[tuple[int, Candidate]] = []
        for candidate in candidates:
            if self.deadline.clock() >= end:
                break
            try:
                scheduled = candidate.scheduled(self.kernel.op)
            except TenonError as error:
                self._reject_once(candidate, error)
                continue
            cost = estimated_cost(scheduled, self.program.vector_nbytes, sizes)
            # By design: an estimate tells no more than that.
            costs.append((round(4 * log2(max(cost, 1))), candidate))
        random.shuffle(costs)
        costs.sort(key=lambda each: -each[0])
        return [candidate for _, candidate in costs]

    def _reject_once(self, candidate: Candidate, error: TenonError) -> None:
        if candidate.key not in self._illegal:
            self._illegal.add(candidate.key)
            self._reject(_reason(error.message))

    def _try(self, candidate: Candidate, default: Any, best: _Best) -> None:
        begin = self.deadline.clock()
        try:
            scheduled = candidate.scheduled(self.kernel.op)
            text = kernel_text(scheduled)
            if text in self._texts:
                return
            self._texts.add(text)
            compiled = self.bench.compiled(scheduled)
        except TenonError as error:
            self._reject(_reason(error.message))
            return
        finally:
            self.deadline.note(begin)
        difference = self.bench.difference(compiled)
        if difference is not None:
            self._reject(f"other results: {difference}")
            return
        self.measured += 1
        ratio = self._ratio(compiled, default, best.ratio)
        if ratio is not None and ratio < best.ratio:
            best.candidate, best.compiled, best.ratio = candidate, compiled, ratio

    def _ratio(self, compiled: Any, default: Any, best: float) -> float | None:
        """Returns the time of a kernel as a share of the default's, None where it is hopeless."""
        mine: list[int] = []
        others: list[int] = []
        for number in range(ROUNDS):
            others.append(self.bench.nanoseconds(default))
            mine.append(self.bench.nanoseconds(compiled))
            if number == 1 and min(mine) > HOPELESS * best * min(others):
                return None
        return min(mine) / min(others)

    def _decided(self, default: Any, best: _Best) -> KernelReport:
        """Compares the best with the default once more."""
        mine: list[int] = []
        others: list[int] = []
        # In turns, so that a change of clock or load falls on both. The search has seen the least of many
        # noisy times, so what it found best may be luck.
        for _ in range(FINAL_ROUNDS):
            others.append(self.bench.nanoseconds(default))
            if best.candidate is not None:
                mine.append(self.bench.nanoseconds(best.compiled))
            if self.deadline.clock() >= self.deadline.end and len(others) >= 3:
                break
        steps: tuple[Mapping[str, Any], ...] = ()
        why = "no schedule was faster"
        if best.candidate is not None:
            wins = sum(my < other for my, other in zip(mine, others, strict=True))
            is_faster = min(mine) < MARGIN * min(others) and wins >= WINS * len(mine)
            why = "faster" if is_faster else "not faster by 3 % when it was measured again"
            if is_faster:
                steps = tuple(best.candidate.steps)
        elif not self.measured:
            why = "no other schedule is possible" if self.rejected else NO_TIME
        return KernelReport(
            self.kernel.name,
            self.share,
            self.measured,
            dict(sorted(self.rejected.items(), key=lambda item: (-item[1], item[0]))),
            min(others),
            min(mine) if steps else min(others),
            steps,
            why,
        )

    def _reject(self, reason: str) -> None:
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


def _reason(message: str) -> str:
    """Returns a message without what names one axis or number of many, so that they are counted together."""
    text = message.split(": ")
    reason = text[-1] if len(text) > 1 else message
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 3]}..."
