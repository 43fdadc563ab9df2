"""Training steps: a perceptron forwards and backwards by hand, and what descent makes of its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program


def make(b: Builder) -> Program:
    d = b.draws
    layers = d.integer("layers", 1, d.pick("scale", (3, 6, 12), (90, 9, 1)))
    batch = d.small("batch", 1, 24)
    widths = [d.small(f"width{number}", 1, 30) for number in range(layers)]
    classes = d.integer("classes", 2, 10)
    act = d.pick("activation", ("tanh", "sigmoid", "softplus"))
    momentum = d.pick("momentum", (0.0, 0.875))
    shards = d.pick("shards", (1, 2, 3), (4, 1, 1))
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

    def gradients(t: Any, values: list[Any], x: Any, label: Any) -> tuple[Any, list[Any]]:
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

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        values = [a[number] for number in flat]
        if loop == "scan":

            def body(carried: Any, shard: Any) -> Any:
                loss, found = gradients(t, values, *shard)
                return tuple(x + y for x, y in zip(carried, found, strict=True)), loss

            zeros = tuple(t.np.zeros(b.inputs[number].shape, dtype=b.dtype) for number in flat)
            total, losses = t.scan(body, zeros, (a[x_in], t.np.astype(a[labels], np.int32)))
            loss = t.np.sum(losses)
        else:
            loss, total = None, None
            for shard in range(shards):
                label = t.np.astype(a[labels][shard], np.int32)
                one, found = gradients(t, values, a[x_in][shard], label)
                loss = one if loss is None else loss + one
                total = found if total is None else [x + y for x, y in zip(total, found, strict=True)]
        rate = 0.03125 / batch
        following, faster = [], []
        for number, (value, change) in enumerate(zip(values, total, strict=True)):
            if decay:
                change = change + value * decay
            if momentum:
                change = a[speeds[number]] * momentum + change
                faster.append(change)
            following.append(value - change * rate)
        return (loss, *following, *faster)

    return b.program(function)
