"""
Times the front end, on one thread: what tracing costs for each op, the first call of a jitted function of ten
ops, and calls of small arrays beside numpy's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

from .harness import format_table
from .pinning import use_one_thread

OPS_PER_BLOCK = 10
BLOCK_COUNT = 50


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="rounds of blocks (default: %(default)s)")
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: these import numpy.
    import numpy as np
    import tenon
    import tenon.numpy as tnp

    from .harness import time_interleaved

    def ten_ops(x: Any) -> Any:
        y = tnp.exp(x) * x + x
        y = tnp.sqrt(tnp.sin(y) - x) / x
        y = tnp.tanh(y)
        return y * y + x

    values = np.ones(8, np.float32)
    jitted = tenon.jit(ten_ops)
    first = _seconds(partial(jitted, values))
    first_calls: list[float] = []
    for _ in range(options.rounds):
        jitted.clear_cache()
        first_calls.append(_seconds(partial(jitted, values)))

    def many(x: Any) -> Any:
        for _ in range(BLOCK_COUNT):
            x = ten_ops(x)
        return x

    # Lowering traces, and compiles nothing before something of it is asked for.
    long = tenon.jit(many)
    tracing = [_seconds(partial(long.lower, values)) for _ in range(options.rounds)]
    ops = BLOCK_COUNT * OPS_PER_BLOCK
    per_op = [1e6 * seconds / ops for seconds in (median(tracing), min(tracing))]

    x, n = tnp.asarray(values), values
    add = tenon.jit(lambda a, b: a + b)
    contenders: dict[str, Callable[[], object]] = {
        "numpy.add": partial(np.add, n, n),
        "tenon.numpy.add": partial(tnp.add, x, x),
        "numpy x + y": lambda: n + n,
        "tenon x + y": lambda: x + x,
        "numpy x + 1.5": lambda: n + 1.5,
        "tenon x + 1.5": lambda: x + 1.5,
        "numpy.sum": partial(np.sum, n),
        "tenon.numpy.sum": partial(tnp.sum, x),
        "jit, arrays of Tenon": partial(add, x, x),
        "jit, arrays of numpy": partial(add, n, n),
    }
    times = time_interleaved(contenders, options.rounds)
    baselines = {
        "tenon x + y": "numpy x + y",
        "tenon x + 1.5": "numpy x + 1.5",
        "tenon.numpy.sum": "numpy.sum",
    }
    rows = [["arrays of 8 elements", "median ns", "min ns", "over numpy"]]
    for name, time in times.items():
        in_ns = [f"{1e9 * seconds:.0f}" for seconds in (time.median, time.minimum)]
        baseline = times[baselines.get(name, "numpy.add")]
        over = "" if name.startswith("numpy") else f"{time.median / baseline.median:.2f}"
        rows.append([name, *in_ns, over])
    print(f"\n{format_table(rows)}")
    in_ms = [1e3 * seconds for seconds in (median(first_calls), min(first_calls), first)]
    print(f"\ntracing: {per_op[0]:.1f} us for each op of {ops}, at least {per_op[1]:.1f}")
    print(
        f"first call of a function of {OPS_PER_BLOCK} ops: {in_ms[0]:.1f} ms, at least {in_ms[1]:.1f}; "
        f"{in_ms[2]:.0f} as the first one of the process"
    )


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


if __name__ == "__main__":
    main()
