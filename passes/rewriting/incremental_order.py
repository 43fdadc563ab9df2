"""An order of items that grows constraint by constraint, and refuses those that would make a cycle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class IncrementalOrder:
    """
    An order of the items 0 to n - 1, at first that of their numbers, and the pairs "a comes before b" that it
    keeps. A pair that the order contradicts moves no more items than lie between the two; this is the
    algorithm of Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006.
    """

    def __init__(self, n_items: int) -> None:
        self._successors: list[list[int]] = [[] for _ in range(n_items)]
        self._predecessors: list[list[int]] = [[] for _ in range(n_items)]
        self._ranks = list(range(n_items))

    def add(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Adds all pairs and returns True, or adds none and returns False where they would make a cycle."""
        added: list[tuple[int, int]] = []
        for before, after in pairs:
            if not self._make_room(before, after):
                for undone_before, undone_after in reversed(added):
                    self._successors[undone_before].pop()
                    self._predecessors[undone_after].pop()
                return False
            self._successors[before].append(after)
            self._predecessors[after].append(before)
            added.append((before, after))
        return True

    def items(self) -> list[int]:
        """Returns the items in order."""
        return sorted(range(len(self._ranks)), key=self._ranks.__getitem__)

    def _make_room(self, before: int, after: int) -> bool:
        """Brings `before` to a lower rank than `after`; returns False where a cycle forbids it."""
        ranks = self._ranks
        low, high = ranks[after], ranks[before]
        if high < low:
            return True
        behind = self._reached(after, self._successors, low, high)
        if before in behind:
            return False
        ahead = self._reached(before, self._predecessors, low, high)
        moved = [*sorted(ahead, key=ranks.__getitem__), *sorted(behind, key=ranks.__getitem__)]
        for item, rank in zip(moved, sorted(ranks[item] for item in moved), strict=True):
            ranks[item] = rank
        return True

    def _reached(self, start: int, edges: Sequence[Sequence[int]], low: int, high: int) -> dict[int, None]:
        """Returns what `edges` lead to from `start` by items whose rank is from `low` to `high`."""
        found = {start: None}
        waiting = [start]
        while waiting:
            for item in edges[waiting.pop()]:
                if item not in found and low <= self._ranks[item] <= high:
                    found[item] = None
                    waiting.append(item)
        return found
