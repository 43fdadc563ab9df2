"""The work of a copy between an array and a tensor node, and how it is scheduled."""

from __future__ import annotations

from ...backends.interface import Queued
from ..nodes.region import Region
from ..plan.signature import Array
from ..streams.event import Event
from ..streams.runner import Work
from ..timeline.spans import Category
from .device import Stream
from .node_buffer import NodeBuffer, NodeMemory, fills


def fill(
    context: NodeMemory | None, buffer: NodeBuffer, who: str, copy: Work, *, in_part: bool = False
) -> Event:
    """Schedules work that writes a node, whole or in part. `context` owns its memory."""

    def work() -> None:
        if in_part:
            buffer.check_defined()
        with fills([buffer], who):
            copy()

    return _schedule(context, buffer, who, work, writes=True)


def read(context: NodeMemory | None, buffer: NodeBuffer, who: str, copy: Work) -> Event:
    """Schedules work that reads a node. `context` owns its memory."""

    def work() -> None:
        buffer.check_defined()
        copy()

    return _schedule(context, buffer, who, work, writes=False)


def _schedule(context: NodeMemory | None, buffer: NodeBuffer, who: str, work: Work, *, writes: bool) -> Event:
    runner = stream_of(context, buffer).runner
    with buffer.device.schedule_lock:
        if context is not None:
            context.check_usable(who)
        waits = buffer.waits_to_write() if writes else buffer.waits_to_read()
        event = runner.submit(who, work, waits, category=Category.TRANSFER, keeps=context)
        (buffer.note_write if writes else buffer.note_read)(event)
    return event


def stream_of(context: NodeMemory | None, buffer: NodeBuffer) -> Stream:
    """Returns where copies to and from a node are scheduled: the device's own stream without a context."""
    return buffer.device if context is None else context.stream


def copy_to_device(
    stream: Stream, buffer: NodeBuffer, region: Region, source: Array, may_queue: bool
) -> Work:
    """
    Returns what copies an array to a part of a node, on a stream; with `may_queue` perhaps after it returned.
    """
    driver = stream.driver
    if not region.nbytes:
        return _nothing
    if not (region.is_contiguous and source.flags.c_contiguous):
        return lambda: driver.copy_strided_to_device(region.strided(buffer.location), source)
    place = region.at(buffer.location)
    if may_queue and isinstance(driver, Queued):
        return lambda: driver.queue_copy_to_device(place, source)
    return lambda: driver.copy_to_device(place, source)


def copy_from_device(
    stream: Stream, buffer: NodeBuffer, region: Region, target: Array, may_queue: bool
) -> Work:
    """
    Returns what copies a part of a node to an array, on a stream; with `may_queue` perhaps after it returned.
    """
    driver = stream.driver
    if not region.nbytes:
        return _nothing
    if not (region.is_contiguous and target.flags.c_contiguous):
        return lambda: driver.copy_strided_from_device(target, region.strided(buffer.location))
    place = region.at(buffer.location)
    if may_queue and isinstance(driver, Queued):
        return lambda: driver.queue_copy_from_device(target, place)
    return lambda: driver.copy_from_device(target, place)


def _nothing() -> None:
    """Copies no elements."""
