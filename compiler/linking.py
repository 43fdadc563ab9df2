"""From what is asked of a compile to an executable, by way of the programs that are kept on disk."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..backends.cache.code import has_code, load_code
from ..backends.interface import Backend, unmet_by_host
from ..dialects.modules.dim_specialization import specialize
from ..dialects.modules.level import IRLevel
from ..dialects.modules.parsing import verify_module
from ..dialects.modules.record import ModuleRecord
from ..passes.registry import TENON_PASSES
from ..runtime.executables.device_executable import DeviceExecutable
from ..runtime.executables.executable import CompiledFunction, Executable
from ..runtime.executables.sized_executable import SizedExecutable
from ..runtime.executables.unlinked_executable import UnlinkedExecutable
from ..runtime.plan.host_calls import check_callbacks, check_collectives
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.timeline.spans import Category
from ..runtime.timeline.timeline import span
from .kept_programs import load_program, note_lookup, program_key, store_program
from .progress import note_step, watched
from .sized import Sizes, for_sizes
from .source import CompileRequest, ProgramSource, take_prepared

if TYPE_CHECKING:
    from ..runtime.reports.explanation import Explanation


def executable_of(request: CompileRequest, keeper: Executable | None = None) -> Executable:
    """
    Returns what runs a function. Where there is a `keeper`, the tensor nodes are its.

    Raises what `tenon.compile` raises.
    """
    source, backend = request.source, request.backend
    with watched():
        if backend is None:
            from .interpreting import interpreted

            executable, vanishing = interpreted(request, keeper)
            own = None
        else:
            wanted = sorted((name, tuple(values)) for name, values in request.specialize.items())
            lowered = lowered_program(request, source.entry, wanted, request.part, loads=True)
            executable, vanishing = _linked(lowered, source, backend, keeper), lowered.vanishing
            store_program(lowered, backend)
            own = replace(lowered, module=None, artifact=None)
    executable.lowered_for = partial(_lowered_for, request, own)
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
                specialized,
                entry.sym_name.data,
                is_tuned=False,
                callbacks=source.callbacks,
                world=source.world,
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
        return _lower(request)
    kept = load_program(key, lambda: _lower(request).stages)
    if kept is not None:
        kept = _with_code(kept, backend, loads)
    note_lookup(hit=kept is not None)
    return replace(_lower(request), key=key) if kept is None else kept


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


def _lower(request: CompileRequest) -> LoweredProgram:
    """Runs passes and renderer, which a program that is kept does not import."""
    from .lowering import lower

    return lower(request)


def _lowered_for(request: CompileRequest, own: LoweredProgram | None, backend: Backend) -> LoweredProgram:
    """Returns the program of a request for a device; `own` is the one that there is for the request's."""
    if own is not None and request.backend is not None and backend.device == request.backend.device:
        return own
    return _lower(replace(request, backend=backend, level=IRLevel.LOW, unseparated=None))


def _explained(request: CompileRequest) -> Explanation:
    from .explanation.explain import explain_request

    return explain_request(request)


def _linked(
    lowered: LoweredProgram, source: ProgramSource, backend: Backend, keeper: Executable | None
) -> Executable:
    if lowered.module is not None:
        note_step(lowered.name, "code generation")
    plan, artifact = lowered.plan, lowered.compiled(backend)
    unmet = unmet_by_host(backend.device)
    check_callbacks(plan.host_calls, source.callbacks)
    check_collectives(plan.host_calls, source.world)

    def make(sizes: Sizes | None, keeper: Executable | None) -> Executable:
        own = plan if sizes is None else plan.at(sizes)
        if unmet:
            return UnlinkedExecutable(backend.name, own, lowered.stages, unmet)
        assert keeper is None or isinstance(keeper, DeviceExecutable), f"{keeper!r} is on no device"
        return DeviceExecutable(
            backend, artifact, own, lowered.stages, keeper, source.callbacks, source.world
        )

    function = CompiledFunction(plan.signature, backend.name, lowered.stages, plan.symbols)
    dims = None if plan.varying is None else plan.varying.dims
    with span("load", Category.COMPILE, program=lowered.name):
        return for_sizes(function, dims, bool(plan.nodes), make, keeper)
