"""`tenon.compile`: from text or a module to an executable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..backends.interface import Backend, unmet_by_host
from ..backends.registry import DEVICE_NAMES, REFERENCE, check_interpreted, get_backend
from ..dialects.modules.collection_pause import collection_paused
from ..dialects.modules.level import IRLevel
from ..errors import TenonError
from ..passes.pass_manager import PassManager
from ..runtime.executables.executable import Executable
from ..semantics.host_calls import HostFunctions
from ..semantics.world import World
from .foreign import as_graph
from .linking import executable_of
from .source import CompileRequest, ProgramSource, Unseparated

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
    world: World | None = None,
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
    see docs/callbacks.md. `world` is where a program of one rank meets the others: see docs/sharding.md.

    A program of StableHLO is converted first (docs/stablehlo.md).

    `entry` names the function, which may be left out where there is only one. `filename` is what errors call
    the text.

    Raises:
        TenonError: the module, the pipeline or a name is wrong, a callback has no function, or the device
            lacks something it takes.
        RankError: the program has collectives, and no world is given or one that it is not for.
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
    with collection_paused():
        opened = _opened(backend, target)
        end = _level_wanted(opened, level, pipeline)
        program = as_graph(program, filename)
        source = ProgramSource(
            program, entry, filename, schedule, tuning, callbacks=dict(callbacks or {}), world=world
        )
        executable = executable_of(
            CompileRequest(source, opened, pipeline, end, instruments, specialize or {})
        )
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
    world: World | None = None,
    part: str | None = None,
    unseparated: Unseparated | None = None,
) -> Executable:
    """
    As `compile`, of a module that nobody changes afterwards, and that is not copied therefore. `part` and
    `unseparated` are those of the `CompileRequest`.
    """
    with collection_paused():
        opened = _opened(backend, target)
        end = _level_wanted(opened, None, pipeline)
        source = ProgramSource(module, callbacks=dict(callbacks or {}), world=world)
        request = CompileRequest(
            source,
            opened,
            pipeline,
            end,
            specialize=specialize or {},
            part=part,
            unseparated=unseparated,
        )
        return executable_of(request)


def compiled_here(executable: Executable) -> Executable:
    """
    Returns an executable that this machine can run: itself, or its kernels as they are, scheduled for another
    processor, compiled for this one.
    """
    backend = executable.backend
    if backend is None or not unmet_by_host(backend.device):
        return executable
    from ..backends.llvm.processors import NATIVE

    return compile(executable.stages[IRLevel.LOW], target=NATIVE, entry=executable.name)


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


def _opened(backend: str | Backend, target: str | None) -> Backend | None:
    """Returns the backend with its device, for the processor that is given, None for the interpreter."""
    if target is not None:
        if not isinstance(backend, str):
            raise TenonError(f"compile: target '{target}' excludes a backend that is open, which has its own")
        if backend == REFERENCE:
            check_interpreted(target)
        return get_backend(backend, target)
    if backend == REFERENCE:
        return None
    if isinstance(backend, str):
        if backend not in BACKENDS:
            raise TenonError(f"backend '{backend}' is not one of {', '.join(BACKENDS)}")
        return get_backend(backend)
    _check_kind("backend", backend, f"a backend or one of {', '.join(BACKENDS)}", Backend)
    return backend


def _level_wanted(
    backend: Backend | None, level: str | None, pipeline: PassManager | str | None
) -> IRLevel | None:
    """Returns where the default passes end: at `low`, or for the interpreter where the caller says."""
    if backend is not None:
        if level is not None:
            raise TenonError(f"compile: level '{level}' is for the reference backend only")
        return IRLevel.LOW
    if level is None:
        return None
    if level not in list(IRLevel):
        raise TenonError(f"compile: level '{level}' is not one of {', '.join(IRLevel)}")
    if pipeline is not None:
        raise TenonError("compile: level and pipeline exclude each other")
    return IRLevel(level)


def _check_kind(who: str, value: object, expected: str, *kinds: type) -> None:
    if not isinstance(value, kinds):
        raise TenonError(f"compile: {who} is {value!r}, of type {type(value).__name__}, expected {expected}")
