"""Random arrays as functions of keys: noise, dropout, samples, shuffles, walks in loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program

STEPS = (
    "normal",
    "dropout",
    "uniform",
    "exponential",
    "layer",
    "shuffle",
    "bootstrap",
    "order",
    "bits",
    "walk",
    "scan",
    "wait",
)

BITS = (np.uint32, np.uint8, np.uint16, np.uint64)
INTEGERS = (np.int64, np.int32, np.uint8, np.int8, np.uint64)

MOST_WAITED = 9


def make(b: Builder) -> Program:
    d = b.draws
    steps = d.integer("steps", 1, d.pick("scale", (6, 14, 40), (90, 9, 1)))
    rows, columns = d.small("rows", 1, 40), d.small("columns", 1, 40)
    shape = (rows, columns)
    keys = d.pick("keys", ("split", "fold_in", "all_at_once"))
    is_key_given = d.flag("is_key_given", 0.75)
    integers = d.pick("integers", INTEGERS)
    low, high = (-5, 7) if np.dtype(integers).kind == "i" else (2, 250)
    x_in = b.normal("x", shape)
    b.feedback[x_in] = 0
    seed = [int(word) for word in d.integers("key", 0, 1 << 32, (4,))]
    if is_key_given:
        key_in = b.input(np.array(seed), np.uint32)
        b.feedback[key_in] = 1
    plan: list[tuple[str, float, int, int, Any]] = []
    for number in range(steps):
        with b.scope(f"step{number}"):
            plan.append(
                (
                    d.pick("kind", STEPS),
                    d.pick("share", (0.5, 0.25, 0.875)),
                    d.integer("axis", 0, 1),
                    d.integer("length", 1, 5),
                    d.pick("bits", BITS),
                )
            )

    def step(t: Any, key: Any, x: Any, kind: str, share: float, axis: int, length: int, drawn: Any) -> Any:
        xp, random = t.np, t.random
        if kind == "normal":
            return x + random.normal(key, shape, b.dtype) * share
        if kind == "dropout":
            return xp.where(
                random.bernoulli(key, share, shape), x * (1 / share), xp.zeros(shape, dtype=b.dtype)
            )
        if kind == "uniform":
            return x * random.uniform(key, shape, b.dtype, -share, 1.0)
        if kind == "exponential":
            return x - random.exponential(key, shape[axis:], b.dtype) * share
        if kind == "layer":
            span = columns**-0.5
            return x @ random.uniform(key, (columns, columns), b.dtype, -span, span)
        if kind == "shuffle":
            return random.permutation(key, x, axis)
        if kind == "bootstrap":
            return xp.take(x, random.integers(key, shape[axis], shape=shape[axis]), axis=axis)
        if kind == "order":
            return xp.take(x, random.permutation(key, shape[axis]), axis=axis)
        if kind == "bits":
            few = xp.astype(random.bits(key, shape, drawn) & 7, b.dtype)
            return x + few * 0.125
        if kind == "walk":
            return t.fori_loop(
                0,
                length,
                lambda i, at: at * 0.5 + random.normal(random.fold_in(key, i), shape[1:], b.dtype),
                x,
            )
        if kind == "scan":

            def body(at: Any, own: Any) -> Any:
                return at + random.uniform(own, (), b.dtype), random.integers(own, 100)

            last, numbers = t.scan(body, x, random.split(key, length))
            return last * 0.5 + xp.astype(xp.sum(numbers), b.dtype) * (1 / 128)
        # Waits for a heads, which is a loop that ends by what is drawn in it.
        _, waited = t.while_loop(
            lambda state: ~random.bernoulli(state[0], share) & (state[1] < MOST_WAITED),
            lambda state: (random.split(state[0])[1], state[1] + 1),
            (key, xp.asarray(0, dtype=np.int32)),
        )
        return x + xp.astype(waited, b.dtype) * 0.25

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        number_of_key = sum(word << 32 * place for place, word in enumerate(seed))
        key = a[key_in] if is_key_given else t.random.key(number_of_key)
        x = a[x_in]
        every = t.random.split(key, steps + 1) if keys == "all_at_once" else None
        for number, each in enumerate(plan):
            if every is not None:
                own = every[number]
            elif keys == "fold_in":
                own = t.random.fold_in(key, number)
            else:
                pair = t.random.split(key)
                key, own = pair[0], pair[1]
            x = t.np.clip(step(t, own, x, *each), -8.0, 8.0)
        last = t.random.fold_in(key, -1)
        return x, last, t.random.integers(last, low, high, (3, 5), integers)

    return b.program(function)
