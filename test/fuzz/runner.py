"""Runs one program in one way, and says what came of it."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ml_dtypes
import numpy as np
import tenon
from tenon.backends.llvm.programs import step_image
from tenon.compiler.tuning import TUNING

from .devices import SharedWork, draw_plan
from .draws import Array, Choice, Draws
from .expected import Expected
from .kinds import KINDS
from .node_text import with_nodes
from .program import EXAMPLES, Builder, Program
from .ranks import annotated, run_on_ranks
from .scheduling import DrawnSchedules, search
from .tenon_side import TenonSide
from .ways import draw_way

STEPS = 3
"""How often a program runs whose results become its arguments."""

OWN_OPS = "mine"
"""The module of the example's ops."""

DTYPES = (np.float32, np.float64, ml_dtypes.bfloat16, np.float16)
"""What floats a program is of."""

OTHER_SIZES = 2
"""How many sizes a program with open extents is called with."""


@dataclass
class Outcome:
    """What came of a program, as plain data. `status`: `right`, `wrong`, `raised`, `differs`."""

    kind: str
    seed: int
    given: dict[str, int]
    way: str = ""
    status: str = "right"
    detail: str = ""
    ops: int = 0
    is_loose: bool = False
    is_undecided: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    choices: dict[str, Choice] = field(default_factory=dict)
    """Each choice with what would be simplest."""

    @property
    def is_failure(self) -> bool:
        return self.status != "right"

    def plain(self) -> dict[str, Any]:
        return asdict(self)


