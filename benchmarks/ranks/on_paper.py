"""
What the three examples would take on 64 and 1,024 ranks, by a model of messages.

    python -m benchmarks.ranks.on_paper --latency 2e-6 --bandwidth 1e10

The messages and bytes are counted in the programs of ranks, which are traced and partitioned for so many, and
not run. What they take is `messages * latency + bytes / bandwidth`, of a rank in the middle. What a rank
computes takes what the same program takes on one rank of this machine for each element: caches, and ranks
that share the memory of a machine, are left out, and nothing overlaps.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, isqrt, log2, prod
from pathlib import Path
from typing import Any

import numpy as np
import tenon
from tenon.compiler.partitioning import partition
from tenon.dialects.collective import BUNDLE, Collective
from tenon.semantics.collectives import collective_of
from tenon.semantics.traffic import Traffic, traffic_of
from tenon.semantics.world import World

from ..harness import format_table
from .messages import Messages

EXAMPLES = Path(__file__).parents[2] / "examples"

RANKS = (64, 1024)

STEPS = 10
"""Of heat in a call: what is counted is one."""

STRONG_SHARE = 64
"""How many ranks' worth of work strong scaling divides among all."""


class PaperWorld:
    """A rank of a world that is not there: programs are traced and partitioned for it."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def begin(self, collective: object, operand: object, result: object) -> Any:
        raise AssertionError("nothing is sent on paper")

    def begin_check(self, digest: bytes, what: str) -> Any:
        raise AssertionError("nothing is compared on paper")


@dataclass(frozen=True)
class Work:
    """
    A program with its arguments, on a mesh of the ranks of a world; a call has `steps`, each with so many
    `elements` of work in all.
    """

    program: Any
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    steps: int
    elements: float


Make = Callable[[World, int], Work]
"""Of a world and how many ranks' worth of work there is."""


def heat(world: World, share: int) -> Work:
    from heat import spread  # pyright: ignore

    def blocks(count: int) -> tuple[int, int, int]:
        x = 1 << ceil(log2(count) / 3)
        y = 1 << ceil((log2(count) - log2(x)) / 2)
        return x, y, count // x // y

    extents = [96 * count for count in blocks(share)]
    mesh = tenon.Mesh(blocks(world.size), ("x", "y", "z"), world=world)
    parts = tenon.sharding(mesh, "x", "y", "z")
    u = tenon.shard_from(zeros, extents, np.float32, parts)
    return Work(
        tenon.jit(spread, static_argnames="steps"), (u,), {"steps": STEPS}, STEPS, float(prod(extents))
    )


def matmul(world: World, share: int) -> Work:
    from matmul import product  # pyright: ignore

    extent, side = 512 * isqrt(share), isqrt(world.size)
    mesh = tenon.Mesh((side, side), ("rows", "columns"), world=world)
    blocks = tenon.sharding(mesh, "rows", "columns")
    a, b = (tenon.shard_from(zeros, (extent, extent), np.float32, blocks) for _ in range(2))
    return Work(tenon.jit(lambda a, b: product(a, b, blocks)), (a, b), {}, 1, float(extent) ** 3)


def training(world: World, share: int) -> Work:
    from ranks import step  # pyright: ignore
    from shards import LAYER_SIZES, initial_parameters  # pyright: ignore

    mesh = tenon.Mesh((world.size,), ("batch",), world=world)
    split, whole = tenon.sharding(mesh, "batch"), tenon.sharding(mesh)
    batch = 96 * share
    parameters = {
        name: tenon.shard_from(lambda index, value=value: value[index], value.shape, value.dtype, whole)
        for name, value in initial_parameters().items()
    }
    images = tenon.shard_from(zeros, (batch, LAYER_SIZES[0]), np.float32, split)
    labels = tenon.shard_from(lambda index: zeros(index).astype(np.int32), (batch,), np.int32, split)

    def kept_whole(parameters: Any, images: Any, labels: Any) -> Any:
        updated, loss = step(parameters, images, labels)
        return {name: tenon.shard(each, whole) for name, each in updated.items()}, tenon.shard(loss, whole)

    return Work(tenon.jit(kept_whole), (parameters, images, labels), {}, 1, float(batch))


EXAMPLES_BY_NAME: dict[str, Make] = {"heat": heat, "matmul": matmul, "data_parallel": training}


def zeros(index: Sequence[slice]) -> np.ndarray[Any, Any]:
    return np.zeros([each.stop - each.start for each in index], np.float32)


