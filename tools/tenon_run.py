"""`tenon-run`: runs a function of a module on a backend, with arrays from files or random ones."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from ..backends.interface import Backend
from ..backends.registry import REFERENCE, get_backend
from ..compiler.all_ranks import compiled_call, partitioned_for_all
from ..compiler.compile import compile
from ..compiler.foreign import as_graph_module
from ..compiler.kept_programs import lookup_counts
from ..dialects.graph import dims_of
from ..dialects.modules.entry import Entry, find_entry, level_of
from ..dialects.modules.parsing import parse_module, verify_module
from ..errors import TenonError
from ..passes.instruments.random_inputs import random_inputs
from ..runtime.executables.executable import Executable
from ..runtime.executables.sized_executable import SizedExecutable
from ..runtime.plan.signature import ArrayType
from ..runtime.timeline.timeline import Timeline, record_timeline
from ..semantics.computed_precision import result_precisions
from .diagnostics import Diagnostic
from .exit_codes import DIAGNOSTICS, SUCCESS
from .run.input_arrays import collect_arguments, read_arrays, readable
from .run.run_arguments import parse_arguments
from .run.run_outcome import RunOutcome, compare_outcomes
from .run.run_reports import print_memory_plan, print_statistics, print_times
from .run.run_state import RunState, run_state
from .run.stage_dump import StageDump
from .source_text import display_name, read_source
from .tool_run import ToolRun, reason_of

TOOL = "tenon-run"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Interpreted:
    """What a run of the interpreter had and gave."""

    arguments: list[Any]
    state: RunState
    outcome: RunOutcome


class TenonRun:
    """One call of the tool."""

    def __init__(self, arguments: Sequence[str] | None) -> None:
        self.command = list(sys.argv[1:] if arguments is None else arguments)
        self.args = parse_arguments(arguments)
        self.file = display_name(self.args.input_file)
        self.text = ""
        self.is_cached = False

    def execute(self) -> int:
        """Does what the arguments ask for and returns the exit code."""
        self.text = read_source(self.args.input_file)
        try:
            module = parse_module(self.text, self.file)
            verify_module(module)
            module = as_graph_module(module)
            entry = find_entry(module, self.args.entry)
        except TenonError as error:
            return self._diagnosed(error)
        # First: what the interpreter refuses, an index out of bounds say, could do anything to this process.
        interpreted = self._interpreted(module, entry) if self.args.compare else None
        with ExitStack() as recording:
            timeline = None
            if self.args.timeline is not None:
                timeline = recording.enter_context(record_timeline())
            execute = self._execute if self.args.ranks is None else self._execute_ranks
            return execute(module, entry, interpreted, timeline, recording)

    def _diagnosed(self, error: TenonError) -> int:
        for diagnostic in Diagnostic.all_of(error, self.file):
            sys.stderr.write(diagnostic.format(self.file, self.text))
        return DIAGNOSTICS

    def _interpreted(self, module: ModuleOp, entry: Entry) -> _Interpreted:
        """Runs the program as it was written."""
        name = entry.sym_name.data
        with compile(module, backend=REFERENCE, entry=name, callbacks=self.args.callbacks) as reference:
            arguments, state = self._arguments(module, reference, entry)
            outcome = replace(RunOutcome.of(reference, arguments, state), precisions=result_precisions(entry))
            return _Interpreted(arguments, state, outcome)

    def _execute_ranks(
        self,
        module: ModuleOp,
        entry: Entry,
        interpreted: _Interpreted | None,
        timeline: Timeline | None,
        recording: ExitStack,
    ) -> int:
        """Partitions the module, runs all ranks in threads, and puts their results together."""
        args = self.args
        try:
            programs = partitioned_for_all(module, entry, args.allow_gather)
            if programs.mesh.size != args.ranks:
                grid = " x ".join(map(str, programs.mesh.shape))
                raise TenonError(f"--ranks {args.ranks}: @{programs.mesh.name} has {grid} ranks")
            if interpreted is None:
                name = entry.sym_name.data
                with compile(module, backend=REFERENCE, entry=name, callbacks=args.callbacks) as whole:
                    arguments, _ = self._arguments(module, whole, entry)
            else:
                arguments = interpreted.arguments
            backend = REFERENCE if args.backend == REFERENCE else get_backend(args.backend, args.target)
            call = compiled_call(backend, args.level, args.callbacks, args.explain)
            outcome = RunOutcome(programs.run(arguments, call), {})
        except TenonError as error:
            return self._diagnosed(error)
        recording.close()
        if timeline is not None:
            timeline.save(args.timeline)
        self._print(outcome)
        if args.output is not None:
            _save(args.output, outcome)
        if interpreted is None:
            return SUCCESS
        return self._compare(outcome, interpreted)

    def _execute(
        self,
        module: ModuleOp,
        entry: Entry,
        interpreted: _Interpreted | None,
        timeline: Timeline | None,
        recording: ExitStack,
    ) -> int:
        """Compiles and runs; closes `recording` after the first run."""
        try:
            executable, compile_seconds = self._compile(module, entry)
            explanation = executable.explain() if self.args.explain else ""
        except TenonError as error:
            return self._diagnosed(error)
        with executable:
            print(explanation, end="")
            if self.args.compile_only:
                return SUCCESS
            if interpreted is None:
                arguments, state = self._arguments(module, executable, entry)
            else:
                arguments, state = interpreted.arguments, interpreted.state
            outcome = RunOutcome.of(executable, arguments, state)
            # The runs of `--time` and `--stats` below would bury the one that the timeline is about.
            recording.close()
            if timeline is not None:
                timeline.save(self.args.timeline)
            self._print(outcome)
            if self.args.output is not None:
                _save(self.args.output, outcome)
            if self.args.time is not None:
                print_times(compile_seconds, self.is_cached, executable, arguments, self.args.time)
            if isinstance(executable, SizedExecutable):
                self._report(executable.executable_of(arguments), arguments)
            else:
                self._report(executable, arguments)
        return SUCCESS if interpreted is None else self._compare(outcome, interpreted)

    def _compile(self, module: ModuleOp, entry: Entry) -> tuple[Executable, float]:
        args = self.args
        backend: Backend | None = None
        if args.backend != REFERENCE:
            backend = get_backend(args.backend, args.target)
        dump = None
        if args.dump_dir is not None:
            dump = StageDump(args.dump_dir, level_of(module, entry).value)
        hits, start = lookup_counts().hits, perf_counter()
        executable = compile(
            module,
            backend=backend or REFERENCE,
            pipeline=args.pipeline,
            tuning=args.tuning,
            entry=entry.sym_name.data,
            level=args.level,
            instruments=[] if dump is None else [dump],
            callbacks=args.callbacks,
        )
        seconds = perf_counter() - start
        self.is_cached = lookup_counts().hits > hits
        if dump is not None:
            dump.finish(executable, backend)
        return executable, seconds

    def _arguments(
        self, module: ModuleOp, executable: Executable, entry: Entry
    ) -> tuple[list[Any], RunState]:
        """Returns the arguments in order, and what the nodes hold before the run."""
        args = self.args
        archive = None if args.inputs is None else read_arrays(args.inputs)
        state = run_state(module, entry, archive or {}, args.symbol, args.random_seed or 0)
        fallback: dict[str, Array] | None = None
        if args.random_seed is not None or not (args.inputs or args.input):
            arrays = random_inputs(entry.function_type, args.random_seed or 0, dims_of(module))
            fallback = dict(zip(executable.argument_names, arrays, strict=True))
        arguments, notes = collect_arguments(
            executable.signature, archive, str(args.inputs), args.input, fallback, state.nodes
        )
        for note in notes:
            print(f"{TOOL}: note: {note}", file=sys.stderr)
        return state.with_symbols(entry, arguments), state

    def _print(self, outcome: RunOutcome) -> None:
        if self.args.print == "none":
            return
        named = [(f"result{number}", result) for number, result in enumerate(outcome.results)]
        for name, result in (*named, *((f"@{name}", array) for name, array in outcome.nodes.items())):
            print(f"{name}: {ArrayType(result.dtype, result.shape)}{_range_text(result)}")
            if self.args.print != "summary":
                threshold = result.size + 1 if self.args.print == "all" else 1000
                print(np.array2string(result, threshold=threshold))

    def _report(self, executable: Executable, arguments: Sequence[Array]) -> None:
        if self.args.stats:
            print_statistics(executable, arguments, self.args.time, self.args.stats_format)
        if self.args.memory_plan is not None:
            print_memory_plan(executable.memory_plan(), self.args.memory_plan)

    def _compare(self, found: RunOutcome, wanted: _Interpreted) -> int:
        agree = True
        for name, comparison in compare_outcomes(found, wanted.outcome, wanted.arguments, wanted.state):
            agree &= comparison.agrees
            print(f"{name}: {self.args.backend} and {REFERENCE}: {comparison.text}")
        return SUCCESS if agree else DIAGNOSTICS

    def report_bug(self) -> str:
        """Keeps what came from standard input, and returns the command that shows the bug again."""
        command = [argument for argument in self.command if argument not in ("-", "--debug")]
        if self.args.input_file in (None, "-"):
            with tempfile.NamedTemporaryFile(
                "w", prefix=f"{TOOL}-", suffix=".mlir", delete=False, encoding="utf-8"
            ) as file:
                file.write(self.text)
            command.insert(0, file.name)
        return shlex.join([TOOL, *command, "--debug"])


def _range_text(result: Array) -> str:
    """Returns the least and the greatest element, and the number of NaNs if there are any."""
    if not result.size or result.dtype == np.bool_:
        return f", {int(np.count_nonzero(result))} true" if result.dtype == np.bool_ else ""
    values = result.astype(np.float64) if result.dtype.kind not in "iu" else result
    is_nan = np.isnan(values)
    text = "" if is_nan.all() else f", {np.min(values[~is_nan])} to {np.max(values[~is_nan])}"
    return f"{text}, {int(np.count_nonzero(is_nan))} NaN" if is_nan.any() else text


def _save(path: Path, outcome: RunOutcome) -> None:
    results = outcome.results
    try:
        if path.suffix == ".npy":
            if len(results) != 1:
                raise TenonError(f"{path}: one array fits, found {len(results)} results (hint: .npz)")
            np.save(path, readable(results[0]), allow_pickle=False)
        else:
            named = dict(outcome.nodes)
            named.update((f"result{number}", result) for number, result in enumerate(results))
            saved: dict[str, Any] = {name: readable(array) for name, array in named.items()}
            np.savez(path, **saved)
    except OSError as error:
        raise TenonError(f"cannot write {path}: {reason_of(error)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-run` with the arguments of the process, or those given, and returns its exit code."""
    with ToolRun(TOOL) as run:
        tool = TenonRun(arguments)
        run.debug, run.report_bug = tool.args.debug, tool.report_bug
        run.exit_code = tool.execute()
    return run.exit_code
