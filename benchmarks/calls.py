"""
Times what a call costs beyond its work, on one thread: an add of 8 elements in Tenon and in numpy, and a
program of 100 kernels.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from .harness import format_table
from .one_thread import use_one_thread

KERNEL_COUNT = 100

ADD = """
func.func @add(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %z = graph.add %x, %y : tensor<8xf32>
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
    options = parser.parse_args(arguments)
    use_one_thread()

    # Only now: these import numpy.
    import numpy as np
    import tenon
    from tenon.runtime.device_executable import DeviceExecutable

    from .harness import time_interleaved

    x, y, z = (np.ones(8, np.float32) for _ in range(3))
    add, chain = tenon.compile(ADD), tenon.compile(kernel_chain(KERNEL_COUNT))
    assert isinstance(chain, DeviceExecutable)
    assert len(chain.program.steps) == KERNEL_COUNT, f"{chain.program}"
    times = time_interleaved(
        {
            "tenon, out=": partial(add, x, y, out=z),
            "numpy, out=": partial(np.add, x, y, out=z),
            "tenon": partial(add, x, y),
            "numpy": partial(np.add, x, y),
            "tenon, by name": partial(add, x=x, y=y),
            "100 kernels": partial(chain, x, y, out=z),
        },
        options.rounds,
    )
    rows = [["add of 8 elements", "median ns", "min ns", "over numpy"]]
    for name in ("tenon, out=", "numpy, out=", "tenon", "numpy", "tenon, by name"):
        baseline = times["numpy, out=" if name.endswith("out=") else "numpy"]
        time = times[name]
        in_ns = [f"{1e9 * seconds:.0f}" for seconds in (time.median, time.minimum)]
        rows.append([name, *in_ns, f"{time.median / baseline.median:.2f}"])
    print(f"\n{format_table(rows)}")
    per_kernel = (times["100 kernels"].median - times["tenon, out="].median) / (KERNEL_COUNT - 1)
    print(
        f"\na program of {KERNEL_COUNT} kernels: {1e9 * per_kernel:.0f} ns for each kernel, its work included"
    )


if __name__ == "__main__":
    main()
