"""`tenon-compile`: compiles a function of a module ahead of time, to files that need no Python."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..backends.llvm.processors import PROCESSOR_NAMES
from ..compiler.compile import compile
from ..compiler.export.export import WEIGHTS
from ..dialects.modules.entry import find_entry
from ..dialects.modules.parsing import parse_module, verify_module
from ..errors import CallError, TenonError
from .completion import add_completion_argument
from .diagnostics import Diagnostic
from .exit_codes import DIAGNOSTICS, SUCCESS
from .export import BACKENDS, export
from .plugins import add_plugin_arguments, load_plugins_of
from .run.input_arrays import read_arrays
from .source_text import STDIN, display_name, read_source
from .tool_run import ToolRun

TOOL = "tenon-compile"

EPILOG = """\
exit codes: 0 success, 1 diagnostics, 2 wrong command line, 70 a bug of Tenon or of an op or pass from
outside. Without a linker for the target there is no shared library, which is said, and the exit code is 0:
the object is complete."""


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the arguments, of the process where None; exits with 2 where they are wrong."""
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description="Compiles a function of a module to a shared library, an object and a C header.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input_file", nargs="?", metavar="file", help="the module; - or none: standard input")
    parser.add_argument(
        "-o", "--output", metavar="NAME", help="the files' name without a suffix (default: the module's)"
    )
    parser.add_argument("--entry", metavar="NAME", help="the function; may be left out where there is one")
    parser.add_argument("--name", help="what the functions' names begin with (default: the files' name)")
    parser.add_argument("--backend", choices=BACKENDS, default="llvm", help="what it is for (default: llvm)")
    parser.add_argument(
        "--target",
        choices=PROCESSOR_NAMES,
        metavar="NAME",
        help=f"the processor to make code for: {', '.join(PROCESSOR_NAMES)} "
        "(default: TENON_TARGET if it is set, else native)",
    )
    parser.add_argument(
        "--weights", choices=WEIGHTS, help="where constants are: in the library, or in a file that is mapped"
    )
    parser.add_argument(
        "--constants",
        type=Path,
        metavar="FILE",
        help="an .npz or .safetensors with values of arguments, which the library then holds",
    )
    add_plugin_arguments(parser)
    add_completion_argument(parser, {})
    parser.add_argument("--debug", action="store_true", help="show the Python traceback of a bug")
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        load_plugins_of(arguments)
    except TenonError as error:
        parser.error(str(error))
    parsed = parser.parse_args(arguments)
    if parsed.backend != "llvm" and (parsed.target or parsed.weights):
        parser.error(f"--target and --weights are for --backend llvm only, found {parsed.backend}")
    if parsed.output is None and parsed.input_file in (None, "-"):
        parser.error("standard input has no name: --output is missing")
    return parsed


class TenonCompile:
    """One call of the tool."""

    def __init__(self, arguments: Sequence[str] | None) -> None:
        self.command = list(sys.argv[1:] if arguments is None else arguments)
        self.args = parse_arguments(arguments)
        self.text = ""

    def execute(self) -> int:
        """Does what the arguments ask for and returns the exit code."""
        args = self.args
        file = display_name(args.input_file)
        self.text = read_source(args.input_file)
        constants = {} if args.constants is None else read_arrays(args.constants)
        output = Path(args.input_file).with_suffix("") if args.output is None else Path(args.output)
        try:
            module = parse_module(self.text, file)
            verify_module(module)
            entry = find_entry(module, args.entry).sym_name.data
            with compile(module, backend=args.backend, target=args.target, entry=entry) as executable:
                exported = export(
                    executable,
                    output,
                    backend=args.backend,
                    target=args.target,
                    weights=args.weights or "inside",
                    constants=constants,
                    name=args.name,
                )
        except CallError:
            # Of the constants, not of the text.
            raise
        except TenonError as error:
            for diagnostic in Diagnostic.all_of(error, file):
                sys.stderr.write(diagnostic.format(file, self.text))
            return DIAGNOSTICS
        for written in exported.files:
            print(f"{written}: {written.stat().st_size} bytes")
        if exported.note:
            print(f"{TOOL}: note: no shared library: {exported.note}", file=sys.stderr)
        return SUCCESS

    def report_bug(self) -> str:
        """Keeps what came from standard input, and returns the command that shows the bug again."""
        command = [argument for argument in self.command if argument not in ("-", "--debug")]
        if display_name(self.args.input_file) == STDIN:
            with tempfile.NamedTemporaryFile(
                "w", prefix=f"{TOOL}-", suffix=".mlir", delete=False, encoding="utf-8"
            ) as file:
                file.write(self.text)
            command.insert(0, file.name)
        return shlex.join([TOOL, *command, "--debug"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-compile` with the arguments of the process, or those given; returns its exit code."""
    with ToolRun(TOOL) as run:
        tool = TenonCompile(arguments)
        run.debug, run.report_bug = tool.args.debug, tool.report_bug
        run.exit_code = tool.execute()
    return run.exit_code


if __name__ == "__main__":
    sys.exit(main())
