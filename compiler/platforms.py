"""`tenon.open_platform`: devices, and the passes that lower programs for them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.utils.exceptions import VerifyException

from ..backends.interface import Backend, unmet_by_host
from ..backends.registry import open_backends
from ..dialects import graph, low
from ..dialects.memory_modes import NEVER_VIRTUAL, OPEN_MODES, most_local
from ..dialects.modules.canonical_text import canonical_text
from ..dialects.modules.entry import Entry, find_entry, keep_only
from ..dialects.modules.parsing import location_text, parse_module, verify_module
from ..errors import DeviceError, MemoryModeError, TenonError
from ..runtime.nodes.tensor_node import TensorNode
from ..runtime.nodes.tensor_node_memory import LOCAL_NBYTES
from ..runtime.plan.argument_kinds import check_kind
from ..runtime.plan.entry_state import nodes_of
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.plan.program_plan import NodePlan
from ..runtime.platforms.device import Scheduler
from ..runtime.platforms.optimize_context import OptimizeContext
from ..runtime.platforms.platform import FunctionRequest, Platform
from ..runtime.timeline.spans import Category
from ..runtime.timeline.timeline import span
from .kept_programs import digest_of_source, store_program
from .linking import lowered_program
from .lowering import located_failures
from .source import CompileRequest, ProgramSource


def open_platform(
    name: str | Backend | Sequence[Backend] = "llvm",
    *,
    scheduler: str | Scheduler | None = None,
    num_devices: int | None = None,
    large_offsets: bool = False,
    pool_limit: int | None = None,
    target: str | None = None,
) -> Platform:
    """
    Returns the devices of a backend: `llvm`, `opencl`, `reference`, or one of `register_backend`; or of
    `Backend` records of the caller's own, of which each is a device.

    `num_devices` logical devices are made, each with memory and a queue of its own: as many as asked for on
    the processor, on OpenCL they go round the physical devices. By default one; on OpenCL all there are.
    `scheduler` says how devices without queues of their own work: `sync` (at once, in the calling thread; the
    default), `multicore` (a thread each), or by what a function `(track, lock) -> Runner` makes for each. A
    pool holds at most `pool_limit` bytes: by default what 32-bit offsets reach, with `large_offsets` what the
    device gives. `target` names the processor that llvm makes code for, as in `tenon.compile`; here it must
    be one that the host runs.

    Raises:
        TenonError: a name is not known, `num_devices` or `pool_limit` is less than 1, the backend takes no
            scheduler or no target; or records are none, are of different names, share a driver, or come with
            `num_devices` or a target.
        CallError: another kind of thing is given.
        MissingExtraError: the backend's package is not installed.
        DeviceError: there is no device for it, or the host cannot run code for the target.
    """
    for what, value in (("num_devices", num_devices), ("pool_limit", pool_limit)):
        if value is None:
            continue
        check_kind(f"open_platform: {what}", value, "an integer", int)
        if value < 1:
            raise TenonError(f"open_platform: {what} is {value}, expected 1 or more")
    check_kind("open_platform: target", target, "the name of a processor", str, NoneType)
    if isinstance(name, str):
        backends: Sequence[Backend] = open_backends(name, num_devices, target)
    else:
        backends = _own_backends(name, num_devices, target)
        name = backends[0].name
    if unmet := unmet_by_host(backends[0].device):
        raise DeviceError(f"open_platform: {unmet}")
    return Platform(
        name,
        backends,
        _GraphLowering(),
        scheduler=scheduler,
        large_offsets=large_offsets,
        pool_limit=pool_limit,
    )


def _own_backends(
    given: Backend | Sequence[Backend], num_devices: int | None, target: str | None
) -> Sequence[Backend]:
    """Returns records of the caller's as the devices of one platform."""
    backends = (given,) if isinstance(given, Backend) else tuple(given)
    for backend in backends:
        check_kind("open_platform", backend, "a backend's name, or Backend records", Backend)
    if not backends:
        raise TenonError("open_platform: no Backend record is given (at least 1)")
    for what, value in (("num_devices", num_devices), ("target", target)):
        if value is not None:
            raise TenonError(f"open_platform: {what} is for backends by name: each record is a device")
    names = sorted({backend.name for backend in backends})
    if len(names) > 1:
        raise TenonError(f"open_platform: the records are of different backends: {', '.join(names)}")
    if len({id(backend.driver) for backend in backends}) < len(backends):
        raise TenonError("open_platform: two records share a driver: each device needs one of its own")
    return backends


