"""
Shows what fusing a value is worth, and whether the estimate knew: times programs with it together and apart.

    python -m benchmarks.fusion             all programs, and the 41 workloads
    python -m benchmarks.fusion sum norm    those with a part of a name

Each row is a value that the rules of fusion have a choice about. Its program is compiled twice, with the
value computed where it is read, and in a kernel of its own; the times are of whole programs, in turns. What
is chosen is right if it is the faster one, or slower by 10 % at most.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[1]))

import tenon
import tenon.numpy as tnp
from tenon.backends.cache.place import SWITCH
from tenon.backends.llvm.device import cpu_device
from tenon.compiler.target import target_of
from tenon.dialects import context
from tenon.dialects.graph import MemoryModeAttr
from tenon.dialects.memory_modes import ModeKind
from tenon.errors import TenonError
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from tenon.passes.sched.planning.fusion_rules import WITHOUT_CHOICE
from tenon.passes.sched.planning.infer_memory_modes import InferMemoryModesPass
from xdsl.dialects.builtin import ModuleOp

from .harness import time_interleaved
from .thresholds import (
    Program,
    arguments_of,
    column_softmax,
    module_of,
    onto_transpose,
    row_sums,
    softmax,
)
from .workloads import WORKLOADS
from .workloads.workload import Workload

WITHIN = 1.1
"""How much slower than the other what is chosen may be, to be right."""


def _light_in_two_kernels(x: Any) -> Any:
    v = x * 2.0 + 1.0
    return v.sum(axis=0), v.max(axis=1)


def _heavy_in_two_kernels(x: Any) -> Any:
    v = tnp.tanh(x)
    return v.sum(axis=0), v.max(axis=1)


def _heavy_twice(x: Any) -> Any:
    v = tnp.exp(x)
    return v + tnp.flip(v, axis=1)


def _light_many(x: Any) -> Any:
    v = x * 0.5 + 1.0
    return sum((tnp.roll(v, step, axis=0) for step in range(1, 8)), start=v)


def _middling_many(x: Any) -> Any:
    v = tnp.sqrt(x * x + 1.0) * 0.5 + x
    return sum((tnp.roll(v, step, axis=0) for step in range(1, 4)), start=v)


def _columns_normalized(x: Any) -> Any:
    return (x - x.mean(axis=0)) / (1.0 + x.max(axis=0))


def _sum_0_then(x: Any) -> Any:
    return tnp.exp(x.sum(axis=0)) * 2.0


def _sum_0_onto(x: Any) -> Any:
    return x * x.sum(axis=0)


def _sum_0_of_outer(x: Any, y: Any) -> Any:
    return (x[:, None] * y[None, :]).sum(axis=0) + y


def _sum_1_onto(x: Any) -> Any:
    return x * x.sum(axis=1, keepdims=True)


def _sum_middle(x: Any) -> Any:
    return x * x.sum(axis=1, keepdims=True)


def _sums_both(x: Any) -> Any:
    return x - x.mean(axis=0) - x.mean(axis=1, keepdims=True)


def _layer_norm(x: Any) -> Any:
    centered = x - x.mean(axis=1, keepdims=True)
    return centered / tnp.sqrt((centered * centered).mean(axis=1, keepdims=True) + 1e-5)


def _epilogue(a: Any, b: Any) -> Any:
    return tnp.tanh(a @ b) * 2.0


def _prologue(a: Any, b: Any) -> Any:
    return (a * 2.0 + 1.0) @ b


def _heavy_prologue(a: Any, b: Any) -> Any:
    return tnp.exp(a) @ b


def _broadcast(x: Any, y: Any) -> Any:
    return tnp.exp(y)[None, :] * x


def _broadcast_columns(x: Any, y: Any) -> Any:
    return x / tnp.sqrt(y)[:, None]


def _transposed(x: Any) -> Any:
    v = x.T * 2.0
    return v + tnp.exp(x)


def _transposed_twice(x: Any) -> Any:
    v = tnp.tanh(x)
    return v + v.T


def _gathered(x: Any, index: Any) -> Any:
    return tnp.take(tnp.exp(x), tnp.abs(index).astype(tnp.int32) % x.shape[0], axis=0)


def _gathered_light(x: Any, index: Any) -> Any:
    return tnp.take(x * 2.0 + 1.0, tnp.abs(index).astype(tnp.int32) % x.shape[0], axis=0)


def _stencil_twice(x: Any) -> Any:
    v = x[1:, :] - x[:-1, :]
    return v[1:, 1:] * v[:-1, :-1] + v[1:, :-1]


def _programs() -> Iterator[Program]:
    one = (
        ("two kernels read a light value", _light_in_two_kernels),
        ("two kernels read tanh", _heavy_in_two_kernels),
        ("exp read twice", _heavy_twice),
        ("light value read 8 times", _light_many),
        ("sqrt read 4 times", _middling_many),
        ("columns normalized", _columns_normalized),
        ("softmax of columns", column_softmax),
        ("sum of columns, exp", _sum_0_then),
        ("sum of columns onto all", _sum_0_onto),
        ("sum of columns onto the transpose", onto_transpose),
        ("sum of rows onto all", _sum_1_onto),
        ("means of both axes", _sums_both),
        ("softmax", softmax),
        ("layer norm", _layer_norm),
        ("differences of differences", _stencil_twice),
    )
    for name, function in one:
        for shape in ((33, 65), (512, 512), (1000, 1500)):
            yield Program(f"{name}, {'x'.join(map(str, shape))}", function, (shape,))
    for n in (32, 1024):
        yield Program(f"transpose, {n}", _transposed, ((n, n),))
        yield Program(f"tanh and its transpose, {n}", _transposed_twice, ((n, n),))
        yield Program(f"sum of an outer product, {n}", _sum_0_of_outer, ((n,), (n,)))
        yield Program(f"broadcast exp, {n}", _broadcast, ((n, n), (n,)))
        yield Program(f"broadcast sqrt of columns, {n}", _broadcast_columns, ((n, n), (n,)))
        yield Program(f"gather of exp, {n}", _gathered, ((n, n), (n // 4,)))
        yield Program(f"gather of a light value, {n}", _gathered_light, ((n, n), (4 * n,)))
    for shape in ((8, 64, 64), (4, 300, 200)):
        yield Program(f"sum of a middle axis, {'x'.join(map(str, shape))}", _sum_middle, (shape,))
    for m, n, k in ((1, 1024, 1024), (4, 4, 8), (8, 8, 16), (16, 16, 64), (64, 64, 64), (300, 200, 100)):
        shapes = ((m, k), (k, n))
        size = f"{m}x{n}x{k}"
        yield Program(f"product, tanh, {size}", _epilogue, shapes)
        yield Program(f"light value, product, {size}", _prologue, shapes)
        yield Program(f"exp, product, {size}", _heavy_prologue, shapes)
        yield Program(f"product, sums of rows, {size}", row_sums, shapes)


PROGRAMS = tuple(_programs())


@dataclass(frozen=True)
class Choice:
    """A value that rules have a choice about, by its number among the ops, what they chose, and why."""

    number: int
    text: str
    chosen: ModeKind
    rule: str
    why: str


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PART", help="parts of names of programs")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    # What is kept is found by the program, which does not tell what was asked for.
    os.environ[SWITCH] = "0"
    right = total = 0
    for work in (*PROGRAMS, *WORKLOADS):
        if options.names and not any(part in work.name for part in options.names):
            continue
        for choice, apart, together in measured(work, options.rounds):
            mine, other = (apart, together) if choice.chosen is ModeKind.MATERIALIZED else (together, apart)
            is_right = mine <= WITHIN * other
            right, total = right + is_right, total + 1
            cells = (
                "right" if is_right else "WRONG",
                f"{together * 1e6:.1f} us together",
                f"{apart * 1e6:.1f} us apart",
                work.name,
                f"{choice.text} {choice.chosen.value} ({choice.rule}): {choice.why}",
            )
            print("  ".join(cells), flush=True)
    print(f"right: {right} of {total}")
    return 0


def measured(work: Workload | Program, rounds: int) -> Iterator[tuple[Choice, float, float]]:
    """Yields each choice in a program, and the program's seconds with the value apart and together."""
    given = arguments_of(work)
    for choice in choices(_planned(work)):
        programs: dict[str, tenon.Executable] = {}
        try:
            for name, modes in _WAYS.items():
                programs[name] = _compiled(work, choice, modes)
        except TenonError:
            continue
        # New arrays for results would take longer than some programs.
        calls = {name: partial(program, *given, out=program(*given)) for name, program in programs.items()}
        times = time_interleaved(calls, rounds, block_seconds=0.01, most_seconds=1.0)
        yield choice, times["apart"].minimum, times["together"].minimum


