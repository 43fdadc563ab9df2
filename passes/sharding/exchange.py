"""
Who sends which elements along a dim to whom, where members of a group want others than they have.

A halo is the case in which each member wants some rows more than it has, which its neighbours have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache

from ...dialects.sharding import Interval
from ...dialects.sharding.blocks import common, length


@dataclass(frozen=True)
class Message:
    """The indices of a dim that member `source` sends to member `target`, for which of those it wants."""

    source: int
    target: int
    interval: Interval
    piece: int = 0


Round = tuple[Message, ...]
"""Messages in which each member sends at most one and gets at most one."""


@dataclass(frozen=True)
class Exchange:
    """The rounds in which members get what they want and have not, and how many indices are sent in all."""

    rounds: tuple[Round, ...]
    n_indices: int


@lru_cache(1024)
def exchange_of(owned: tuple[Interval, ...], *wanted: tuple[Interval, ...]) -> Exchange:
    """
    Returns how members that have `owned` get `wanted`, all of which somebody has: several pieces each, whose
    messages share rounds.
    """
    owners: dict[Interval, list[int]] = defaultdict(list)
    for member, interval in enumerate(owned):
        if length(interval):
            owners[interval].append(member)
    intervals = sorted(owners)
    begins = [begin for begin, _ in intervals]
    messages: list[Message] = []
    for piece, wants in enumerate(wanted):
        for target, (want, own) in enumerate(zip(wants, owned, strict=True)):
            for missing in _without(want, own):
                messages += _sent(target, piece, missing, intervals, begins, owners)
    return Exchange(_rounds(messages, len(owned)), sum(length(message.interval) for message in messages))


def _without(want: Interval, own: Interval) -> list[Interval]:
    """Returns what is in `want` and not in `own`."""
    shared = common(want, own)
    if not length(shared):
        return [want] if length(want) else []
    return [part for part in ((want[0], shared[0]), (shared[1], want[1])) if length(part)]


def _sent(
    target: int,
    piece: int,
    missing: Interval,
    intervals: list[Interval],
    begins: list[int],
    owners: dict[Interval, list[int]],
) -> list[Message]:
    found: list[Message] = []
    begin = missing[0]
    at = max(bisect_right(begins, begin) - 1, 0)
    while begin < missing[1]:
        assert at < len(intervals) and intervals[at][0] <= begin, f"nobody has index {begin}"
        sent = common((begin, missing[1]), intervals[at])
        if length(sent):
            members = owners[intervals[at]]
            # The nearest one: which of equal parts is sent matters to no result.
            source = min(members, key=lambda member: (abs(member - target), member))
            found.append(Message(source, target, sent, piece))
            begin = sent[1]
        at += 1
    return found


def _rounds(messages: list[Message], size: int) -> tuple[Round, ...]:
    """
    Returns messages in rounds: those over one distance, the last member beside the first one, are one where
    that takes no more rounds than any member has messages, and else each message goes into the first round
    that is free on both ends.
    """
    if not messages:
        return ()
    ends = Counter(message.source for message in messages), Counter(message.target for message in messages)
    most = max(max(count.values()) for count in ends)
    by_distance: dict[int, list[Message]] = defaultdict(list)
    for message in messages:
        by_distance[(message.target - message.source) % size].append(message)
    pairs = {(message.source, message.target) for message in messages}
    if len(by_distance) <= most and len(pairs) == len(messages):
        return tuple(tuple(by_distance[distance]) for distance in sorted(by_distance))
    rounds: list[list[Message]] = []
    senders: list[set[int]] = []
    getters: list[set[int]] = []
    for message in messages:
        busy = zip(senders, getters, strict=True)
        is_free = (message.source not in out and message.target not in into for out, into in busy)
        at = next((number for number, free in enumerate(is_free) if free), len(rounds))
        if at == len(rounds):
            rounds.append([])
            senders.append(set())
            getters.append(set())
        rounds[at].append(message)
        senders[at].add(message.source)
        getters[at].add(message.target)
    return tuple(map(tuple, rounds))
