"""The ranks that `mpiexec` started, each a process, which meet through MPI."""

from __future__ import annotations

import os
from functools import cache, lru_cache, partial
from hashlib import sha256
from typing import Any
from zlib import crc32

import numpy as np

from ...dialects.collective import Collective
from ...dialects.grids import group_of
from ...errors import TenonError
from ...semantics.world import difference
from .mpi_collectives import begin_collective
from .mpi_library import start_mpi
from .mpi_request import MpiRequest, PendingRequests
from .mpi_types import Array, MpiTypes
from .rank_ends import RankEnds

DEFAULT_TIMEOUT_SECONDS = 300.0
"""How long a rank waits for a collective: others may have more to do."""

_DIGEST_NBYTES = 12

_MOST_TEXT = 128
"""The most bytes of what a rank says that it does."""


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
        self.comm = mpi.COMM_WORLD.Dup()
        # Of their own: where ranks differ in what they begin, these still meet.
        self._checks, self._texts = mpi.COMM_WORLD.Dup(), mpi.COMM_WORLD.Dup()
        self.types = MpiTypes(mpi)
        self._groups: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Any, tuple[int, ...]]] = {}
        self.pending = PendingRequests(mpi, self.ends, timeout_seconds)

    def begin(self, collective: Collective, operand: Array, result: Array) -> MpiRequest:
        """
        Begins a collective from `operand` into `result`, both contiguous.

        Raises:
            TenonError: its grid has another number of ranks than the world.
            RankError: ranks of its group have ended.
        """
        if collective.n_ranks != self.size:
            raise TenonError(
                f"{collective.kind}: a grid of {collective.n_ranks} ranks, and the world has {self.size}"
            )
        comm, ranks = self._group(collective.grid, collective.axes)
        handles, finish, kept = begin_collective(self.types, comm, collective, operand, result)
        # Parts may be uneven: their shapes are no part of what all ranks have alike.
        shape = operand.shape if collective.kind == "all_reduce" else ()
        what, alike = _names(collective, operand.dtype, shape)
        self.ends.history = crc32(alike, self.ends.history)
        return self.pending.added(what, ranks, handles, finish, (operand, result, kept))

    def begin_check(self, digest: bytes, what: str) -> MpiRequest:
        """See `World.begin_check`: of a few bytes of each rank, which meet apart from the collectives."""
        mine = sha256(what.encode() + b"\0" + digest).digest()[:_DIGEST_NBYTES]
        # MPI may give ranks that have begun different collectives other numbers, and no error.
        own = np.frombuffer(mine + self.ends.history.to_bytes(4, "little"), np.uint8)
        found = np.empty((self.size, len(own)), np.uint8)
        handle = self._checks.Iallgather([own, self.mpi.BYTE], [found, self.mpi.BYTE])
        compare = partial(self._compare, found, what)
        return self.pending.added(
            f"the others' {what}", range(self.size), [handle], compare, (own, found), is_check=True
        )

    def _compare(self, found: Array, what: str) -> None:
        """Raises RankError where ranks are about to do something else than rank 0, or have done so before."""
        for part, before in (
            (found[:, :_DIGEST_NBYTES], ""),
            (found[:, _DIGEST_NBYTES:], "the collectives that they have begun before the"),
        ):
            if differing := np.flatnonzero((part != part[0]).any(axis=1)).tolist():
                raise difference(differing, self._said_by_all(what), before)

    def _said_by_all(self, what: str) -> list[str]:
        """Returns what each rank is about to do. All ranks that compare find the same, and ask."""
        own = np.frombuffer(what.encode()[:_MOST_TEXT].ljust(_MOST_TEXT), np.uint8)
        found = np.empty((self.size, _MOST_TEXT), np.uint8)
        handle = self._texts.Iallgather([own, self.mpi.BYTE], [found, self.mpi.BYTE])
        self.pending.added("what the others do", range(self.size), [handle], None, (own, found)).wait()
        return [text.tobytes().decode(errors="replace").strip() for text in found]

    def _group(self, grid: tuple[int, ...], axes: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
        """Returns the communicator of the ranks that differ along `axes` only, and these ranks."""
        found = self._groups.get((grid, axes))
        if found is None:
            ranks = group_of(grid, axes, self.rank)
            # All meet here before the call that nothing can end.
            barrier = self.comm.Ibarrier()
            what = f"the groups along axes {list(axes)} of {list(grid)}"
            self.pending.added(what, range(self.size), [barrier], None, None).wait()
            comm = self.comm.Split(min(ranks), ranks.index(self.rank))
            found = self._groups[grid, axes] = comm, ranks
        return found


@lru_cache(1024)
def _names(collective: Collective, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[str, bytes]:
    """Returns what a collective is called, and what of it all ranks have alike: lines are no part of it."""
    where = f" ({collective.where})" if collective.where else ""
    alike = f"{collective} {collective.grid} {collective.axes} {dtype} {shape}"
    return f"{collective}{where}", alike.encode()


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
