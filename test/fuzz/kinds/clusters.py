"""k-means and nearest neighbours: distances, argmin, counts, means of what has a label, in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program


def make(b: Builder) -> Program:
    d = b.draws
    count, points, width = d.small("count", 1, 9), d.small("points", 1, 60), d.small("width", 1, 5)
    steps = d.integer("steps", 1, 6)
    way = d.pick("loop", ("while", "fori", "unrolled", "scan"))
    how = d.pick("means", ("product", "scatter", "where"))
    norm = d.pick("norm", ("squares", "product", "absolute"))
    # Blobs that are far apart, so that no label hangs on rounding.
    rng = d.generator("blobs")
    middles = np.stack([10.0 * np.arange(count) * (-1.0) ** axis for axis in range(width)], axis=1)
    labels = rng.integers(0, count, points)
    x = b.input(middles[labels] + rng.uniform(-1, 1, (points, width)), dims={0: "points"})
    centres_in = b.input(middles + rng.uniform(-1, 1, (count, width)))
    b.feedback[centres_in] = 0

    def nearest(t: Any, a: Any, centres: Any) -> Any:
        if norm == "product":
            dots = a[x] @ t.np.matrix_transpose(centres)
            squares = t.np.sum(centres * centres, axis=1)
            return t.np.argmin(squares - dots * 2.0, axis=1)
        offsets = a[x][:, None, :] - centres[None, :, :]
        apart = offsets * offsets if norm == "squares" else t.np.abs(offsets)
        return t.np.argmin(t.np.sum(apart, axis=-1), axis=1)

    def means(t: Any, a: Any, found: Any, centres: Any) -> Any:
        xp = t.np
        if how == "scatter":
            total = xp.zeros((count, width), dtype=b.dtype).at[found].add(a[x])
            many = (
                xp.zeros((count, 1), dtype=b.dtype).at[found].add(xp.ones((a[x].shape[0], 1), dtype=b.dtype))
            )
        else:
            is_member = found[None, :] == xp.arange(count, dtype=np.int64)[:, None]
            members = xp.astype(is_member, b.dtype)
            many = xp.sum(members, axis=1, keepdims=True)
            if how == "where":
                total = xp.sum(xp.where(is_member[:, :, None], a[x][None, :, :], 0.0), axis=1)
            else:
                total = members @ a[x]
        return xp.where(many > 0, total / xp.maximum(many, 1.0), centres)

    def step(t: Any, a: Any, centres: Any) -> Any:
        return means(t, a, nearest(t, a, centres), centres)

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        centres = a[centres_in]
        if way == "while":
            _, centres = t.while_loop(
                lambda state: state[0] < steps,
                lambda state: (state[0] + 1, step(t, a, state[1])),
                (t.np.asarray(0, dtype=np.int32), centres),
            )
        elif way == "fori":
            centres = t.fori_loop(0, steps, lambda _, c: step(t, a, c), centres)
        elif way == "scan":
            centres, _ = t.scan(lambda c, _: (step(t, a, c), t.np.sum(c)), centres, None, length=steps)
        else:
            for _ in range(steps):
                centres = step(t, a, centres)
        return centres, nearest(t, a, centres)

    return b.program(function)
