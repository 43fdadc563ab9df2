"""From what is asked of a compile to an executable, by way of the programs that are kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..backends.cache.code import has_code, load_code
from ..backends.interface import Backend, unmet_by_host
from ..backends.registry import REFERENCE
from ..dialects import graph, sched
from ..dialects.dims.expressions import DimExpr
from ..dialects.modules.dim_specialization import specialize
from ..dialects.modules.dim_values import DimTable
from ..dialects.modules.parsing import verify_module
from ..dialects.modules.record import ModuleRecord
from ..passes.registry import TENON_PASSES
from ..runtime.executables.device_executable import DeviceExecutable
from ..runtime.executables.executable import CompiledFunction, Executable
from ..runtime.executables.reference_executable import ReferenceExecutable
from ..runtime.executables.sized_executable import SizedExecutable
from ..runtime.executables.unlinked_executable import UnlinkedExecutable
from ..runtime.plan.entry_state import nodes_of, symbols_of
from ..runtime.plan.host_calls import check_callbacks
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.plan.signature import Array
from ..runtime.plan.stages import Stages
from ..runtime.reports.explanation import Explanation
from ..runtime.timeline.spans import Category
from ..runtime.timeline.timeline import span
from ..semantics.errors import describe
from ..semantics.host_calls import HostFunctions, function_called
from .kept_programs import load_program, note_lookup, program_key, store_program
from .lowering import ModuleLowering, lower
from .progress import note_step, watched
from .source import CompileRequest, ProgramSource, signature_of, take_prepared

Sizes = Mapping[str, int]


def executable_of(request: CompileRequest, keeper: Executable | None = None) -> Executable:
    """
    Returns what runs a function. Where there is a `keeper`, the tensor nodes are its.

    Raises what `tenon.compile` raises.
    """
    source, backend = request.source, request.backend
    with watched():
        if backend is None:
            executable, vanishing = _interpreted(request, keeper)
        else:
            wanted = sorted((name, tuple(values)) for name, values in request.specialize.items())
            lowered = lowered_program(request, source.entry, wanted, request.part, loads=True)
            executable, vanishing = _linked(lowered, backend, source.callbacks, keeper), lowered.vanishing
            store_program(lowered, backend)
    executable.explainer = partial(_explained, request)
    executable.backend = backend
    if isinstance(executable, SizedExecutable):
        general = executable

        def build_for(sizes: Sizes) -> Executable:
            specialized, entry = source.prepared()
            specialize(specialized, sizes)
            # What is right for all other sizes may be wrong for these: an index of an axis without elements.
            verify_module(specialized)
            take_prepared(entry, general.signature)
            special = ProgramSource(
                specialized, entry.sym_name.data, is_tuned=False, callbacks=source.callbacks
            )
            return executable_of(replace(request, source=special, specialize={}, part=None), general.keeper)

        general.specialize(request.specialize, vanishing, build_for)
    return executable


def lowered_program(request: CompileRequest, *options: object, loads: bool) -> LoweredProgram:
    """
    Returns a function after all passes: the one that is kept on disk together with its code, or what the
    passes make of it now. `options` are what else it depends on. With `loads` the code is loaded at once, and
    what does not load is compiled again; without it is only looked for.
    """
    source, backend = request.source, request.backend
    assert backend is not None, "programs of the interpreter are not kept"
    if request.pipeline is None:
        source.tune(backend)
    schedule = source.schedule
    key = None
    if schedule is None or schedule.name in TENON_PASSES:
        assert not isinstance(source.program, ModuleRecord), "a program is compiled after it was kept"
        options = (*options, str(schedule))
        key = program_key(source.program, backend, request.pipeline, request.instruments, *options)
    if key is None:
        return lower(request)
    kept = load_program(key, lambda: lower(request).stages)
    if kept is not None:
        kept = _with_code(kept, backend, loads)
    note_lookup(hit=kept is not None)
    return replace(lower(request), key=key) if kept is None else kept


def _with_code(program: LoweredProgram, backend: Backend, loads: bool) -> LoweredProgram | None:
    """Returns a program that is kept, None where its code is not there any more."""
    compiler, digest, device = backend.compiler, program.code_digest, backend.device
    if not digest or unmet_by_host(device):
        return program
    if not loads:
        return program if has_code(compiler, digest, device) else None
    with span("load code", Category.COMPILE, program=program.name):
        artifact = load_code(compiler, digest, device)
    return None if artifact is None else replace(program, artifact=artifact)


def _explained(request: CompileRequest) -> Explanation:
    from .explanation.explain import explain_request

    return explain_request(request)


def _linked(
    lowered: LoweredProgram, backend: Backend, callbacks: HostFunctions, keeper: Executable | None
) -> Executable:
    if lowered.module is not None:
        note_step(lowered.name, "code generation")
    plan, artifact = lowered.plan, lowered.compiled(backend)
    unmet = unmet_by_host(backend.device)
    check_callbacks(plan.host_calls, callbacks)

    def make(sizes: Sizes | None, keeper: Executable | None) -> Executable:
        own = plan if sizes is None else plan.at(sizes)
        if unmet:
            return UnlinkedExecutable(backend.name, own, lowered.stages, unmet)
        assert keeper is None or isinstance(keeper, DeviceExecutable), f"{keeper!r} is on no device"
        return DeviceExecutable(backend, artifact, own, lowered.stages, keeper, callbacks)

    function = CompiledFunction(plan.signature, backend.name, lowered.stages, plan.symbols)
    dims = None if plan.varying is None else plan.varying.dims
    with span("load", Category.COMPILE, program=lowered.name):
        return _for_sizes(function, dims, bool(plan.nodes), make, keeper)


def _interpreted(
    request: CompileRequest, keeper: Executable | None
) -> tuple[Executable, tuple[DimExpr, ...]]:
    """Returns what interprets a function, and the extents that a program of its own has where they are 0."""
    from ..backends.reference.execute import run_module

    work = ModuleLowering(request)
    signature, symbols = signature_of(work.entry), symbols_of(work.entry)
    nodes = nodes_of(work.module, work.entry)
    work.run()
    callbacks = request.source.callbacks
    for op in work.module.walk():
        if isinstance(op, graph.CallbackOp | sched.CallbackOp):
            function_called(op.callee.data, callbacks, describe(op))
    makers = work.stages()
    function = CompiledFunction(signature, REFERENCE, Stages(makers), symbols, [*makers][-1])

    def interpret(
        arrays: Sequence[Array], nodes: dict[str, Array], symbols: Mapping[str, int]
    ) -> Sequence[Array]:
        return run_module(work.module, work.entry_name, arrays, nodes, symbols=symbols, callbacks=callbacks)

    def make(sizes: Sizes | None, keeper: Executable | None) -> Executable:
        assert keeper is None or isinstance(keeper, ReferenceExecutable), f"{keeper!r} is no interpreter"
        own = function if sizes is None else replace(function, signature=signature.at(sizes))
        return ReferenceExecutable(own, interpret, nodes, keeper)

    return _for_sizes(function, work.dims, bool(nodes), make, keeper), work.vanishing


def _for_sizes(
    function: CompiledFunction,
    dims: DimTable | None,
    has_nodes: bool,
    make: Callable[[Sizes | None, Executable | None], Executable],
    keeper: Executable | None,
) -> Executable:
    """Returns what `make` makes, at once, or where there are dims for each of their values."""
    if dims is None:
        return make(None, keeper)
    if has_nodes and keeper is None:
        keeper = make(dims.least(), None)
    return SizedExecutable(function, dims, lambda sizes: make(sizes, keeper), keeper)
