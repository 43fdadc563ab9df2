"""A collective of MPI that has begun."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import RankError

if TYPE_CHECKING:
    from .mpi_world import MpiWorld

_YIELDS = 200
"""How often a waiting rank only lets others run before it sleeps: short messages are there by then."""

_FIRST_SLEEP, _LAST_SLEEP = 20e-6, 1e-3

_LOOK_SECONDS = 0.02
"""How often a rank that waits looks whether others have ended."""

_TELL_SECONDS = 1.0
"""After how long it tells them what it waits for."""


class MpiRequest:
    """
    Owned by who began it, who must wait for it once. It holds on to the memory that MPI reads and writes.
    `test` may be called by another thread, so that MPI gets on.
    """

    def __init__(
        self,
        world: MpiWorld,
        number: int,
        what: str,
        ranks: Sequence[int],
        handles: Sequence[Any],
        finish: Callable[[], None] | None,
        kept: object,
    ) -> None:
        self.world = world
        self.number = number
        self.what = what
        self.ranks = ranks
        self._handles = list(handles)
        self._finish = finish
        self._kept = kept
        self._lock = threading.Lock()

    def test(self) -> bool:
        """Returns whether all messages are there, and lets MPI get on with them."""
        with self._lock:
            try:
                self._handles = [handle for handle in self._handles if not handle.Test()]
            except self.world.mpi.Exception as error:
                text = " ".join(str(error).split())
                raise RankError(f"rank {self.world.rank}: {self.what}: {text}") from None
            return not self._handles

    def wait(self) -> None:
        """
        Waits until the result is there.

        Raises:
            RankError: a rank that it needs has ended or waits for another collective, or the time is over.
        """
        world = self.world
        if not self.test():
            with world.waiting():
                self._wait()
        world.forget(self)
        if self._finish is not None:
            self._finish()
            self._finish = None
        self._kept = None

    def _wait(self) -> None:
        ends, began = self.world.ends, time.monotonic()
        looked, has_told, tries, pause = began, False, 0, _FIRST_SLEEP
        while not self.test():
            tries += 1
            time.sleep(0 if tries < _YIELDS else pause)
            if tries < _YIELDS:
                continue
            pause = min(pause * 1.2, _LAST_SLEEP)
            now = time.monotonic()
            if now - looked < _LOOK_SECONDS:
                continue
            looked = now
            ends.look()
            self._check_others()
            if now - began > _TELL_SECONDS and not has_told:
                has_told = True
                ends.tell(self.number, self.what)
            if now - began > self.world.timeout_seconds:
                ranks = ", ".join(map(str, self.ranks))
                raise RankError(
                    f"rank {self.world.rank}: waited {self.world.timeout_seconds:g} s for {self.what} of "
                    f"ranks {ranks} (hint: TENON_RANK_TIMEOUT is the limit in seconds)"
                )

    def _check_others(self) -> None:
        """Raises RankError where a rank of the group will not take part."""
        for rank in self.ranks:
            begun = self.world.ends.ended.get(rank)
            if begun is not None and begun <= self.number and not self.test():
                raise RankError(
                    f"rank {rank} has ended, and rank {self.world.rank} waits with it for {self.what}"
                )
            number, what = self.world.ends.waiting.get(rank, (-1, ""))
            own = self.world.begun_as(number)
            if own is not None and own != what:
                raise RankError(
                    f"rank {rank} waits for {what}, and rank {self.world.rank} has begun {own} instead"
                )
