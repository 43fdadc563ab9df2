"""Time loops over stencils of one to three dims, in all sorts of loops and with all sorts of edges."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..program import Builder, Program


def make(b: Builder) -> Program:
    d = b.draws
    rank = d.pick("rank", (1, 2, 3), (3, 3, 2))
    most = {1: 70, 2: 24, 3: 9}[rank]
    extents = tuple(d.integer(f"extent{axis}", 3, most) for axis in range(rank))
    way = d.pick("loop", ("unrolled", "fori", "scan", "while", "nested"), (4, 3, 2, 1, 1))
    scale = d.pick("scale", ("small", "medium", "large"), (90, 9, 1))
    longest = {"small": 4, "medium": 12, "large": 40}[scale] if way == "unrolled" else 7
    steps = d.integer("steps", 1, longest)
    edges = d.pick("edges", ("padded", "wrapped", "edge", "reflect", "updated"))
    is_star = d.flag("star", 0.7)
    fields = d.small("fields", 1, 3)
    is_wave = d.flag("wave", 0.4)
    has_source = d.flag("source", 0.3)
    is_nonlinear = d.flag("nonlinear", 0.3)
    gives_norms = d.flag("norms", 0.3)

    offsets = [o for o in product((-1, 0, 1), repeat=rank) if not is_star or sum(map(abs, o)) <= 1]
    weights = [d.integer(f"weight{number}", -3, 3, 0) / 16 for number in range(len(offsets))]
    if not any(weights):
        weights[len(weights) // 2] = 0.5
    now = [b.normal(f"now{k}", extents) for k in range(fields)]
    before = [b.normal(f"before{k}", extents) for k in range(fields)] if is_wave else []
    source = b.normal("source", extents, 0.2) if has_source else None
    for place, number in enumerate((*now, *before)):
        b.feedback[number] = place

    def shifted(x: Any, offset: tuple[int, ...]) -> Any:
        return x[tuple(slice(1 + o, 1 + o + n) for o, n in zip(offset, extents, strict=True))]

    def smoothed(t: Any, x: Any) -> Any:
        if edges == "wrapped":
            terms = [t.np.roll(x, offset, axis=tuple(range(rank))) for offset in offsets]
        elif edges == "updated":
            inner = tuple(slice(1, n - 1) for n in extents)
            terms = [
                x[tuple(slice(1 + o, n - 1 + o) for o, n in zip(offset, extents, strict=True))]
                for offset in offsets
            ]
        else:
            padded = t.np.pad(x, 1, "constant" if edges == "padded" else edges)
            terms = [shifted(padded, offset) for offset in offsets]
        total: Any = None
        for term, weight in zip(terms, weights, strict=True):
            if weight:
                total = term * weight if total is None else total + term * weight
        return x.at[inner].set(total) if edges == "updated" else total

    def step(t: Any, a: Any, state: Any, field_of: Any = None) -> Any:
        values, olds = state
        following = []
        for number, value in enumerate(values):
            y = smoothed(t, value)
            if fields > 1:
                y = y + values[number - 1] * 0.125
            if source is not None:
                y = y + a[source]
            if is_nonlinear:
                y = t.np.tanh(y)
            if olds:
                y = y * 0.5 + value * 0.75 - olds[number] * 0.25
            following.append(y)
        return tuple(following), tuple(values) if olds else ()

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        state: Any = tuple(a[n] for n in now), tuple(a[n] for n in before)
        norms: tuple[Any, ...] = ()
        if way == "scan":

            def body(carried: Any, _: Any) -> Any:
                following = step(t, a, carried)
                return following, t.np.sum(following[0][0] * following[0][0])

            state, found = t.scan(body, state, None, length=steps)
            norms = (found,)
        elif way == "fori":
            state = t.fori_loop(0, steps, lambda _, carried: step(t, a, carried), state)
        elif way == "nested":
            state = t.fori_loop(
                0, 2, lambda _, outer: t.fori_loop(0, steps, lambda _, inner: step(t, a, inner), outer), state
            )
        elif way == "while":
            _, state = t.while_loop(
                lambda carried: carried[0] < steps,
                lambda carried: (carried[0] + 1, step(t, a, carried[1])),
                (t.np.asarray(0, dtype=np.int32), state),
            )
        else:
            for _ in range(steps):
                state = step(t, a, state)
        if gives_norms:
            norms = (*norms, *(t.np.sum(t.np.abs(value)) for value in state[0]))
        return (*state[0], *state[1], *norms)

    return b.program(function)
