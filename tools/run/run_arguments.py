"""The command line of `tenon-run`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ...backends.llvm.processors import PROCESSOR_NAMES
from ...backends.registry import DEVICE_NAMES, REFERENCE
from ...dialects.modules.level import IRLevel
from ...errors import TenonError
from ...passes.pass_manager import PassManager
from ...runtime.reports.memory_picture import SUFFIXES
from ..completion import add_completion_argument
from ..opt.information import pass_names
from ..plugins import add_plugin_arguments, callbacks_of, load_plugins_of

EPILOG = """\
exit codes: 0 success, 1 diagnostics or a comparison that failed, 2 wrong command line, 70 a bug of Tenon
or of an op or pass from outside.
Without --inputs and --input the arguments are random, from --random-seed 0. Arrays are never unpickled.
The environment variable TENON_OPENCL_DEVICE chooses the OpenCL device: a part of its platform's name and its
own."""


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a number from 0 up, found '{text}'")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, found '{text}'")
    return int(text)


def _pipeline(text: str) -> PassManager:
    try:
        return PassManager(text)
    except TenonError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _input_file(text: str) -> str:
    if not text.rpartition("=")[2]:
        raise argparse.ArgumentTypeError(f"expected [name=]file, found '{text}'")
    return text


def _array_file(text: str) -> Path:
    path = Path(text)
    if path.suffix not in (".npy", ".npz"):
        raise argparse.ArgumentTypeError(f"expected a name that ends in .npy or .npz, found '{text}'")
    return path


def _picture_file(text: str) -> Path:
    path = Path(text)
    if path.suffix not in SUFFIXES:
        names = ", ".join(SUFFIXES)
        raise argparse.ArgumentTypeError(f"expected a name that ends in {names}, found '{text}'")
    return path


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Returns the arguments, of the process where None; exits with 2 where they are wrong."""
    parser = argparse.ArgumentParser(
        prog="tenon-run",
        description="Runs a function of a module.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input_file", nargs="?", metavar="file", help="the module; - or none: standard input")
    parser.add_argument("--entry", metavar="NAME", help="the function; may be left out where there is one")
    parser.add_argument("--backend", choices=DEVICE_NAMES, help="what runs it (default: llvm)")
    parser.add_argument(
        "--level",
        choices=tuple(level.value for level in IRLevel),
        help="lower to this level and interpret that (only with --backend reference, which it implies)",
    )
    parser.add_argument(
        "--target",
        choices=PROCESSOR_NAMES,
        metavar="NAME",
        help="the processor that llvm makes code for, which this one must be able to run: "
        f"{', '.join(PROCESSOR_NAMES)} (default: TENON_TARGET if it is set, else native)",
    )
    parser.add_argument(
        "--compile-only",
        action="store_true",
        help="do what --explain and --dump-dir ask for and run nothing; --target may be any then",
    )
    parser.add_argument(
        "--tuning",
        type=Path,
        metavar="FILE",
        help="a database of tenon.tune with schedules (default: TENON_TUNING, if it is set)",
    )
    parser.add_argument(
        "-p", "--pipeline", type=_pipeline, metavar="PASSES", help="passes instead of the default pipeline"
    )
    parser.add_argument(
        "--ranks",
        type=_positive,
        metavar="N",
        help="partition the module for the N ranks of its shard.grid and run all of them in this process",
    )
    parser.add_argument(
        "--allow-gather",
        action="store_true",
        help="with --ranks: gather the operands of ops that cannot be split as asked",
    )
    _add_arrays(parser)
    _add_watching(parser)
    parser.add_argument(
        "--compare", action="store_true", help="interpret the module too and compare; 1 if the results differ"
    )
    add_plugin_arguments(parser)
    add_completion_argument(parser, {"pipeline": pass_names()})
    parser.add_argument("--debug", action="store_true", help="show the Python traceback of a bug")
    arguments = sys.argv[1:] if arguments is None else arguments
    # Plugins are loaded before the arguments are parsed: `--pipeline` may name their passes.
    try:
        plugins = load_plugins_of(arguments)
    except TenonError as error:
        parser.error(str(error))
    parsed = parser.parse_args(arguments, argparse.Namespace(callbacks=callbacks_of(plugins)))
    if parsed.backend is None:
        parsed.backend = REFERENCE if parsed.level else "llvm"
    # Flags that do not go together are errors: one that is ignored would report a run that nobody asked for.
    if parsed.level and parsed.backend != REFERENCE:
        parser.error(f"--level is for --backend {REFERENCE} only, found {parsed.backend}")
    if parsed.target and parsed.backend != "llvm":
        parser.error(f"--target is for --backend llvm only, found {parsed.backend}")
    if parsed.level and parsed.pipeline is not None:
        parser.error("--level and --pipeline exclude each other")
    if parsed.compile_only and (unused := _of_runs(parsed)):
        parser.error(f"--compile-only runs nothing, found {', '.join(unused)}")
    if parsed.ranks is None and parsed.allow_gather:
        parser.error("--allow-gather is for --ranks only")
    if parsed.ranks is not None and (unused := _of_one_rank(parsed)):
        parser.error(f"--ranks runs several programs once, found {', '.join(unused)}")
    if parsed.stats_format:
        parsed.stats = True
    parsed.stats_format = parsed.stats_format or "table"
    for flag, is_given in (("--stats", parsed.stats), ("--memory-plan", parsed.memory_plan is not None)):
        if is_given and parsed.backend == REFERENCE:
            parser.error(f"{flag} is not for --backend {REFERENCE}, which interprets and has no kernels")
    return parsed


