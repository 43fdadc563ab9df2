"""The command line of `tenon-reduce`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from ..backends.llvm.processors import PROCESSOR_NAMES
from ..backends.registry import compiling_names
from ..errors import TenonError
from ..passes.pass_manager import PassManager
from .completion import add_completion_argument
from .opt.information import pass_names
from .opt.opt_arguments import flag
from .plugins import add_plugin_arguments, load_plugins_of

EPILOG = """\
Without --test it finds out by itself what is wrong, and keeps just that: a crash or an endless loop (of a
pass, of the backend, of the program), an exception, a module that does not verify after a pass, results that
are not the interpreter's, or else a pass that changes what the interpreter computes.

With --test the command is run without a shell, with the file of a smaller module as its last argument. Exit
status 0 means that the module is still interesting, as for llvm-reduce and C-Reduce (for mlir-reduce that is
1); any other status, a signal, and no end within --timeout mean that it is not.

A reproducer of tenon-opt brings its passes along, and what comes out is a reproducer again.

exit codes: 0 success, 1 diagnostics (nothing is wrong with the module, or it does not parse), 2 wrong command
line, 70 a bug of Tenon that is none of the module's."""

TIMEOUT = 60.0
"""Seconds for a trial where nothing is said."""


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0 up, found '{text}'")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0, found '{text}'")
    return seconds


def _pipeline(text: str) -> str:
    try:
        PassManager(text)
    except TenonError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _command(text: str) -> list[str]:
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"cannot read '{text}' ({str(error).lower()})") from error
    if not command:
        raise argparse.ArgumentTypeError("expected a command, found nothing")
    return command


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments, and in `plugins` what they load; exits with 2 where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="tenon-reduce",
        description="Makes a module smaller that shows a failure, and keeps the failure.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input_file", nargs="?", metavar="file", help="the module; - or none: standard input")
    parser.add_argument(
        "-o",
        "--output-file",
        metavar="FILE",
        help="where to write each smaller module (default: the last one, to standard output)",
    )
    failing = parser.add_argument_group("what fails")
    failing.add_argument(
        "-p",
        "--passes",
        "--pass-pipeline",
        type=_pipeline,
        metavar="PIPELINE",
        help="passes to run instead of the backend's; without --backend nothing else is run",
    )
    failing.add_argument(
        "--backend",
        metavar="NAME",
        help=f"what compiles and runs it: {', '.join(compiling_names())} (default: llvm, with -p none)",
    )
    failing.add_argument(
        "--target", metavar="TARGET", help="the processor that llvm makes code for (default: this one)"
    )
    failing.add_argument("--entry", metavar="NAME", help="the function (default: all, in their order)")
    failing.add_argument(
        "--seed", type=_number, default=0, metavar="N", help="what the inputs are random from (default: 0)"
    )
    failing.add_argument(
        "--verify-each",
        type=flag,
        default=True,
        metavar="BOOL",
        help="whether a module that does not verify after a pass is a failure (default: true)",
    )
    failing.add_argument(
        "--verify-semantics",
        action="store_true",
        help="look for a pass that changes what is computed before anything is compiled",
    )
    failing.add_argument(
        "--test",
        type=_command,
        metavar="CMD",
        help="a command that answers whether a file is still interesting: it is if the exit status is 0",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"for each trial (default: {TIMEOUT:g})",
    )
    add_plugin_arguments(parser)
    values = {"passes": pass_names(), "target": PROCESSOR_NAMES, "backend": compiling_names()}
    add_completion_argument(parser, values)
    parser.add_argument("--debug", action="store_true", help="show the Python traceback of a bug")
    try:
        plugins = load_plugins_of(arguments)
    except TenonError as error:
        parser.error(str(error))
    parsed = parser.parse_args(arguments, argparse.Namespace(plugins=plugins))
    if parsed.test is not None:
        for name in ("passes", "backend", "target", "entry"):
            if getattr(parsed, name) is not None:
                parser.error(f"--test and --{name} exclude each other")
        if parsed.verify_semantics:
            parser.error("--test and --verify-semantics exclude each other")
    if parsed.backend not in (None, *(names := compiling_names())):
        parser.error(
            f"argument --backend: invalid choice: '{parsed.backend}' (choose from {', '.join(names)})"
        )
    return parsed
