"""A device of this process among those that run a program together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.collective import Collective
from ...semantics.numpy_types import Array
from ...semantics.ranks.local_world import LocalWorld, local_worlds
from ...semantics.world import Request, World
from ..timeline.spans import Category, Track
from ..timeline.timeline import active


@dataclass(frozen=True, slots=True)
class _Done:
    """A comparison that nobody needs: one process decides what all devices run."""

    def wait(self) -> None:
        return


_DONE = _Done()


class DeviceWorld:
    """
    The ranks of a program, seen from the device that is one of them. Collectives are transfers from the
    operands of all members to their results, in the thread that begins last. It lives as long as programs
    are made for it; each call of a program on all devices is a session, in which one thread uses it, and what
    a call that failed has left is nothing to the next.
    """

    def __init__(self, rank: int, device_names: Sequence[str]) -> None:
        self.rank = rank
        self.size = len(device_names)
        self.device_name = device_names[rank]
        self._track = Track(self.device_name.partition(":")[0], self.device_name)
        self.session = 0
        self._local = local_worlds(self.size)[rank]

    def __repr__(self) -> str:
        return f"DeviceWorld({self.device_name}, rank {self.rank} of {self.size})"

    def begin(self, collective: Collective, operand: Array, result: Array) -> Request:
        """See `World.begin`."""
        timeline = active()
        if timeline is not None:
            nbytes = round(collective.sent_nbytes(operand.shape, result.shape, operand.dtype.itemsize))
            with timeline.span(f"{collective}", Category.TRANSFER, self._track, nbytes=nbytes):
                return self._local.begin(collective, operand, result)
        return self._local.begin(collective, operand, result)

    def begin_check(self, digest: bytes, what: str) -> Request:
        """See `World.begin_check`."""
        return _DONE

    def part(self, ranks: tuple[int, ...]) -> World:
        """See `World.part`: of the session."""
        return self._local.part(ranks)

    def start(self, local: LocalWorld) -> None:
        """Begins a session."""
        self._local = local
        self.session += 1

    def end(self, reason: str = "has ended") -> None:
        """Tells the others that this device begins nothing more in the session."""
        self._local.end(reason)


def start_session(worlds: Sequence[DeviceWorld]) -> None:
    """Begins a session of all devices."""
    for world, local in zip(worlds, local_worlds(len(worlds)), strict=True):
        world.start(local)