class _WrongError(Exception):
    """What a program gave is not what it should."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


def made(kind: str, seed: int, given: Mapping[str, int]) -> tuple[Program, Draws]:
    """Returns the program of a kind, a seed and choices that are given."""
    draws = Draws(kind, seed, given)
    builder = Builder(kind, draws)
    builder.dtype = np.dtype(draws.pick("dtype", DTYPES, (76, 15, 6, 3)))
    return KINDS[kind](builder), draws


def text_of(program: Program) -> str:
    """Returns the text of a program that has one, and sees to it that its ops are known."""
    assert program.text is not None, f"{program.kind}: is traced"
    if program.has_own_ops and OWN_OPS not in sys.modules:
        spec = importlib.util.spec_from_file_location(OWN_OPS, EXAMPLES / "custom_op" / f"{OWN_OPS}.py")
        assert spec is not None and spec.loader is not None, f"no {OWN_OPS}"
        module = sys.modules[OWN_OPS] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return program.text


def described(kind: str, seed: int, given: Mapping[str, int]) -> Outcome:
    """Returns how a program would be run, without running it."""
    program, draws = made(kind, seed, given)
    way = draw_way(draws, program, Expected(program).work)
    return Outcome(kind, seed, dict(given), str(way), choices=draws.made)


def run_one(kind: str, seed: int, given: Mapping[str, int] | None = None) -> Outcome:
    """Makes a program and runs it."""
    return _Run(kind, seed, dict(given or {})).outcome


class _Run:
    def __init__(self, kind: str, seed: int, given: dict[str, int]) -> None:
        self.given = given
        self.outcome = Outcome(kind, seed, given)
        self._last = time.process_time()
        self._schedules: dict[str, Any] | None = None
        """The options of `tenon.compile` that say how kernels are scheduled, once they are known."""
        with TemporaryDirectory() as folder:
            self._database = Path(folder) / "tuning.json"
            try:
                self._run(kind, seed, given)
            except _WrongError as error:
                self.outcome.status, self.outcome.detail = error.status, str(error)
            except Exception as error:
                self.outcome.status = "raised"
                self.outcome.detail = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
            finally:
                os.environ.pop(TUNING, None)
            if self.outcome.is_failure and self._database.exists():
                # What a search finds is not the same the next time.
                self.outcome.detail += f"\n{self._database.read_text(encoding='utf-8')}"

    def _spent(self, on: str) -> None:
        now = time.process_time()
        self.outcome.seconds[on] = self.outcome.seconds.get(on, 0.0) + now - self._last
        self._last = now

    def _run(self, kind: str, seed: int, given: dict[str, int]) -> None:
        self.program, self.draws = made(kind, seed, given)
        self.outcome.choices = self.draws.made
        expected = Expected(self.program)
        self.way = draw_way(self.draws, self.program, expected.work)
        self.outcome.way = str(self.way)
        self._spent("numpy")
        state, is_dynamic = self.way.state, self.way.is_dynamic
        if state not in ("none", "ranks"):
            expected = Expected(self.program, STEPS)
            self._spent("numpy")
        self.function = self._function(self.program)
        os.environ["TENON_CACHE"] = str(int(self.way.is_cached))
        with _threads(self.way.threads) if self.way.target == "llvm" else nullcontext():
            found = self._in_its_way(self._given())
            if self.way.is_cached:
                self._again_from_the_cache(found)
            self._check(expected, found)
            if is_dynamic and state == "none":
                for number in range(1, OTHER_SIZES):
                    self._other_size(number)

    def _check(self, expected: Expected, found: Sequence[Array]) -> None:
        verdict = expected.compare(found)
        self._spent("numpy")
        self.outcome.is_loose |= verdict.is_loose
        self.outcome.is_undecided |= verdict.is_undecided
        if verdict.wrong is not None:
            raise _WrongError("wrong", verdict.wrong)

    # ways

    def _function(self, program: Program) -> Any:
        """Returns the program as a function of its arguments by position: `jit` knows them by name."""

        def main(*arguments: Any) -> Any:
            return program.function(TenonSide, arguments)

        return main

    def _jitted(self) -> Any:
        way, program = self.way, self.program
        options: dict[str, Any] = {"backend": "opencl"} if way.target == "opencl" else self._llvm()
        if way.state == "donated":
            options["donate_argnums"] = tuple(program.feedback)
        if way.is_dynamic:
            options["dynamic"] = {
                f"argument {number}": {axis: self._dim(name) for axis, name in axes.items()}
                for number, axes in program.dims.items()
            }
        return tenon.jit(self.function, **options)

    def _dim(self, name: str) -> tenon.Dim:
        extents = {self._size(name, number) for number in range(OTHER_SIZES)}
        return tenon.Dim(name, 1, max(extents) + self.outcome.seed % 3)

    def _size(self, name: str, number: int) -> int:
        """Returns what a dim is in the call of a number: what was drawn in the first."""
        drawn = self.draws.made[name].value
        return drawn if number == 0 else 1 + (drawn * 5 + self.outcome.seed) % 11

    def _given(self) -> list[Array]:
        return [array.copy() for array in self.program.inputs]

    def _in_its_way(self, given: list[Array]) -> list[Array]:
        way = self.way
        self._called: Callable[[list[Array]], Any]
        if self.program.text is not None:
            self._schedule(text_of(self.program))
            self._called = self._compiled(text_of(self.program))
            self._count(tenon.parse_module(self.program.text))
            self._spent("compile")
            return self._repeated(self._called, given)
        jitted = self._jitted()
        lowered = jitted.lower(*given)
        self._spent("trace")
        self._count(lowered.module)
        self._schedule(lowered.module)
        if way.state == "donated":
            return self._donated(jitted, given)
        if way.state == "ranks":
            target = self._target()
            text = annotated(self.draws, str(lowered.module))
            found = run_on_ranks(text, given, target["backend"], target.get("level"))
            self._spent("run")
            return found
        if way.state == "devices":
            return self._by_devices(given)
        if way.state != "none":
            program = with_nodes(str(lowered.module), self.program.feedback, self.outcome.seed)
            run = self._by_executable if way.state == "nodes" else self._by_routine
            return run(program, given)
        if way.route == "call":
            self._called = lambda values: jitted(*values)
        elif way.route == "lower":
            compiled = lowered.compile()
            self._called = lambda values: compiled(*values)
        else:
            self._called = self._compiled(str(lowered.module) if way.route == "text" else lowered.module)
        self._spent("compile")
        return self._repeated(self._called, given)

    def _compiled(self, source: Any) -> Callable[[list[Array]], Any]:
        executable = tenon.compile(source, entry="main", **self._target(), **(self._schedules or {}))
        return lambda values: executable(*values)

    def _schedule(self, source: Any) -> None:
        """Chooses how the kernels of the program are scheduled."""
        way = self.way
        if way.kernels == "default" or self._schedules is not None:
            return
        self._schedules = {}
        device = (way.target, way.processor if way.target == "llvm" else None)
        if way.kernels == "tuned":
            search(source, self._database, *device, self.outcome.seed)
        else:
            drawn = DrawnSchedules(self.draws, source, *device)
            if way.kernels == "entries":
                drawn.save(self._database)
            else:
                steps = drawn.functions if way.kernels == "drawn" else drawn.recorded
                self._schedules["schedules"] = steps
                return
        if way.route in ("module", "text"):
            self._schedules["tuning"] = self._database
        else:
            os.environ[TUNING] = str(self._database)
        self._spent("schedule")

    def _target(self) -> dict[str, str]:
        """Returns the options of `tenon.compile` that say what for."""
        target = self.way.target
        if target in ("graph", "sched", "low"):
            return {"backend": "reference", "level": target}
        return self._llvm() if target == "llvm" else {"backend": target}

    def _llvm(self) -> dict[str, str]:
        return {"backend": "llvm", "target": self.way.processor}

    def _count(self, module: Any) -> None:
        self.outcome.ops = sum(1 for op in module.walk() if op.name.startswith("graph."))

    def _repeated(self, call: Callable[[list[Array]], Any], given: list[Array]) -> list[Array]:
        """Calls twice, of which the second must give the same bits."""
        first = _arrays(call(given))
        if self.way.target in ("llvm", "opencl"):
            _check_same("the second call", first, _arrays(call(given)))
        self._spent("run")
        return first

    def _donated(self, jitted: Any, given: list[Array]) -> list[Array]:
        values: list[Any] = [
            tenon.numpy.asarray(array) if number in self.program.feedback else array
            for number, array in enumerate(given)
        ]
        results: Any = ()
        for _ in range(STEPS):
            results = jitted(*values)
            for argument, result in self.program.feedback.items():
                values[argument] = results[result]
        self._spent("compile")
        return _arrays(results)

    def _by_executable(self, program: Any, given: list[Array]) -> list[Array]:
        with tenon.compile(program.text, **self._target()) as executable:
            for name, array in zip(program.arguments, given, strict=True):
                # One that nothing reads is not there.
                if name in executable.nodes:
                    executable.nodes[name] = array
            self._spent("compile")
            for _ in range(STEPS):
                executable()
            found = [np.array(executable.nodes[name]) for name in program.results]
        self._spent("run")
        return found

    def _by_routine(self, program: Any, given: list[Array]) -> list[Array]:
        with self._platform(self.way.threads) as platform:
            code = platform.compile(program.text)
            self._spent("compile")
            context = platform.get_device(0).make_context()
            for name, array in zip(program.arguments, given, strict=True):
                if name in code.nodes:
                    context = context.init_from_host(code.nodes[name], array)
            routine = context.link(code)
            for step in range(STEPS):
                if step and self.way.threads > 1:
                    context = platform.get_device(step % self.way.threads).make_context()
                    routine = _moved(code, program.arguments, routine.context, context).link(code)
                routine.run()
            found = [np.array(routine.context.to_host(code.nodes[name])) for name in program.results]
        self._spent("run")
        return found

    def _by_devices(self, given: list[Array]) -> list[Array]:
        plan = draw_plan(self.draws)
        with self._platform(plan.devices) as platform:
            shared = SharedWork(platform, self.program, self.outcome.seed)
            self._spent("compile")
            found = shared.run(given, plan, STEPS)
        self._spent("run")
        return found

    @contextmanager
    def _platform(self, devices: int) -> Generator[Any]:
        """Opens devices, which the interpreter has too."""
        backend = self.way.target if self.way.target in ("llvm", "opencl") else "reference"
        options: dict[str, Any] = {}
        if backend != "opencl":
            options["scheduler"] = "multicore" if self.way.threads > 1 else "sync"
        if backend == "llvm":
            options["target"] = self.way.processor
        platform = tenon.open_platform(backend, num_devices=devices, **options)
        try:
            yield platform
        finally:
            platform.close()

    def _again_from_the_cache(self, found: list[Array]) -> None:
        before = tenon.cache_info().hits
        tenon.clear_caches()
        again = self._in_its_way(self._given())
        if tenon.cache_info().hits == before:
            raise _WrongError("differs", "the second compile did not load from the cache")
        _check_same("the program from the cache", found, again)

    def _other_size(self, number: int) -> None:
        names = {name for axes in self.program.dims.values() for name in axes.values()}
        sizes = {name: self._size(name, number) for name in names}
        other, _ = made(self.outcome.kind, self.outcome.seed, {**self.given, **sizes})
        if any(
            a.shape != b.shape and place not in self.program.dims
            for place, (a, b) in enumerate(zip(self.program.inputs, other.inputs, strict=True))
        ):
            return
        expected = Expected(other)
        self._spent("numpy")
        self.program = other
        found = self._repeated(self._called, [array.copy() for array in other.inputs])
        self._check(expected, found)


def _moved(code: Any, names: Sequence[str], source: Any, target: Any) -> Any:
    """Returns a context on another device that has the nodes of `source`, copied without the host."""
    for name in names:
        if name in code.nodes:
            copy = target.init_zeros(code.nodes[name]).device_to_device(code.nodes[name], source)
            copy.run()
            target = copy.context
    return target


@contextmanager
def _threads(count: int) -> Generator[None]:
    """Runs kernels on so many threads, of several also those that are too small for it to be worth it."""
    if count == 1:
        with tenon.num_threads(1):
            yield
        return
    usual = step_image.LEAST_PARALLEL_NANOSECONDS, step_image.LEAST_PART_NANOSECONDS
    step_image.LEAST_PARALLEL_NANOSECONDS = step_image.LEAST_PART_NANOSECONDS = 1
    try:
        with tenon.num_threads(count):
            yield
    finally:
        step_image.LEAST_PARALLEL_NANOSECONDS, step_image.LEAST_PART_NANOSECONDS = usual


def _arrays(results: Any) -> list[Array]:
    found = results if isinstance(results, tuple | list) else (results,)
    return [np.array(np.asarray(each)) for each in found]


def _check_same(who: str, first: Sequence[Array], second: Sequence[Array]) -> None:
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.tobytes() != b.tobytes():
            raise _WrongError("differs", f"{who} gives other bits for result {number}")
