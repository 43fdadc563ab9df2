"""Copies between the host and tensor nodes."""

from __future__ import annotations

import numpy as np

from ...errors import ContextError
from ..nodes.region import Index, region_of, whole_region, without_padding
from ..nodes.tensor_node import TensorNode
from ..plan.signature import Array
from ..streams.event import Event
from .copies import copy_from_device, copy_to_device, fill, read
from .hosted import held_for_sending, note_written_on_device, ready_to_read
from .node_buffer import NodeBuffer, NodeMemory


def from_host(
    context: NodeMemory, node: TensorNode, array: Array, index: Index | None, *, may_queue: bool
) -> Event:
    """Schedules a copy into a node. With `may_queue` the array may be read after the call returns."""
    buffer = context.buffer_of(node, "from_host")
    who = f"from_host {node.debug_name}"
    region = region_of(node, index, who)
    source = region.check(array, who)
    _check_changeable(buffer, who)
    copy = copy_to_device(context.stream, buffer, region, source, may_queue)
    in_part = not region.is_whole
    with held_for_sending([buffer] if in_part else []) as held, context.device.schedule_lock:
        if in_part:
            ready_to_read(context, buffer, f"{who}, in part", held)
        event = fill(context, buffer, who, copy, in_part=in_part)
    note_written_on_device(buffer, event)
    return event


def to_host(
    context: NodeMemory, node: TensorNode, out: Array, index: Index | None, *, may_queue: bool
) -> Event:
    """Schedules a copy from a node. With `may_queue` `out` may be written after the call returns."""
    buffer = context.buffer_of(node, "to_host")
    who = f"to_host {node.debug_name}"
    region = region_of(node, index, who)
    target = region.check_target(out, who)
    with held_for_sending([buffer]) as held, context.device.schedule_lock:
        ready_to_read(context, buffer, "to_host", held)
        copy = copy_from_device(context.stream, buffer, region, target, may_queue)
        return read(context, buffer, who, copy)


def fill_from_host(context: NodeMemory, node: TensorNode, array: Array, *, may_queue: bool) -> Event:
    """
    Schedules the first copy into a node, from an array of its shape with or without its padding. With
    `may_queue` the array may be read after the call returns.
    """
    who = f"init_from_host {node.debug_name}"
    buffer = context.buffer_of(node, who)
    _check_changeable(buffer, who)
    source = _padded(node, array, who)
    copy = copy_to_device(context.stream, buffer, whole_region(node), source, may_queue)
    event = fill(context, buffer, who, copy)
    note_written_on_device(buffer, event)
    return event


def fill_with_zeros(context: NodeMemory, node: TensorNode) -> Event:
    """Schedules the first filling of a node, with zeros."""
    who = f"init_zeros {node.debug_name}"
    buffer = context.buffer_of(node, who)
    _check_changeable(buffer, who)
    driver = context.stream.driver

    def work() -> None:
        if buffer.nbytes:
            driver.memset_zero(buffer.location, buffer.nbytes)

    event = fill(context, buffer, who, work)
    note_written_on_device(buffer, event)
    return event


def _check_changeable(buffer: NodeBuffer, who: str) -> None:
    """Raises `ContextError` for a constant that another context of the device has given its value."""
    if buffer.node.known_constant and buffer.is_initialized and buffer.undefined_by is None:
        raise ContextError(
            f"{who}: the node is constant and has its value (hint: make_child([node]) shares it)"
        )


def _padded(node: TensorNode, array: Array, who: str) -> Array:
    """Returns an array of the node's shape with padding: `array`, or `array` inside the padding's value."""
    padding = node.padding
    if padding is None or getattr(array, "shape", None) == node.dims:
        return whole_region(node).check(array, who)
    inner = region_of(node, None, who).check(array, who)
    padded = np.full(node.dims, padding.value, node.dtype)
    padded[without_padding(node)] = inner
    return padded
