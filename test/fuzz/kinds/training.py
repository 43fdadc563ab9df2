"""Training steps: a perceptron forwards and backwards by hand, and what descent makes of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program import Builder, Program, Shards


def make(b: Builder) -> Program:
    d = b.draws
    layers = d.integer("layers", 1, d.pick("scale", (3, 6, 12), (90, 9, 1)))
    batch = d.small("batch", 1, 24)
    widths = [d.small(f"width{number}", 1, 30) for number in range(layers)]
    classes = d.integer("classes", 2, 10)
    act = d.pick("activation", ("tanh", "sigmoid", "softplus"))
    momentum = d.pick("momentum", (0.0, 0.875))
    shards = d.pick("shards", (1, 2, 3, 5), (8, 2, 2, 1))
    loop = d.pick("loop", ("unrolled", "scan"), (2, 1)) if shards > 1 else "unrolled"
    decay = d.pick("decay", (0.0, 0.0078125))

    x_in = b.normal("x", (shards, batch, widths[0]))
    labels = b.input(d.integers("labels", 0, classes, (shards, batch)), np.uint8)
    sizes = [*widths, classes]
    weights = [
        (b.weight(f"w{k}", (sizes[k], sizes[k + 1]), sizes[k]), b.normal(f"b{k}", (sizes[k + 1],), 0.2))
        for k in range(layers)
    ]
    flat = [number for pair in weights for number in pair]
    speeds = [b.input(np.zeros_like(b.inputs[number])) for number in flat] if momentum else []
    for place, number in enumerate((*flat, *speeds)):
        b.feedback[number] = 1 + place

    def activated(t: Any, z: Any) -> tuple[Any, Any]:
        """Returns the function and its derivative."""
        if act == "tanh":
            y = t.np.tanh(z)
            return y, 1.0 - y * y
        if act == "sigmoid":
            y = t.nn.sigmoid(z)
            return y, y * (1.0 - y)
        return t.nn.softplus(z), t.nn.sigmoid(z)

    def gradients(t: Any, values: Sequence[Any], x: Any, label: Any) -> tuple[Any, list[Any]]:
        hidden, slopes = [x], []
        for k in range(layers):
            z = hidden[-1] @ values[2 * k] + values[2 * k + 1]
            if k + 1 < layers:
                y, slope = activated(t, z)
                slopes.append(slope)
            else:
                y = z
            hidden.append(y)
        one_hot = t.nn.one_hot(label, classes, dtype=b.dtype)
        logs = t.nn.log_softmax(hidden[-1])
        loss = -t.np.sum(logs * one_hot)
        d_z = t.nn.softmax(hidden[-1], axis=-1) - one_hot
        found: list[Any] = []
        for k in reversed(range(layers)):
            found = [t.np.matrix_transpose(hidden[k]) @ d_z, t.np.sum(d_z, axis=0), *found]
            if k:
                d_z = (d_z @ t.np.matrix_transpose(values[2 * k])) * slopes[k - 1]
        return loss, found

    def sums(t: Any, values: Sequence[Any], shard: Sequence[Any]) -> Sequence[Any]:
        x, label = shard
        loss, found = gradients(t, values, x, t.np.astype(label, np.int32))
        return loss, *found

    def update(t: Any, values: Sequence[Any], total: Sequence[Any]) -> Sequence[Any]:
        rate = 0.03125 / batch
        following, faster = [], []
        for number, change in enumerate(total[1:]):
            value = values[number]
            if decay:
                change = change + value * decay
            if momentum:
                change = values[len(flat) + number] * momentum + change
                faster.append(change)
            following.append(value - change * rate)
        return *following, *faster

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        values = [a[number] for number in (*flat, *speeds)]
        if loop == "scan":

            def body(carried: Any, shard: Any) -> Any:
                found = sums(t, values, shard)
                return tuple(x + y for x, y in zip(carried, found, strict=True)), None

            zeros = [t.np.zeros((), dtype=b.dtype)]
            zeros += [t.np.zeros(b.inputs[number].shape, dtype=b.dtype) for number in flat]
            total, _ = t.scan(body, tuple(zeros), (a[x_in], a[labels]))
        else:
            total = None
            for shard in range(shards):
                found = sums(t, values, (a[x_in][shard], a[labels][shard]))
                total = found if total is None else [x + y for x, y in zip(total, found, strict=True)]
        return total[0], *update(t, values, total)

    program = b.program(function)
    program.shards = Shards((*flat, *speeds), (x_in, labels), sums, update, (0,))
    return program
