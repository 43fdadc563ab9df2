"""`tenon-run`: runs a function of a module on a backend, with arrays from files or random ones."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from ..backends.interface import Backend
from ..backends.registry import get_backend
from ..dialects.element_types import element_type_of
from ..dialects.entry import Entry, find_entry, level_of
from ..dialects.parsing import parse_module, verify_module
from ..driver import compile
from ..errors import TenonError
from ..passes.util.random_inputs import random_inputs
from ..runtime.executable import Executable
from ..runtime.signature import ArrayType
from .diagnostics import Diagnostic
from .exit_codes import DIAGNOSTICS, SUCCESS
from .input_arrays import collect_arguments
from .result_comparison import compare
from .run_arguments import REFERENCE, parse_arguments
from .source_text import display_name, read_source
from .stage_dump import StageDump
from .tool_run import ToolRun, reason_of

TOOL = "tenon-run"

Array = npt.NDArray[Any]


class TenonRun:
    """One call of the tool."""

    def __init__(self, arguments: Sequence[str] | None) -> None:
        self.command = list(sys.argv[1:] if arguments is None else arguments)
        self.args = parse_arguments(arguments)
        self.file = display_name(self.args.input_file)
        self.text = ""

    def execute(self) -> int:
        """Does what the arguments ask for and returns the exit code."""
        self.text = read_source(self.args.input_file)
        try:
            module = parse_module(self.text, self.file)
            verify_module(module)
            entry = find_entry(module, self.args.entry)
            executable, compile_seconds = self._compile(module, entry)
        except TenonError as error:
            for diagnostic in Diagnostic.all_of(error, self.file):
                sys.stderr.write(diagnostic.format(self.file, self.text))
            return DIAGNOSTICS
        with executable:
            arguments = self._arguments(executable, entry)
            results = _as_list(executable(*arguments))
            self._print(results)
            if self.args.output is not None:
                _save(self.args.output, results)
            if self.args.time is not None:
                _print_times(compile_seconds, executable, arguments, self.args.time)
        return self._compare(module, entry, arguments, results) if self.args.compare else SUCCESS

    def _compile(self, module: ModuleOp, entry: Entry) -> tuple[Executable, float]:
        args = self.args
        backend: Backend | None = None if args.backend == REFERENCE else get_backend(args.backend)
        dump = None
        if args.dump_dir is not None:
            dump = StageDump(args.dump_dir, level_of(module, entry).value)
        start = perf_counter()
        executable = compile(
            module,
            backend=backend or REFERENCE,
            pipeline=args.pipeline,
            entry=entry.sym_name.data,
            level=args.level,
            instruments=[] if dump is None else [dump],
        )
        seconds = perf_counter() - start
        if dump is not None:
            dump.finish(executable, backend)
        return executable, seconds

    def _arguments(self, executable: Executable, entry: Entry) -> list[Array]:
        args = self.args
        fallback: dict[str, Array] | None = None
        if args.random_seed is not None or not (args.inputs or args.input):
            arrays = random_inputs(entry.function_type, args.random_seed or 0)
            fallback = dict(zip(executable.argument_names, arrays, strict=True))
        arguments, notes = collect_arguments(executable.signature, args.inputs, args.input, fallback)
        for note in notes:
            print(f"{TOOL}: note: {note}", file=sys.stderr)
        return arguments

    def _print(self, results: Sequence[Array]) -> None:
        if self.args.print == "none":
            return
        for number, result in enumerate(results):
            print(f"result{number}: {ArrayType(result.dtype, result.shape)}{_range_text(result)}")
            if self.args.print != "summary":
                threshold = result.size + 1 if self.args.print == "all" else 1000
                print(np.array2string(result, threshold=threshold))

    def _compare(
        self, module: ModuleOp, entry: Entry, arguments: Sequence[Array], results: Sequence[Array]
    ) -> int:
        with compile(module, backend=REFERENCE, entry=entry.sym_name.data) as reference:
            expected = _as_list(reference(*arguments))
        terms = max((argument.size for argument in arguments), default=1)
        agree = True
        for number, type in enumerate(entry.function_type.outputs):
            comparison = compare(results[number], expected[number], element_type_of(type), terms)
            agree &= comparison.agrees
            print(f"result{number}: {self.args.backend} and {REFERENCE}: {comparison.text}")
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


def _as_list(results: Any) -> list[Array]:
    return [*results] if isinstance(results, tuple) else [results]


def _range_text(result: Array) -> str:
    """Returns the least and the greatest element, and the number of NaNs if there are any."""
    if not result.size or result.dtype == np.bool_:
        return f", {int(np.count_nonzero(result))} true" if result.dtype == np.bool_ else ""
    values = result.astype(np.float64) if result.dtype.kind not in "iu" else result
    is_nan = np.isnan(values)
    text = "" if is_nan.all() else f", {np.min(values[~is_nan])} to {np.max(values[~is_nan])}"
    return f"{text}, {int(np.count_nonzero(is_nan))} NaN" if is_nan.any() else text


def _save(path: Path, results: Sequence[Array]) -> None:
    try:
        if path.suffix == ".npy":
            if len(results) != 1:
                raise TenonError(f"{path}: one array fits, found {len(results)} results (hint: .npz)")
            np.save(path, results[0], allow_pickle=False)
        else:
            named: dict[str, Any] = {f"result{number}": result for number, result in enumerate(results)}
            np.savez(path, **named)
    except OSError as error:
        raise TenonError(f"cannot write {path}: {reason_of(error)}") from error


def _print_times(
    compile_seconds: float, run: Callable[..., Any], arguments: Sequence[Array], count: int
) -> None:
    seconds: list[float] = []
    for _ in range(count):
        start = perf_counter()
        run(*arguments)
        seconds.append(perf_counter() - start)
    print(f"compile {1e3 * compile_seconds:.3f} ms")
    print(f"run best {1e3 * min(seconds):.3f} ms, median {1e3 * median(seconds):.3f} ms of {count}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-run` with the arguments of the process, or those given, and returns its exit code."""
    with ToolRun(TOOL) as run:
        tool = TenonRun(arguments)
        run.debug, run.report_bug = tool.args.debug, tool.report_bug
        run.exit_code = tool.execute()
    return run.exit_code
