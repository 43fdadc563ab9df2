"""Recurrent networks: plain, GRU and LSTM cells, unrolled or by a scan, of one or both directions."""

from __future__ import annotations

from typing import Any

from ..program import Builder, Program
from .blocks import linear


def cell(b: Builder, kind: str, inputs: int, hidden: int) -> Any:
    """Returns `step(t, a, state, x)`, which gives the next state: a tuple whose first part is the output."""
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    of_input = linear(b, "x", inputs, gates * hidden, True)
    of_state = linear(b, "h", hidden, gates * hidden, b.draws.flag("bias"))

    def parts(x: Any) -> list[Any]:
        return [x[..., number * hidden : (number + 1) * hidden] for number in range(gates)]

    def step(t: Any, a: Any, state: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
        sigmoid, tanh = t.nn.sigmoid, t.np.tanh
        from_x, from_h = of_input(t, a, x), of_state(t, a, state[0])
        if kind == "rnn":
            return (tanh(from_x + from_h),)
        if kind == "gru":
            (xr, xz, xn), (hr, hz, hn) = parts(from_x), parts(from_h)
            update = sigmoid(xz + hz)
            new = tanh(xn + sigmoid(xr + hr) * hn)
            return ((1.0 - update) * new + update * state[0],)
        enter, forget, new, leave = parts(from_x + from_h)
        memory = sigmoid(forget) * state[1] + sigmoid(enter) * tanh(new)
        return sigmoid(leave) * tanh(memory), memory

    return step


def make(b: Builder) -> Program:
    d = b.draws
    kind = d.pick("cell", ("rnn", "gru", "lstm"))
    way = d.pick("loop", ("unrolled", "scan", "fori"), (5, 3, 2))
    scale = d.pick("scale", ("small", "medium", "large"), (90, 9, 1))
    most = {"small": 6, "medium": 16, "large": 40}[scale] if way == "unrolled" else 9
    steps = d.integer("steps", 1, most)
    layers = d.small("layers", 1, 3)
    batch = d.small("batch", 1, 5)
    features, hidden = d.small("features", 1, 20), d.small("hidden", 1, 20)
    is_both = way != "fori" and d.flag("both_directions", 0.25)
    gives_all = d.flag("gives_all")

    x_in = b.normal("x", (steps, batch, features), dims={1: "batch"})
    n_states = 2 if kind == "lstm" else 1
    made: list[Any] = []
    width = features
    for number in range(layers):
        with b.scope(f"layer{number}"):
            for direction in range(2 if is_both else 1):
                with b.scope(f"direction{direction}"):
                    states = tuple(
                        b.normal(f"state{k}", (batch, hidden), 0.5, {0: "batch"}) for k in range(n_states)
                    )
                    made.append((number, direction, cell(b, kind, width, hidden), states))
        width = hidden * (2 if is_both else 1)

    def run(t: Any, a: Any, step: Any, initial: tuple[Any, ...], x: Any, is_reverse: bool) -> tuple[Any, Any]:
        if way == "scan":

            def body(state: Any, row: Any) -> Any:
                following = step(t, a, state, row)
                return following, following[0]

            return t.scan(body, initial, x, reverse=is_reverse)
        if way == "fori":

            def at(index: Any, carried: Any) -> Any:
                state, outputs = carried
                following = step(t, a, state, x[index])
                return following, outputs.at[index].set(following[0])

            empty = t.np.zeros((steps, x.shape[1], hidden), dtype=b.dtype)
            return t.fori_loop(0, steps, at, (initial, empty))
        state, outputs = initial, []
        for index in reversed(range(steps)) if is_reverse else range(steps):
            state = step(t, a, state, x[index])
            outputs.append(state[0])
        return state, t.np.stack(outputs[::-1] if is_reverse else outputs, axis=0)

    # The last states are results, behind all else: so a program goes on where the last call of it ended.
    first = 1 if gives_all else 0
    for place, number in enumerate(n for *_, states in made for n in states):
        b.feedback[number] = first + place

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x, lasts = a[x_in], []
        for layer in range(layers):
            found: list[Any] = []
            for number, direction, step, states in made:
                if number == layer:
                    last, outputs = run(t, a, step, tuple(a[n] for n in states), x, direction == 1)
                    found.append(outputs)
                    lasts += last
            x = found[0] if len(found) == 1 else t.np.concat(found, axis=-1)
        return (*((x,) if gives_all else ()), *lasts)

    return b.program(function)
