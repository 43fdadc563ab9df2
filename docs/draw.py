"""
Draws the pictures of `docs/` from data: of what two calls spend their time on, and of where the memory of one
program lies.

    python docs/draw.py [FOLDER]
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

os.environ["TENON_CACHE_DIR"] = tempfile.mkdtemp(prefix="tenon-draw-")

import numpy as np
import tenon
import tenon.numpy as tnp
from matplotlib.figure import Figure
from tenon.passes.registry import module_of
from tenon.runtime.timeline.spans import Span

PHASES = ("trace", "parse", "graph", "sched", "low", "render", "compile", "load", "run")
"""What a call spends its time on, in the order of a first one."""

COLOURS = dict(
    zip(
        PHASES,
        ("#8d99ae", "#b8c0cc", "#4a6fa5", "#6a994e", "#a7c957", "#e9c46a", "#f4a261", "#e76f51", "#bc4749"),
        strict=True,
    )
)


def attention(x: Any, weights: Any) -> Any:
    """Two layers of attention, each with weights for queries, keys, values and what comes out."""
    for to_queries, to_keys, to_values, to_result in weights:
        scores = tnp.matmul(x @ to_queries, tnp.swapaxes(x @ to_keys, -1, -2)) * np.float32(0.125)
        e = tnp.exp(scores - tnp.max(scores, axis=-1, keepdims=True))
        mixed = tnp.matmul(e / tnp.sum(e, axis=-1, keepdims=True), x @ to_values)
        x = tnp.tanh(mixed @ to_result) + x
    return x


def arguments() -> tuple[Any, Any]:
    """Returns 4 x 128 tokens of 64 features, and the weights."""
    rng = np.random.default_rng(1)
    weights = [[rng.standard_normal((64, 64), np.float32) / 8 for _ in range(4)] for _ in range(2)]
    return rng.standard_normal((4, 128, 64), np.float32), weights


def phase_of(span: Span) -> str | None:
    """Returns the phase of a span, None for those that lie in others."""
    if span.category.value in ("kernel", "host"):
        return None
    if span.category.value == "routine":
        return "run"
    if span.name in PHASES:
        return span.name
    try:
        level = module_of(span.name).partition(".")[0]
    except KeyError:
        return "graph"
    return level if level in PHASES else "graph"


def times_of(call: Callable[[], object]) -> dict[str, float]:
    """Returns the milliseconds that a call spends in each phase; `trace` is what is in no other phase."""
    with tenon.record_timeline() as timeline:
        begin = perf_counter_ns()
        call()
        end = perf_counter_ns()
    times = dict.fromkeys(PHASES, 0.0)
    for span in timeline.spans:
        if (phase := phase_of(span)) is not None:
            times[phase] += (span.end_ns - span.begin_ns) / 1e6
    times["trace"] = (end - begin) / 1e6 - sum(times.values())
    return times


def draw_calls(path: Path) -> None:
    """Draws three calls of one function: the first one, one after a new start, and one after that."""
    function, given = tenon.jit(attention), arguments()
    tenon.jit(lambda x: x @ x[0].T)(given[0])  # What only the first program of a process loads.
    rows = {"first call": times_of(lambda: function(*given))}
    tenon.clear_caches()
    rows["first call, program on disk"] = times_of(lambda: function(*given))
    rows["every later call"] = times_of(lambda: function(*given))
    figure = Figure(figsize=(9, 2.6))
    axes: Any = figure.subplots()
    for place, times in enumerate(rows.values()):
        left = 0.0
        for phase in PHASES:
            axes.barh(
                place, times[phase], left=left, color=COLOURS[phase], label=phase if not place else None
            )
            left += times[phase]
        digits = 0 if left >= 10 else 2
        axes.annotate(f" {left:.{digits}f} ms", (left, place), va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(ncols=len(PHASES), loc="upper center", frameon=False, fontsize=7)
    figure.tight_layout(rect=(0, 0, 1, 0.93))
    figure.savefig(path, metadata={"Date": None})


def draw_memory(path: Path) -> None:
    """Draws where the buffers of the function's program lie, and when they hold something."""
    tenon.jit(attention).lower(*arguments()).memory_plan().save(path)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)
    draw_calls(folder / "life-of-a-call.svg")
    draw_memory(folder / "memory.svg")


if __name__ == "__main__":
    main()
