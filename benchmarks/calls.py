"""
Times what a call costs beyond its work, on one thread: work on 8 elements in Tenon and in numpy, compiled and
jitted, and a program of 100 kernels.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from .command import record
from .harness import format_table
from .pinning import use_one_thread

KERNEL_COUNT = 100

CALL_GOAL_NS = 300
NUMPY = "numpy.add(x, y, out=z)"
FOUR_ARRAYS = "compiled x * y + w, out=z"

ADD = """
func.func @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %z = graph.add %x, %y : tensor<8xf32>
  func.return %z : tensor<8xf32>
}
"""

THREE = """
func.func @three(%x: tensor<8xf32>, %y: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %p = graph.mul %x, %y : tensor<8xf32>
  %z = graph.add %p, %w : tensor<8xf32>
  func.return %z : tensor<8xf32>
}
"""


def kernel_chain(kernel_count: int) -> str:
    """Returns a program of as many kernels: adds, each of the last one's result, all asked for in memory."""
    lines: list[str] = []
    x = "%x"
    for index in range(kernel_count):
        asked = '{memory_mode = #graph.memory_mode<materialized, "one kernel each">} '
        mode = asked if index < kernel_count - 1 else ""
        lines.append(f"  %v{index} = graph.add {x}, %y {mode}: tensor<8xf32>")
        x = f"%v{index}"
    body = "\n".join(lines)
    return (
        "func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {\n"
        f"{body}\n  func.return {x} : tensor<8xf32>\n}}\n"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write the times, in ns")
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: these import numpy.
    import numpy as np
    import tenon
    import tenon.numpy as tnp
    from tenon.runtime.executables.device_executable import DeviceExecutable

    from .harness import time_interleaved

    x, y, w, z = (np.ones(8, np.float32) for _ in range(4))
    add, three, chain = (tenon.compile(text) for text in (ADD, THREE, kernel_chain(KERNEL_COUNT)))
    assert isinstance(chain, DeviceExecutable)
    assert len(chain.program.steps) == KERNEL_COUNT, f"{chain.program}"
    jitted = tenon.jit(lambda x, y, w: x * y + w)
    jitted_add = tenon.jit(lambda x, y: x + y)
    tx, ty, tw = (tnp.asarray(each) for each in (x, y, w))
    spaced = np.ones(16, np.float32)[::2]
    times = time_interleaved(
        {
            "numpy.add(x, y, out=z)": partial(np.add, x, y, out=z),
            "numpy.add(x, y)": partial(np.add, x, y),
            "numpy.clip's ufunc(x, y, w, out=z)": partial(np._core.umath.clip, x, y, w, out=z),
            "compiled add(x, y, out=z)": partial(add, x, y, out=z),
            "compiled add(x, y)": partial(add, x, y),
            "compiled add, arguments by name": partial(add, x=x, y=y),
            "compiled add, x not contiguous": partial(add, spaced, y),
            FOUR_ARRAYS: partial(three, x, y, w, out=z),
            "jitted x + y, arrays of numpy": partial(jitted_add, x, y),
            "jitted x + y, arrays of Tenon": partial(jitted_add, tx, ty),
            "jitted x * y + w, arrays of numpy": partial(jitted, x, y, w),
            "jitted x * y + w, arrays of Tenon": partial(jitted, tx, ty, tw),
            "program of 100 kernels": partial(chain, x, y, out=z),
        },
        options.rounds,
    )
    in_ns = {name: (1e9 * time.median, 1e9 * time.minimum) for name, time in times.items()}
    baseline = in_ns[NUMPY]
    rows = [["8 elements of f32", "median ns", "min ns", "over numpy.add"]]
    for name, (median, least) in in_ns.items():
        rows.append([name, f"{median:.0f}", f"{least:.0f}", f"{median / baseline[0]:.2f}"])
    print(f"\n{format_table(rows)}")
    per_kernel = (in_ns["program of 100 kernels"][0] - in_ns["compiled add(x, y, out=z)"][0]) / (
        KERNEL_COUNT - 1
    )
    print(f"\na program of {KERNEL_COUNT} kernels: {per_kernel:.0f} ns for each kernel, its work included")
    four = in_ns[FOUR_ARRAYS][1]
    verdict = "met" if four < CALL_GOAL_NS and four <= baseline[1] else "missed"
    print(
        f"a call with 4 arrays: {four:.0f} ns at least, numpy's ufunc with 3 {baseline[1]:.0f} ns; the goal "
        f"(no more than numpy's, less than {CALL_GOAL_NS} ns) is {verdict}"
    )
    record(options.json, in_ns)


if __name__ == "__main__":
    main()
