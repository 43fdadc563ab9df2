"""Collectives of MPI that have begun."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import RankError
from ...semantics.ranks.yielding import yield_until
from .rank_ends import RankEnds
from .waits import Ranks, Wait, circle

_TESTS = 20
"""How often a rank looks before it lets others run, who may run for long where there are many."""

_FIRST_SLEEP, _LAST_SLEEP = 20e-6, 1e-3

_LOOK_SECONDS = 0.02
"""How often a rank that waits looks whether others have ended."""

_TELL_SECONDS = 1.0
"""After how long it tells those of its group what it waits for, which may have ended."""

_NO_NUMBER = -1
"""What stands for the number of a collective of some ranks: who has ended answers, others cannot compare."""

_REMEMBERED = 256
"""How many collectives that have begun a rank can still name."""

_ARRIVAL_SECONDS = 2.0
"""After how long what a rank sent before it ended has come."""

_PROGRESS_SECONDS = 1e-3
"""
How long messages are left alone while kernels run: a rank soon waits for short ones itself, and each look
takes some 20 microseconds of a processor.
"""

_LINGER_SECONDS = 0.1
"""How long it is looked for messages where there are none, before somebody must say that there are some."""

_LONG_SECONDS = 200e-6
"""How often those get on that take longer: over TCP, MPI sends a piece of a long one at each look."""


class MpiRequest:
    """
    Owned by who began it, who must wait for it once. It holds on to the memory that MPI reads and writes.
    `test` may be called by another thread, so that MPI gets on.
    """

    def __init__(
        self,
        owner: PendingRequests,
        number: int | None,
        what: str,
        ranks: Sequence[int],
        handles: Sequence[Any],
        finish: Callable[[], None] | None,
        kept: object,
        place: tuple[Ranks, int] | None = None,
    ) -> None:
        """`place` says the which it is of its world, where all ranks of that begin the same there."""
        self.owner = owner
        self.number = number
        self.place = place
        self.what = what
        self.ranks = ranks
        self._handles = list(handles)
        self._finish = finish
        self._kept = kept
        self._error: str | None = None
        self._ended_at: float | None = None
        """When this rank saw that another one has ended."""
        self._lock = threading.Lock()
        self.is_looked_after = False
        """Whether another thread than its owner's has let MPI get on with it."""

    def test(self) -> bool:
        """
        Returns whether all messages are there, and lets MPI get on with them.

        Raises:
            RankError: MPI says that one failed; so does every further call.
        """
        with self._lock:
            if self._error is None:
                try:
                    self._handles = [handle for handle in self._handles if not handle.Test()]
                except self.owner.mpi.Exception as error:
                    self._error = " ".join(str(error).split())
            if self._error is not None:
                raise RankError(f"rank {self.owner.ends.rank}: {self.what}: {self._error}")
            return not self._handles

    def get_on(self) -> bool:
        """Returns whether it need not be tested again: it is done, or who waits for it gets its error."""
        try:
            return self.test()
        except RankError:
            return True

    def wait(self) -> None:
        """
        Waits until the result is there.

        Raises:
            RankError: a rank that it needs has ended or waits for another collective, or the time is over.
        """
        owner = self.owner
        try:
            if not any(self.test() for _ in range(_TESTS)):
                with owner.waiting():
                    if not yield_until(self.test):
                        self._wait()
        except RankError:
            # That ranks run other programs is why MPI cannot put together what they send.
            owner.finish_checks(self)
            raise
        owner.forget(self)
        self.finish()

    def finish(self) -> None:
        """Does what is left to do once all messages are there. Raises RankError of a check that fails."""
        finish, self._finish, self._kept = self._finish, None, None
        if finish is not None:
            finish()

    def _wait(self) -> None:
        ends, began = self.owner.ends, time.monotonic()
        looked, has_told, pause = began, False, _FIRST_SLEEP
        wait: Wait | None = None
        while not self.test():
            time.sleep(pause)
            pause = min(pause * 1.2, _LAST_SLEEP)
            now = time.monotonic()
            if now - looked < _LOOK_SECONDS:
                continue
            looked = now
            ends.look()
            self.owner.finish_checks(self)
            self._check_others()
            if now - began > _TELL_SECONDS and not has_told:
                has_told = True
                ends.tell(self.ranks, _NO_NUMBER if self.number is None else self.number, self.what)
                if self.place is not None:
                    wait = Wait(self.what, *self.place, tuple(self.ranks), dict(self.owner.begun_in))
                    ends.tell_all(wait)
            if wait is not None:
                self._check_circle(wait)
            if now - began > self.owner.timeout_seconds:
                ranks = ", ".join(map(str, self.ranks))
                raise RankError(
                    f"rank {self.owner.ends.rank}: waited {self.owner.timeout_seconds:g} s for {self.what} "
                    f"of ranks {ranks} (hint: TENON_RANK_TIMEOUT is the limit in seconds)"
                )

    def _check_circle(self, wait: Wait) -> None:
        """Raises RankError where this rank waits for one that waits for it, by way of others too."""
        ends = self.owner.ends
        found = circle(ends.rank, {**ends.waits, ends.rank: wait})
        if found is not None and not self.test():
            lines = [f"rank {ends.rank} waits for {self.what}"]
            lines += [f"rank {rank} waits for {ends.waits[rank].what}" for rank in found[1:]]
            raise RankError(f"the ranks wait for one another: {'; '.join(lines)}")

    def _check_others(self) -> None:
        """Raises RankError where a rank of the group will not take part."""
        if self.number is None:
            self._check_ended()
            return
        for rank in self.ranks:
            begun = self.owner.ends.ended.get(rank)
            if begun is not None and begun <= self.number and not self.test():
                raise RankError(
                    f"rank {rank} has ended, and rank {self.owner.ends.rank} waits with it for {self.what}"
                )
            number, what = self.owner.ends.waiting.get(rank, (-1, ""))
            own = self.owner.begun_as(number)
            if own is not None and own != what:
                raise RankError(
                    f"rank {rank} waits for {what}, and rank {self.owner.ends.rank} has begun {own} instead"
                )

    def _check_ended(self) -> None:
        """Raises RankError where a rank has ended, and what it had sent before would be there by now."""
        ended = next((rank for rank in self.ranks if rank in self.owner.ends.ended), None)
        if ended is None:
            return
        now = time.monotonic()
        if self._ended_at is None:
            self._ended_at = now
        elif now - self._ended_at > _ARRIVAL_SECONDS and not self.test():
            raise RankError(
                f"rank {ended} has ended, and rank {self.owner.ends.rank} waits with it for {self.what}"
            )


