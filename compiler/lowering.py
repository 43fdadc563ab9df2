"""A function on its way through the passes, and what the renderer of a backend makes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ..backends.interface import DeviceInfo
from ..dialects import context, sched
from ..dialects.dims.expressions import DimExpr
from ..dialects.modules.dim_specialization import vanishing_extents
from ..dialects.modules.dim_values import DimTable
from ..dialects.modules.entry import Entry, find_entry, keep_only, level_of, preparation_name
from ..dialects.modules.level import IRLevel
from ..dialects.modules.parsing import parse_module
from ..errors import TenonError
from ..passes.instruments.interface import PassInstrument
from ..passes.instruments.spans import Spans
from ..passes.machine.target import DEFAULT_TARGET
from ..passes.pass_manager import PassManager
from ..passes.rewriting.failing_location import failing_location
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.plan.plan_reader import plan_program
from ..runtime.plan.stages import Stages, stage_makers
from ..runtime.timeline.spans import Category
from ..runtime.timeline.timeline import active, host_track, span
from .kept_programs import digest_of_source
from .progress import note_step, watching_instruments
from .source import CompileRequest
from .target import target_of

SEPARATION = "separate-preparation"
"""The first pass that the two programs of a function with frozen arguments do not have in common."""


class ModuleLowering:
    """
    The module of a request on its way down: first as it was given, after `run` at the level that is wanted.
    For the texts of all stages but the last one the passes run again, on the module as it was.
    """

    def __init__(self, request: CompileRequest) -> None:
        """
        Raises:
            TenonError: the module or the function is wrong, or the request specializes what is no dim of it.
        """
        self._request = request
        begun = None
        if request.part == "preparation" and request.unseparated is not None:
            begun = request.unseparated.taken()
        self._is_begun = begun is not None
        if begun is None:
            self.module, self.entry = request.source.prepared()
        else:
            self.module, self.entry = begun, find_entry(begun, request.source.entry)
        self.entry_name = self.entry.sym_name.data
        self.dims = DimTable.of(self.module, self.entry)
        _check_specialized(self.dims, self.entry, request.specialize)
        self.vanishing: tuple[DimExpr, ...] = ()
        """The extents that a program of its own has where they are 0."""
        if begun is not None and request.unseparated is not None:
            self.vanishing = request.unseparated.vanishing
        elif self.dims is not None:
            self.vanishing = tuple(vanishing_extents(self.module))

    def run(self) -> None:
        """
        Runs the passes.

        Raises:
            TenonError: a pass fails, or the module is below the level that is wanted.
        """
        request, device = self._request, self._request.device
        instruments, verify_each = request.instruments, False
        pipeline = request.pipeline
        if isinstance(pipeline, str):
            pipeline = PassManager(pipeline)
        if pipeline is not None:
            instruments = (*pipeline.instruments, *instruments)
            verify_each = pipeline.verify_each
            phases = {"": (*pipeline.passes, *_expansions_for(device))}
        else:
            schedule = request.source.schedule
            phases = default_phases(self.module, self.entry, request.level, device, schedule, request.part)
        passes = tuple(pass_ for phase in phases.values() for pass_ in phase)
        told = (*instruments, *_timeline_instruments(), *watching_instruments(self.entry_name))
        common, left = self._divided(passes)
        if common:
            PassManager(common, told, verify_each).run(context(), self.module)
        if request.part == "rest" and request.unseparated is not None:
            request.unseparated.module = self.module.clone()
            request.unseparated.vanishing = self.vanishing
        PassManager(left, told, verify_each).run(context(), self.module)
        if request.part == "preparation":
            self.entry_name = preparation_name(self.entry_name)
        self.entry = find_entry(self.module, self.entry_name)
        self._level = level_of(self.module, self.entry).value
        self._phases = phases if pipeline is None else {self._level: passes}

    def _divided(
        self, passes: tuple[ModulePass, ...]
    ) -> tuple[tuple[ModulePass, ...], tuple[ModulePass, ...]]:
        """
        Returns the passes that the two programs of a function with frozen arguments have in common, none
        where they ran, and those left.
        """
        if self._request.unseparated is None:
            return (), passes
        names = [pass_.name for pass_ in passes]
        place = names.index(SEPARATION) if SEPARATION in names else 0
        return () if self._is_begun else passes[:place], passes[place:]

    def stages(self) -> dict[str, Callable[[], str]]:
        """Returns what makes the text of each stage."""
        *earlier, last = self._phases or (self._level,)
        return {**stage_makers(earlier, self._run_again), last: lambda: str(self.module) + "\n"}

    def _run_again(self) -> dict[str, str]:
        module, ctx = self._request.source.module(), context()
        texts: dict[str, str] = {}
        for stage, passes in self._phases.items():
            PassManager(passes, verify_each=False).run(ctx, module)
            texts[stage] = str(module) + "\n"
        return texts


def lower(request: CompileRequest) -> LoweredProgram:
    """
    Returns what passes and renderer make of a function for a device; its source is empty where it launches no
    kernel.

    Raises:
        TenonError: the function is wrong, the passes leave no `sched.program` of `low` kernels, or the device
            lacks something.
    """
    backend = request.backend
    assert backend is not None, "the interpreter has no renderer"
    work = ModuleLowering(request)
    work.run()
    module, entry = work.module, work.entry
    if isinstance(entry, func.FuncOp):
        raise TenonError(
            f"@{work.entry_name}: the pipeline leaves a func.func, but backend {backend.name} runs a "
            "sched.program (hint: end the pipeline in sched-pipeline,low-pipeline)"
        )
    keep_only(module, entry)
    plan = plan_program(module, entry)
    source = ""
    if plan.kernel_names:
        note_step(work.entry_name, "render")
        with span("render", Category.COMPILE, program=work.entry_name), located_failures():
            source = backend.renderer.render(module, backend.device)
    stages = Stages({**work.stages(), "source": lambda: source})
    return LoweredProgram(plan, stages, module, digest_of_source(source), vanishing=work.vanishing)


@contextmanager
def located_failures() -> Generator[None]:
    """Raises what passes and emitters fail with as TenonError, with the place of the op."""
    try:
        yield
    except DiagnosticException as error:
        raise TenonError(str(error), location=failing_location(error)) from error


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
    with located_failures():
        TENON.all_targets[form]()(**options).emit(ctx, parse_module(module, ctx=ctx), output)
    return output.getvalue()


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


def _timeline_instruments() -> tuple[PassInstrument, ...]:
    """Returns what puts the passes on the timeline that is being recorded, if one is."""
    timeline = active()
    if timeline is None:
        return ()
    return (Spans(lambda name, begin, end: timeline.add(name, Category.COMPILE, host_track(), begin, end)),)


def default_phases(
    module: ModuleOp,
    entry: Entry,
    level: IRLevel | None,
    device: DeviceInfo | None,
    schedule: ModulePass | None,
    part: str | None = None,
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
        for stage, passes in _phases_for(device, schedule, part).items()
        if levels.index(found) <= levels.index(IRLevel(stage)) <= levels.index(level)
    }
    if isinstance(entry, sched.ProgramOp):
        planning = (*(() if schedule is None else (schedule,)), *_planning(entry))
        wanted = {IRLevel.SCHED.value: planning} | {
            stage: passes for stage, passes in wanted.items() if stage != IRLevel.SCHED.value
        }
    return wanted


def _phases_for(
    device: DeviceInfo | None, schedule: ModulePass | None, part: str | None
) -> dict[str, tuple[ModulePass, ...]]:
    """
    Returns all phases, with the schedules for a device; None is the interpreter. `schedule` is what schedules
    some kernels another way.
    """
    from ..passes.pipeline import phases

    return phases(DEFAULT_TARGET if device is None else target_of(device), schedule, part)


def _expansions_for(device: DeviceInfo | None) -> tuple[ModulePass, ...]:
    """Returns what runs after passes that the caller chose."""
    from ..passes.pipeline import expansions

    return () if device is None else expansions(target_of(device))


def _planning(program: sched.ProgramOp) -> tuple[ModulePass, ...]:
    from ..passes.sched.host.analyze_schedule import AnalyzeSchedulePass
    from ..passes.sched.host.build_dependencies import BuildDependenciesPass
    from ..passes.sched.host.plan_memory import PlanMemoryPass

    if "memory_plan" in program.attributes:
        return ()
    return BuildDependenciesPass(), PlanMemoryPass(), AnalyzeSchedulePass()
