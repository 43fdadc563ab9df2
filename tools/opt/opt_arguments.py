"""
The command line of `tenon-opt`.

Flags have mlir-opt's names and meanings; where xdsl-opt has a name of its own for one, that works too.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from ...backends.llvm.processors import PROCESSOR_NAMES
from ...errors import TenonError
from ...passes.rewriting.debug_counter import TAGS, DebugCounters
from ..plugins import add_plugin_arguments
from ..source_text import SPLIT_MARKER

_BARE_VALUES = {
    "--verify-each": "true",
    "--verify-semantics": "1",
    "--verify-diagnostics": "all",
    "--split-input-file": SPLIT_MARKER,
}
"""Flags whose value may be left out, with the value this means."""

_ONE_DASH = re.compile(
    r"^-(?=(mlir|verify|disable-verify|pass-pipeline|split-input-file|allow-unregistered-dialect|"
    r"run-reproducer|load-pass-plugin|dump-pass-pipeline|list-passes|show-dialects|version|help)\b)"
)
"""The dash of mlir-opt's flags, which takes one or two."""

EPILOG = """\
-t llvm-ir, asm and obj take the processor as an option too: -t 'asm{target=x86-64-v3}'. obj takes -o FILE.
exit codes: 0 success, 1 diagnostics, 2 wrong command line, 70 a bug of Tenon, or of an op
or pass from outside (a reproducer is written).
--verify-diagnostics has mlir-opt's meaning: it compares the errors that happen with those that
expected-error comments announce. What xdsl-opt means by it is --verify-diagnostics=print."""


def normalize_arguments(arguments: Sequence[str]) -> list[str]:
    """
    Returns the arguments with values put in where they may be left out, and `-mlir-...` as `--mlir-...`.
    """
    normal: list[str] = []
    for argument in arguments:
        argument = _ONE_DASH.sub("--", argument)
        normal.append(f"{argument}={_BARE_VALUES[argument]}" if argument in _BARE_VALUES else argument)
    return normal


def flag(text: str) -> bool:
    """Returns the value of a flag. Raises `ArgumentTypeError` for what is neither true nor false."""
    match text.lower():
        case "1" | "true":
            return True
        case "0" | "false":
            return False
        case _:
            raise argparse.ArgumentTypeError(f"expected true or false, found '{text}'")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, found '{text}'")
    return int(text)


def _debug_counters(text: str) -> DebugCounters:
    try:
        return DebugCounters(text)
    except TenonError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def add_arguments(
    parser: argparse.ArgumentParser,
    form: Callable[[str], str],
    processor: Callable[[str], str],
    pass_name: Callable[[str], str],
) -> None:
    """
    Adds all arguments. `form`, `processor` and `pass_name` return what they are given, or raise
    `ArgumentTypeError`.
    """
    parser.allow_abbrev = False
    parser.usage = "%(prog)s [file] [-p passes] [-t form] [--target name] [-o file] [flags]; see --help"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("input_file", nargs="?", metavar="file", help="the input; - or none: standard input")
    _add_work(parser, form, processor)
    _add_input(parser)
    _add_output(parser)
    _add_checks(parser)
    _add_dumps(parser, lambda text: tuple(pass_name(name) for name in _names(text)))
    _add_information(parser)


def _add_work(
    parser: argparse.ArgumentParser, form: Callable[[str], str], processor: Callable[[str], str]
) -> None:
    work = parser.add_argument_group("what to do")
    work.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        default=None,
        metavar="PIPELINE",
        help="passes to run: a,b{x=1}, or builtin.module(a,b{x=1})",
    )
    work.add_argument(
        "-t",
        "--emit",
        dest="target",
        default="mlir",
        type=form,
        metavar="FORM",
        help="what to write: mlir (default), llvm-ir, asm, obj, opencl-c, or one of xDSL's targets",
    )
    work.add_argument(
        "--target",
        dest="processor",
        type=processor,
        metavar="NAME",
        help="the processor that the named pipelines schedule for and that llvm-ir, asm and obj are for: "
        f"{', '.join(PROCESSOR_NAMES)} (default: TENON_TARGET if it is set; else vectors of 32 bytes, and "
        "the code native)",
    )
    work.add_argument("-o", "--output-file", metavar="FILE", help="where to (default: standard output)")
    work.add_argument(
        "--run-reproducer", action="store_true", help="run the pipeline that the input, a reproducer, holds"
    )


def _add_input(parser: argparse.ArgumentParser) -> None:
    source = parser.add_argument_group("input")
    source.add_argument(
        "--split-input-file",
        default="",
        metavar="MARKER",
        help="process the chunks between lines `// -----`, or these, one by one",
    )
    source.add_argument(
        "--output-split-marker",
        default=SPLIT_MARKER,
        metavar="MARKER",
        help="what to write between the chunks (default: // -----)",
    )
    add_plugin_arguments(source)
    source.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="accept ops of dialects that are not known"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "--mlir-print-op-generic",
        "--print-op-generic",
        dest="print_op_generic",
        action="store_true",
        help="print ops in generic form",
    )
    output.add_argument(
        "--mlir-print-debuginfo",
        "--print-debuginfo",
        dest="print_debuginfo",
        action="store_true",
        help="print locations",
    )
    output.add_argument("--print-no-properties", action="store_true", help="print properties as attributes")
    output.add_argument("--syntax-highlight", action="store_true", help="print in colours")


