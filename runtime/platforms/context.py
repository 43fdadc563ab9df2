"""Which tensor nodes have memory on a device: an immutable tree, each child adding to its parent."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from itertools import count
from threading import RLock
from types import MappingProxyType

import numpy as np

from ...backends.interface import HostMapped, HostVisible
from ...errors import CallError, ContextError, DeviceError
from ..memory.slab_pool import Slab
from ..nodes.region import Index, region_of
from ..nodes.tensor_node import TensorNode
from ..plan.argument_kinds import check_kind
from ..plan.signature import Array
from ..streams.event import Event
from . import transfer
from .code import Code, CodeBatch
from .device import Device, Stream
from .hosted import held_for_sending, note_written_on_device, ready_to_read
from .link import link_batch, link_code, link_copy
from .node_allocation import allocate, live_in
from .node_buffer import Buffers, NodeBuffer, NodeMemory
from .optimize_context import OptimizeContext
from .routine import Routine

_next_number = count()


class _Kept(Enum):
    KEPT = "as in the parent"


_KEPT = _Kept.KEPT
"""What an option of `make_child` is that is not given, where None says something."""


class Context(NodeMemory):
    """
    The tensor nodes that have memory on one device, and the stream that works on them. A context never
    changes: what adds nodes returns a child, which has its parent's nodes and its own, the delta, and is on
    the parent's stream unless told otherwise. The contents of the nodes do change.

    A context owns the memory of its delta until `finalize`, or until nothing refers to it or to a descendant
    any more. Nodes that streams share (`known_shared_cross_streams`, constants among them) have one memory in
    all contexts of a device, which lives as long as one of them has it. Any thread may use a context.
    """

    COPY_HINT = "pickle the values of its nodes"

    def __init__(
        self,
        stream: Stream,
        parent: Context | None,
        delta: Mapping[TensorNode, NodeBuffer],
        slabs: list[Slab],
        merge_buffer_node: TensorNode | None,
        optimize_context: OptimizeContext | None,
        borrowed: Buffers = MappingProxyType({}),
    ) -> None:
        """`delta` is memory that this owns with `slabs`, `borrowed` that of other contexts of the device."""
        inherited: Buffers = {} if parent is None else parent._buffers
        super().__init__(stream, {**inherited, **borrowed, **delta})
        self.parent = parent
        self.merge_buffer_node = merge_buffer_node
        """Whose values the merge buffer holds once all routines up to here have run; None if not known."""
        self.optimize_context = optimize_context
        """What the code linked last left for later compiles; None before the first."""
        self._delta = tuple(node for node in self._buffers if node not in inherited)
        self._children: weakref.WeakSet[Context] = weakref.WeakSet()
        self._borrowers: weakref.WeakSet[Context] = weakref.WeakSet()
        """The contexts that have memory of this one's, without being children."""
        self._number = next(_next_number)
        self._lock = RLock()
        self._slabs = slabs
        for buffer in delta.values():
            if not buffer.is_shared:
                buffer.owner = weakref.ref(self)
        self._free = weakref.finalize(self, self.device.pools.free, slabs)
        self._free.atexit = False
        if parent is not None:
            with parent._lock:
                parent.check_usable("context")
                parent._children.add(self)
        self._lenders = tuple(dict.fromkeys(_lender_of(buffer) for buffer in borrowed.values()))
        for lender in self._lenders:
            if lender is not None:
                with lender._lock:
                    lender.check_usable("context")
                    lender._borrowers.add(self)

    @staticmethod
    def root(
        stream: Stream, buffers: Buffers | None = None, optimize_context: OptimizeContext | None = None
    ) -> Context:
        """What `Stream.make_context` says."""
        borrowed = _checked_buffers(stream.device, buffers or {}, {}, "make_context")
        return Context(stream, None, {}, [], None, optimize_context, borrowed)

    @property
    def nodes(self) -> tuple[TensorNode, ...]:
        """All nodes with memory here, the oldest first."""
        return tuple(self._buffers)

    @property
    def buffers(self) -> Buffers:
        """The memory of all nodes here: its place, dtype, shape and bytes."""
        return MappingProxyType(self._buffers)

    @property
    def delta(self) -> tuple[TensorNode, ...]:
        """The nodes that the parent has not."""
        return self._delta

    @property
    def children(self) -> tuple[Context, ...]:
        """The contexts derived from this one that are in use."""
        with self._lock:
            return tuple(sorted(self._children, key=lambda child: child._number))

    def __iter__(self) -> Iterator[TensorNode]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)

    def is_initialized(self, node: TensorNode) -> bool:
        """
        Returns whether something was scheduled that fills the node's memory.

        Raises:
            ContextError: the node is not here.
        """
        return self.buffer_of(node, "is_initialized").is_initialized

    def make_child(
        self,
        nodes: Sequence[TensorNode] = (),
        *,
        buffers: Buffers | None = None,
        merge_buffer_node: TensorNode | _Kept | None = _KEPT,
        optimize_context: OptimizeContext | None = None,
        stream: Stream | None = None,
    ) -> Context:
        """
        Returns a child with memory for those of `nodes` that are not here; it holds anything. Nodes of
        `buffers` lie in that memory, which is another context's of the device (`Context.buffers`): that one
        lives as long as the child, and finalizing it finalizes the child. With `merge_buffer_node` None
        nothing is known of the merge buffer. `stream` is the stream of the device that the child is on: what
        it has of the nodes here it waits for by itself. Options that are not given are as here. On another
        stream nothing is known of the merge buffer, which is another one.

        Raises:
            ContextError: the context is finalized, or a node of `buffers` is here already, or its memory is
                another node's, another device's, or freed; or the stream is another device's.
            MemoryModeError: a node has no memory of its own: its mode is virtual or local.
            OutOfMemoryError: the device has not that much memory, or one node is larger than a pool may be.
        """
        self.check_usable("make_child")
        for node in nodes:
            check_kind("make_child", node, "tensor nodes", TensorNode)
        stream = self._checked_stream(stream)
        if stream is not self.stream and merge_buffer_node is _KEPT:
            merge_buffer_node = None
        borrowed = _checked_buffers(self.device, buffers or {}, self._buffers, "make_child")
        missing = [
            node for node in dict.fromkeys(nodes) if node not in self._buffers and node not in borrowed
        ]
        slabs: list[Slab] = []
        try:
            delta = allocate(self.device, missing, slabs)
            return Context(
                stream,
                self,
                delta,
                slabs,
                self.merge_buffer_node if merge_buffer_node is _KEPT else merge_buffer_node,
                optimize_context or self.optimize_context,
                borrowed,
            )
        except BaseException:
            self.device.pools.free(slabs)
            raise

    def link(self, code: Code) -> Routine:
        """
        Returns `code` as a routine on the nodes of this context. Nodes that it uses and the context lacks get
        memory in a child, the routine's `context`.

        Raises:
            ContextError: the context is finalized, the code is another platform's, or it reads the merge
                buffer and this context's is another node's.
            OutOfMemoryError, KernelCompileError: as the device says.
        """
        check_kind("link", code, "code of Platform.compile", Code)
        return link_code(self, code)

    def link_batch(self, batch: CodeBatch) -> tuple[Context, list[Routine | None]]:
        """
        Links the programs of a batch one after the other; None for those that the batch left out. Returns the
        context of the last, which has the nodes of all. Raises what `link` raises.
        """
        return link_batch(self, batch)

    def from_host(self, node: TensorNode, array: Array, *, index: Index | None = None) -> Event:
        """
        Fills the node, or the part that `index` selects, from an array of that shape and the node's dtype, of
        any layout. Blocks until the array may be changed. The shape is that without padding.

        Raises:
            ContextError: the node is not here, is a constant that has its value, or is written in part before
                it was written whole.
            CallError: dtype, shape or index do not fit.
            RoutineError, DeviceLostError: as `Event.sync`.
        """
        event = transfer.from_host(self, node, array, index, may_queue=False)
        event.sync()
        return event

    def queue_from_host(self, node: TensorNode, array: Array, *, index: Index | None = None) -> Event:
        """As `from_host`, but returns at once. The array must not change until the event is done."""
        return transfer.from_host(self, node, array, index, may_queue=True)

    def to_host(self, node: TensorNode, out: Array | None = None, *, index: Index | None = None) -> Array:
        """
        Waits for what writes the node, and returns its values without padding, or those that `index` selects,
        in `out` or in a new array.

        Raises:
            ContextError: the node is not here, or was never written.
            CallError: dtype, shape, layout or index of `out` do not fit, or it is not writeable.
            RoutineError, DeviceLostError: as `Event.sync`.
        """
        self.buffer_of(node, "to_host")
        if out is None:
            type = region_of(node, index, "to_host").type
            out = np.empty(type.shape, type.dtype)
        transfer.to_host(self, node, out, index, may_queue=False).sync()
        return out

    def queue_to_host(self, node: TensorNode, out: Array, *, index: Index | None = None) -> Event:
        """As `to_host`, but returns at once. `out` has the values when the event is done."""
        return transfer.to_host(self, node, out, index, may_queue=True)

    def host_view(self, node: TensorNode) -> Array:
        """
        Waits for all that is scheduled, and returns the node's memory itself, padding included, as a
        read-only array. It is to be read before anything else is scheduled, and not after the context is
        finalized.

        Raises:
            DeviceError: the host cannot see the device's memory.
            ContextError: the node is not here, or was never written.
        """
        buffer = self.buffer_of(node, "host_view")
        with held_for_sending([buffer]) as held, self.device.schedule_lock:
            ready_to_read(self, buffer, "host_view", held)
        driver = self.device.backend.driver
        if not isinstance(driver, HostVisible):
            raise DeviceError(f"host_view: the host cannot see the memory of {self.device.name}")
        self.device.await_idle()
        buffer.check_defined()
        with self.device.pools.lock:
            view = driver.host_view(buffer.location, buffer.nbytes).view(node.dtype).reshape(node.dims)
        view.flags.writeable = False
        return view

    def init_from_host(self, node: TensorNode, array: Array, *, copy: bool = True) -> Context:
        """
        Returns a child that has the node, filled from an array of its shape (with or without padding). With
        `copy=False` the node lives in the array's own memory, which must be C-contiguous; the host is to
        leave it unchanged while the child is in use. A node that streams share gets its values in all
        contexts of the device.

        Raises:
            ContextError: the node is here already, is a constant that the device has, or is to live in the
                array and streams share it in other memory.
            CallError: dtype or shape do not fit, or the array cannot be used without a copy.
            OutOfMemoryError: the device has not that much memory.
        """
        self._check_absent(node, "init_from_host")
        if copy:
            child = self.make_child([node])
            try:
                transfer.fill_from_host(child, node, array, may_queue=False).sync()
            except BaseException:
                child.finalize()
                raise
            return child
        return self._map(node, array)

    def queue_init_from_host(self, node: TensorNode, array: Array) -> tuple[Context, Event]:
        """
        As `init_from_host`, but returns at once: the child, and the event of the copy, until which the array
        must not change.
        """
        self._check_absent(node, "queue_init_from_host")
        child = self.make_child([node])
        try:
            return child, transfer.fill_from_host(child, node, array, may_queue=True)
        except BaseException:
            child.finalize()
            raise

    def init_zeros(self, node: TensorNode) -> Context:
        """
        Returns a child that has the node, filled with zeros.

        Raises:
            ContextError: the node is here already.
            OutOfMemoryError: the device has not that much memory.
        """
        self._check_absent(node, "init_zeros")
        child = self.make_child([node])
        transfer.fill_with_zeros(child, node)
        return child

    def init_from_device(self, node: TensorNode, source: Context) -> Context:
        """
        Returns a child that has the node, filled with what it holds in `source`.

        Raises:
            ContextError: the node is here already, or not in `source`, or was never written there.
            OutOfMemoryError: the device has not that much memory.
        """
        self._check_absent(node, "init_from_device")
        origin = source.buffer_of(node, "init_from_device")
        with held_for_sending([origin]) as held, source.device.schedule_lock:
            ready_to_read(source, origin, "init_from_device", held)
        child = self.make_child([node])
        if node.known_constant and child.is_initialized(node):
            return child
        routine = link_copy(child, node, source, into_merge_buffer=False)
        if routine is None:  # the contexts share the memory
            return child
        routine.run()
        return routine.context

    def device_to_device(
        self, node: TensorNode, source: Context, *, into_merge_buffer: bool = False
    ) -> Routine | None:
        """
        Returns a routine that copies what the node holds in `source` to here, into the node or into the
        stream's merge buffer. Its context is a child of this one; after a copy into the merge buffer the
        child's `merge_buffer_node` is the node. None if there is nothing to copy: the node is not in
        `source`; or, for a copy into the node, it is not here either, or it is the same memory. Nothing else
        happens before the routine runs: then the merge buffer grows, if it must.

        Raises:
            ContextError: a context is finalized.
            OutOfMemoryError: the node has more bytes than a pool, and the merge buffer is one.
        """
        check_kind("device_to_device", node, "a tensor node", TensorNode)
        check_kind("device_to_device", source, "a context", Context)
        return link_copy(self, node, source, into_merge_buffer=into_merge_buffer)

    def finalize(self) -> None:
        """
        Waits for what is scheduled on the stream, and frees the memory of this context's delta and of all
        its descendants', which then cannot be used any more, nor can contexts with memory of theirs. The
        parent is left as it is, and so is what `buffers` gave. Finalizing twice is
        finalizing once. Failures of the work waited for are left for the next synchronisation.
        """
        with self._lock:
            dependent = (*self.children, *self._borrowers)
        for context in dependent:
            context.finalize()
        # Who schedules holds the lock: what comes later is refused, what came before is waited for.
        with self.device.schedule_lock, self._lock:
            if self._is_finalized:
                return
            self._is_finalized = True
        runner = self.stream.runner
        runner.wait(runner.all_work())
        for buffer in self._buffers.values():
            for event in buffer.waits_to_write():
                event.runner.wait(event)
        self._buffers = {}
        self._free()

    def own(self, slabs: Sequence[Slab]) -> None:
        """Makes the context the owner of more memory, for the temporaries of a routine."""
        self._slabs.extend(slabs)

    def _checked_stream(self, stream: Stream | None) -> Stream:
        """Returns the stream of a child. Raises `ContextError` for another device's."""
        if stream is None:
            return self.stream
        check_kind("make_child: stream", stream, "a stream of the device", Stream)
        if stream.device is not self.device:
            raise ContextError(f"make_child: {stream.name} is no stream of {self.device.name}")
        return stream

    def _check_absent(self, node: TensorNode, who: str) -> None:
        check_kind(who, node, "a tensor node", TensorNode)
        self.check_usable(who)
        if node in self._buffers:
            raise ContextError(
                f"{who}: {node.debug_name} is in the context already (hint: from_host, device_to_device)"
            )

    def _map(self, node: TensorNode, array: Array) -> Context:
        device = self.device
        array = region_of(node, None, "init_from_host").check(array, f"init_from_host {node.debug_name}")
        flags = array.flags
        problem = (
            f"{device.name} does not work in the host's memory"
            if not isinstance(device.backend.driver, HostMapped)
            else "the node has padding"
            if array.shape != node.dims
            else "the array is not C-contiguous and aligned"
            if not (flags.c_contiguous and flags.aligned)
            else "the array is not writeable"
            if not flags.writeable and not node.known_constant
            else None
        )
        if problem is not None:
            raise CallError(f"init_from_host {node.debug_name}: copy=False, but {problem}")
        slabs: list[Slab] = []
        buffer = live_in(device, node, array, slabs)
        child = Context(
            self.stream, self, {node: buffer}, slabs, self.merge_buffer_node, self.optimize_context
        )
        note_written_on_device(buffer, self.stream.runner.all_work())
        return child

    def __repr__(self) -> str:
        state = ", finalized" if self._is_finalized else ""
        names = ", ".join(node.debug_name for node in self._buffers)
        return f"<Context on {self.stream.name} ({names}){state}>"


