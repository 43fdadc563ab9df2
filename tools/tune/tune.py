"""`tenon.tune`: searches for faster schedules of a program's kernels by measuring."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from numbers import Real
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...backends.interface import Backend, unmet_by_host
from ...backends.registry import REFERENCE, get_backend
from ...compiler.source import ProgramSource
from ...compiler.tuning import device_key, tuning_path
from ...dialects.modules.entry import argument_names
from ...errors import DeviceError, TenonError
from ...frontends.jit.jit import Jitted, jit
from ...frontends.jit.lowered import Lowered
from ...passes.sched.steps.database import ScheduleEntry
from ...passes.sched.steps.loop_nests.loops import loops_of
from ...runtime.plan.argument_kinds import check_kind
from ...runtime.plan.signature import Signature
from .bench import KernelBench
from .database import check_writable, save_entries
from .kernels import TunableKernel, TunableProgram, sizes_of, tunable_program
from .progress import shown_progress
from .report import KernelReport, TuningReport
from .search import NO_TIME, Deadline, KernelSearch

LEAST_SHARE = 0.01
"""Kernels that take less of the program's time are not worth a search."""

Clock = Callable[[], float]


def tune(
    program: ModuleOp | str | Callable[..., Any],
    /,
    *arguments: Any,
    seconds: float = 10.0,
    database: str | Path | None = None,
    backend: str | Backend = "llvm",
    entry: str | None = None,
    seed: int = 0,
    progress: bool | None = None,
    target: str | None = None,
    **named: Any,
) -> TuningReport:
    """
    Searches for schedules of a program's kernels that are faster than the default ones on this device, for
    `seconds` and no longer, and returns a report, which prints what was tried and gained.

    The program is a module or its text, a jitted function, or one that is to be jitted, with the arguments of
    a call; of a module they only say which values its dims have, and may be left out. Kernels get time by
    their share of the program's. Each schedule that is tried gives the results of the default one: the same
    bits, or where it sums floats in another order, the same but for rounding. The default stays where nothing
    is faster by 3 %.

    What is found is added to the `database`, a file of JSON, by default the one that the environment variable
    `TENON_TUNING` names; without any it is in the report only. `tenon.compile(tuning=)` and that variable use
    it. `seed` decides the order in which schedules are tried; `progress` shows how far it is, by default on a
    terminal. `target` names the processor that code is made for, as in `tenon.compile`; schedules are kept
    under its name.

    Raises:
        TenonError: the program cannot be compiled, is interpreted, or has a pipeline already; a module's
            arguments do not fit; the database is none, or cannot be written; an option is none.
        DeviceError: this machine cannot run code for the target.
        TypeError: the program is none.
    """
    check_kind("tune: seconds", seconds, "a number", Real)
    check_kind("tune: seed", seed, "an integer", int)
    check_kind("tune: database", database, "a path", str, PathLike, NoneType)
    check_kind("tune: target", target, "the name of a processor", str, NoneType)
    if not seconds > 0:
        raise TenonError(f"tune: {seconds} seconds, expected more than 0")
    if seconds == inf:
        raise TenonError("tune: seconds without an end, expected a number of them")
    begin = time.monotonic()
    path = tuning_path(database)
    if path is not None:
        # What cannot be added to is told before the time is spent.
        check_writable(path)
    source, backend, shapes = _source_of(program, arguments, named, backend, target, entry)
    module, chosen = source.prepared()
    if arguments and isinstance(program, ModuleOp | str):
        # What a call would refuse is no example of one.
        Signature.of(chosen.sym_name.data, argument_names(chosen), chosen.function_type).bind(arguments, {})
    tunable = tunable_program(module, chosen, backend)
    with shown_progress(progress, seconds) as shown:
        kernels = _Tuning(tunable, backend, shapes, time.monotonic, begin, begin + seconds, seed).run(
            lambda name: shown.update(f"@{name}", time.monotonic() - begin)
        )
    entries = _entries_of(tunable, kernels, device_key(backend))
    if path is not None:
        tuned = [(kernel.digest, device_key(backend)) for kernel in tunable.kernels]
        searched = {kernel.name for kernel in kernels}
        names = [kernel.name for kernel in tunable.kernels]
        save_entries(path, entries, [key for key, name in zip(tuned, names, strict=True) if name in searched])
    return TuningReport(
        tunable.name, device_key(backend), time.monotonic() - begin, tuple(kernels), tuple(entries), path
    )


