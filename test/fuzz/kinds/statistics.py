"""Softmaxes, norms, moments and products of arrays of several ranks, in chains."""

from __future__ import annotations

from typing import Any

from ..program import Builder, Program

KINDS = (
    "softmax",
    "log_softmax",
    "normalised",
    "standard",
    "rms",
    "logsumexp",
    "minmax",
    "outer",
    "gram",
    "powers",
    "smooth",
    "moments",
    "einsum",
    "hypot",
    "waves",
)


def make(b: Builder) -> Program:
    d = b.draws
    steps = d.integer("steps", 1, d.pick("scale", (8, 24, 80), (90, 9, 1)))
    rank = d.pick("rank", (2, 1, 3, 4), (3, 2, 2, 1))
    shape = tuple(d.small(f"extent{axis}", 1, {1: 200, 2: 40, 3: 12, 4: 6}[rank]) for axis in range(rank))
    x_in = b.normal("x", shape, dims={0: "extent0"} if rank > 1 else None)
    scale = b.normal("scale", shape[-1:])
    n_results = d.small("results", 1, 3)
    plan: list[tuple[str, int, int]] = []
    for number in range(steps):
        with b.scope(f"step{number}"):
            # Along axis 0 where that is not open: a reduction to the first axis has elements of all.
            plan.append(
                (d.pick("kind", KINDS), d.integer("axis", 1 if rank > 1 else 0, rank - 1), number % 5)
            )

    def step(t: Any, a: Any, kind: str, axis: int, n: int, x: Any) -> Any:
        xp = t.np

        def mean(v: Any) -> Any:
            return xp.mean(v, axis=axis, keepdims=True)

        if kind == "softmax":
            return t.nn.softmax(x, axis=axis)
        if kind == "log_softmax":
            return x * 0.5 - xp.logsumexp(x, axis=axis, keepdims=True)
        if kind == "normalised":
            return (x - mean(x)) * a[scale]
        if kind == "standard":
            return (x - mean(x)) / xp.sqrt(xp.var(x, axis=axis, keepdims=True) + 0.125)
        if kind == "rms":
            return x * xp.rsqrt(mean(xp.square(x)) + 0.125)
        if kind == "logsumexp":
            return xp.logsumexp(x, axis=axis, keepdims=True) - x
        if kind == "minmax":
            low, high = (f(x, axis=axis, keepdims=True) for f in (xp.min, xp.max))
            return (x - low) / (high - low + 0.5)
        if kind == "outer":
            return x + xp.sum(x, axis=axis, keepdims=True) * a[scale] * 0.125
        if kind == "gram" and x.ndim > 1:
            return (x @ xp.matrix_transpose(x) * (1 / x.shape[-1])) @ x * 0.25
        if kind == "powers":
            return x * (x**2 - 1.0) * 0.25 + (x * x + 1.0) ** -0.5
        if kind == "smooth":
            return (x + xp.roll(x, 1, axis=axis) + xp.roll(x, -1, axis=axis)) * (1 / 3)
        if kind == "moments":
            centered = x - mean(x)
            return centered + mean(centered * centered * centered)
        if kind == "einsum" and x.ndim == 2:
            return x * xp.einsum("ij,ij->i", x, x)[:, None] * (1 / x.shape[-1])
        if kind == "hypot":
            return xp.hypot(x, a[scale] + 2.0) - xp.logaddexp(x, a[scale])
        return xp.sin(x) + xp.cos(x * 0.5) * xp.exp(-xp.abs(x)) + xp.log1p(x * x) - xp.atan(x)

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        values = [a[x_in]]
        for each in plan:
            following = step(t, a, *each, values[-1])
            values.append(t.np.clip(following, -8.0, 8.0))
        return tuple(values[-n_results:])

    return b.program(function)