def _checked_buffers(device: Device, given: Buffers, present: Buffers, who: str) -> Buffers:
    """Returns the memory of nodes that are not present. Raises `ContextError` for what cannot be had."""
    for node, buffer in given.items():
        check_kind(f"{who}: buffers", node, "tensor nodes", TensorNode)
        check_kind(f"{who}: buffers", buffer, "memory of nodes", NodeBuffer)
        name = node.debug_name
        if buffer.node is not node:
            raise ContextError(f"{who}: the buffer given for {name} is that of {buffer.node.debug_name}")
        if buffer.device is not device:
            raise ContextError(
                f"{who}: the buffer of {name} is on {buffer.device.name}, not on {device.name}"
            )
        if present.get(node, buffer) is not buffer:
            raise ContextError(f"{who}: {name} is in the context already, in other memory")
        owner = _lender_of(buffer)
        if buffer.owner is not None and (owner is None or owner.is_finalized):
            raise ContextError(f"{who}: the context that the buffer of {name} was made in is gone")
    return {node: buffer for node, buffer in given.items() if node not in present}


def _lender_of(buffer: NodeBuffer) -> Context | None:
    """Returns the context that memory is freed with; None where the buffer is enough to keep it."""
    owner = None if buffer.owner is None else buffer.owner()
    assert owner is None or isinstance(owner, Context), "only contexts own memory"
    return owner
