"""The merge buffer of a stream: a tensor from somewhere else, to be combined with one of its own."""

from __future__ import annotations

from typing import Protocol

from ...backends.interface import BufferLoc
from ...errors import ContextError, DeviceError
from .segments import aligned
from .slab_pool import MERGE_POOL_ID, SlabPool


class Held(Protocol):
    """What a merge buffer holds the values of: a tensor node."""

    @property
    def debug_name(self) -> str: ...


class MergeBuffer:
    """
    A pool, grown in place: pool 0 for a device's own stream. `node` is whose values it holds once everything
    scheduled on the stream by now has run. Guarded by the device's `schedule_lock`.
    """

    def __init__(self, pools: SlabPool, pool_id: int = MERGE_POOL_ID) -> None:
        self._pools = pools
        self.location = BufferLoc(pool_id, 0)
        """Where it lies, also before it has memory."""
        self._nbytes = 0
        self.node: Held | None = None
        self.undefined_by: str | None = None
        """The copy that failed before it had filled the merge buffer; set and read by the work itself."""

    def needs_growth(self, nbytes: int) -> bool:
        return aligned(nbytes) > self._nbytes

    def grow(self, nbytes: int) -> None:
        """
        Makes room for `nbytes`; nothing that uses the merge buffer may be queued. Its contents are lost.

        Raises:
            OutOfMemoryError: the device has not that much memory; the merge buffer is then empty.
        """
        self.node = None
        self._nbytes = 0
        self._nbytes = self._pools.grow_merge_buffer(aligned(nbytes), self.location.pool_id).nbytes

    def check(self, routine: str, node: Held) -> None:
        """Raises `ContextError` where the values there will not be those of `node`."""
        if self.node is not node:
            found = "nothing" if self.node is None else self.node.debug_name
            raise ContextError(
                f"{routine}: the merge buffer holds {found}, expected {node.debug_name} "
                "(hint: run the routine of device_to_device first)"
            )

    def check_defined(self) -> None:
        """Raises `DeviceError`, for work that is to read what a failed copy was to write."""
        if self.undefined_by is not None:
            raise DeviceError(f"the merge buffer is undefined since {self.undefined_by} failed")

    def free(self) -> None:
        self.node = None
        self._nbytes = 0
        self._pools.free_merge_buffer(self.location.pool_id)