@dataclass(frozen=True)
class Sent:
    """What a rank sends in a step: how many messages, one after the other, and how many bytes."""

    rounds: float
    nbytes: float


def sent_by(make: Make, size: int, share: int) -> Sent:
    """Returns what a rank in the middle sends, counted in its program."""
    corner = make(PaperWorld(0, size), share)
    mesh = corner.arguments[-1].sharding.mesh
    rank = int(np.ravel_multi_index([extent // 2 for extent in mesh.shape], mesh.shape))
    work = make(PaperWorld(rank, size), share)
    lowered = work.program.lower(*work.arguments, **work.named)
    return counted(traffic_of(partition(lowered.module, rank).module), work.steps)


def counted(traffic: Sequence[Traffic], steps: int) -> Sent:
    """Adds up what a program sends, for one of its steps; sums that are sent as one are one."""
    rounds = nbytes = 0.0
    bundles: set[str] = set()
    for each in traffic:
        times = (each.times or 1) / steps
        nbytes += each.nbytes * times
        bundle = str(each.op.attributes.get(BUNDLE, ""))
        if not bundle or bundle not in bundles:
            rounds += rounds_of(collective_of(each.op), each.nbytes) * times
        bundles.add(bundle)
    return Sent(rounds, nbytes)


def rounds_of(collective: Collective, nbytes: float) -> float:
    """Returns how many messages a rank sends one after the other, where it sends the fewest bytes."""
    doublings = ceil(log2(collective.n_members))
    match collective.kind:
        case "collective_permute":
            return float(nbytes > 0)
        case "all_reduce":
            return 2 * doublings
        case "all_to_all":
            return collective.n_members - 1
        case _:
            return doublings


def seconds_alone(make: Make) -> float:
    """Returns what an element of work takes on one rank."""

    def run() -> float:
        work = make(tenon.current_world(), 1)
        work.program(*work.arguments, **work.named)
        least = float("inf")
        for _ in range(7):
            start = time.perf_counter()
            work.program(*work.arguments, **work.named)
            least = min(least, time.perf_counter() - start)
        return least / work.steps / work.elements

    with tenon.num_threads(1):
        return tenon.run_ranks(1, run)[0]


def rows_of(name: str, make: Make, messages: Messages, ranks: Sequence[int]) -> list[list[str]]:
    """Returns the rows of the table for an example: weak and strong scaling."""
    each, rows = seconds_alone(make), list[list[str]]()
    for scaling in ("weak", "strong"):
        for size in ranks:
            share = size if scaling == "weak" else STRONG_SHARE
            sent = sent_by(make, size, share)
            computing = each * make(PaperWorld(0, size), share).elements / size
            sending = messages.seconds(sent.rounds, sent.nbytes)
            rows.append(
                [
                    f"{name}, {scaling}",
                    str(size),
                    f"{sent.rounds:.0f}",
                    f"{sent.nbytes:.0f}",
                    f"{computing * 1e3:.3f}",
                    f"{sending * 1e3:.3f}",
                    f"{computing / (computing + sending):.2f}",
                ]
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="What the examples would take on many ranks.")
    parser.add_argument("--latency", type=float, default=2e-6, help="seconds of a message (default: 2e-6)")
    parser.add_argument("--bandwidth", type=float, default=1e10, help="bytes a second (default: 1e10)")
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS, help="how many (default: 64 1024)")
    parser.add_argument("examples", nargs="*", help=f"of {', '.join(EXAMPLES_BY_NAME)} (default: all)")
    options = parser.parse_args()
    if unknown := [name for name in options.examples if name not in EXAMPLES_BY_NAME]:
        parser.error(f"{unknown[0]!r} is none of {', '.join(EXAMPLES_BY_NAME)}")
    if any(isqrt(size) ** 2 != size or size & (size - 1) for size in options.ranks):
        parser.error("--ranks are powers of 4")
    sys.path[:0] = [str(EXAMPLES / name) for name in EXAMPLES_BY_NAME]
    messages = Messages(options.latency, options.bandwidth)
    rows = [["example", "ranks", "messages", "bytes sent", "computes ms", "sends ms", "efficiency"]]
    for name in options.examples or EXAMPLES_BY_NAME:
        rows += rows_of(name, EXAMPLES_BY_NAME[name], messages, options.ranks)
    print(f"{options.latency * 1e6:g} microseconds of latency, {options.bandwidth / 1e9:g} GB/s")
    print(format_table(rows))


if __name__ == "__main__":
    main()
