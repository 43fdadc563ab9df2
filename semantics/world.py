"""The ranks that run a program together, as the one sees them that runs here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

import numpy as np

from ..dialects.collective import Collective
from ..errors import RankError
from .numpy_types import Array


class Request(Protocol):
    """A collective that has begun. Its owner waits for it once, in the thread of its rank."""

    def wait(self) -> None:
        """
        Blocks until the result is there, and the operand may be written again.

        Raises:
            RankError: it will not be there; the error names a rank and the reason.
        """
        ...


class World(Protocol):
    """
    All ranks, seen from one of them. A rank calls its world from one thread at a time, and begins collectives
    in the order of its program, which is that of all ranks.
    """

    @property
    def rank(self) -> int:
        """The number of this rank, from 0."""
        ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    def begin(self, collective: Collective, operand: Array, result: Array) -> Request:
        """
        Begins a collective without waiting for others. Both arrays are contiguous and belong to it until it
        has been waited for: `operand` is read, `result` is written.

        Raises:
            RankError: another rank has ended, or failed; the error names it.
        """
        ...

    def begin_check(self, digest: bytes, what: str) -> Request:
        """
        Begins to compare what all ranks are about to do, without waiting for them. Its `wait` raises
        RankError where the ranks have not the same digest of `what`; the error names those that differ.
        """
        ...

    def part(self, ranks: tuple[int, ...]) -> World:
        """
        Returns the world of some of the ranks, this one among them, which are numbered in the order in which
        they are given: the same one each time. Those that call it first meet in it.
        """
        ...


@runtime_checkable
class DeviceRank(Protocol):
    """What the world of a rank is too that is a device of this process: its programs are called again."""

    @property
    def device_name(self) -> str: ...

    @property
    def session(self) -> int:
        """The number of the call that all devices run. What one has begun that failed the next forgets."""
        ...


CHANNEL = 0
"""The channel of what no program asks for; programs number theirs from 1."""

THREAD_WORLD: ContextVar[World | None] = ContextVar("world", default=None)
"""The world of a rank that is a thread of this process, as `run_ranks` has it."""


def joined(arrays: Sequence[Array]) -> Array:
    """Returns the elements of several arrays of one dtype as one: what a bundle of collectives exchanges."""
    return np.concatenate([array.reshape(-1) for array in arrays])


def told(world: World, message: bytes) -> Array:
    """
    Returns what all ranks say, as rows of bytes, which are equally many on all.

    Raises:
        RankError: another rank has ended, or failed.
    """
    own = np.frombuffer(message, np.uint8).reshape(1, -1)
    rows = np.empty((world.size, own.shape[1]), np.uint8)
    world.begin(Collective("all_gather", CHANNEL, (world.size,), (0,), dim=0), own, rows).wait()
    return rows


def check_world(collectives: Iterable[Collective], world: World | None) -> None:
    """Raises RankError, naming the op, where a program has collectives and not the world that it is for."""
    for collective in collectives:
        if world is None:
            raise RankError(
                f"{collective}: no world is given (hint: world=)", location=collective.where or None
            )
        wanted = collective.n_ranks
        if world.size != wanted:
            grid = " x ".join(map(str, collective.grid))
            raise RankError(
                f"{collective}: the program is for {wanted} ranks ({grid}), the world has {world.size}",
                location=collective.where or None,
            )
        if collective.rank not in (None, world.rank):
            raise RankError(
                f"{collective}: the program is that of rank {collective.rank}, this is rank {world.rank}",
                location=collective.where or None,
            )


def difference(
    ranks: Sequence[int], differing: Sequence[int], whats: Sequence[str], before: str = ""
) -> RankError:
    """
    Returns the error of ranks that are not about to do what the first is: `ranks` are their numbers, `whats`
    what all are about to do, `differing` where in these those stand that differ, and `before` what they have
    done before, if that is where they differ.
    """
    first, rank = ranks[0], ranks[differing[0]]
    if whats[differing[0]] != whats[0]:
        return RankError(
            f"the ranks differ in what they do: rank {rank} is at its {whats[differing[0]]}, and "
            f"rank {first} at its {whats[0]}",
            rank,
        )
    listed = ", ".join(str(ranks[each]) for each in differing)
    return RankError(f"the ranks differ in {before or 'their'} {whats[0]}: {listed} from rank {first}", rank)
