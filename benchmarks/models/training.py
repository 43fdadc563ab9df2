"""
Times steps of training, in which torch.compile hands torch's own modules to Tenon, beside eager torch and
inductor:

    python -m benchmarks.models.training [row ...]

A step is the loss, all gradients, and what the optimizer makes of them, on one thread. Contenders take turns;
the least times count. Losses of the first steps are compared with those of eager torch.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from ..harness import time_interleaved
from ..pinning import use_one_thread

TENON = "tenon"

BACKENDS: Mapping[str, str | None] = {"torch": None, "torch.compile": "inductor", TENON: "tenon"}

Step = Callable[[], float]
"""Makes a step, and gives the loss."""

Made = tuple[Any, Callable[[Any], Any]]
"""A module, and its loss for what it is called with."""


def mlp() -> Made:
    """Three layers of 512, a batch of 128."""
    import torch
    from torch import nn

    sizes = (784, 512, 512, 10)
    layers: list[nn.Module] = []
    for inner, outer in itertools.pairwise(sizes):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    x, y = torch.randn(128, 784), torch.randint(0, 10, (128,))
    return nn.Sequential(*layers[:-1]), lambda module: nn.functional.cross_entropy(module(x), y)


def transformer() -> Made:
    """Four layers of 256 features, four rows of 64 tokens."""
    import torch
    from torch import nn

    layer = nn.TransformerEncoderLayer(256, 8, 1024, 0.0, "gelu", batch_first=True, norm_first=True)
    module = nn.Sequential(
        nn.Embedding(1000, 256),
        nn.TransformerEncoder(layer, 4, enable_nested_tensor=False),
        nn.Linear(256, 1000),
    )
    x, y = torch.randint(0, 1000, (4, 64)), torch.randint(0, 1000, (256,))
    return module, lambda module: nn.functional.cross_entropy(module(x).flatten(0, 1), y)


def resnet() -> Made:
    """A ResNet-18 of a half of the channels, four images of 64x64."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inner: int, outer: int) -> None:
            super().__init__()
            stride = 1 if inner == outer else 2
            self.body = nn.Sequential(
                nn.Conv2d(inner, outer, 3, stride, 1, bias=False),
                nn.BatchNorm2d(outer),
                nn.ReLU(),
                nn.Conv2d(outer, outer, 3, 1, 1, bias=False),
                nn.BatchNorm2d(outer),
            )
            convolution = nn.Conv2d(inner, outer, 1, stride, bias=False)
            self.side = nn.Identity() if inner == outer else nn.Sequential(convolution, nn.BatchNorm2d(outer))

        def forward(self, x: Any) -> Any:
            return (self.body(x) + self.side(x)).relu()

    widths = (32, 32, 32, 64, 64, 128, 128, 256, 256)
    blocks = [Block(*pair) for pair in itertools.pairwise(widths)]
    stem = [nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    module = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 10))
    x, y = torch.randn(4, 3, 64, 64), torch.randint(0, 10, (4,))
    return module, lambda module: nn.functional.cross_entropy(module(x), y)


ROWS: Mapping[str, Callable[[], Made]] = {"MLP": mlp, "transformer": transformer, "ResNet-18, half": resnet}


def steps_of(make: Callable[[], Made]) -> dict[str, Step]:
    """Returns what makes a step of each contender, all from the same parameters; it gives the loss."""
    import torch

    torch.manual_seed(0)
    module, loss_of = make()
    found: dict[str, Step] = {}
    for name, backend in BACKENDS.items():
        own = copy.deepcopy(module).train()
        optimizer = torch.optim.SGD(own.parameters(), lr=0.01, momentum=0.9)
        call = own if backend is None else torch.compile(own, backend=backend, dynamic=False)

        def step(call: Any = call, optimizer: Any = optimizer) -> float:
            loss = loss_of(call)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss.item()

        found[name] = step
    return found


def timed(make: Callable[[], Made], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the times of the first steps and the least of the others, by contender."""
    steps = steps_of(make)
    first: dict[str, float] = {}
    losses: list[Any] = []
    for name, step in steps.items():
        start = perf_counter()
        losses.append(step())
        first[name] = perf_counter() - start
    if max(losses) - min(losses) > 1e-3 * abs(losses[0]):
        raise ArithmeticError(f"losses differ: {dict(zip(steps, losses, strict=True))}")
    # In each turn one step that is timed, after one that is not.
    times = time_interleaved(steps, rounds, block_seconds=0)
    return first, {name: each.minimum for name, each in times.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models.training", description=__doc__)
    parser.add_argument("row", nargs="*", help=f"what to time (default: all of {', '.join(ROWS)})")
    parser.add_argument("--rounds", type=int, default=12, help="turns (default: %(default)s)")
    options = parser.parse_args(arguments)
    unknown = [row for row in options.row if row not in ROWS]
    if unknown:
        parser.error(f"there is no row {unknown[0]} (there are {', '.join(ROWS)})")
    use_one_thread()
    # Only now: these import numpy.
    import torch

    from ..tables import markdown_table, seconds_text

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    table = [["training step", *BACKENDS, "ratio", *(f"{name}, first" for name in BACKENDS)]]
    for row in options.row or ROWS:
        first, least = timed(ROWS[row], options.rounds)
        ratio = min(time for name, time in least.items() if name != TENON) / least[TENON]
        times = [seconds_text(least[name]) for name in BACKENDS]
        table.append([row, *times, f"{ratio:.2f}", *(seconds_text(first[name]) for name in BACKENDS)])
        print(", ".join(table[-1]), flush=True)
    print("\n" + markdown_table(table))


if __name__ == "__main__":
    main()