class PendingRequests:
    """
    The collectives of one process that have begun. One thread begins them; a thread of its own lets MPI get
    on while there are some.
    """

    def __init__(self, mpi: Any, ends: RankEnds, timeout_seconds: float) -> None:
        self.mpi = mpi
        self.ends = ends
        self.timeout_seconds = timeout_seconds
        self._begun: deque[str] = deque(maxlen=_REMEMBERED)
        self.begun_in: dict[Ranks, int] = {}
        """How many collectives this rank has begun in each world, of those that all ranks of it begin."""
        self._pending: list[MpiRequest] = []
        self._checks: list[MpiRequest] = []
        """What compares the ranks, and has not been waited for."""
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._progress: threading.Thread | None = None

    def begun_as(self, number: int) -> str | None:
        """Returns what the collective of a number is on this rank, None where it is not known."""
        place = number - (self.ends.begun - len(self._begun))
        return self._begun[place] if 0 <= place < len(self._begun) else None

    @contextmanager
    def waiting(self) -> Generator[None]:
        """While a thread waits it lets MPI get on by itself."""
        self._n_waiting += 1
        try:
            yield
        finally:
            self._n_waiting -= 1

    def finish_checks(self, waiting: MpiRequest) -> None:
        """
        Finishes the checks whose messages are there, but that of `waiting`: what that waits for may never
        come where ranks run different programs.

        Raises:
            RankError: ranks differ.
        """
        for check in tuple(self._checks):
            if check is not waiting and check.test():
                self._checks.remove(check)
                check.finish()

    def forget(self, request: MpiRequest) -> None:
        """Takes a request that is done from those that are looked after."""
        if request in self._checks:
            self._checks.remove(request)
        with self._changed:
            if request in self._pending:
                self._pending.remove(request)

    def added(
        self,
        what: str,
        ranks: Sequence[int],
        handles: Sequence[Any],
        finish: Callable[[], None] | None,
        kept: object,
        is_of_all: bool = True,
        is_check: bool = False,
        world: Ranks | None = None,
    ) -> MpiRequest:
        """
        Returns a request that has begun. Another thread lets MPI get on with it from now on, unless it is a
        check of what the ranks do. Those of all ranks are numbered, alike on all, and so are those of a
        `world` of some ranks.
        """
        number = self.ends.begun if is_of_all else None
        place: tuple[Ranks, int] | None = None
        if world is not None:
            self.begun_in[world] = self.begun_in.get(world, 0) + 1
            place = world, self.begun_in[world]
        request = MpiRequest(self, number, what, ranks, handles, finish, kept, place)
        if is_of_all:
            self._begun.append(what)
            self.ends.begun += 1
        if is_check:
            # Its few bytes get on when something is waited for: nothing is computed with them.
            self._checks.append(request)
        elif handles:
            with self._changed:
                self._pending.append(request)
                self._changed.notify()
            if self._progress is None:
                self._progress = threading.Thread(target=self._get_on, name="tenon-progress", daemon=True)
                self._progress.start()
        return request

    def _get_on(self) -> None:
        last = time.monotonic()
        while True:
            with self._changed:
                # To wake this thread at each collective takes longer than a short one does.
                if (not self._pending and time.monotonic() - last > _LINGER_SECONDS) or self.ends.is_leaving:
                    while not self._pending or self.ends.is_leaving:
                        self._changed.wait()
                is_long = False
                if self._pending:
                    last, is_long = time.monotonic(), self._pending[0].is_looked_after
            time.sleep(_LONG_SECONDS if is_long else _PROGRESS_SECONDS)
            with self._changed:
                pending = list(self._pending)
            if not self._n_waiting and not self.ends.is_leaving:
                for request in pending:
                    request.is_looked_after = True
                    if request.get_on():
                        self.forget(request)