_WAYS = {
    "apart": (ModeKind.MATERIALIZED,),
    "together": (ModeKind.LOCAL, ModeKind.VIRTUAL),
}


def choices(module: ModuleOp) -> Iterator[Choice]:
    """Yields what the rules of fusion chose in a module that they decided about."""
    # Nothing speaks against what is inlined: it takes as long together, and a pass over memory less.
    settled = WITHOUT_CHOICE | {"inline"}
    for number, op in enumerate(module.walk()):
        mode = op.attributes.get("memory_mode")
        if isinstance(mode, MemoryModeAttr) and mode.rule.data not in settled:
            text = f"%{op.results[0].name_hint or number} = {op.name}"
            yield Choice(number, text, mode.mode.data, mode.rule.data, mode.why.data)


def _planned(work: Workload | Program) -> ModuleOp:
    module = module_of(work)
    *passes, decides = phases(target_of(cpu_device()))["graph"]
    assert isinstance(decides, InferMemoryModesPass), "the last pass says what is fused"
    PassManager((*passes, replace(decides, figures=True))).run(context(), module)
    return module


def _compiled(work: Workload | Program, choice: Choice, modes: Sequence[ModeKind]) -> tenon.Executable:
    """Returns a program in which one value has one of some modes, the first that is possible."""
    graph_passes, *others = phases(target_of(cpu_device())).values()
    passes = [graph_passes[-1], *(pass_ for phase in others for pass_ in phase)]
    failed: TenonError | None = None
    for mode in modes:
        module = _planned(work)
        for number, op in enumerate(module.walk()):
            if number == choice.number:
                op.attributes["memory_mode"] = MemoryModeAttr(mode, "asked for", "")
            else:
                op.attributes.pop("memory_mode", None)
        try:
            return tenon.compile(module, pipeline=PassManager(passes))
        except TenonError as error:
            failed = error
    assert failed is not None, "no mode was asked for"
    raise failed


if __name__ == "__main__":
    raise SystemExit(main())
