"""`tenon.compile`: from text or a module to an executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from io import StringIO
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ..backends.cache.code import compile_code, load_code
from ..backends.interface import Backend, CompiledArtifact, DeviceInfo, unmet_by_host
from ..backends.registry import DEVICE_NAMES, REFERENCE, check_interpreted, get_backend
from ..dialects import context, graph, sched
from ..dialects.dims.expressions import DimExpr
from ..dialects.modules.dim_specialization import specialize as specialize_module
from ..dialects.modules.dim_specialization import vanishing_extents
from ..dialects.modules.dim_values import DimTable
from ..dialects.modules.entry import Entry, IRLevel, argument_names, find_entry, keep_only, level_of
from ..dialects.modules.parsing import location_text, parse_module, verify_module
from ..dialects.modules.record import ModuleRecord
from ..errors import TenonError
from ..passes.instruments.interface import PassInstrument
from ..passes.instruments.spans import Spans
from ..passes.machine.target import DEFAULT_TARGET
from ..passes.pass_manager import PassManager
from ..passes.registry import TENON_PASSES
from ..passes.rewriting.collection_pause import collection_paused
from ..passes.rewriting.failing_location import failing_location
from ..runtime.executables.device_executable import DeviceExecutable
from ..runtime.executables.executable import Executable
from ..runtime.executables.reference_executable import ReferenceExecutable
from ..runtime.executables.sized_executable import SizedExecutable
from ..runtime.executables.unlinked_executable import UnlinkedExecutable
from ..runtime.plan.entry_state import nodes_of, symbols_of
from ..runtime.plan.host_calls import check_callbacks
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.plan.plan_reader import plan_program
from ..runtime.plan.program_plan import ProgramPlan
from ..runtime.plan.signature import Signature
from ..runtime.plan.stages import Stages
from ..runtime.reports.explanation import Explanation
from ..runtime.timeline.timeline import Category, active, host_track, span
from ..semantics.errors import describe
from ..semantics.host_calls import HostFunctions, function_called
from .kept_programs import (
    KeptProgram,
    digest_of_source,
    load_program,
    note_lookup,
    program_key,
    store_program,
)
from .target import target_of
from .tuning import tuning_pass, tuning_path

if TYPE_CHECKING:
    from ..passes.sched.steps.schedule import Scheduling

BACKENDS = DEVICE_NAMES
"""
The names of backends that `compile` takes, those of `register_backend` among them. `reference` interprets a
module in numpy, at whatever level it is.
"""


def compile(
    program: ModuleOp | str,
    *,
    backend: str | Backend = "llvm",
    pipeline: PassManager | str | None = None,
    entry: str | None = None,
    level: str | None = None,
    filename: str = "<string>",
    instruments: Sequence[object] = (),
    specialize: Mapping[str, Sequence[int]] | None = None,
    schedules: Mapping[str, Scheduling] | None = None,
    tuning: str | Path | None = None,
    target: str | None = None,
    callbacks: Mapping[str, Callable[..., Any]] | None = None,
) -> Executable:
    """
    Compiles one function of a module for a backend: a name in `BACKENDS`, or a backend with its device, which
    executables may share. A module is left as it is.

    `pipeline` replaces the default passes: its text, or a pass manager, whose instruments are then told too.
    `instruments` watch the passes that run (docs/instruments.md).
    By default a module at `graph` runs through all phases, one at `sched` or `low` through those that are
    left. `level` (`graph`, `sched` or `low`) is for the reference backend: the level to lower to before
    interpreting; None interprets the module as it is.

    Where extents are made of named dims, one program serves all their values. `specialize` names values of
    dims that get a program of their own, compiled when a call first has them: all other calls go to the
    general one. So does the value 0, for which the general program is not made.

    `schedules` says how kernels are to run, by their names, which the stage `sched` shows: a function that is
    given the kernel's `Schedule`, or steps that one recorded. Kernels where that maps an axis get no default
    mapping. Programs for special values of dims are scheduled by default. A program that a function schedules
    is not kept in the cache.

    `tuning` is the path of a database of `tenon.tune`, whose schedules kernels get that it has some for on
    this device; by default the one that the environment variable `TENON_TUNING` names, if it does.

    `target` names the processor that the backend llvm makes code for: `native`, `x86-64-v2`, `x86-64-v3`,
    `x86-64-v4`, `znver3` or `aarch64`; by default the one that the environment variable `TENON_TARGET` names,
    else the host's own. Where the host cannot run such code a call is an error that says what it lacks; the
    texts and the object file are there all the same.

    `callbacks` are the functions of the host that the program may call, by the names that it has for them:
    see docs/callbacks.md.

    `entry` names the function, which may be left out where there is only one. `filename` is what errors call
    the text.

    Raises:
        TenonError: the module, the pipeline or a name is wrong, a callback has no function, or the device
            lacks something it takes.
        MissingExtraError: the backend's package is not installed.
        KernelCompileError: the backend's compiler rejected its input.
    """
    _check_kind("program", program, "a module or its text", ModuleOp, str)
    _check_kind("pipeline", pipeline, "a pass manager or its text", PassManager, str, NoneType)
    _check_kind("entry", entry, "a function's name", str, NoneType)
    _check_kind("schedules", schedules, "schedules by the names of kernels", Mapping, NoneType)
    _check_kind("tuning", tuning, "the path of a database", str, PathLike, NoneType)
    _check_kind("target", target, "the name of a processor", str, NoneType)
    _check_kind("callbacks", callbacks, "functions by the names that the program has", Mapping, NoneType)
    schedule = _schedule_pass(schedules, pipeline, backend, level)
    _check_tuning(tuning, schedules, pipeline, backend)
    backend = _for_target(backend, target)
    with collection_paused():
        source = ProgramSource(program, entry, filename, schedule, tuning, callbacks=callbacks)
        executable = _compile_source(source, backend, pipeline, level, instruments, specialize)
        source.keep()
        return executable


def compile_own(
    module: ModuleOp,
    *,
    backend: str | Backend = "llvm",
    pipeline: PassManager | str | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    target: str | None = None,
    callbacks: HostFunctions | None = None,
) -> Executable:
    """As `compile`, of a module that nobody changes afterwards, and that is not copied therefore."""
    backend = _for_target(backend, target)
    with collection_paused():
        source = ProgramSource(module, None, callbacks=callbacks)
        return _compile_source(source, backend, pipeline, None, (), specialize)


class ProgramSource:
    """
    A function that is to be compiled, as it was given: `program` does not change, where it is the caller's
    from `keep` on. `schedule` schedules some of its kernels, `tuning` is the path of a database that may have
    schedules for them. `callbacks` are the functions that it may call.
    """

    program: ModuleOp | ModuleRecord | str

    def __init__(
        self,
        program: ModuleOp | str,
        entry: str | None,
        filename: str = "<string>",
        schedule: ModulePass | None = None,
        tuning: str | Path | None = None,
        is_tuned: bool = True,
        callbacks: HostFunctions | None = None,
    ) -> None:
        self.program = program
        self.callbacks: HostFunctions = dict(callbacks or {})
        self.schedule = schedule
        self._tuning = tuning
        self._is_tuned = is_tuned and schedule is None
        self.entry = entry
        self._filename = filename
        self._is_verified = False

    def keep(self) -> None:
        """Keeps what the program is now: from here on the caller may change the module."""
        if isinstance(self.program, ModuleOp):
            self.program = ModuleRecord(self.program)

    def tune(self, backend: Backend, pipeline: PassManager | str | None) -> None:
        """
        Finds the schedules that a database has for kernels on a device, unless something else schedules them.

        Raises:
            TuningError: the database cannot be read, or is none.
        """
        if self._is_tuned and pipeline is None and (path := tuning_path(self._tuning)) is not None:
            self.schedule = tuning_pass(path, backend)

    def prepared(self) -> tuple[ModuleOp, Entry]:
        """
        Returns a module of the caller's own with the function and what it calls, and the function.

        Raises:
            TenonError: the module is wrong, has no such function, or the function takes or gives no tensors.
        """
        program = self.program
        with span("parse", Category.COMPILE):
            match program:
                case str():
                    module = parse_module(program, self._filename)
                case ModuleOp():
                    module = program.clone()
                case ModuleRecord():
                    module = program.module()
            if not self._is_verified:
                verify_module(module)
                self._is_verified = True
        chosen = find_entry(module, self.entry)
        # What is no tensor is an error of the program as it was written, before passes change it.
        _signature_of(chosen)
        keep_only(module, chosen)
        return module, chosen

    def module(self) -> ModuleOp:
        """Returns the module of `prepared`."""
        return self.prepared()[0]


def _compile_source(
    source: ProgramSource,
    backend: str | Backend,
    pipeline: PassManager | str | None,
    level: str | None,
    instruments: Sequence[object],
    specialize: Mapping[str, Sequence[int]] | None,
    keeper: Executable | None = None,
) -> Executable:
    """As `compile`. Where there is a `keeper`, the tensor nodes are its."""
    executable: Executable | None = None
    key: str | None = None
    dims: DimTable | None = None
    vanishing: tuple[DimExpr, ...] = ()
    if backend != REFERENCE:
        backend = _opened(backend, level)
        source.tune(backend, pipeline)
        wanted = sorted((name, tuple(values)) for name, values in (specialize or {}).items())
        if source.schedule is None or source.schedule.name in TENON_PASSES:
            how = str(source.schedule)
            assert not isinstance(source.program, ModuleRecord), "a program is compiled after it was kept"
            key = program_key(source.program, backend, pipeline, instruments, source.entry, wanted, how)
    if key is not None and isinstance(backend, Backend):
        kept = load_program(key)
        artifact = None if kept is None else _load_artifact(kept, backend)
        note_lookup(hit=artifact is not None)
        if kept is not None and artifact is not None:
            lowered = kept.lowered(key, cache(partial(_stage_texts, source, backend, pipeline)))
            executable = _linked(lowered, artifact, backend, keeper, source.callbacks)
            dims = None if kept.plan.varying is None else kept.plan.varying.dims
            vanishing = kept.vanishing
    if executable is None:
        module, entry = source.prepared()
        dims = DimTable.of(module, entry)
        _check_specialized(dims, entry, specialize)
        vanishing = () if dims is None else tuple(vanishing_extents(module))
        if isinstance(backend, str):
            executable = _interpreted(source, module, entry, dims, pipeline, level, instruments, keeper)
        else:
            work = ModuleLowering(
                module,
                entry,
                pipeline,
                IRLevel.LOW,
                backend.device,
                instruments,
                source.module,
                source.schedule,
            )
            lowered = replace(render(work, backend), key=key)
            artifact = _compiled_artifact(lowered, backend)
            executable = _linked(lowered, artifact, backend, keeper, source.callbacks)
            store_program(lowered, backend, vanishing)
    executable.explainer = partial(_explained, source, backend, pipeline)
    executable.backend = backend if isinstance(backend, Backend) else None
    if dims is not None:
        assert isinstance(executable, SizedExecutable), f"{executable!r} is for one size"
        general = executable

        def build_for(sizes: Mapping[str, int]) -> Executable:
            specialized, entry = source.prepared()
            specialize_module(specialized, sizes)
            # What is right for all other sizes may be wrong for these: an index of an axis without elements.
            verify_module(specialized)
            name = entry.sym_name.data
            special = ProgramSource(specialized, name, is_tuned=False, callbacks=source.callbacks)
            return _compile_source(special, backend, pipeline, level, instruments, None, general.keeper)

        special = {name: frozenset((0, *(specialize or {}).get(name, ()))) for name in dims.names}
        general.specialize(special, vanishing, build_for)
    return executable


def _check_tuning(
    tuning: str | Path | None, schedules: object, pipeline: object, backend: str | Backend
) -> None:
    """Raises TenonError where a database is given and something else decides how kernels are scheduled."""
    if tuning is None:
        return
    if backend == REFERENCE:
        raise TenonError(f"compile: tuning is for backends that run kernels, found {REFERENCE}")
    for name, other in (("schedules", schedules), ("pipeline", pipeline)):
        if other:
            raise TenonError(f"compile: tuning and {name} exclude each other")


def _schedule_pass(
    schedules: Mapping[str, Scheduling] | None,
    pipeline: PassManager | str | None,
    backend: str | Backend,
    level: str | None,
) -> ModulePass | None:
    """Raises TenonError where the passes that run are not those that schedule kernels."""
    if not schedules:
        return None
    if pipeline is not None:
        raise TenonError("compile: schedules and pipeline exclude each other (hint: schedule-kernels)")
    if backend == REFERENCE and level not in (IRLevel.SCHED.value, IRLevel.LOW.value):
        raise TenonError(
            f"compile: schedules are for level sched or low of the reference backend, found {level}"
        )
    from ..passes.sched.steps.functions import schedule_pass

    return schedule_pass(schedules)


def _for_target(backend: str | Backend, target: str | None) -> str | Backend:
    """Returns the backend, opened for the processor that it is to make code for, where one is given."""
    if target is None:
        return backend
    if not isinstance(backend, str):
        raise TenonError(f"compile: target '{target}' excludes a backend that is open, which has its own")
    if backend == REFERENCE:
        check_interpreted(target)
    return get_backend(backend, target)


def _opened(backend: str | Backend, level: str | None) -> Backend:
    if level is not None:
        raise TenonError(f"compile: level '{level}' is for the reference backend only")
    if isinstance(backend, str):
        if backend not in BACKENDS:
            raise TenonError(f"backend '{backend}' is not one of {', '.join(BACKENDS)}")
        backend = get_backend(backend)
    _check_kind("backend", backend, f"a backend or one of {', '.join(BACKENDS)}", Backend)
    return backend


def _check_specialized(
    table: DimTable | None, entry: Entry, wanted: Mapping[str, Sequence[int]] | None
) -> None:
    """
    Raises TenonError where `wanted` names another dim than those of the entry, or a value out of its bounds,
    or the entry was lowered before.
    """
    dims = {} if table is None else {source.symbol.name: source.symbol for source in table.sources}
    for name, values in (wanted or {}).items():
        symbol = dims.get(name)
        if symbol is None:
            raise TenonError(
                f"compile: specialize names dim '{name}', but the dims of @{entry.sym_name.data} are "
                f"{', '.join(dims) or 'none'}"
            )
        for value in values:
            if not symbol.minimum <= value <= symbol.maximum:
                raise TenonError(
                    f"compile: specialize has {name} = {value}, but it is from {symbol.minimum} to "
                    f"{symbol.maximum}"
                )
    if table is not None and wanted and not isinstance(entry, func.FuncOp):
        raise TenonError(f"compile: specialize takes a module at graph, @{entry.sym_name.data} is a program")


def _check_kind(who: str, value: object, expected: str, *kinds: type) -> None:
    if not isinstance(value, kinds):
        raise TenonError(f"compile: {who} is {value!r}, of type {type(value).__name__}, expected {expected}")


def _signature_of(entry: Entry) -> Signature:
    """Returns what `entry` takes and gives. Raises TenonError, with its place, where that is no tensor."""
    try:
        return Signature.of(entry.sym_name.data, argument_names(entry), entry.function_type)
    except TenonError as error:
        raise TenonError(error.message, location=location_text(entry.location)) from error


class ModuleLowering:
    """
    A module on its way down. `phases` are the passes by the stage they end at; `module` is what they left.
    For the texts of all stages but the last one they run again, on what `again` gives: the module as it was.
    """

    def __init__(
        self,
        module: ModuleOp,
        entry: Entry,
        pipeline: PassManager | str | None,
        level: IRLevel | None,
        device: DeviceInfo | None,
        instruments: Sequence[object],
        again: Callable[[], ModuleOp],
        schedule: ModulePass | None = None,
    ) -> None:
        self.entry_name = entry.sym_name.data
        self._again = again
        self.module = module
        verify_each = False
        if isinstance(pipeline, str):
            pipeline = PassManager(pipeline)
        if pipeline is not None:
            instruments = (*pipeline.instruments, *instruments)
            verify_each = pipeline.verify_each
            passes = (*pipeline.passes, *_expansions_for(device))
            self.phases: Mapping[str, tuple[ModulePass, ...]] = {"": passes}
        else:
            self.phases = _default_phases(module, entry, level, device, schedule)
        passes = tuple(pass_ for phase in self.phases.values() for pass_ in phase)
        PassManager(passes, (*instruments, *_timeline_instruments()), verify_each).run(context(), module)
        self.entry = find_entry(module, self.entry_name)
        self.level = level_of(module, self.entry)
        if pipeline is not None:
            self.phases = {self.level.value: passes}

    def stages(self) -> dict[str, Callable[[], str]]:
        """Returns what makes the text of each stage."""
        *earlier, last = self.phases or (self.level.value,)
        run = cache(self._run_again)
        makers: dict[str, Callable[[], str]] = {stage: lambda stage=stage: run()[stage] for stage in earlier}
        makers[last] = lambda: str(self.module) + "\n"
        return makers

    def _run_again(self) -> dict[str, str]:
        module, ctx = self._again(), context()
        texts: dict[str, str] = {}
        for stage, passes in self.phases.items():
            PassManager(passes, verify_each=False).run(ctx, module)
            texts[stage] = str(module) + "\n"
        return texts


def _timeline_instruments() -> tuple[PassInstrument, ...]:
    """Returns what puts the passes on the timeline that is being recorded, if one is."""
    timeline = active()
    if timeline is None:
        return ()
    return (Spans(lambda name, begin, end: timeline.add(name, Category.COMPILE, host_track(), begin, end)),)


def _default_phases(
    module: ModuleOp,
    entry: Entry,
    level: IRLevel | None,
    device: DeviceInfo | None,
    schedule: ModulePass | None = None,
) -> dict[str, tuple[ModulePass, ...]]:
    """
    Returns the phases that take `entry` from where it is to `level`, None for no phase at all. Of the phase
    that makes `sched`, a module that already is there gets what plans its memory, if that was not done.
    """
    if level is None:
        return {}
    found = level_of(module, entry)
    levels = list(IRLevel)
    if levels.index(found) > levels.index(level):
        raise TenonError(f"@{entry.sym_name.data}: the module is at {found.value}, below {level.value}")
    wanted = {
        stage: passes
        for stage, passes in _phases_for(device, schedule).items()
        if levels.index(found) <= levels.index(IRLevel(stage)) <= levels.index(level)
    }
    if isinstance(entry, sched.ProgramOp):
        planning = (*(() if schedule is None else (schedule,)), *_planning(entry))
        wanted = {IRLevel.SCHED.value: planning} | {
            stage: passes for stage, passes in wanted.items() if stage != IRLevel.SCHED.value
        }
    return wanted


def _phases_for(device: DeviceInfo | None, schedule: ModulePass | None) -> dict[str, tuple[ModulePass, ...]]:
    """
    Returns all phases, with the schedules for a device; None is the interpreter. `schedule` is what schedules
    some kernels another way.
    """
    from ..passes.pipeline import phases

    return phases(DEFAULT_TARGET if device is None else target_of(device), schedule)


def _expansions_for(device: DeviceInfo | None) -> tuple[ModulePass, ...]:
    """Returns what runs after passes that the caller chose."""
    from ..passes.pipeline import expansions

    return () if device is None else expansions(target_of(device))


def phases_of(
    module: ModuleOp, entry: Entry, backend: Backend, schedule: ModulePass | None
) -> Mapping[str, tuple[ModulePass, ...]]:
    """Returns the default passes to `low` kernels, by phase, with what schedules some kernels."""
    return _default_phases(module, entry, IRLevel.LOW, backend.device, schedule)


def _planning(program: sched.ProgramOp) -> tuple[ModulePass, ...]:
    from ..passes.sched.host.analyze_schedule import AnalyzeSchedulePass
    from ..passes.sched.host.build_dependencies import BuildDependenciesPass
    from ..passes.sched.host.plan_memory import PlanMemoryPass

    if "memory_plan" in program.attributes:
        return ()
    return BuildDependenciesPass(), PlanMemoryPass(), AnalyzeSchedulePass()


def _interpreted(
    source: ProgramSource,
    module: ModuleOp,
    entry: Entry,
    dims: DimTable | None,
    pipeline: PassManager | str | None,
    level: str | None,
    instruments: Sequence[object],
    keeper: Executable | None = None,
) -> Executable:
    from ..backends.reference.execute import run_module

    if level is not None and level not in list(IRLevel):
        raise TenonError(f"compile: level '{level}' is not one of {', '.join(IRLevel)}")
    if level is not None and pipeline is not None:
        raise TenonError("compile: level and pipeline exclude each other")
    signature = _signature_of(entry)
    symbols, nodes = symbols_of(entry), nodes_of(module, entry)
    wanted = None if level is None else IRLevel(level)
    work = ModuleLowering(module, entry, pipeline, wanted, None, instruments, source.module, source.schedule)
    makers = work.stages()
    stages, last = Stages(makers), list(makers)[-1]
    callbacks = source.callbacks
    for op in work.module.walk():
        if isinstance(op, graph.CallbackOp | sched.CallbackOp):
            function_called(op.callee.data, callbacks, describe(op))

    assert keeper is None or isinstance(keeper, ReferenceExecutable), f"{keeper!r} is no interpreter"

    def make(signature: Signature, keeper: ReferenceExecutable | None) -> ReferenceExecutable:
        return ReferenceExecutable(
            signature,
            stages,
            last,
            lambda arrays, nodes, symbols: run_module(
                work.module, work.entry_name, arrays, nodes, symbols=symbols, callbacks=callbacks
            ),
            symbols,
            nodes,
            keeper,
        )

    if dims is None:
        return make(signature, keeper)
    if nodes and keeper is None:
        keeper = make(signature, None)
    return SizedExecutable(
        signature,
        REFERENCE,
        stages,
        dims,
        lambda sizes: make(signature.at(sizes), keeper),
        last,
        symbols,
        keeper,
    )


def _compiled_artifact(lowered: LoweredProgram, backend: Backend) -> CompiledArtifact:
    if not lowered.source or unmet_by_host(backend.device):
        return CompiledArtifact(None, ())
    with span("compile", Category.COMPILE, program=lowered.plan.signature.name):
        return compile_code(backend.compiler, lowered.source, backend.device)


def _load_artifact(kept: KeptProgram, backend: Backend) -> CompiledArtifact | None:
    """Returns the machine code of a program that is kept on disk, None where that is not there any more."""
    if not kept.code_digest or unmet_by_host(backend.device):
        return CompiledArtifact(None, ())
    with span("load code", Category.COMPILE, program=kept.plan.signature.name):
        return load_code(backend.compiler, kept.code_digest, backend.device)


def _stage_texts(
    source: ProgramSource, backend: Backend, pipeline: PassManager | str | None
) -> Mapping[str, str]:
    """Returns the texts of all stages, for which the passes run."""
    module, entry = source.prepared()
    work = ModuleLowering(
        module, entry, pipeline, IRLevel.LOW, backend.device, (), source.module, source.schedule
    )
    return render(work, backend).stages


def _explained(
    source: ProgramSource, backend: str | Backend, pipeline: PassManager | str | None
) -> Explanation:
    """Returns what the passes do with a program, for which they run again."""
    from .explanation.explain import explain_passes

    module, entry = source.prepared()
    if isinstance(pipeline, str):
        pipeline = PassManager(pipeline)
    if pipeline is not None:
        passes = tuple(pipeline.passes)
    else:
        device = backend.device if isinstance(backend, Backend) else None
        phases = _default_phases(module, entry, IRLevel.LOW, device, source.schedule)
        passes = tuple(pass_ for phase in phases.values() for pass_ in phase)
    return explain_passes(module, entry.sym_name.data, passes)


def _linked(
    lowered: LoweredProgram,
    artifact: CompiledArtifact,
    backend: Backend,
    keeper: Executable | None,
    callbacks: HostFunctions,
) -> Executable:
    plan, stages = lowered.plan, lowered.stages
    unmet = unmet_by_host(backend.device)
    check_callbacks(plan.host_calls, callbacks)

    def make(plan: ProgramPlan, keeper: Executable | None) -> Executable:
        if unmet:
            return UnlinkedExecutable(backend.name, plan, stages, unmet)
        assert keeper is None or isinstance(keeper, DeviceExecutable), f"{keeper!r} is on no device"
        return DeviceExecutable(backend, artifact, plan, stages, keeper, callbacks)

    with span("load", Category.COMPILE, program=plan.signature.name):
        if plan.varying is None:
            return make(plan, keeper)
        dims = plan.varying.dims
        if plan.nodes and keeper is None:
            keeper = make(plan.at(dims.least()), None)
        return SizedExecutable(
            plan.signature,
            backend.name,
            stages,
            dims,
            lambda sizes: make(plan.at(sizes), keeper),
            "source",
            plan.symbols,
            keeper,
        )


def code_text(module: str, form: str, target: str | None = None) -> str:
    """
    Returns the kernels of a module at `low` as `tenon-opt -t` writes them in that form, for the processor
    that `target` names, if that is given.

    Raises:
        TenonError: it cannot express an op, its compiler is missing, or there is no such processor.
    """
    from .universe import TENON

    ctx, output = context(), StringIO()
    options = {} if target is None else {"target": target}
    try:
        TENON.all_targets[form]()(**options).emit(ctx, parse_module(module, ctx=ctx), output)
    except DiagnosticException as error:
        raise TenonError(str(error), location=failing_location(error)) from error
    return output.getvalue()


def render(work: ModuleLowering, backend: Backend) -> LoweredProgram:
    """
    Returns what a lowered module is for a backend; its source is empty where it launches no kernel.

    Raises:
        TenonError: the module is no `sched.program` of `low` kernels, or the device lacks something.
    """
    if isinstance(work.entry, func.FuncOp):
        raise TenonError(
            f"@{work.entry_name}: the pipeline leaves a func.func, but backend {backend.name} runs a "
            "sched.program (hint: end the pipeline in sched-pipeline,low-pipeline)"
        )
    keep_only(work.module, work.entry)
    plan = plan_program(work.module, work.entry)
    source = ""
    if plan.kernel_names:
        try:
            with span("render", Category.COMPILE, program=work.entry_name):
                source = backend.renderer.render(work.module, backend.device)
        except DiagnosticException as error:
            raise TenonError(str(error), location=failing_location(error)) from error
    stages = Stages({**work.stages(), "source": lambda: source})
    return LoweredProgram(plan, stages, work.module, digest_of_source(source))
