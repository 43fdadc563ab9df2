"""The instruments that `tenon-opt`'s flags ask for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

from xdsl.dialects.builtin import ModuleOp

from ...passes.instruments.crash_reproducer import CrashReproducer
from ...passes.instruments.interface import PassInstrument
from ...passes.instruments.print_ir import EveryPass, PrintIR
from ...passes.instruments.reproducer import Plugins
from ...passes.instruments.statistics import Statistics
from ...passes.instruments.timing import Timing
from ...passes.instruments.tree_dump import TreeDump
from ...semantics.host_calls import HostFunctions
from ..plugins import callbacks_of


def make_instruments(
    args: argparse.Namespace,
    chunk: int | None,
    verify_each: bool,
    plugins: Plugins,
    timing: Timing,
    statistics: Statistics,
    print_module: Callable[[ModuleOp, IO[str]], None],
) -> list[PassInstrument]:
    """
    Returns the instruments for one run over one chunk (None: the whole input). `plugins` are what was loaded;
    `timing` and `statistics` add up over all chunks.
    """
    instruments: list[PassInstrument] = []
    if args.verify_semantics:
        instruments.append(_verify_semantics(args.verify_semantics, callbacks_of(plugins)))
    if args.crash_reproducer:
        path = Path(args.crash_reproducer)
        instruments.append(CrashReproducer(path, args.local_reproducer, verify_each, plugins))
    if printing := _print_ir(args, print_module):
        instruments.append(printing)
    if args.mlir_print_ir_tree_dir:
        directory = Path(args.mlir_print_ir_tree_dir)
        instruments.append(TreeDump(directory if chunk is None else directory / f"{chunk:02d}", print_module))
    if args.statistics:
        instruments.append(statistics)
    if args.timing:
        instruments.append(timing)
    return instruments


def _print_ir(args: argparse.Namespace, print_module: Callable[[ModuleOp, IO[str]], None]) -> PrintIR | None:
    before = EveryPass() if args.mlir_print_ir_before_all else args.mlir_print_ir_before
    after_all = (
        args.mlir_print_ir_after_all
        or args.mlir_print_ir_after_failure
        or (args.mlir_print_ir_after_change and not args.mlir_print_ir_after)
    )
    after = EveryPass() if after_all else args.mlir_print_ir_after
    if not (args.mlir_print_ir_before_all or args.mlir_print_ir_before or after_all or after):
        return None
    return PrintIR(
        sys.stderr,
        before,
        after,
        args.mlir_print_ir_after_change,
        args.mlir_print_ir_after_failure,
        print_module,
    )


def _verify_semantics(n_seeds: int, callbacks: HostFunctions) -> PassInstrument:
    from ...backends.reference.element_origin import element_origin
    from ...backends.reference.execute import run_module
    from ...compiler.all_ranks import interpreted_ranks
    from ...passes.instruments.verify_semantics import VerifySemantics

    execute = partial(run_module, callbacks=callbacks)
    origin = partial(element_origin, callbacks=callbacks)
    ranks = partial(interpreted_ranks, callbacks=callbacks)
    return VerifySemantics(execute, range(n_seeds), origin, ranks)
