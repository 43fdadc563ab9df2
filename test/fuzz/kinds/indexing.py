"""Gathers and scatters, slices and sorts, segments and scans along axes: chains of what moves elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program

KINDS = (
    "take",
    "rows",
    "slice",
    "strided",
    "reversed",
    "roll",
    "pad",
    "set",
    "add_at",
    "column_set",
    "sort",
    "argsort",
    "cumulative",
    "along",
    "tile",
    "triangle",
    "one_hot",
    "transpose",
    "dynamic",
    "scale",
    "segments",
    "fold",
)


def make(b: Builder) -> Program:
    d = b.draws
    steps = d.integer("steps", 2, d.pick("scale", (14, 40, 100), (90, 9, 1)))
    rows, columns = d.small("rows", 1, 30), d.small("columns", 1, 30)
    dtype = np.dtype(d.pick("element", ("float32", "int32", "float64", "int64", "int16"), (4, 2, 1, 1, 1)))
    raw = d.integers("x", -40, 41, (rows, columns))
    x_in = b.input(raw / 8 if dtype.kind == "f" else raw, dtype)
    ids = b.input(d.integers("ids", -rows, rows, (rows,)), np.int32)
    places = b.input(d.integers("places", 0, columns, (columns,)), np.int64)
    at = b.input(d.integers("at", 0, rows, ()), np.int32)
    b.feedback[x_in] = 0
    plan: list[tuple[str, int, int]] = []
    for number in range(steps):
        with b.scope(f"step{number}"):
            plan.append((d.pick("kind", KINDS), d.integer("number", 0, 5), d.integer("other", 0, number)))

    def moved(t: Any, a: Any, kind: str, n: int, x: Any, y: Any) -> Any:
        xp = t.np
        if kind == "take":
            return xp.take(x, a[ids], axis=0)
        if kind == "rows":
            return x[a[ids]] + y
        if kind == "slice":
            first = min(n, rows - 1)
            return xp.concat([x[first:], y[:first]], axis=0)
        if kind == "strided":
            step = 1 + n % 3
            return xp.concat([x[:, k::step] for k in range(step)], axis=1)
        if kind == "reversed":
            return x[::-1] - y[:, ::-1]
        if kind == "roll":
            return xp.roll(x, n, axis=n % 2)
        if kind == "pad":
            mode = ("constant", "edge", "wrap", "symmetric")[n % 4]
            return xp.pad(x, ((1, 0), (0, 2)), mode)[1:, : x.shape[1]] + xp.pad(x, 1, mode)[2:, 2:]
        if kind == "set":
            return x.at[a[ids] % rows].set(y)
        if kind == "add_at":
            return x.at[a[ids]].add(y)
        if kind == "column_set":
            return x.at[:, n % columns].set(y[:, 0])
        if kind == "sort":
            return xp.sort(x, axis=n % 2)
        if kind == "argsort":
            return xp.take_along_axis(y, xp.argsort(x, axis=1), axis=1)
        if kind == "cumulative":
            return xp.astype(xp.cumulative_sum(x, axis=n % 2), dtype)
        if kind == "along":
            return xp.take(x, a[places], axis=1)
        if kind == "tile":
            return xp.tile(x, (2, 2))[rows // 2 : rows // 2 + rows, :columns]
        if kind == "triangle":
            return xp.tril(x) - xp.triu(y, k=1)
        if kind == "one_hot":
            hot = t.nn.one_hot(a[ids] % columns, columns, dtype=dtype)
            return x + hot
        if kind == "transpose":
            return xp.reshape(xp.permute_dims(x, (1, 0)), (rows, columns))
        if kind == "dynamic":
            return x.at[a[at]].set(y[a[at]] + x[a[at]])
        if kind == "scale":
            return x * 0.5 if x.dtype.kind == "f" else x - y
        if kind == "segments":
            sums = xp.zeros((rows, columns), dtype=dtype).at[a[ids]].add(x)
            return xp.minimum(sums, 50)
        return xp.maximum(xp.max(x, axis=n % 2, keepdims=True) - y, xp.min(x, axis=n % 2, keepdims=True))

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        values = [a[x_in]]
        for kind, n, other in plan:
            value = moved(t, a, kind, n, values[-1], values[other])
            values.append(t.np.clip(value, -1000, 1000))
        return values[-1], t.np.argmax(values[-1], axis=1), t.np.sum(values[len(values) // 2], axis=0)

    return b.program(function)
