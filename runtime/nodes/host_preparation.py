"""The preparations before the host reads or writes its copy of a tensor node."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class HostPreparation:
    """
    Work of devices to wait for, and then the transfer to make. Owned by one tensor node, which guards it.
    `waits` are pairs of `is_done` and `sync`; of several transfers the last one is made.
    """

    waits: deque[tuple[Callable[[], bool], Callable[[], None]]] = field(
        default_factory=deque[tuple[Callable[[], bool], Callable[[], None]]]
    )
    transfer: Callable[[], None] | None = None

    def add(
        self,
        is_done: Callable[[], bool],
        sync: Callable[[], None],
        transfer: Callable[[], None] | None = None,
    ) -> None:
        """Adds work to wait for, and forgets what has been done by now."""
        # Devices finish in order: what is done is in front, and many runs without a read stay cheap.
        while self.waits and self.waits[0][0]():
            self.waits.popleft()
        self.waits.append((is_done, sync))
        if transfer is not None:
            self.transfer = transfer

    def wait(self) -> None:
        """Blocks until all the work is done. Raises whatever the work raised."""
        for _, sync in tuple(self.waits):
            sync()

    def before(self, later: HostPreparation) -> HostPreparation:
        """Returns the preparation for this one and a later one."""
        return HostPreparation(deque((*self.waits, *later.waits)), later.transfer or self.transfer)
