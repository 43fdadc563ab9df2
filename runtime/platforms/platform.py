"""All devices of one backend, and what compiles for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from xdsl.dialects.builtin import ModuleOp

from ...backends.interface import Backend, CompiledArtifact, Queued
from ...errors import ContextError, TenonError
from ...semantics.host_calls import HostFunctions
from ..memory.segments import POOL_LIMIT
from ..nodes.tensor_node import TensorNode
from ..plan.argument_kinds import check_kind
from ..plan.host_calls import check_callbacks, check_collectives
from ..plan.lowered_program import LoweredProgram
from ..process_bound import ProcessBound
from .code import Code, CodeBatch
from .context import Context
from .device import SCHEDULERS, Device, Scheduler, scheduler_name
from .node_matching import match_nodes, node_names, note_compiled
from .optimize_context import OptimizeContext

Program = ModuleOp | str

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class FunctionRequest:
    """A function that is to be compiled, and what it is to be called."""

    program: Program
    name: str | None
    """None is the name that it has."""
    entry: str | None
    """Which one of the program; may be left out where there is only one."""
    filename: str


class Lowering(Protocol):
    """What takes programs from their text to the source of a backend: the passes, which stand above here."""

    def function_name(self, request: FunctionRequest) -> str:
        """
        Returns the name of the function that a program is compiled as where nobody names one. Raises
        `TenonError` where the program is wrong, or has several.
        """
        ...

    def lower(
        self, backend: Backend, request: FunctionRequest, known: OptimizeContext
    ) -> tuple[LoweredProgram, Mapping[str, Any]]:
        """
        Returns one function, lowered, and the computations of the virtual nodes that it writes. The nodes
        that are `known` have the memory modes that declarations leave open, and virtual ones are replaced by
        their computations.
        """
        ...

    def join(self, backend: Backend, programs: Sequence[LoweredProgram]) -> list[LoweredProgram]:
        """Returns the programs with sources that several of them share, so that fewer are compiled."""
        ...

    def keep(self, backend: Backend, program: LoweredProgram) -> None:
        """Keeps a program that was compiled for later processes, where it may be kept."""
        ...


class Platform(ProcessBound):
    """
    The devices of one backend. Its devices share a compiler, so that code is compiled once for all of them.
    Any thread may use it.
    """

    COPY_HINT = "open it there by its name: tenon.open_platform(name)"

    def __init__(
        self,
        name: str,
        backends: Sequence[Backend],
        lowering: Lowering,
        *,
        scheduler: str | Scheduler | None = None,
        large_offsets: bool = False,
        pool_limit: int | None = None,
    ) -> None:
        """
        Makes a device of each of `backends`, all of one kind.

        Raises:
            TenonError: the scheduler is not known, or the devices have queues of their own and take none.
            CallError: the scheduler makes no runner.
        """
        assert backends, "a platform without devices"
        if isinstance(backends[0].driver, Queued):
            if scheduler is not None:
                raise TenonError(f"{name}: the devices have queues of their own and take no scheduler")
        else:
            scheduler = "sync" if scheduler is None else scheduler
            if isinstance(scheduler, str) and scheduler not in SCHEDULERS:
                raise TenonError(f"{name}: scheduler {scheduler!r} is not one of {', '.join(SCHEDULERS)}")
        self.name = name
        self.scheduler = scheduler
        limit = (_NO_LIMIT if large_offsets else POOL_LIMIT) if pool_limit is None else pool_limit
        self._lowering = lowering
        self._devices = tuple(
            Device(
                self, backend, ordinal, scheduler, min(limit, backend.device.max_buffer_nbytes), Context.root
            )
            for ordinal, backend in enumerate(backends)
        )

    @property
    def num_devices(self) -> int:
        return len(self._devices)

    @property
    def devices(self) -> tuple[Device, ...]:
        return self._devices

    def get_device(self, ordinal: int) -> Device:
        """Returns a device by its number. Raises `TenonError` where there is none."""
        check_kind("get_device", ordinal, "an integer", int)
        if not 0 <= ordinal < len(self._devices):
            raise TenonError(f"{self.name}: there is no device {ordinal} (devices: {len(self._devices)})")
        return self._devices[ordinal]

    @property
    def static_properties(self) -> dict[str, Any]:
        """What never changes of the platform and of each device."""
        return {
            "name": self.name,
            "scheduler": scheduler_name(self.scheduler),
            "devices": [device.static_properties for device in self._devices],
        }

    def global_debug_info(self) -> dict[str, Any]:
        """What is so now of the process; may change from one version to the next."""
        return {"process": os.getpid(), "n_devices": len(self._devices)}

    def compile(
        self,
        program: Program,
        *,
        name: str | None = None,
        entry: str | None = None,
        nodes: Sequence[TensorNode] = (),
        optimize_context: OptimizeContext | None = None,
        filename: str = "<string>",
        callbacks: HostFunctions | None = None,
    ) -> Code:
        """
        Compiles one function: its arguments are static symbols (`index`), what it computes is in the tensor
        nodes that it writes. `entry` names the function, which may be left out where there is only one;
        `name` is what the code and its kernels are called instead.

        Declarations (`graph.tnode`) stand for those of `nodes`, or of the nodes that `optimize_context`
        knows, that have the same `code_name`; the others become new nodes, in `Code.nodes`. Virtual nodes
        that an earlier program of `optimize_context` computes are inlined. `callbacks` are the functions of
        the host that it may call, by the names that it has for them; they must not use the device that waits
        for them.

        Raises:
            TenonError: the program is wrong, or takes or gives arrays, or a callback has no function.
            ContextError: a node does not fit its declaration, or a name stands for two nodes.
            MemoryModeError: it says another memory mode than the node has.
            KernelCompileError: the backend's compiler rejected its input.
        """
        requests = [FunctionRequest(program, name, entry, filename)]
        batch = self._compile(requests, None, nodes, optimize_context, callbacks)
        (code,) = batch
        assert code is not None, "nothing was left out"
        return code

    def compile_batch(
        self,
        programs: Sequence[Program],
        *,
        names: Sequence[str] | None = None,
        entries: Sequence[str | None] | None = None,
        occupancy: Callable[[str, int], bool] | None = None,
        nodes: Sequence[TensorNode] = (),
        optimize_context: OptimizeContext | None = None,
        callbacks: HostFunctions | None = None,
    ) -> CodeBatch:
        """
        Compiles several functions, with fewer calls of the backend's compiler than one by one. The programs
        share nodes: what one declares under a name, a later one means by it. Only programs for which
        `occupancy(name, number)` is true are compiled; `name` is the name that the code would have.

        Raises:
            TenonError: the numbers of programs, names and entries differ; and what `compile` raises.
        """
        for what, values in (("names", names), ("entries", entries)):
            if values is not None and len(values) != len(programs):
                raise TenonError(f"compile_batch: {len(values)} {what} for {len(programs)} programs")
        requests = [
            FunctionRequest(
                program,
                None if names is None else names[number],
                None if entries is None else entries[number],
                f"<program {number}>",
            )
            for number, program in enumerate(programs)
        ]
        return self._compile(requests, occupancy, nodes, optimize_context, callbacks)

    def _compile(
        self,
        requests: Sequence[FunctionRequest],
        occupancy: Callable[[str, int], bool] | None,
        nodes: Sequence[TensorNode],
        optimize_context: OptimizeContext | None,
        callbacks: HostFunctions | None,
    ) -> CodeBatch:
        backend = self._devices[0].backend
        context = optimize_context or OptimizeContext()
        context = context.extended(_named(nodes, context), {})
        kept: list[int] = []
        lowered: list[LoweredProgram] = []
        contexts: list[OptimizeContext] = []
        for number, request in enumerate(requests):
            check_kind("compile", request.program, "a module or its text", ModuleOp, str)
            if occupancy is not None:
                called = request.name or request.entry
                if called is None:
                    called = self._lowering.function_name(request)
                if not occupancy(called, number):
                    continue
            one, computations = self._lowering.lower(backend, request, context)
            check_callbacks(one.plan.host_calls, callbacks or {})
            check_collectives(one.plan.host_calls, None)
            context = context.extended(match_nodes(one, context.nodes), computations)
            kept.append(number)
            lowered.append(one)
            contexts.append(context)
        joined = self._lowering.join(backend, lowered)
        artifacts = self._artifacts(joined)
        for one in joined:
            self._lowering.keep(backend, one)
        codes: list[Code | None] = [None] * len(requests)
        for number, one, after in zip(kept, joined, contexts, strict=True):
            own = {name: after.nodes[name] for name in node_names(one)}
            for node in own.values():
                note_compiled(node, self.name, one)
            codes[number] = Code(self, one, own, after, artifacts[one.code_digest], callbacks or {})
        return CodeBatch(codes, context)

    def _artifacts(self, programs: Sequence[LoweredProgram]) -> dict[str, dict[int, CompiledArtifact]]:
        """Returns what each source compiles to, by its digest, for each compiler of the platform."""
        backends = {id(device.backend.compiler): device.backend for device in self._devices}
        return {
            digest: {key: program.compiled(backend) for key, backend in backends.items()}
            for digest, program in {program.code_digest: program for program in programs}.items()
        }

    def close(self) -> None:
        """
        Finishes what is scheduled on every device; nothing can be scheduled afterwards. Contexts keep their
        memory until they are finalized or collected, and `Context.host_view` still shows it.
        """
        for device in self._devices:
            device.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Platform {self.name} with {len(self._devices)} devices>"


def _named(nodes: Sequence[TensorNode], context: OptimizeContext) -> dict[str, TensorNode]:
    """Returns nodes by what declarations call them. Raises `ContextError` where one name is of two."""
    named: dict[str, TensorNode] = {}
    for node in nodes:
        check_kind("compile: nodes", node, "tensor nodes", TensorNode)
        name = node.code_name
        if name is None:
            continue
        other = named.setdefault(name, node)
        if other is node:
            other = context.nodes.get(name, node)
        if other is not node:
            raise ContextError(f"compile: @{name} is the name of {other.debug_name} and of {node.debug_name}")
    return named