class _Tuning:
    """The searches of a program's kernels, which share the time."""

    def __init__(
        self,
        program: TunableProgram,
        backend: Backend,
        shapes: Sequence[tuple[int, ...]],
        clock: Clock,
        begin: float,
        end: float,
        seed: int,
    ) -> None:
        self._program = program
        self._backend = backend
        self._sizes = sizes_of(program, shapes)
        self._clock = clock
        self._end = end
        self._seed = seed

    def run(self, seen: Callable[[str], object]) -> list[KernelReport]:
        """Returns the reports of the kernels that were searched, those that take longest first."""
        times = self._times()
        total = sum(times.values()) or 1
        order = sorted(times, key=lambda kernel: -times[kernel])
        order = [kernel for kernel in order if times[kernel] >= LEAST_SHARE * total]
        left = sum(times[kernel] for kernel in order)
        reports: list[KernelReport] = []
        for kernel in order:
            now = self._clock()
            share = times[kernel] / total
            end = now + (self._end - now) * times[kernel] / left
            left -= times[kernel]
            if now >= self._end:
                reports.append(_unsearched(kernel, share, times[kernel] // kernel.launches))
                continue
            bench = KernelBench(self._program, kernel, self._backend, self._sizes)
            try:
                search = KernelSearch(
                    self._program,
                    kernel,
                    bench,
                    Deadline(self._clock, end),
                    share,
                    self._seed,
                    lambda name=kernel.name: seen(name),
                )
                reports.append(search.run())
            finally:
                bench.close()
        return reports

    def _times(self) -> dict[TunableKernel, int]:
        """
        Returns how long the kernels take with their default schedules, all launches together; without those
        that there was no time for.
        """
        times: dict[TunableKernel, int] = {}
        for kernel in self._program.kernels:
            if times and self._clock() >= self._end:
                break
            bench = KernelBench(self._program, kernel, self._backend, self._sizes)
            try:
                nanoseconds = min(bench.nanoseconds(bench.default) for _ in range(3))
                times[kernel] = kernel.launches * nanoseconds
            finally:
                bench.close()
        return times


def _unsearched(kernel: TunableKernel, share: float, nanoseconds: int) -> KernelReport:
    return KernelReport(kernel.name, share, 0, {}, nanoseconds, nanoseconds, (), NO_TIME)


def _source_of(
    program: ModuleOp | str | Callable[..., Any],
    arguments: Sequence[Any],
    named: dict[str, Any],
    backend: str | Backend,
    target: str | None,
    entry: str | None,
) -> tuple[ProgramSource, Backend, list[tuple[int, ...]]]:
    """Returns what is compiled, for which device, and the shapes of the arrays that it is called with."""
    if isinstance(program, ModuleOp | str):
        if named:
            raise TypeError(f"tune: argument '{next(iter(named))}', expected those of a module in order")
        shapes = [np.shape(argument) for argument in arguments]
        return ProgramSource(program, entry), _opened(backend, target), shapes
    if not callable(program):
        raise TypeError(f"tune: {program!r} is no program, expected a function or a module")
    jitted: Any = program
    if not isinstance(program, Jitted):
        jitted = jit(program, backend=backend if isinstance(backend, str) else "llvm")
    elif program.options["pipeline"] is not None:
        raise TenonError(f"tune: {program.name} has a pipeline of its own")
    elif backend == "llvm":
        backend = program.options["backend"]
        target = target or program.options["target"]
    lowered: Lowered = jitted.lower(*arguments, **named)
    arrays: list[Any] = []
    lowered.parameters.signature_of(lowered.parameters.canonical(tuple(arguments), named), arrays)
    return (
        ProgramSource(lowered.module),
        _opened(backend, target),
        [np.shape(array) for array in arrays],
    )


def _opened(backend: str | Backend, target: str | None) -> Backend:
    """Raises TenonError where nothing can be measured."""
    if backend == REFERENCE:
        raise TenonError(f"tune: backend {REFERENCE} interprets, and has no schedules to measure")
    if isinstance(backend, str):
        backend = get_backend(backend, target)
    elif target is not None:
        raise TenonError(f"tune: target '{target}' excludes a backend that is open, which has its own")
    if unmet := unmet_by_host(backend.device):
        raise DeviceError(f"tune: {unmet}")
    return backend


def _entries_of(program: TunableProgram, reports: Sequence[KernelReport], device: str) -> list[ScheduleEntry]:
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return [
        ScheduleEntry(
            kernels[report.name].digest,
            device,
            program.name,
            program.signature,
            report.name,
            tuple(loops_of(kernels[report.name].op)),
            report.steps,
            report.default_ns,
            report.best_ns,
        )
        for report in reports
        if report.steps
    ]
