"""
Trains the digits model over any number of ranks, each with its part of every batch, and on one rank.

    mpiexec -n 4 python examples/data_parallel/ranks.py

The parameters are the same on all ranks; batches are split, and the gradients are summed over all. Prints the
losses of both runs and the largest difference of a parameter beside the bound for rounding, and saves a plot:
the exit status is 1 where they differ by more.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tenon
import tenon.numpy as tnp
from shards import LAYER_SIZES, SHARD_COUNT, SHARD_SIZE, Digits, initial_parameters, load_digits
from train import LEARNING_RATE, largest_difference, rounding_bound, save_plot

N_CLASSES = LAYER_SIZES[-1]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the digits model over all ranks.")
    parser.add_argument("--steps", type=int, default=30, help="steps of training (default: %(default)s)")
    parser.add_argument(
        "--batch", type=int, default=96, help=f"images per step, in {SHARD_SIZE}s (default: %(default)s)"
    )
    parser.add_argument("--output", type=Path, default=Path("out"), help="the folder for the plot")
    options = parser.parse_args()
    shards, rest = divmod(options.batch, SHARD_SIZE)
    if rest or not 1 <= shards <= SHARD_COUNT or options.steps < 1:
        parser.error(
            f"--batch is a multiple of {SHARD_SIZE}, up to {SHARD_SIZE * SHARD_COUNT}; --steps at least 1"
        )
    return options


def step(parameters: dict[str, Any], images: Any, labels: Any) -> tuple[dict[str, Any], Any]:
    """Returns the parameters after a step of gradient descent, and the mean cross-entropy before it."""
    w1, b1, w2, b2, w3, b3 = (parameters[name] for name in ("w1", "b1", "w2", "b2", "w3", "b3"))
    x = images / np.float32(16)
    h1 = tnp.maximum(x @ w1 + b1, 0)
    h2 = tnp.maximum(h1 @ w2 + b2, 0)
    logits = h2 @ w3 + b3
    shifted = logits - tnp.max(logits, axis=1, keepdims=True)
    exponentials = tnp.exp(shifted)
    totals = tnp.sum(exponentials, axis=1, keepdims=True)
    wanted = tnp.astype(labels[:, None] == tnp.arange(N_CLASSES, dtype=labels.dtype), tnp.float32)
    count = images.shape[0]
    loss = tnp.sum(wanted * (tnp.log(totals) - shifted)) / count
    # Back through the layers, the last one first.
    d3 = (exponentials / totals - wanted) / count
    d2 = tnp.where(h2 > 0, d3 @ w3.T, 0)
    d1 = tnp.where(h1 > 0, d2 @ w2.T, 0)
    gradients = {
        "w1": x.T @ d1,
        "b1": tnp.sum(d1, axis=0),
        "w2": h1.T @ d2,
        "b2": tnp.sum(d2, axis=0),
        "w3": h2.T @ d3,
        "b3": tnp.sum(d3, axis=0),
    }
    updated = {name: parameters[name] - LEARNING_RATE * gradients[name] for name in parameters}
    return updated, loss


def train(digits: Digits, steps: int, batch: int, ranks: int) -> tuple[dict[str, Any], list[float]]:
    """Returns the parameters after some steps on a mesh of ranks, and the loss before each."""
    mesh = tenon.Mesh((ranks,), ("batch",))
    split, whole = tenon.sharding(mesh, "batch"), tenon.sharding(mesh)
    images = digits.images.reshape(SHARD_COUNT * SHARD_SIZE, -1).astype(np.float32)
    labels = digits.labels.reshape(-1).astype(np.int32)
    parameters: Any = {name: tenon.shard(value, whole) for name, value in initial_parameters().items()}

    @tenon.jit
    def kept_whole(parameters: dict[str, Any], images: Any, labels: Any) -> Any:
        updated, loss = step(parameters, images, labels)
        return {name: tenon.shard(value, whole) for name, value in updated.items()}, tenon.shard(loss, whole)

    losses: list[float] = []
    for number in range(steps):
        chosen = np.arange(number * batch, (number + 1) * batch) % len(images)
        parameters, loss = kept_whole(
            parameters, tenon.shard(images[chosen], split), tenon.shard(labels[chosen], split)
        )
        losses.append(float(loss.local))
    return {name: value.local.numpy() for name, value in parameters.items()}, losses


def main() -> bool:
    """Does the job. Returns whether both runs agree within rounding."""
    options = parse_arguments()
    world = tenon.current_world()
    digits = load_digits()
    many, losses = train(digits, options.steps, options.batch, world.size)
    if world.rank:
        return True
    ((one, losses_of_one),) = tenon.run_ranks(1, train, digits, options.steps, options.batch, 1)
    print(f"step       one rank  {world.size:3d} ranks    mean cross-entropy")
    for number, pair in enumerate(zip(losses_of_one, losses, strict=True)):
        print(f"{number:4d}  {'  '.join(f'{loss:12.8f}' for loss in pair)}")
    difference = largest_difference(one, many)
    bound = rounding_bound(one, options.steps, options.batch)
    agreed = difference <= bound
    print(f"largest difference of a parameter: {difference:.3g} (rounding allows {bound:.3g})")
    save_plot(
        options.output / "data_parallel_ranks.png", {"1 rank": losses_of_one, f"{world.size} ranks": losses}
    )
    return agreed


if __name__ == "__main__":
    sys.exit(not main())
