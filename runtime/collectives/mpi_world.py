"""The ranks that `mpiexec` started, each a process, which meet through MPI."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any

import numpy as np

from ...dialects.grids import group_of
from ...errors import RankError, TenonError
from ...semantics.collectives import Collective
from .mpi_collectives import begin_collective
from .mpi_library import start_mpi
from .mpi_request import MpiRequest
from .mpi_types import Array, MpiTypes
from .rank_ends import RankEnds

DEFAULT_TIMEOUT_SECONDS = 300.0
"""How long a rank waits for a collective: others may have more to do."""

_REMEMBERED = 256
"""How many collectives that have begun a rank can still name."""

_PROGRESS_SECONDS = 100e-6
"""How often messages get on while kernels run."""


class MpiWorld:
    """
    One for each process, which it lives as long as; `mpi_world` makes it. Collectives are begun by one
    thread, in the same order on all ranks; they run from and into the arrays that are given, which nobody
    may touch before `wait`. A thread of its own lets MPI get on while there are some.
    """

    def __init__(self, mpi: Any, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS) -> None:
        self.mpi = mpi
        self.ends = RankEnds(mpi)
        self.rank = self.ends.rank
        self.size = self.ends.size
        self.timeout_seconds = timeout_seconds
        self.comm = mpi.COMM_WORLD.Dup()
        self.types = MpiTypes(mpi)
        self._groups: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Any, tuple[int, ...]]] = {}
        self._begun: deque[str] = deque(maxlen=_REMEMBERED)
        self._pending: list[MpiRequest] = []
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._progress: threading.Thread | None = None

    def begin(self, collective: Collective, operand: Array, result: Array) -> MpiRequest:
        """
        Begins a collective from `operand` into `result`, both contiguous.

        Raises:
            TenonError: its grid has another number of ranks than the world.
            RankError: ranks of its group have ended.
        """
        if prod(collective.grid) != self.size:
            raise TenonError(
                f"{collective.kind}: a grid of {prod(collective.grid)} ranks, and the world has {self.size}"
            )
        comm, ranks = self._group(collective.grid, collective.axes)
        handles, finish, kept = begin_collective(self.types, comm, collective, operand, result)
        where = f" ({collective.where})" if collective.where else ""
        what = f"{collective}{where}"
        return self._added(what, ranks, handles, finish, (operand, result, kept))

    def check_same(self, digest: bytes, what: str) -> None:
        """
        Compares what all ranks are about to do.

        Raises:
            RankError: ranks have another digest than rank 0, or do something else.
        """
        own = np.frombuffer(digest, np.uint8)
        found = np.empty((self.size, len(own)), np.uint8)
        handle = self.comm.Iallgather([own, self.mpi.BYTE], [found, self.mpi.BYTE])
        self._added(f"the comparison of {what}", range(self.size), [handle], None, (own, found)).wait()
        differing = [rank for rank in range(self.size) if not np.array_equal(found[rank], found[0])]
        if differing:
            ranks = ", ".join(map(str, differing))
            raise RankError(
                f"rank {differing[0]}: {what} is another one than that of rank 0 (ranks that differ: {ranks})"
            )

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

    def forget(self, request: MpiRequest) -> None:
        """Takes a request that is done from those that are looked after."""
        with self._changed:
            if request in self._pending:
                self._pending.remove(request)

    def _added(
        self,
        what: str,
        ranks: Sequence[int],
        handles: Sequence[Any],
        finish: Callable[[], None] | None,
        kept: object,
    ) -> MpiRequest:
        request = MpiRequest(self, self.ends.begun, what, ranks, handles, finish, kept)
        self._begun.append(what)
        self.ends.begun += 1
        if handles:
            with self._changed:
                self._pending.append(request)
                self._changed.notify()
            if self._progress is None:
                self._progress = threading.Thread(target=self._get_on, name="tenon-progress", daemon=True)
                self._progress.start()
        return request

    def _get_on(self) -> None:
        while True:
            with self._changed:
                while not self._pending or self.ends.is_leaving:
                    self._changed.wait()
                pending = list(self._pending)
            if not self._n_waiting:
                for request in pending:
                    if request.test():
                        self.forget(request)
            time.sleep(_PROGRESS_SECONDS)

    def _group(self, grid: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Returns the communicator of the ranks that differ along `axes` only, and these ranks."""
        found = self._groups.get((grid, axes))
        if found is None:
            ranks = group_of(grid, axes, self.rank)
            # All meet here before the call that nothing can end.
            barrier = self.comm.Ibarrier()
            what = f"the groups along axes {list(axes)} of {list(grid)}"
            self._added(what, range(self.size), [barrier], None, None).wait()
            comm = self.comm.Split(min(ranks), ranks.index(self.rank))
            found = self._groups[grid, axes] = comm, ranks
        return found


@cache
def mpi_world() -> MpiWorld:
    """
    Returns the world of this process.

    Raises:
        MissingExtraError: mpi4py is not installed.
        DeviceError: MPI cannot be used.
        TenonError: the environment variable `TENON_RANK_TIMEOUT` is no number of seconds.
    """
    text = os.environ.get("TENON_RANK_TIMEOUT", "")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT_SECONDS
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise TenonError(f"TENON_RANK_TIMEOUT is {text!r}, expected a number of seconds above 0")
    return MpiWorld(start_mpi(), seconds)
