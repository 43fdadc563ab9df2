"""What ranks that are threads of one process share: where they meet, and who waits for whom."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from ...errors import RankError
from .meeting import Meeting


@dataclass(slots=True)
class Waiting:
    """What a rank waits for: the ranks that it needs, and the words for it."""

    is_over: Callable[[], bool]
    needs: Callable[[], Sequence[int]]
    what: str


@dataclass(slots=True)
class State:
    """
    What the ranks of one process share, guarded by `changed`. A rank that has ended, well or not, has its
    reason in `ended`; one that waits is in `waiting`.
    """

    size: int
    changed: threading.Condition = field(default_factory=threading.Condition)
    meetings: dict[Hashable, Meeting] = field(default_factory=dict[Hashable, Meeting])
    digests: dict[Hashable, dict[int, tuple[bytes, str]]] = field(
        default_factory=dict[Hashable, dict[int, tuple[bytes, str]]]
    )
    ended: dict[int, str] = field(default_factory=dict[int, str])
    waiting: dict[int, Waiting] = field(default_factory=dict[int, Waiting])
    deadlock: RankError | None = None

    def wait(self, rank: int, waiting: Waiting) -> None:
        """
        Blocks until what a rank waits for is over.

        Raises:
            RankError: a rank that it needs has ended, or all ranks that run wait for one another.
        """
        self.waiting[rank] = waiting
        try:
            while not waiting.is_over():
                self._look_for_deadlock()
                if self.deadlock is not None:
                    raise RankError(self.deadlock.message)
                for needed in waiting.needs():
                    if needed in self.ended:
                        raise RankError(
                            f"rank {rank} waits for {waiting.what}, and rank {needed} {self.ended[needed]}",
                            needed,
                        )
                self.changed.wait()
        finally:
            del self.waiting[rank]

    def _look_for_deadlock(self) -> None:
        """Notes a deadlock where every rank that runs waits, and none for what is over or will never be."""
        running = [rank for rank in range(self.size) if rank not in self.ended]
        for rank in running:
            waiting = self.waiting.get(rank)
            if waiting is None or waiting.is_over() or any(need in self.ended for need in waiting.needs()):
                return
        if self.deadlock is None:
            lines = [f"rank {rank} waits for {self.waiting[rank].what}" for rank in running]
            self.deadlock = RankError(f"the ranks wait for one another: {'; '.join(lines)}")
            self.changed.notify_all()

    def end(self, rank: int, reason: str) -> None:
        """Notes that a rank will begin nothing more, and why."""
        with self.changed:
            self.ended[rank] = reason
            self.changed.notify_all()
