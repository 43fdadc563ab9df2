"""Jacobi, conjugate gradients, power iteration and others, until a count or a bound, in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program


def make(b: Builder) -> Program:
    d = b.draws
    method = d.pick("method", ("jacobi", "gradients", "power", "newton", "richardson"))
    way = d.pick("loop", ("unrolled", "fori", "while", "scan", "until"), (4, 3, 2, 2, 1))
    size = d.small("size", 1, 40)
    most = d.pick("scale", (4, 10, 30), (90, 9, 1)) if way == "unrolled" else 8
    steps = d.integer("steps", 1, most)
    columns = d.small("columns", 1, 5)
    is_batched = method != "power" and d.flag("batched", 0.2)
    batch = (d.small("batch", 1, 3),) if is_batched else ()

    spread = d.normal("matrix", (*batch, size, size))
    spd = spread @ np.swapaxes(spread, -1, -2) / size + 2 * np.eye(size)
    if method == "jacobi":
        spd = spread / size**0.5 / 4 + (2 + size**0.5 / 4) * np.eye(size)
    matrix = b.input(spd)
    right = b.normal("right", (*batch, size, columns))
    start = b.normal("start", (*batch, size, columns))
    b.feedback[start] = 0

    def dot(t: Any, x: Any, y: Any) -> Any:
        return t.np.sum(x * y, axis=-2, keepdims=True)

    def initial(t: Any, a: Any) -> tuple[Any, ...]:
        if method != "gradients":
            return (a[start],)
        residual = a[right] - a[matrix] @ a[start]
        return a[start], residual, residual

    def step(t: Any, a: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        x = state[0]
        if method == "jacobi":
            diagonal = t.np.sum(a[matrix] * t.np.eye(size, dtype=b.dtype), axis=-1, keepdims=True)
            return (x + (a[right] - a[matrix] @ x) / diagonal,)
        if method == "richardson":
            return (x + (a[right] - a[matrix] @ x) * 0.125,)
        if method == "power":
            y = a[matrix] @ x
            return (y / t.np.sqrt(t.np.sum(y * y, axis=0, keepdims=True) + 1e-3),)
        if method == "newton":
            value = x * x * x * 0.25 + x * 2.0 + t.np.sin(x) - a[right]
            return (x - value / (x * x * 0.75 + 2.0 + t.np.cos(x)),)
        _, r, p = state
        q = a[matrix] @ p
        squares = dot(t, r, r)
        alpha = squares / (dot(t, p, q) + 1e-3)
        r = r - alpha * q
        beta = dot(t, r, r) / (squares + 1e-3)
        return x + alpha * p, r, r + beta * p

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        state = initial(t, a)
        if way == "unrolled":
            for _ in range(steps):
                state = step(t, a, state)
        elif way == "fori":
            state = t.fori_loop(0, steps, lambda _, carried: step(t, a, carried), state)
        elif way == "while":
            _, state = t.while_loop(
                lambda carried: carried[0] < steps,
                lambda carried: (carried[0] + 1, step(t, a, carried[1])),
                (t.np.asarray(0, dtype=np.int32), state),
            )
        elif way == "until":
            # A bound that is halved in each round: exact, whatever is rounded elsewhere.
            _, state = t.while_loop(
                lambda carried: carried[0] > 2.0 ** (-steps),
                lambda carried: (carried[0] * 0.5, step(t, a, carried[1])),
                (t.np.asarray(1.0, dtype=np.float32), state),
            )
        else:

            def body(carried: Any, _: Any) -> Any:
                following = step(t, a, carried)
                return following, t.np.max(t.np.abs(following[0]))

            state, history = t.scan(body, state, None, length=steps)
            return state[0], history
        residual = a[right] - a[matrix] @ state[0] if method != "power" else state[0]
        return state[0], t.np.sum(residual * residual)

    return b.program(function)
