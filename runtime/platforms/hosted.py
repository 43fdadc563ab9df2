"""
Keeps the host's copy of hosted tensor nodes and the devices' in step, lazily: what the host wrote is sent
when a device is to read it, and what a device wrote is fetched when the host is to read it.

Only what the host writes makes devices lag: each device's copy is its own otherwise, and goes to others by
`Context.device_to_device`. One that lags is sent what the host has then, which may be what another device has
written since.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from ...errors import ContextError
from ..nodes.region import whole_region
from ..nodes.tensor_node import TensorNode
from ..streams.event import Event
from .copies import copy_from_device, copy_to_device, fill, read, stream_of
from .node_buffer import NodeBuffer, NodeMemory


def held_for_sending(buffers: Iterable[NodeBuffer]) -> AbstractContextManager[Collection[TensorNode]]:
    """
    Brings the host's copies up to date for those of `buffers` that lag behind them, and keeps the host from
    changing them in the block, where `ready_to_read` schedules their transfers: what is sent is never half of
    a change. Gives the nodes that are held so. Not to be entered with a lock of a device held: it may wait
    for any device.
    """
    lagging = {buffer.node for buffer in buffers if _is_lagging(buffer)}
    return _held(lagging) if lagging else _NONE_HELD


_NONE_HELD: AbstractContextManager[Collection[TensorNode]] = nullcontext(())


@contextmanager
def _held(nodes: Collection[TensorNode]) -> Generator[Collection[TensorNode]]:
    with ExitStack() as locks:
        for node in sorted(nodes):
            locks.enter_context(node.host.host_lock)
            node.host.do_read()
        yield nodes


def ready_to_read(context: NodeMemory, buffer: NodeBuffer, who: str, held: Collection[TensorNode]) -> None:
    """
    Schedules a copy to the device, where the host has values of a hosted node that the device has not, and
    `held_for_sending` holds it: a change that came since will be sent for a later read. With the device's
    `schedule_lock` held.

    Raises:
        ContextError: the node has no values, here or on the host.
    """
    node = buffer.node
    if node in held and node.host.is_initialized and _is_lagging(buffer):
        _send(context, buffer)
    buffer.check_initialized(who, "" if buffer.is_initialized else context.namesake_hint(node))


def _send(context: NodeMemory, buffer: NodeBuffer) -> None:
    node = buffer.node
    array = node.host.array
    assert array is not None, f"{node.debug_name} is hosted without an array"
    # Noted first: what the host writes from now on makes the device lag again.
    buffer.host_version = node.host.host_version
    node.host.add_device_not_lagging_host(buffer.device.id)
    send = copy_to_device(context.stream, buffer, whole_region(node), array, may_queue=False)

    def copy() -> None:
        try:
            send()
        except BaseException:
            buffer.host_version = -1
            node.host.discard_device_not_lagging_host(buffer.device.id)
            raise

    event = fill(context, buffer, f"send {node.debug_name}", copy)
    node.host.prepare_write(is_done=lambda: event.is_done, sync=event.sync)


def note_written_on_device(buffer: NodeBuffer, event: Event) -> None:
    """Notes of a hosted node that the device's values are the newest once `event` is done."""
    node = buffer.node
    if not node.memory.is_hosted:
        return
    buffer.host_version = node.host.host_version
    node.host.add_device_not_lagging_host(buffer.device.id)
    # A node outlives contexts, and is not to keep their memory.
    reference = weakref.ref(buffer)

    def fetch() -> None:
        buffer, array = reference(), node.host.array
        owner = None if buffer is None or buffer.owner is None else buffer.owner()
        is_gone = owner is None or owner.is_finalized
        if buffer is None or (buffer.owner is not None and is_gone):
            raise ContextError(
                f"{node.debug_name}: the context that has its newest values is gone (hint: read them before)"
            )
        assert array is not None, f"{node.debug_name} is hosted without an array"
        stream = stream_of(owner, buffer)
        copy = copy_from_device(stream, buffer, whole_region(node), array, may_queue=False)
        read(owner, buffer, f"fetch {node.debug_name}", copy).sync()

    node.host.prepare_read(is_done=lambda: event.is_done, sync=event.sync, transfer=fetch)


def _is_lagging(buffer: NodeBuffer) -> bool:
    return buffer.node.memory.is_hosted and buffer.host_version != buffer.node.host.host_version
