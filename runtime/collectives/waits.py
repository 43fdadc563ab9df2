"""Ranks that wait in a circle: each in a world of some ranks, for one that waits in another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

Ranks = tuple[int, ...]
"""The ranks of a world, which tell it from others."""


@dataclass(frozen=True)
class Wait:
    """
    What a rank waits for, and nothing begins before it: `what`, the one of that `number` in the world of
    `ranks`, with those that it `needs`; and how many it has `begun` in each world that it has a part in.
    """

    what: str
    ranks: Ranks
    number: int
    needs: Ranks
    begun: Mapping[Ranks, int]

    def is_for(self, rank: int, other: Wait) -> bool:
        """Returns whether it is over only after what `rank` waits for is: `other`."""
        return rank in self.needs and other.begun.get(self.ranks, 0) < self.number

    @property
    def message(self) -> bytes:
        begun = [[list(ranks), count] for ranks, count in self.begun.items()]
        return json.dumps([self.what, self.ranks, self.number, self.needs, begun]).encode()

    @staticmethod
    def of(message: bytes) -> Wait:
        """Returns what a message says."""
        what, ranks, number, needs, begun = json.loads(message)
        return Wait(what, tuple(ranks), number, tuple(needs), {tuple(each): count for each, count in begun})


def circle(rank: int, waits: Mapping[int, Wait]) -> list[int] | None:
    """
    Returns ranks, `rank` first, of which each waits for the next one and the last for the first; None where
    that is not known. What others said may be old: none of a circle can have gone on, as it would have had to
    before all others.
    """
    before: dict[int, int] = {rank: rank}
    waiting = [rank]
    while waiting:
        now = waiting.pop(0)
        for other in waits[now].needs:
            if other == now or other not in waits or not waits[now].is_for(other, waits[other]):
                continue
            if other == rank:
                found = [now]
                while found[-1] != rank:
                    found.append(before[found[-1]])
                return found[::-1]
            if other not in before:
                before[other] = now
                waiting.append(other)
    return None
