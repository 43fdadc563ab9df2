"""
`tenon-opt`: runs passes on a module and writes what comes out, as text or through a target.

xDSL's driver knows the dialects, passes and targets that are installed; this adds instruments, source
locations and mlir-opt's flags.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError, VerifyException
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from ..backends.llvm.device import TARGET, cpu_device
from ..backends.llvm.processors import PROCESSOR_NAMES
from ..backends.llvm.target import ObjectTarget
from ..compiler.target import target_of
from ..dialects import DIALECTS
from ..dialects.modules.parsing import parse_module, verify_module
from ..errors import TenonError
from ..passes.instruments.crash_reproducer import CrashReproducer
from ..passes.instruments.interface import PassInstrument
from ..passes.instruments.reproducer import Plugins, Reproducer
from ..passes.instruments.statistics import Statistics
from ..passes.instruments.timing import Timing
from ..passes.machine.target import DEFAULT_TARGET
from ..passes.machine.target import Target as Machine
from ..passes.pass_manager import PassManager
from ..passes.pipeline_text import did_you_mean, parse_passes, unknown_pass
from ..passes.registry import ALL_PASSES
from ..passes.rewriting.debug_counter import DebugCounters, counting_actions
from ..passes.rewriting.failing_location import failing_location, failure_text
from .completion import add_completion_argument
from .diagnostics import Diagnostic
from .exit_codes import DIAGNOSTICS, SUCCESS
from .opt.diagnostics_check import check_diagnostics
from .opt.information import list_dialects, list_passes, pass_names, versions
from .opt.opt_arguments import add_arguments, normalize_arguments
from .opt.opt_instruments import make_instruments
from .plugins import check_plugins, load_plugins_of, plugin_flags
from .source_text import display_name, read_source, split_source
from .tool_run import ToolRun, reason_of

TOOL = "tenon-opt"

OBJECT = "obj"
"""The form that is no text."""

_CODE_FORMS = ("llvm-ir", "asm", OBJECT)
"""The forms that depend on the processor."""


class TenonOpt(xDSLOptMain):
    """One call of the tool."""

    passes: Sequence[ModulePass]

    def __init__(self, arguments: Sequence[str]):
        self._arguments = arguments
        self.plugins = Plugins()
        super().__init__("Runs passes on a module of the graph, sched or low dialect.", arguments)
        self.file = display_name(self.args.input_file)
        self.timing = Timing()
        self.statistics = Statistics()
        self.chunk = ""
        self.object_code = b""
        self.instruments: Sequence[PassInstrument] = ()
        self.debug_counters: DebugCounters = self.args.debug_counters

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        self._parser = arg_parser
        try:
            self.plugins = load_plugins_of(self._arguments)
        except TenonError as error:
            self._usage_error(str(error))
        self._register_plugins()
        arg_parser.prog = TOOL
        add_arguments(arg_parser, self._known_form, _known_processor, self._known_pass)
        names = pass_names()
        values = {"passes": names, "mlir_print_ir_before": names, "mlir_print_ir_after": names}
        values |= {"target": sorted(self.available_targets), "processor": PROCESSOR_NAMES}
        add_completion_argument(arg_parser, values)

    def _known_form(self, text: str) -> str:
        try:
            spec = parse_spec(text)
        except ArgSpecParseError as error:
            raise argparse.ArgumentTypeError(f"cannot read '{text}'") from error
        name = spec.name
        if name not in self.available_targets:
            raise argparse.ArgumentTypeError(
                f"unknown form '{name}'{did_you_mean(name, self.available_targets)} "
                f"(choose from {', '.join(sorted(self.available_targets))})"
            )
        load = cast(Callable[[], type[Target]], self.available_targets[name])
        try:
            load().from_spec(spec)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"cannot take the options of '{text}' ({error})") from error
        return text

    def _known_pass(self, name: str) -> str:
        if name not in self.available_passes:
            raise argparse.ArgumentTypeError(unknown_pass(name, self.available_passes))
        return name

    def setup_pipeline(self) -> None:
        if self.args.run_reproducer and self.args.passes is not None:
            self._usage_error("--run-reproducer takes the passes from its input, found -p too")
        try:
            self.passes = parse_passes(self.args.passes or "", self.available_passes, self._machine())
        except TenonError as error:
            self._usage_error(str(error))
        if self.args.generate_reproducer and self.args.split_input_file:
            self._usage_error("--mlir-generate-reproducer writes one file, found --split-input-file too")
        form = parse_spec(self.args.target)
        if self.args.processor and form.name in _CODE_FORMS and not form.parameters:
            self.args.target = f"{form.name}{{target={self.args.processor}}}"
        if self.is_object and (self.args.output_file in (None, "-") or self.args.split_input_file):
            self._usage_error(f"-t {OBJECT} writes one file that is no text (hint: -o FILE)")

    @property
    def is_object(self) -> bool:
        """Whether what is written is no text."""
        return parse_spec(self.args.target).name == OBJECT

    def _machine(self) -> Machine:
        """Returns what named pipelines schedule for, the same everywhere if no processor is named."""
        if not self.args.processor and not os.environ.get(TARGET):
            return DEFAULT_TARGET
        return target_of(cpu_device(self.args.processor))

    def _register_plugins(self) -> None:
        """Makes known what the modules from outside have registered."""
        self.available_passes.update(ALL_PASSES)
        for name, load in DIALECTS.items():
            if name not in self.ctx.registered_dialect_names:
                self.ctx.register_dialect(name, load)

    def _usage_error(self, message: str) -> NoReturn:
        self._parser.error(message)

    def execute(self) -> int:
        """Does what the arguments ask for and returns the exit code."""
        if self.args.version:
            sys.stdout.write(versions())
            return SUCCESS
        if self.args.list_passes:
            sys.stdout.write(list_passes())
            return SUCCESS
        if self.args.show_dialects:
            sys.stdout.write(list_dialects(self.ctx.registered_dialect_names))
            return SUCCESS
        if self.args.dump_pass_pipeline:
            self._dump_pass_pipeline()
        try:
            is_good = self._process_input()
        finally:
            if self.args.print_debug_counters:
                sys.stderr.write(self.debug_counters.report())
        if self.args.statistics:
            sys.stderr.write(self.statistics.report())
        if self.args.timing:
            sys.stderr.write(self.timing.report())
        return SUCCESS if is_good else DIAGNOSTICS

    def _dump_pass_pipeline(self) -> None:
        pipeline = ",".join(str(pass_.spec(include_default=True)) for pass_ in self.passes)
        print(f"Pass Manager with {len(self.passes)} passes:\nbuiltin.module({pipeline})\n", file=sys.stderr)

    def _process_input(self) -> bool:
        """Processes every chunk of the input and returns whether all is well."""
        source = read_source(self.args.input_file)
        marker = self.args.split_input_file
        chunks = list(split_source(source, marker)) if marker else [source]
        results: list[str] = []
        is_good = True
        for number, self.chunk in enumerate(chunks):
            found: list[Diagnostic] = []
            try:
                results.append(self._process(self.chunk, number if len(chunks) > 1 else None))
            except TenonError as error:
                printed = self._printed(error)
                results.append(printed or "")
                if printed is not None:
                    continue
                found += Diagnostic.all_of(error, self.file)
                for note in self._notes_on_reproducers():
                    print(f"note: {note}", file=sys.stderr)
            # Expected diagnostics are those of one chunk, so they are matched before the next is read.
            if self.args.verify_diagnostics in ("all", "only-expected"):
                only_expected = self.args.verify_diagnostics == "only-expected"
                found = check_diagnostics(self.chunk, self.file, found, only_expected)
            for diagnostic in found:
                is_good = False
                sys.stderr.write(diagnostic.format(self.file, source))
        output = f"{self.args.output_split_marker}\n".join(results)
        if self.is_object:
            if is_good:
                _write(Path(self.args.output_file), self.object_code)
        elif self.args.output_file in (None, "-"):
            sys.stdout.write(output)
            sys.stdout.flush()
        elif is_good:
            _write(Path(self.args.output_file), output)
        return is_good

    def _process(self, text: str, number: int | None) -> str:
        """Parses, verifies and rewrites one chunk, and returns it in the form of the target."""
        self.instruments = ()
        passes, verify_each = self.passes, self.args.verify_each
        if reproducer := Reproducer.read(text):
            text = reproducer.text
        if self.args.run_reproducer:
            if reproducer is None:
                raise TenonError("--run-reproducer: the input does not end in a reproducer")
            check_plugins(reproducer.plugins, self.plugins)
            passes, verify_each = (
                parse_passes(reproducer.pipeline, self.available_passes),
                reproducer.verify_each,
            )
        with self.timing.phase("parser"):
            module = parse_module(text, self.file, ctx=self.ctx)
            if not self.args.disable_verify:
                self._verify(module)
        verify_each = verify_each and not self.args.disable_verify
        self.instruments = make_instruments(
            self.args, number, verify_each, self.plugins, self.timing, self.statistics, self.print_module
        )
        manager = PassManager(passes, self.instruments, verify_each)
        if self.args.generate_reproducer:
            again = Reproducer(str(module), str(manager), verify_each, self.plugins)
            _write(Path(self.args.generate_reproducer), str(again))
        with counting_actions(self.debug_counters):
            manager.run(self.ctx, module)
        with self.timing.phase("output"):
            return self._emit(module)

    def _verify(self, module: ModuleOp) -> None:
        if self.args.verify_diagnostics != "print":
            verify_module(module)
            return
        try:
            module.verify()
        except VerifyException as error:
            raise TenonError(str(error)) from error

    def _printed(self, error: TenonError) -> str | None:
        """Returns what xdsl-opt prints of an error where it is told to print it, None where it is not."""
        cause = error.__cause__
        is_wanted = (
            self.args.parsing_diagnostics
            if isinstance(cause, ParseError)
            else self.args.verify_diagnostics == "print" and isinstance(cause, DiagnosticException)
        )
        if not is_wanted:
            return None
        return "\n".join((str(cause), *getattr(cause, "__notes__", ()))) + "\n"

    def _emit(self, module: ModuleOp) -> str:
        try:
            if self.is_object:
                self.object_code = ObjectTarget.from_spec(parse_spec(self.args.target)).object_code(module)
                return ""
            return self.output_resulting_program(module).rstrip("\n") + "\n"
        except DiagnosticException as error:
            raise TenonError(failure_text(error), location=failing_location(error)) from error

    def print_module(self, module: ModuleOp, stream: IO[str]) -> None:
        """Prints a module in the form that the arguments ask for, and a line break."""
        Printer(
            stream,
            print_generic_format=self.args.print_op_generic,
            print_properties_as_attributes=self.args.print_no_properties,
            print_debuginfo=self.args.print_debuginfo,
        ).print_op(module)
        stream.write("\n")

    def _notes_on_reproducers(self) -> list[str]:
        """Returns where a failing pass of the current chunk has left a reproducer, or why it has not."""
        return [
            f"reproducer written to {instrument.path}" if instrument.is_written else instrument.problem
            for instrument in self.instruments
            if isinstance(instrument, CrashReproducer) and (instrument.is_written or instrument.problem)
        ]

    def _written_reproducer(self) -> Path | None:
        for instrument in self.instruments:
            if isinstance(instrument, CrashReproducer) and instrument.is_written:
                return instrument.path
        return None

    def report_bug(self) -> str:
        """Writes a reproducer of what is being processed and returns the command that runs it."""
        path = self._written_reproducer()
        if path is None:
            pipeline = ",".join(map(str, self.passes))
            again = Reproducer.read(self.chunk) if self.args.run_reproducer else None
            text = str(again or Reproducer(self.chunk, pipeline, self.args.verify_each, self.plugins))
            path = self._keep_reproducer(text)
        return shlex.join([TOOL, str(path), "--run-reproducer", "--debug", *self._flags_to_repeat()])

    def _flags_to_repeat(self) -> list[str]:
        """Returns the flags that a reproducer does not hold and that what failed may hang on."""
        args = self.args
        flags = plugin_flags(self.plugins)
        if args.target != "mlir":
            flags += ["-t", args.target]
        if args.verify_semantics:
            flags.append(f"--verify-semantics={args.verify_semantics}")
        if self.debug_counters.by_tag:
            flags.append(f"--mlir-debug-counter={self.debug_counters}")
        if args.allow_unregistered_dialect:
            flags.append("--allow-unregistered-dialect")
        if args.disable_verify:
            flags.append("--disable-verify")
        return flags

    def _keep_reproducer(self, text: str) -> Path:
        """Writes a reproducer to where the arguments say, or if that cannot be to a temporary file."""
        if self.args.crash_reproducer:
            path = Path(self.args.crash_reproducer)
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as error:
                print(f"note: cannot write {path}: {reason_of(error)}", file=sys.stderr)
            else:
                return path
        with tempfile.NamedTemporaryFile(
            "w", prefix=f"{TOOL}-", suffix=".mlir", delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        return Path(file.name)


def _known_processor(text: str) -> str:
    if text in _CODE_FORMS:
        raise argparse.ArgumentTypeError(f"'{text}' is what to write, no processor (hint: -t {text})")
    if text not in PROCESSOR_NAMES:
        raise argparse.ArgumentTypeError(
            f"unknown target '{text}'{did_you_mean(text, PROCESSOR_NAMES)} "
            f"(choose from {', '.join(PROCESSOR_NAMES)})"
        )
    return text


def _write(path: Path, content: str | bytes) -> None:
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise TenonError(f"cannot write {path}: {reason_of(error)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-opt` with the arguments of the process, or those given, and returns its exit code."""
    with ToolRun(TOOL) as run:
        tool = TenonOpt(normalize_arguments(sys.argv[1:] if arguments is None else arguments))
        run.debug, run.report_bug = tool.args.debug, tool.report_bug
        run.exit_code = tool.execute()
    return run.exit_code
