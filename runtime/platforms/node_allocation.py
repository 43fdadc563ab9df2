"""Gives tensor nodes memory on a device: that of one context, or that which all its contexts share."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence

import numpy as np

from ...dialects.memory_modes import MATERIALIZED
from ...errors import ContextError
from ..memory.segments import Request, pack
from ..memory.slab_pool import Slab
from ..nodes.tensor_node import TensorNode
from ..plan.signature import Array
from .device import Device
from .node_buffer import NodeBuffer


def allocate(device: Device, nodes: Sequence[TensorNode], slabs: list[Slab]) -> dict[TensorNode, NodeBuffer]:
    """
    Returns memory for `nodes`, in their order; the pools it lies in are added to `slabs`. Memory that streams
    share belongs to the device's contexts already, and is in no pool of `slabs`.
    """
    buffers: dict[TensorNode, NodeBuffer] = {}
    groups: dict[bool, list[TensorNode]] = {}
    for node in nodes:
        node.update_memory_mode(MATERIALIZED, f"memory on {device.name}")
        if node.known_shared_cross_streams:
            buffers[node] = _shared(device, node, lambda node=node: _allocated(device, node))
        else:
            groups.setdefault(node.is_hosted, []).append(node)
    for group in groups.values():
        requests = [Request(node.debug_name, node.nbytes) for node in group]
        for segment in pack(requests, device.pool_limit):
            mode = group[0].memory_mode
            slab = device.pools.allocate(segment.nbytes, mode, segment.payload_nbytes)
            slabs.append(slab)
            for number, offset in segment.offsets.items():
                node = group[number]
                buffers[node] = NodeBuffer(node, device, slab.at(offset), node.nbytes)
                node.note_own_memory(buffers[node], device.name)
    for node, buffer in buffers.items():
        node.update_backend_info(device.name, f"{buffer.nbytes} bytes at {buffer.location}")
    return {node: buffers[node] for node in nodes}


def live_in(device: Device, node: TensorNode, array: Array, slabs: list[Slab]) -> NodeBuffer:
    """
    Returns the memory of a contiguous array as that of a node, which has its values. The pool is added to
    `slabs`, unless streams share it.

    Raises:
        ContextError: streams share the node, and the device has it in other memory.
    """
    if not node.known_shared_cross_streams:
        slab = device.pools.map_host(array.reshape(-1).view(np.uint8))
        slabs.append(slab)
        buffer = NodeBuffer(node, device, slab.at(0), array.nbytes, array, is_initialized=True)
        node.note_own_memory(buffer, device.name)
        return buffer
    buffer = _shared(device, node, lambda: _mapped(device, node, array))
    if buffer.keeps is not array:
        raise ContextError(
            f"init_from_host {node.debug_name}: copy=False, but contexts of {device.name} share the node in "
            "other memory"
        )
    return buffer


def _shared(device: Device, node: TensorNode, make: Callable[[], NodeBuffer]) -> NodeBuffer:
    """Returns the one memory that the contexts of a device have of a node; made, where there is none."""
    return device.shared.get(("node", node.id), NodeBuffer, make)


def _allocated(device: Device, node: TensorNode) -> NodeBuffer:
    (segment,) = pack([Request(node.debug_name, node.nbytes)], device.pool_limit)
    slab = device.pools.allocate(segment.nbytes, node.memory_mode, segment.payload_nbytes)
    return _freed_with_it(NodeBuffer(node, device, slab.at(0), node.nbytes, is_shared=True), slab)


def _mapped(device: Device, node: TensorNode, array: Array) -> NodeBuffer:
    slab = device.pools.map_host(array.reshape(-1).view(np.uint8))
    buffer = NodeBuffer(node, device, slab.at(0), array.nbytes, array, is_initialized=True, is_shared=True)
    return _freed_with_it(buffer, slab)


def _freed_with_it(buffer: NodeBuffer, slab: Slab) -> NodeBuffer:
    """Returns memory that streams share, to be freed with the last context that has it."""
    weakref.finalize(buffer, buffer.device.pools.free, [slab]).atexit = False
    return buffer
