"""A tensor node's memory on one device, who used it last, and who has it."""

from __future__ import annotations

import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...backends.interface import BufferLoc
from ...errors import ContextError, DeviceError
from ..memory.merge_buffer import MergeBuffer
from ..nodes.tensor_node import TensorNode
from ..plan.argument_kinds import check_kind
from ..process_bound import ProcessBound
from ..streams.event import Event
from .device import Device, Stream

_MANY = 16
"""Readers noted from which on those that are done are dropped."""


@dataclass(eq=False)
class NodeBuffer:
    """
    The memory of `node` on `device`. The notes here are of scheduled work, which is ahead of finished work;
    the device's `schedule_lock` guards them. `undefined_by` is the exception: it is set and read by the work
    itself.
    """

    node: TensorNode
    device: Device
    location: BufferLoc
    nbytes: int
    keeps: object = None
    """What else must live: the array whose memory this is."""
    is_initialized: bool = False
    host_version: int = -1
    """Of a hosted node: the host's version that was sent here, or was the last when a device wrote here."""
    undefined_by: str | None = None
    """The work that failed before it had filled the buffer; None if the last that wrote here succeeded."""
    owner: weakref.ref[NodeMemory] | None = None
    """The context that the memory is freed with; None where it is freed with this object."""
    declared: tuple[str, str] | None = None
    """The program whose declaration it was first filled as, and a digest of the values."""
    is_shared: bool = False
    """Whether all contexts of the device that have the node have it here."""
    _written: Event | None = None
    _read: list[Event] = field(default_factory=list[Event])

    def __post_init__(self) -> None:
        self.is_initialized = self.is_initialized or not self.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements, as arrays have it."""
        return self.node.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents, with padding."""
        return self.node.dims

    def check_initialized(self, who: str, hint: str = "") -> None:
        """Raises `ContextError` where nothing was scheduled that fills the buffer; `hint` says more."""
        if not self.is_initialized:
            raise ContextError(
                f"{who}: {self.node.debug_name} was never written on {self.device.name}"
                f"{hint or ' (hint: init_from_host, from_host, init_zeros)'}"
            )

    def check_defined(self) -> None:
        """Raises `DeviceError`, for work that is to read what failed work was to write."""
        if self.undefined_by is not None:
            raise DeviceError(f"{self.node.debug_name} is undefined since {self.undefined_by} failed")

    def waits_to_read(self) -> list[Event]:
        """Returns what must be done before the buffer is read."""
        return [] if self._written is None else [self._written]

    def waits_to_write(self) -> list[Event]:
        """Returns what must be done before the buffer is written."""
        return [*self.waits_to_read(), *self._read]

    def note_read(self, event: Event) -> None:
        if len(self._read) >= _MANY:
            self._read = [other for other in self._read if not other.is_done]
        self._read.append(event)

    def note_write(self, event: Event) -> None:
        self.is_initialized = True
        self._written = event
        self._read.clear()


Buffers = Mapping[TensorNode, NodeBuffer]
"""Memory of nodes, as `Context.buffers` gives it."""


class NodeMemory(ProcessBound):
    """The nodes that have memory, and the stream that works on them: what copies need of a context."""

    def __init__(self, stream: Stream, buffers: Buffers) -> None:
        self.stream = stream
        """What its routines and copies are scheduled on."""
        self.device = stream.device
        self._buffers: Buffers = buffers
        self._is_finalized = False

    @property
    def is_finalized(self) -> bool:
        return self._is_finalized

    def __contains__(self, node: object) -> bool:
        return node in self._buffers

    def buffer_of(self, node: TensorNode, who: str) -> NodeBuffer:
        """Returns the memory of a node. Raises `ContextError` where it is not here."""
        self.check_usable(who)
        check_kind(who, node, "a tensor node", TensorNode)
        buffer = self._buffers.get(node)
        if buffer is None:
            self.check_usable(who)
            if node.known_not_materialized:
                raise ContextError(
                    f"{who}: {node.debug_name} is in no context, it is {node.debug_memory_mode} "
                    f"(hint: graph.tnode @{node.debug_name} : ... mode materialized)"
                )
            present = ", ".join(other.debug_name for other in self._buffers) or "none"
            raise ContextError(
                f"{who}: {node.debug_name} is not in the context (nodes: {present}){self.namesake_hint(node)}"
            )
        return buffer

    def namesake_hint(self, node: TensorNode) -> str:
        """Returns what to say of another node of the same name here, empty where there is none."""
        for other in self._buffers:
            if other is not node and other.debug_name == node.debug_name:
                return (
                    f" (another node {other.ident} of that name is, this one is {node.ident}; "
                    "hint: compile(..., nodes=[...]) makes programs mean the same node)"
                )
        return ""

    def check_usable(self, who: str) -> None:
        """Raises `ContextError` where the context is finalized."""
        if self._is_finalized:
            raise ContextError(f"{who}: the context on {self.device.name} is finalized")


def events_of(reads: Sequence[NodeBuffer], writes: Sequence[NodeBuffer]) -> list[Event]:
    """Returns what must be done before work that reads and writes these buffers."""
    events = [event for buffer in reads for event in buffer.waits_to_read()]
    events += [event for buffer in writes for event in buffer.waits_to_write()]
    return list(dict.fromkeys(events))


@contextmanager
def fills(targets: Sequence[NodeBuffer | MergeBuffer], who: str) -> Generator[None]:
    """Around the work `who` that fills `targets`: where it fails they are undefined, else defined."""
    try:
        yield
    except BaseException:
        for target in targets:
            target.undefined_by = who
        raise
    for target in targets:
        target.undefined_by = None