class _GraphLowering:
    """The default passes, for functions over tensor nodes."""

    def function_name(self, request: FunctionRequest) -> str:
        """What `runtime.platforms.platform.Lowering` says."""
        program = request.program
        module = parse_module(program, request.filename) if isinstance(program, str) else program
        return find_entry(module, None).sym_name.data

    def lower(
        self, backend: Backend, request: FunctionRequest, known: OptimizeContext
    ) -> tuple[LoweredProgram, Mapping[str, Any]]:
        """What `runtime.platforms.platform.Lowering` says."""
        from ..passes.graph.scratch_nodes import scratch_nodes
        from ..passes.graph.virtual_nodes import extract_virtual, inline_virtual

        program, nodes = request.program, known.nodes
        with span("parse", Category.COMPILE):
            is_module = isinstance(program, ModuleOp)
            module = program.clone() if is_module else parse_module(program, request.filename)
            verify_module(module)
        chosen = find_entry(module, request.entry)
        _check_arguments(chosen)
        if request.name is not None:
            chosen.properties["sym_name"] = StringAttr(request.name)
        _take_modes(module, nodes)
        scratch = scratch_nodes(module)
        keep_only(module, chosen)
        _check_accesses(module, nodes, chosen)
        accessed = nodes_of(module, chosen, with_local=True)
        local = _make_local(scratch, accessed)
        with located_failures():
            found = extract_virtual(module)
            _warn_of_replaced(known.computations, found, chosen)
            inline_virtual(module, {**known.computations, **found})
        source = ProgramSource(module, is_verified=True)
        lowered = lowered_program(CompileRequest(source, backend), "platform", loads=False)
        return replace(lowered, accessed=accessed, scratch=local), found

    def keep(self, backend: Backend, program: LoweredProgram) -> None:
        """What `runtime.platforms.platform.Lowering` says."""
        store_program(program, backend)

    def join(self, backend: Backend, programs: Sequence[LoweredProgram]) -> list[LoweredProgram]:
        """
        What `runtime.platforms.platform.Lowering` says: programs are joined whose kernels differ in their
        names.
        """
        groups: list[list[int]] = []
        for number, program in enumerate(programs):
            if program.module is None:
                continue
            names = program.plan.kernel_names
            for group in groups:
                if all(set(names).isdisjoint(programs[other].plan.kernel_names) for other in group):
                    group.append(number)
                    break
            else:
                groups.append([number])
        joined = list(programs)
        for group in groups:
            if len(group) == 1:
                continue
            modules = [module for number in group if (module := programs[number].module) is not None]
            kernels = [op.clone() for module in modules for op in module.ops if isinstance(op, low.KernelOp)]
            source = backend.renderer.render(ModuleOp(kernels), backend.device) if kernels else ""
            for number in group:
                joined[number] = programs[number].joined(source, digest_of_source(source))
        return joined


def _warn_of_replaced(known: Mapping[str, Any], found: Mapping[str, Any], entry: Entry) -> None:
    """Warns where a virtual node is computed in another way than in an earlier program."""
    for name, computation in found.items():
        other = known.get(name)
        if other is not None and canonical_text(other) != canonical_text(computation):
            warnings.warn(
                f"@{entry.sym_name.data}: virtual node @{name} is not computed as in an earlier program; "
                "programs compiled from here on have this computation of it",
                RuntimeWarning,
                stacklevel=4,
            )


def _check_arguments(entry: Entry) -> None:
    """Raises TenonError where a function takes or gives arrays, which only nodes can hold here."""
    type = entry.function_type
    name = entry.sym_name.data
    location = location_text(entry.location)
    for number, argument in enumerate(type.inputs):
        if not isinstance(argument, IndexType):
            raise TenonError(
                f"@{name}: argument {number} is {argument}, expected index "
                "(hint: graph.read of a tensor node)",
                location=location,
            )
    if len(type.outputs):
        raise TenonError(
            f"@{name}: gives {len(type.outputs)} results, expected none (hint: graph.write to a tensor node)",
            location=location,
        )


def _take_modes(module: ModuleOp, nodes: Mapping[str, TensorNode]) -> None:
    """Gives declarations without a memory mode the one that their node has."""
    for op in module.ops:
        if isinstance(op, graph.TnodeOp) and op.mode is None:
            node = nodes.get(op.sym_name.data)
            if node is not None and node.memory_mode is not None:
                op.mode = graph.NodeModeAttr(node.memory_mode)


def _check_accesses(module: ModuleOp, nodes: Mapping[str, TensorNode], entry: Entry) -> None:
    """
    Raises `MemoryModeError` where a function needs more of a node than its memory mode gives, which an
    earlier compile decided.
    """
    for op in module.walk():
        if isinstance(op, graph.ReadOp | graph.WriteOp):
            node = nodes.get(op.node_name)
            try:
                if node is not None and node.known_not_materialized:
                    op.verify_()
            except VerifyException as error:
                assert node is not None
                reason = f"{node.debug_name} is {node.debug_memory_mode}"
                raise MemoryModeError(
                    f"@{entry.sym_name.data}: {error} ({reason})", location=location_text(op.location)
                ) from error


def _make_local(scratch: Sequence[graph.TnodeOp], accessed: Sequence[NodePlan]) -> frozenset[str]:
    """
    Gives the most local memory mode to nodes for whom none is decided and that need none of their own.
    Returns the names of those of `accessed` among them.
    """
    nbytes = {node.name: node.nbytes for node in accessed}
    names: set[str] = set()
    for op in scratch:
        name = op.sym_name.data
        if name in nbytes and op.memory_mode in OPEN_MODES:
            mode = most_local(op.memory_mode or NEVER_VIRTUAL, fits_locally=nbytes[name] <= LOCAL_NBYTES)
            op.mode = graph.NodeModeAttr(mode)
            names.add(name)
    return frozenset(names)
