"""Ranks that are threads of one process: what they wait for in vain is an error at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from ...dialects.grids import group_of
from ...errors import RankError
from ..collectives import Collective
from ..numpy_types import Array
from ..world import difference
from .local_state import State, Waiting
from .meeting import Gift, Meeting, described
from .yielding import yield_until


@dataclass(slots=True)
class _Request:
    state: State
    rank: int
    collective: Collective
    meeting: Meeting

    def wait(self) -> None:
        meeting = self.meeting
        if yield_until(lambda: meeting.is_done):
            return
        with self.state.changed:
            self.state.wait(
                self.rank,
                Waiting(
                    lambda: meeting.is_done or meeting.error is not None,
                    lambda: meeting.missing,
                    f"{described(self.collective)} of ranks {', '.join(map(str, meeting.group))}",
                ),
            )
            if meeting.error is not None:
                raise RankError(meeting.error.message, meeting.error.rank)


@dataclass(slots=True)
class _Check:
    state: State
    rank: int
    ranks: tuple[int, ...]
    digests: dict[int, tuple[bytes, str]]

    def wait(self) -> None:
        state, ranks, digests = self.state, self.ranks, self.digests
        with state.changed:
            state.wait(
                self.rank,
                Waiting(
                    lambda: len(digests) == len(ranks),
                    lambda: [rank for rank in ranks if rank not in digests],
                    f"the others' {digests[self.rank][1]}",
                ),
            )
            found = [digests[rank] for rank in ranks]
        if differing := [place for place, each in enumerate(found) if each != found[0]]:
            raise difference(ranks, differing, [what for _, what in found])


class LocalWorld:
    """
    One rank among the threads of a process; `local_worlds` makes all of them. Each is used by one thread at a
    time. Collectives are exchanged in the thread that begins last. Ranks begin the collectives of a group in
    one order, whatever their channels: where they differ, or a rank waits for one that has ended, or all wait
    for one another, that is an error at once.
    """

    def __init__(self, rank: int, state: State, ranks: tuple[int, ...] | None = None) -> None:
        self.rank = rank
        self._ranks = tuple(range(state.size)) if ranks is None else ranks
        self.size = len(self._ranks)
        self._state = state
        self._counts: Counter[Hashable] = Counter()
        self._parts: dict[tuple[int, ...], LocalWorld] = {}

    def __repr__(self) -> str:
        return f"LocalWorld(rank {self.rank} of {self.size})"

    def begin(self, collective: Collective, operand: Array, result: Array) -> _Request:
        """See `World.begin`."""
        members = group_of(collective.grid, collective.axes, self.rank)
        group, own = tuple(self._ranks[member] for member in members), self._ranks[self.rank]
        key = self._ranks, collective.grid, collective.axes, group
        state = self._state
        with state.changed:
            number = self._counts[key] = self._counts[key] + 1
            meeting = state.meetings.setdefault((key, number), Meeting(group))
            meeting.join(own, Gift(collective, operand, result))
            if not meeting.missing:
                del state.meetings[key, number]
            state.changed.notify_all()
        return _Request(state, own, collective, meeting)

    def begin_check(self, digest: bytes, what: str) -> _Check:
        """See `World.begin_check`."""
        state, own = self._state, self._ranks[self.rank]
        with state.changed:
            number = self._counts["digests"] = self._counts["digests"] + 1
            key = self._ranks, number
            digests = state.digests.setdefault(key, {})
            digests[own] = digest, what
            if len(digests) == self.size:
                del state.digests[key]
            state.changed.notify_all()
        return _Check(state, own, self._ranks, digests)

    def part(self, ranks: tuple[int, ...]) -> LocalWorld:
        """See `World.part`."""
        if ranks == tuple(range(self.size)):
            return self
        if ranks not in self._parts:
            among = tuple(self._ranks[rank] for rank in ranks)
            self._parts[ranks] = LocalWorld(ranks.index(self.rank), self._state, among)
        return self._parts[ranks]

    def end(self, reason: str = "has ended") -> None:
        """Tells the others that this rank begins nothing more: those that wait for it get an error."""
        self._state.end(self._ranks[self.rank], reason)


def local_worlds(size: int) -> tuple[LocalWorld, ...]:
    """Returns the worlds of `size` ranks of this process, each for a thread of its own."""
    state = State(size)
    return tuple(LocalWorld(rank, state) for rank in range(size))
