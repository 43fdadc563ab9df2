"""The ranks that `mpiexec` started, each a process, which meet through MPI."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from hashlib import sha256
from typing import Any
from zlib import crc32

import numpy as np

from ...dialects.collective import Collective
from ...dialects.grids import group_of
from ...errors import TenonError
from ...semantics.world import difference
from .mpi_collectives import MOST_TAGS, begin_collective
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
        self.types = MpiTypes(mpi)
        self.pending = PendingRequests(mpi, self.ends, timeout_seconds)
        self.ranks = tuple(range(self.size))
        """Its ranks, as those that were started are numbered."""
        self.is_of_all = True
        self._set_up()

    def _set_up(self) -> None:
        # Of their own: where ranks differ in what they begin, these still meet.
        self._checks, self._texts = self.comm.Dup(), self.comm.Dup()
        self._groups: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Any, tuple[int, ...]]] = {}
        self._parts: dict[tuple[int, ...], MpiWorld] = {}
        self._history = 0
        """A checksum of what has begun; that of all ranks is in `ends`."""

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
        comm, ranks = self._group(collective.grid, collective.axes, collective.is_divergent)
        handles, finish, kept = begin_collective(self.types, comm, collective, operand, result)
        # Parts may be uneven: what all ranks have alike has a shape only where all of them add up one.
        is_alike = collective.kind == "all_reduce" and len(ranks) == self.size
        shape = operand.shape if is_alike else ()
        what, alike = _names(collective, operand.dtype, shape)
        if not collective.is_divergent:
            self._history = crc32(alike, self._history)
            if self.is_of_all:
                self.ends.history = self._history
        return self._added(
            what, ranks, handles, finish, (operand, result, kept), is_divergent=collective.is_divergent
        )

    def _added(
        self,
        what: str,
        ranks: Sequence[int],
        handles: Sequence[Any],
        finish: Callable[[], None] | None = None,
        kept: object = None,
        is_check: bool = False,
        is_divergent: bool = False,
    ) -> MpiRequest:
        among = [self.ranks[rank] for rank in ranks]
        is_of_all = self.is_of_all and not is_divergent
        world = None if is_divergent else self.ranks
        return self.pending.added(what, among, handles, finish, kept, is_of_all, is_check, world)

    def part(self, ranks: tuple[int, ...]) -> MpiWorld:
        """See `World.part`."""
        if ranks == tuple(range(self.size)):
            return self
        if ranks not in self._parts:
            self._parts[ranks] = _MpiPart(self, ranks)
        return self._parts[ranks]

    def begin_check(self, digest: bytes, what: str) -> MpiRequest:
        """See `World.begin_check`: of a few bytes of each rank, which meet apart from the collectives."""
        mine = _short_digest(what, digest)
        # MPI may give ranks that have begun different collectives other numbers, and no error.
        own = np.frombuffer(mine + self._history.to_bytes(4, "little"), np.uint8)
        found = np.empty((self.size, len(own)), np.uint8)
        handle = self._checks.Iallgather([own, self.mpi.BYTE], [found, self.mpi.BYTE])
        compare = partial(self._compare, own, found, what)
        return self._added(
            f"the others' {what}", range(self.size), [handle], compare, (own, found), is_check=True
        )

    def _compare(self, own: Array, found: Array, what: str) -> None:
        """
        Raises RankError where ranks are about to do something else than the first, or have done so before.
        """
        if found.tobytes() == own.tobytes() * self.size:
            return
        for part, before in (
            (found[:, :_DIGEST_NBYTES], ""),
            (found[:, _DIGEST_NBYTES:], "the collectives that they have begun before the"),
        ):
            if differing := np.flatnonzero((part != part[0]).any(axis=1)).tolist():
                raise difference(self.ranks, differing, self._said_by_all(what), before)

    def _said_by_all(self, what: str) -> list[str]:
        """Returns what each rank is about to do. All ranks that compare find the same, and ask."""
        own = np.frombuffer(what.encode()[:_MOST_TEXT].ljust(_MOST_TEXT), np.uint8)
        found = np.empty((self.size, _MOST_TEXT), np.uint8)
        handle = self._texts.Iallgather([own, self.mpi.BYTE], [found, self.mpi.BYTE])
        self._added("what the others do", range(self.size), [handle], None, (own, found)).wait()
        return [text.tobytes().decode(errors="replace").strip() for text in found]

    def _group(
        self, grid: tuple[int, ...], axes: tuple[int, ...], is_divergent: bool
    ) -> tuple[Any, tuple[int, ...]]:
        """
        Returns the communicator of the ranks that differ along `axes` only, and these ranks. Of what is
        `is_divergent` only these need be here, which have one of their own for it.
        """
        if is_divergent:
            ranks = tuple(group_of(grid, axes, self.rank))
            return (self.part(ranks).comm if len(ranks) < self.size else self.comm), ranks
        found = self._groups.get((grid, axes))
        if found is None:
            ranks = group_of(grid, axes, self.rank)
            # All meet here before the call that nothing can end.
            barrier = self.comm.Ibarrier()
            what = f"the groups along axes {list(axes)} of {list(grid)}"
            self._added(what, range(self.size), [barrier]).wait()
            comm = self.comm.Split(min(ranks), ranks.index(self.rank))
            found = self._groups[grid, axes] = comm, ranks
        return found


class _MpiPart(MpiWorld):
    """Some ranks of a world. It lives as long as that one."""

    def __init__(self, whole: MpiWorld, ranks: tuple[int, ...]) -> None:
        self.mpi, self.ends, self.types, self.pending = whole.mpi, whole.ends, whole.types, whole.pending
        self.rank, self.size = ranks.index(whole.rank), len(ranks)
        self.ranks = tuple(whole.ranks[rank] for rank in ranks)
        self.is_of_all = False
        self._meet(whole, ranks)
        group = whole.comm.Get_group()
        self.comm = whole.comm.Create_group(group.Incl(ranks), _tag_of(ranks))
        self._set_up()

    def _meet(self, whole: MpiWorld, ranks: tuple[int, ...]) -> None:
        """Waits until all of its ranks are here, before the call that nothing can end."""
        byte, tag = self.mpi.BYTE, _tag_of(ranks)
        own, others = np.zeros(1, np.uint8), np.zeros(self.size, np.uint8)
        handles: list[Any] = []
        for number, rank in enumerate(ranks):
            if number != self.rank:
                handles.append(whole.comm.Irecv([others[number : number + 1], byte], rank, tag))
                handles.append(whole.comm.Isend([own, byte], rank, tag))
        what = f"the mesh of ranks {', '.join(map(str, self.ranks))}"
        self._added(what, range(self.size), handles, None, (own, others)).wait()


def _tag_of(ranks: Sequence[int]) -> int:
    """Returns a tag for some ranks: meshes that are made at once do not take each other's messages."""
    return crc32(str(ranks).encode()) % MOST_TAGS


@lru_cache(1024)
def _short_digest(what: str, digest: bytes) -> bytes:
    return sha256(what.encode() + b"\0" + digest).digest()[:_DIGEST_NBYTES]


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