def _add_checks(parser: argparse.ArgumentParser) -> None:
    checks = parser.add_argument_group("checks")
    checks.add_argument(
        "--verify-each",
        type=flag,
        default=True,
        metavar="BOOL",
        help="verify after each pass (default: true)",
    )
    checks.add_argument("--disable-verify", action="store_true", help="verify nothing at all")
    checks.add_argument(
        "--verify-diagnostics",
        choices=("all", "only-expected", "print"),
        default=None,
        help="succeed if the errors are those that comments announce, // expected-error@+1 {{part of it}} "
        "(all, which is the default), or if these are among them (only-expected); or compare nothing, but "
        "print errors of verifiers and passes as xdsl-opt does, and succeed (print)",
    )
    checks.add_argument(
        "--parsing-diagnostics",
        action="store_true",
        help="print errors of the parser to standard output, as xdsl-opt does, and succeed",
    )
    checks.add_argument(
        "--verify-semantics",
        type=_positive,
        default=0,
        metavar="SEEDS",
        help="run the module before and after each pass on random inputs (default: from 1 seed) and fail at "
        "the first pass that changes an answer",
    )
    checks.add_argument(
        "--mlir-pass-pipeline-crash-reproducer",
        dest="crash_reproducer",
        metavar="FILE",
        help="where to write a reproducer when a pass fails",
    )
    checks.add_argument(
        "--mlir-pass-pipeline-local-reproducer",
        dest="local_reproducer",
        action="store_true",
        help="the reproducer holds only the failing pass, and the module before it",
    )
    checks.add_argument(
        "--mlir-generate-reproducer",
        dest="generate_reproducer",
        metavar="FILE",
        help="write a reproducer of this run, whether or not a pass fails",
    )
    checks.add_argument(
        "--mlir-debug-counter",
        dest="debug_counters",
        type=_debug_counters,
        default=DebugCounters(""),
        metavar="COUNTERS",
        help="execute only some actions, to bisect: apply-pattern-skip=5,apply-pattern-count=1 has rules of "
        f"greedy passes tried the sixth time only; the actions are {' and '.join(TAGS)}",
    )
    checks.add_argument(
        "--mlir-print-debug-counter",
        dest="print_debug_counters",
        action="store_true",
        help="print how many actions there were, and what the last one did",
    )
    checks.add_argument("--debug", action="store_true", help="show the Python traceback of a bug")


def _add_dumps(parser: argparse.ArgumentParser, names: Callable[[str], tuple[str, ...]]) -> None:
    dumps = parser.add_argument_group("watching passes (printed to standard error)")
    for when in ("before", "after"):
        dumps.add_argument(
            f"--mlir-print-ir-{when}",
            type=names,
            default=(),
            metavar="PASSES",
            help=f"print the IR {when} these passes",
        )
    dumps.add_argument(
        "--mlir-print-ir-before-all", action="store_true", help="print the IR before each pass"
    )
    dumps.add_argument(
        "--mlir-print-ir-after-all",
        "--print-between-passes",
        dest="mlir_print_ir_after_all",
        action="store_true",
        help="print the IR after each pass",
    )
    dumps.add_argument(
        "--mlir-print-ir-after-change",
        action="store_true",
        help="print the IR after passes (all, or those given) only where it changed",
    )
    dumps.add_argument(
        "--mlir-print-ir-after-failure",
        action="store_true",
        help="print the IR after passes only where they failed",
    )
    for name, why in (
        ("print-ir-module-scope", "dumps are of the whole module, on which all passes run"),
        (
            "print-local-scope",
            "attributes, types and locations are printed without aliases",
        ),
        ("disable-threading", "passes run in one thread"),
    ):
        dumps.add_argument(f"--mlir-{name}", action="store_true", help=f"changes nothing: {why}")
    dumps.add_argument(
        "--mlir-print-ir-tree-dir",
        metavar="DIR",
        help="write the IR to numbered files, DIR/00-input.mlir and so on",
    )
    dumps.add_argument(
        "--mlir-timing",
        "--time-passes",
        dest="timing",
        action="store_true",
        help="print how long each pass took",
    )
    dumps.add_argument(
        "--mlir-pass-statistics",
        dest="statistics",
        action="store_true",
        help="print how each pass changed the number of ops",
    )
    dumps.add_argument(
        "--dump-pass-pipeline", action="store_true", help="print the pipeline with all options"
    )


def _add_information(parser: argparse.ArgumentParser) -> None:
    information = parser.add_argument_group("information")
    information.add_argument(
        "--list-passes", action="store_true", help="list Tenon's passes, and those that were loaded"
    )
    information.add_argument("--show-dialects", action="store_true", help="list all known dialects")
    information.add_argument("-v", "--version", action="store_true", help="print the versions")
