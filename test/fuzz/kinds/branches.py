"""Branches that part and join: shared values, ifs and switches, loops around blocks, several outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program

COMBINED = ("add", "gated", "max", "halves", "product", "stacked", "mixed")


def make(b: Builder) -> Program:
    d = b.draws
    most = d.pick("scale", (14, 40, 120), (90, 9, 1))
    steps = d.integer("steps", 2, most)
    rows, features = d.small("rows", 1, 24), 2 * d.small("half", 1, 17)
    n_inputs = d.small("inputs", 1, 4)
    is_looped = d.flag("loop", 0.3)
    rounds = d.integer("rounds", 1, 4) if is_looped else 1
    xs = [b.normal(f"x{k}", (rows, features)) for k in range(n_inputs)]
    weights = [b.weight(f"w{k}", (features, features), features) for k in range(d.small("weights", 1, 3))]
    decides = b.input(d.integers("decides", 0, 4, ()), np.int32)
    flags = b.input(d.integers("flags", 0, 2, (rows, 1)), np.bool_)
    b.feedback[xs[0]] = 0

    plan: list[tuple[str, int, int, int]] = []
    for number in range(steps):
        with b.scope(f"step{number}"):
            known = n_inputs + number
            recent = max(0, known - 6)
            plan.append(
                (
                    d.pick("kind", (*COMBINED, "product", "cond", "switch", "where", "mean", "turn")),
                    d.integer("first", recent, known - 1),
                    d.integer("second", 0, known - 1),
                    d.integer("third", 0, 7),
                )
            )
    n_results = d.small("results", 1, 4)
    results = [d.integer(f"result{k}", 0, steps - 1) for k in range(n_results)]

    def combined(t: Any, a: Any, kind: str, x: Any, y: Any, number: int) -> Any:
        weight = a[weights[number % len(weights)]]
        half = features // 2
        if kind == "add":
            return x + y * 0.5
        if kind == "gated":
            return x * t.nn.sigmoid(y)
        if kind == "max":
            return t.np.maximum(x, y) - t.np.minimum(x, 0.25)
        if kind == "halves":
            return t.np.concat([x[:, half:], y[:, :half]], axis=1)
        if kind == "product":
            return t.np.tanh(x @ weight + y)
        if kind == "stacked":
            return t.np.mean(t.np.stack([x, y, x * y], axis=0), axis=0)
        if kind == "mixed":
            scores = t.nn.softmax(x @ t.np.matrix_transpose(y) * (1 / features), axis=-1)
            return scores @ y
        if kind == "where":
            return t.np.where(a[flags], x, -y)
        if kind == "mean":
            return x - t.np.mean(y, axis=number % 2, keepdims=True)
        return t.np.flip(x, axis=number % 2) + y * 0.25

    def block(t: Any, a: Any, values: list[Any]) -> list[Any]:
        for kind, first, second, number in plan:
            x, y = values[first], values[second]
            if kind == "cond":
                value = t.cond(
                    a[decides] > number % 4,
                    lambda x=x, y=y, n=number: combined(t, a, COMBINED[n % len(COMBINED)], x, y, n),
                    lambda x=x, y=y: t.np.tanh(y) - x * 0.5,
                )
            elif kind == "switch":
                value = t.switch(
                    a[decides],
                    [
                        lambda x, y, n=n: combined(t, a, COMBINED[n % len(COMBINED)], x, y, n)
                        for n in range(number, number + 2 + number % 3)
                    ],
                    x,
                    y,
                )
            else:
                value = combined(t, a, kind, x, y, number)
            # Sums of many values stay as large as they are.
            values = [*values, t.np.tanh(value * 0.75) if number % 3 == 0 else value * 0.7]
        return values

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        values = [a[x] for x in xs]
        if is_looped:
            first = t.fori_loop(
                0, rounds, lambda _, x: block(t, a, [x, *values[1:]])[-1] * 0.5 + x * 0.5, values[0]
            )
            values = [first, *values[1:]]
        values = block(t, a, values)
        return (values[-1], *(values[n_inputs + number] for number in results))

    return b.program(function)
