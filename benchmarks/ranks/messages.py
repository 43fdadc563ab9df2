"""
Times messages and sums between the ranks of `mpiexec`, and writes the latency and the bandwidth of both.

    mpiexec -n 2 python -m tenon.benchmarks.ranks.messages --output out/bench/messages.json

All ranks send to the next one at once, as halos do, through Tenon's world: the latency has what Python adds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import tenon
from tenon.dialects.collective import Collective
from tenon.semantics.numpy_types import Array
from tenon.semantics.world import World

from ..command import record

SMALL_NBYTES, LARGE_NBYTES = 8, 1 << 23


@dataclass(frozen=True)
class Messages:
    """What a message between two ranks takes: `latency` in seconds, `bandwidth` in bytes a second."""

    latency: float
    bandwidth: float

    def seconds(self, rounds: float, nbytes: float) -> float:
        """Returns what so many rounds of messages take that have so many bytes in all."""
        return rounds * self.latency + nbytes / self.bandwidth


def begin_permute(world: World, operand: Array, result: Array) -> None:
    pairs = tuple((rank, (rank + 1) % world.size) for rank in range(world.size))
    world.begin(Collective("collective_permute", 1, (world.size,), (0,), pairs=pairs), operand, result).wait()


def begin_sum(world: World, operand: Array, result: Array) -> None:
    world.begin(Collective("all_reduce", 2, (world.size,), (0,), "add"), operand, result).wait()


def least_seconds(
    world: World, begin: Callable[[World, Array, Array], None], nbytes: int, repeats: int, rounds: int
) -> float:
    """Returns the least time of one exchange, over rounds of `repeats`."""
    operand = np.ones(nbytes // 4, np.float32)
    result, least = np.empty_like(operand), float("inf")
    for _ in range(rounds):
        world.begin_check(b"", "round").wait()
        start = time.perf_counter()
        for _ in range(repeats):
            begin(world, operand, result)
        least = min(least, (time.perf_counter() - start) / repeats)
    return least


def measured(world: World, begin: Callable[[World, Array, Array], None], rounds: int) -> Messages:
    small = least_seconds(world, begin, SMALL_NBYTES, 50, rounds)
    large = least_seconds(world, begin, LARGE_NBYTES, 3, rounds)
    return Messages(small, LARGE_NBYTES / max(large - small, 1e-9))


def main() -> None:
    parser = argparse.ArgumentParser(description="Times messages and sums between ranks.")
    parser.add_argument("--rounds", type=int, default=30, help="of which the least counts (default: 30)")
    parser.add_argument("--output", type=Path, help="a file for the figures, as JSON")
    options = parser.parse_args()
    world = tenon.current_world()
    if world.size < 2:
        parser.error("needs 2 ranks (hint: mpiexec -n 2)")
    found = {
        name: measured(world, begin, options.rounds)
        for name, begin in (("message", begin_permute), ("sum", begin_sum))
    }
    if world.rank == 0:
        for name, each in found.items():
            print(
                f"{name}: {each.latency * 1e6:.1f} microseconds of latency, "
                f"{each.bandwidth / 1e9:.2f} GB/s, {world.size} ranks"
            )
        record(options.output, {name: asdict(each) for name, each in found.items()})


if __name__ == "__main__":
    main()
