"""
What the limits of fusion are worth: programs with each limit as it is, and with another one in its place.

    python -m benchmarks.fusion_limits [NAME...]

Prints for each program the least time of a call and the time of the compile, both ways.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

os.environ["TENON_CACHE"] = "0"

import numpy as np
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.passes.sched.planning import fusion_rules, local_values

ROUNDS, ROUND_SECONDS = 20, 0.01


@dataclass(frozen=True)
class Trial:
    """A program at the limit `name` of a module, and the value that is tried in place of the limit."""

    name: str
    module: Any
    value: int
    what: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _chain(x: Any) -> Any:
    y = x
    for _ in range(1600):
        y = y * x + tnp.abs(y)
    return y


def _stencil(x: Any) -> Any:
    v = tnp.sqrt(x * x + 1.0) * 0.5 + x
    return sum((tnp.roll(v, step, axis=0) for step in range(1, 8)), start=v)


def _depthwise(x: Any, w: Any) -> Any:
    return nn.conv(x, w, padding=1, groups=16)


def _row_sums(a: Any, b: Any) -> Any:
    return tnp.sum(tnp.exp(a @ b), axis=1)


def _softmax(x: Any) -> Any:
    return nn.softmax(x, axis=1)


def _normalized(x: Any) -> Any:
    return x / (1.0 + tnp.sum(x * x))


TRIALS = (
    Trial("KERNEL_OPS_LIMIT", fusion_rules, 1 << 30, "1600 sums of products", _chain, ((64, 64),)),
    Trial("RECOMPUTE_LIMIT", fusion_rules, 99, "8 reads of a value", _stencil, ((512, 512),)),
    Trial(
        "INSIDE_OF_ROWS",
        fusion_rules,
        1 << 30,
        "windows of 3x3",
        _depthwise,
        ((1, 16, 512, 512), (16, 1, 3, 3)),
    ),
    Trial(
        "INSIDE_OF_VECTORS", fusion_rules, 1, "windows of 3x3", _depthwise, ((1, 16, 56, 56), (16, 1, 3, 3))
    ),
    Trial(
        "LEAST_TILED_PRODUCTS",
        fusion_rules,
        1 << 60,
        "a product of matrices",
        _row_sums,
        ((64, 64), (64, 64)),
    ),
    Trial("LOCAL_NBYTES_LIMIT", local_values, 1 << 20, "rows of 48 KB", _softmax, ((32, 12000),)),
    Trial("SERIAL_ELEMENTS_LIMIT", local_values, 0, "one sum of 64x64", _normalized, ((64, 64),)),
    Trial("SERIAL_ELEMENTS_LIMIT", local_values, 1 << 60, "one sum of 512x512", _normalized, ((512, 512),)),
)


def compiled(trial: Trial, arguments: Sequence[Any], limit: int) -> tuple[Callable[..., Any], float]:
    """Returns the program under a limit, and how many seconds its first call took."""
    before = getattr(trial.module, trial.name)
    setattr(trial.module, trial.name, limit)
    try:
        start = perf_counter()
        jitted = tenon.jit(lambda *values: trial.function(*values))
        jitted(*arguments)
        return jitted, perf_counter() - start
    finally:
        setattr(trial.module, trial.name, before)


def run(trial: Trial) -> str:
    """Returns the line of a trial."""
    generator = np.random.default_rng(0)
    arguments = [generator.standard_normal(shape).astype(np.float32) for shape in trial.shapes]
    limits = getattr(trial.module, trial.name), trial.value
    programs = [compiled(trial, arguments, limit) for limit in limits]
    least = [float("inf")] * len(programs)
    for _ in range(ROUNDS):
        for number, (program, _) in enumerate(programs):
            end = perf_counter() + ROUND_SECONDS
            while (start := perf_counter()) < end:
                program(*arguments)
                least[number] = min(least[number], perf_counter() - start)
    columns = [
        f"{limit}: {seconds * 1e6:.1f} us, compiled in {compile_seconds:.2f} s"
        for limit, seconds, (_, compile_seconds) in zip(limits, least, programs, strict=True)
    ]
    return f"{trial.name}, {trial.what}: {'; '.join(columns)}"


if __name__ == "__main__":
    for each in TRIALS:
        if not sys.argv[1:] or each.name in sys.argv[1:]:
            print(run(each), flush=True)
