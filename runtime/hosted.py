"""
Keeps the host's copy of hosted tensor nodes and the devices' in step, lazily: what the host wrote is sent
when a device is to read it, and what a device wrote is fetched when the host is to read it.

Only what the host writes makes devices lag: each device's copy is its own otherwise, and goes to others by
`Context.device_to_device`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import ContextError
from .copies import copy_from_device, copy_to_device, fill, read
from .event import Event
from .node_buffer import NodeBuffer
from .region import whole_region

if TYPE_CHECKING:
    from .context import Context


def fetch_for_others(buffers: Iterable[NodeBuffer]) -> None:
    """
    Brings the host's copy up to date for buffers that lag behind it, before it is sent to them. Not to be
    called with a lock held: it may wait for any device.
    """
    for buffer in buffers:
        if _is_lagging(buffer):
            buffer.node.do_read()


def ready_to_read(context: Context, buffer: NodeBuffer, who: str) -> None:
    """
    Schedules a copy to the device, where the host has values of a hosted node that the device has not. With
    the device's `schedule_lock` held, after `fetch_for_others`.

    Raises:
        ContextError: the node has no values, here or on the host.
    """
    node = buffer.node
    if _is_lagging(buffer) and node.is_initialized:
        array = node.array
        assert array is not None, f"{node.debug_name} is hosted without an array"
        # Noted first: what the host writes from now on makes the device lag again.
        buffer.host_version = node.host_version
        node.add_device_not_lagging_host(buffer.device.id)
        send = copy_to_device(buffer, whole_region(node), array, may_queue=False)

        def copy() -> None:
            try:
                send()
            except BaseException:
                buffer.host_version = -1
                node.discard_device_not_lagging_host(buffer.device.id)
                raise

        event = fill(context, buffer, f"send {node.debug_name}", copy)
        node.prepare_write(is_done=lambda: event.is_done, sync=event.sync)
    buffer.check_initialized(who, "" if buffer.is_initialized else context.namesake_hint(node))


def note_written_on_device(buffer: NodeBuffer, event: Event) -> None:
    """Notes of a hosted node that the device's values are the newest once `event` is done."""
    node = buffer.node
    if not node.is_hosted:
        return
    buffer.host_version = node.host_version
    node.add_device_not_lagging_host(buffer.device.id)
    # A node outlives contexts, and is not to keep their memory.
    reference = weakref.ref(buffer)

    def fetch() -> None:
        buffer, array = reference(), node.array
        owner = None if buffer is None or buffer.owner is None else buffer.owner()
        is_gone = owner is None or owner.is_finalized
        if buffer is None or (buffer.owner is not None and is_gone):
            raise ContextError(
                f"{node.debug_name}: the context that has its newest values is gone (hint: read them before)"
            )
        assert array is not None, f"{node.debug_name} is hosted without an array"
        copy = copy_from_device(buffer, whole_region(node), array, may_queue=False)
        read(owner, buffer, f"fetch {node.debug_name}", copy).sync()

    node.prepare_read(is_done=lambda: event.is_done, sync=event.sync, transfer=fetch)


def _is_lagging(buffer: NodeBuffer) -> bool:
    return buffer.node.is_hosted and buffer.host_version != buffer.node.host_version
