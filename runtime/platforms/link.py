"""Makes routines: of compiled code, whose buffers get places in a context's memory, and of copies."""

from __future__ import annotations

import weakref
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from ...backends.interface import BufferLoc
from ...errors import ContextError
from ..memory.segments import Request, aligned, pack
from ..memory.slab_pool import Slab
from ..nodes.tensor_node import TensorNode
from ..plan.program_plan import BufferKind, ProgramPlan
from ..plan.signature import Array
from . import transfer
from .code import Code, CodeBatch
from .device import Stream
from .node_buffer import NodeBuffer
from .routine import LinkedProgram, ProgramRoutine, Routine, TransferRoutine

if TYPE_CHECKING:
    from .context import Context


class ConstantSlab:
    """The constants of one program on one device, freed with the last routine that uses them."""

    def __init__(self, stream: Stream, code: Code) -> None:
        device = stream.device
        constants = code.plan.constants
        pack([Request(f"{code.name}: the constants", constants.nbytes)], device.pool_limit)
        self.slab = device.pools.allocate(constants.nbytes)
        weakref.finalize(self, device.pools.free, [self.slab]).atexit = False
        # Done when this returns: other streams read it too.
        with stream.lock:
            stream.driver.copy_to_device(self.slab.at(0), constants)


def link_code(context: Context, code: Code) -> Routine:
    """What `Context.link` says."""
    context.check_usable(code.name)
    device, plan = context.device, code.plan
    if code.platform is not device.platform:
        raise ContextError(f"{code.name}: compiled for {code.platform!r}, linked on {device.platform!r}")
    merged = None if plan.merge_node is None else code.nodes[plan.merge_node]
    if merged is not None and context.merge_buffer_node is not merged:
        found = context.merge_buffer_node
        raise ContextError(
            f"{code.name}: reads {merged.debug_name} from the merge buffer, which in this context holds "
            f"{'nothing' if found is None else found.debug_name}"
            f"{context.namesake_hint(merged) or ' (hint: link on the context of device_to_device)'}"
        )
    child = context.make_child(code.kept_nodes, optimize_context=code.optimize_context)
    try:
        return _link(child, code, merged)
    except BaseException:
        child.finalize()
        raise


def link_batch(context: Context, batch: CodeBatch) -> tuple[Context, list[Routine | None]]:
    """What `Context.link_batch` says."""
    context.check_usable("link_batch")
    routines: list[Routine | None] = []
    start = context
    try:
        for code in batch:
            routine = None if code is None else link_code(context, code)
            routines.append(routine)
            context = context if routine is None else routine.context
    except BaseException:
        for routine in routines:
            if routine is not None and routine.context.parent is start:
                routine.context.finalize()
        raise
    return context, routines


def link_copy(
    context: Context, node: TensorNode, source: Context, *, into_merge_buffer: bool
) -> TransferRoutine | None:
    """What `Context.device_to_device` says."""
    context.check_usable("device_to_device")
    source.check_usable("device_to_device")
    if node not in source or not (into_merge_buffer or node in context):
        return None
    origin = source.buffer_of(node, "device_to_device")
    if into_merge_buffer:
        context.device.check_fits_merging(node.debug_name, origin.nbytes)
        return TransferRoutine(context.make_child(merge_buffer_node=node), source, origin, None)
    target = context.buffer_of(node, "device_to_device")
    is_same = target.device.backend.driver is origin.device.backend.driver
    if is_same and target.location == origin.location:
        return None
    return TransferRoutine(context.make_child(), source, origin, target)


def _link(context: Context, code: Code, merged: TensorNode | None) -> ProgramRoutine:
    """Links to a context that has all nodes of the program."""
    stream, device, plan = context.stream, context.device, code.plan.linked(code.callbacks)
    for declared in plan.nodes:
        node = code.nodes[declared.name]
        buffer = context.buffer_of(node, code.name)
        if declared.initial is not None:
            _fill_as_declared(context, code.name, node, buffer, declared.initial)
    temporaries = _allocate(context, f"{code.name}: the temporaries", plan.temporary_nbytes)
    constants = None
    if plan.constants.nbytes:
        constants = device.shared.get(
            ("constants", code.id), ConstantSlab, lambda: ConstantSlab(stream, code)
        )
    # Drivers want an address for each buffer: those of no bytes share one, which nothing reads.
    has_empty = any(not buffer.nbytes for buffer in plan.buffers)
    nowhere = _allocate(context, code.name, aligned(0) if has_empty else 0)
    locations: list[BufferLoc] = []
    for buffer in plan.buffers:
        match buffer.kind:
            case _ if not buffer.nbytes:
                assert nowhere is not None
                locations.append(nowhere.at(0))
            case BufferKind.NODE:
                locations.append(context.buffer_of(code.nodes[buffer.node], code.name).location)
            case BufferKind.MERGE:
                locations.append(stream.merge_buffer.location)
            case BufferKind.TEMPORARY:
                assert temporaries is not None
                locations.append(temporaries.at(buffer.offset))
            case BufferKind.CONSTANT:
                assert constants is not None
                locations.append(constants.slab.at(buffer.offset))
            case _:
                raise AssertionError(f"{code.name}: a routine has no buffer of kind {buffer.kind.value}")
    with stream.lock:
        program = stream.driver.bind(code.artifact_for(device.backend), plan.steps, locations)
    # A node that is written in part keeps the rest, so its contents must be there before the run.
    reads = dict.fromkeys([*plan.reads, *_written_in_part(plan)])
    linked = LinkedProgram(program, plan, tuple(locations), constants)
    return ProgramRoutine(
        context,
        linked,
        [context.buffer_of(code.nodes[name], code.name) for name in reads],
        [context.buffer_of(code.nodes[name], code.name) for name in plan.writes],
        merged,
    )


def _fill_as_declared(
    context: Context, who: str, node: TensorNode, buffer: NodeBuffer, initial: Array
) -> None:
    """
    Gives a node without values those that a program declares. Raises `ContextError` where another program
    gave it others.
    """
    if buffer.is_initialized and buffer.declared is None:
        return
    digest = blake2b(np.ascontiguousarray(initial).tobytes(), digest_size=32).hexdigest()
    if not buffer.is_initialized:
        transfer.fill_from_host(context, node, initial, may_queue=False).sync()
        buffer.declared = who, digest
    elif buffer.declared is not None and buffer.declared[1] != digest:
        raise ContextError(
            f"{who}: declares other initial values of {node.debug_name} than {buffer.declared[0]}, which was "
            "linked first (hint: declare them in one program only)"
        )


def _allocate(context: Context, name: str, nbytes: int) -> Slab | None:
    """Returns a slab that lives as long as the context, None for no bytes."""
    if not nbytes:
        return None
    device = context.device
    (segment,) = pack([Request(name, nbytes)], device.pool_limit)
    slab = device.pools.allocate(segment.nbytes, None, nbytes)
    context.own([slab])
    return slab


def _written_in_part(plan: ProgramPlan) -> list[str]:
    """Returns the nodes of which a run writes some elements only: the others must have values before."""
    whole = {buffer.node for buffer in plan.buffers if buffer.kind is BufferKind.NODE and not buffer.indices}
    return [name for name in plan.writes if name not in whole]
