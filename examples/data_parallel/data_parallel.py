"""Gradient descent on one device or several, which share the work of every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tenon
from shards import PARAMETERS, SHARD_COUNT, SHARD_SIZE, Array, Digits

STEP = Path(__file__).parent / "step.mlir"
SUMS = (*(f"{name}_grad" for name in PARAMETERS), "loss")
"""The nodes that a step sums up over its shards."""


@dataclass(frozen=True)
class StepCode:
    """step.mlir compiled for the devices of one platform, function by function."""

    nodes: Mapping[str, tenon.TensorNode]
    clear: tenon.Code
    gradients: tenon.Code
    update: tenon.Code
    accumulate: Mapping[str, tenon.Code]


def compile_step(platform: tenon.Platform) -> StepCode:
    """Returns the functions of step.mlir, compiled together; all of them work on the same nodes."""
    entries = ("clear", "gradients", "update", *(f"accumulate_{name}" for name in SUMS))
    module = tenon.parse_module(STEP.read_text(), STEP.name)
    batch = platform.compile_batch([module] * len(entries), entries=entries)
    clear, gradients, update, *accumulate = (code for code in batch if code is not None)
    nodes = {name: node for code in (clear, gradients, update) for name, node in code.nodes.items()}
    return StepCode(nodes, clear, gradients, update, dict(zip(SUMS, accumulate, strict=True)))


def load_data(code: StepCode, devices: Sequence[tenon.Device], digits: Digits) -> list[tenon.Context]:
    """Returns for each device a context that has the images and labels."""
    images, labels = code.nodes["images"], code.nodes["labels"]
    return [
        device.make_context().init_from_host(images, digits.images).init_from_host(labels, digits.labels)
        for device in devices
    ]


class Replica:
    """The model on one device, with sums of its own; `context` has the data."""

    def __init__(self, context: tenon.Context, code: StepCode, arrays: Mapping[str, Array]) -> None:
        for name, array in arrays.items():
            context = context.init_from_host(code.nodes[name], array)
        self.clear = context.link(code.clear)
        self.gradients = self.clear.context.link(code.gradients)
        self.update = self.gradients.context.link(code.update)
        self.context = self.update.context


class DataParallel:
    """
    Trains one model on several devices. In each step every device sums the gradients of its shards, the sums
    are merged pairwise into the first device's, which updates the parameters and sends them to the others.

    Runs that train from the same data can share its contexts: each adds parameters and sums of its own.
    """

    def __init__(
        self,
        code: StepCode,
        contexts: Sequence[tenon.Context],
        parameters: Mapping[str, Array],
        *,
        shards_per_step: int,
        learning_rate: float,
    ) -> None:
        self.code = code
        self.shards_per_step = shards_per_step
        rate = np.array(learning_rate / (shards_per_step * SHARD_SIZE), np.float32)
        self.replicas = [Replica(context, code, {"rate": rate, **parameters}) for context in contexts]
        self.first, *others = self.replicas
        self.merges = [
            routine
            for target, source in merge_pairs(len(contexts))
            for routine in self._merge(self.replicas[target], self.replicas[source])
        ]
        self.broadcasts = [self._copy(name, replica) for replica in others for name in PARAMETERS]

    def step(self, number: int) -> float:
        """Makes step `number`. Returns the mean cross-entropy of its images before the step."""
        for replica in self.replicas:
            replica.clear.run()
        for shard in range(self.shards_per_step):
            replica = self.replicas[shard % len(self.replicas)]
            replica.gradients.run(shard=(number * self.shards_per_step + shard) % SHARD_COUNT)
        for routine in self.merges:
            routine.run()
        self.first.update.run()
        for routine in self.broadcasts:
            routine.run()
        loss = self.first.context.to_host(self.code.nodes["loss"])
        return float(loss) / (self.shards_per_step * SHARD_SIZE)

    def values(self, names: Sequence[str] = PARAMETERS, replica: int = 0) -> dict[str, Array]:
        """Returns what nodes hold on one of the devices: the parameters, if nothing else is asked for."""
        context = self.replicas[replica].context
        return {name: context.to_host(self.code.nodes[name]) for name in names}

    def _merge(self, target: Replica, source: Replica) -> Iterator[tenon.Routine]:
        """Gives what adds every sum of `source` to that of `target`, through the merge buffer of `target`."""
        for name in SUMS:
            node = self.code.nodes[name]
            transfer = target.context.device_to_device(node, source.context, into_merge_buffer=True)
            assert transfer is not None, f"{name} is on every device"
            yield transfer
            # Only in this child is it known whose values the merge buffer holds.
            yield transfer.context.link(self.code.accumulate[name])

    def _copy(self, name: str, target: Replica) -> tenon.Routine:
        transfer = target.context.device_to_device(self.code.nodes[name], self.first.context)
        assert transfer is not None, f"{name} is on every device"
        return transfer


def merge_pairs(count: int) -> list[tuple[int, int]]:
    """
    Returns in which order `count` sums are added up in the first: pairs of target and source, as a tree, so
    that pairs of one level can be merged at the same time.
    """
    pairs: list[tuple[int, int]] = []
    distance = 1
    while distance < count:
        pairs += [(target, target + distance) for target in range(0, count - distance, 2 * distance)]
        distance *= 2
    return pairs