def _of_runs(parsed: argparse.Namespace) -> list[str]:
    """Returns the flags that are given and say something of a run."""
    names = ("time", "stats", "timeline", "memory_plan", "compare", "inputs", "input", "symbol", "output")
    return _given(parsed, (*names, "ranks"))


def _of_one_rank(parsed: argparse.Namespace) -> list[str]:
    """Returns the flags that are given and say something of one program."""
    return _given(parsed, ("pipeline", "time", "stats", "memory_plan", "dump_dir", "tuning", "compile_only"))


def _given(parsed: argparse.Namespace, names: Sequence[str]) -> list[str]:
    given = [name for name in names if getattr(parsed, name) not in (None, False, [])]
    return [f"--{name.replace('_', '-')}" for name in given]


def _add_watching(parser: argparse.ArgumentParser) -> None:
    watching = parser.add_argument_group("times and memory")
    watching.add_argument("--time", type=_positive, metavar="N", help="time the compilation and N runs")
    watching.add_argument(
        "--explain",
        action="store_true",
        help="tell which ops became which kernel and why, how each is scheduled, and what shares memory",
    )
    watching.add_argument(
        "--stats",
        action="store_true",
        help="time each kernel in N more runs (those of --time, or 10) and print the median, the share, "
        "GFLOP/s and GB/s of each, how much that is of the device's roofline, which is measured once, and "
        "whether arithmetic or memory is the limit",
    )
    watching.add_argument(
        "--stats-format", choices=("table", "json"), help="how --stats, which it implies, is printed"
    )
    watching.add_argument(
        "--timeline",
        type=Path,
        metavar="FILE",
        help="record the compilation and the first run and write that as a Chrome trace, for ui.perfetto.dev",
    )
    watching.add_argument(
        "--memory-plan",
        nargs="?",
        const=Path(),
        type=_picture_file,
        metavar="FILE",
        help="print where each buffer lies and when it is used; with a file that ends in "
        f"{', '.join(SUFFIXES)}: draw it too",
    )
    watching.add_argument(
        "--dump-dir",
        type=Path,
        metavar="DIR",
        help="write the module after each pass, the kernels and the memory plan there",
    )


def _symbol(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    if not (name and equals and value.removeprefix("-").isdecimal()):
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE with an integer, found '{text}'")
    return name, int(value)


def _add_arrays(parser: argparse.ArgumentParser) -> None:
    arrays = parser.add_argument_group("arguments and results")
    arrays.add_argument(
        "--inputs",
        type=Path,
        metavar="FILE",
        help="an .npz or .safetensors with arguments and tensor nodes by their names",
    )
    arrays.add_argument(
        "--input",
        action="append",
        type=_input_file,
        default=[],
        metavar="[NAME=]FILE",
        help="an .npy with one argument; without names they are taken in order",
    )
    arrays.add_argument(
        "--symbol",
        action="append",
        type=_symbol,
        default=[],
        metavar="NAME=VALUE",
        help="the value of an argument that is an index",
    )
    arrays.add_argument(
        "--random-seed",
        type=_number,
        metavar="N",
        help="random arrays for the arguments that are not given; nodes without any values and symbols are "
        "random too",
    )
    arrays.add_argument(
        "--print",
        choices=("values", "all", "summary", "none"),
        default="values",
        help="of each result: its values, shortened (default) or all; its type and range only; or nothing",
    )
    arrays.add_argument(
        "--output",
        "--save",
        type=_array_file,
        metavar="FILE",
        help="save the results: result0, result1, ... and the nodes that changed in an .npz, or the only "
        "result in an .npy",
    )
