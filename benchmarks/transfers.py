"""Times transfers between host and device, and between two devices, against numpy's copy of as many bytes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

import numpy as np
import tenon

from .harness import Thunk, format_table, time_interleaved

PROGRAM = """
graph.tnode @x : tensor<{count}xf32>
func.func @f() {{
  %x = graph.read @x : tensor<{count}xf32>
  graph.write @x, %x : tensor<{count}xf32>
  func.return
}}
"""

MEBIBYTES = (1, 64)


def time_transfers(backend: str, nbytes: int, rounds: int) -> list[list[str]]:
    """Returns the rows of the table for one backend and size."""
    count = nbytes // 4
    platform = tenon.open_platform(backend, num_devices=2)
    node = platform.compile(PROGRAM.format(count=count)).nodes["x"]
    host, target = np.ones(count, np.float32), np.empty(count, np.float32)
    first, second = (
        platform.get_device(ordinal).make_context().init_from_host(node, host) for ordinal in (0, 1)
    )
    transfer = second.device_to_device(node, first)
    assert transfer is not None, "two devices have a buffer each"
    contenders: dict[str, Thunk] = {
        "numpy": partial(np.copyto, target, host),
        "from_host": lambda: first.from_host(node, host).sync(),
        "to_host": lambda: first.to_host(node, out=target),
        "device_to_device": lambda: transfer.run().sync(),
    }
    times = time_interleaved(contenders, rounds)
    numpy_time = times["numpy"].median
    return [
        [
            f"{backend} {name}" if name != "numpy" else name,
            f"{nbytes >> 20} MiB",
            f"{1e6 * time.median:.0f}",
            f"{nbytes / time.median / 1e9:.1f}",
            f"{time.median / numpy_time:.2f}",
        ]
        for name, time in times.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transfers", description=__doc__)
    parser.add_argument("--opencl", action="store_true", help="time the opencl backend too")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of blocks (default: %(default)s)")
    options = parser.parse_args(arguments)
    rows = [["", "size", "median us", "GB/s", "over numpy"]]
    for backend in ("llvm", "opencl") if options.opencl else ("llvm",):
        for mebibytes in MEBIBYTES:
            rows += time_transfers(backend, mebibytes << 20, options.rounds)
    print(f"\n{format_table(rows)}")


if __name__ == "__main__":
    main()
