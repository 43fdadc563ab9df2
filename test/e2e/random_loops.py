"""
Random programs with loops and branches, nested in one another, beside the same computation in plain numpy.

All numbers are i32 and wrap, so that results are exact. A block is drawn as its text and as a function that
runs it on the values of its names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, np.dtype[Any]]
Values = dict[str, Array]
Run = Callable[[Values], None]

LENGTH = 3
"""How many rows `%rows` has."""

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "xor": np.bitwise_xor,
}


@dataclass
class LoopProgram:
    """The text of a function `main`, its inputs, and what its results are."""

    text: str
    inputs: list[Array]
    results: list[Array]


class _Writer:
    def __init__(self, draw: Callable[..., Any], shape: tuple[int, ...]) -> None:
        self.draw = draw
        self.shape = shape
        self.numbers = count()
        self.type = f"tensor<{''.join(f'{extent}x' for extent in shape)}i32>"
        self.rows = f"tensor<{''.join(f'{extent}x' for extent in (LENGTH, *shape))}i32>"

    def name(self, hint: str) -> str:
        return f"{hint}{next(self.numbers)}"

    def pick(self, names: list[str]) -> str:
        return self.draw(st.sampled_from(names))

    def block(self, names: list[str], depth: int) -> tuple[list[str], list[Run]]:
        """Draws ops over the values `names`, which grow by what they give."""
        lines: list[str] = []
        runs: list[Run] = []
        for _ in range(self.draw(st.integers(0 if depth else 1, 4))):
            kinds = [self.binary, self.binary, self.flip, self.less_one, self.update]
            if len(self.shape) == 1 and self.shape[0]:
                kinds.append(self.gather)
            if depth < 3:
                kinds += [self.branch, self.scan, self.loop]
            more, run = self.draw(st.sampled_from(kinds))(names, depth)
            lines += more
            runs.append(run)
        return lines, runs

    def binary(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        op = self.draw(st.sampled_from(sorted(_BINARY)))
        a, b, c = self.pick(names), self.pick(names), self.name("v")
        names.append(c)

        def run(values: Values) -> None:
            values[c] = _BINARY[op](values[a], values[b])

        return [f"%{c} = graph.{op} %{a}, %{b} : {self.type}"], run

    def flip(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        a, c = self.pick(names), self.name("v")
        names.append(c)
        axes = list(range(len(self.shape)))

        def run(values: Values) -> None:
            values[c] = np.flip(values[a], axes) if axes else values[a]

        return [f"%{c} = graph.flip %{a} axes {axes} : {self.type}"], run

    def less_one(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        a, one, c = self.pick(names), self.name("k"), self.name("v")
        names.append(c)

        def run(values: Values) -> None:
            values[c] = values[a] - np.int32(1)

        lines = [
            f"%{one} = graph.constant dense<1> : {self.type}",
            f"%{c} = graph.sub %{a}, %{one} : {self.type}",
        ]
        return lines, run

    def update(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        """Stores a box of one value over another, each at a place of its own."""
        a, b, box, c = self.pick(names), self.pick(names), self.name("b"), self.name("v")
        from_lines, taken, taken_at = self.scalar(self.pick(names))
        to_lines, placed, placed_at = self.scalar(self.pick(names))
        names.append(c)
        rank = len(self.shape)
        sizes = [self.draw(st.integers(min(1, extent), extent)) for extent in self.shape]
        part = f"tensor<{''.join(f'{size}x' for size in sizes)}i32>"
        types = ", ".join(["tensor<i32>"] * rank)
        lines = [
            *from_lines,
            *to_lines,
            f"%{box} = graph.dynamic_slice %{b}[{', '.join([f'%{taken}'] * rank)}] sizes {sizes} "
            f": {self.type}[{types}]",
            f"%{c} = graph.dynamic_update %{a}[{', '.join([f'%{placed}'] * rank)}], %{box} "
            f": {self.type}[{types}], {part}",
        ]

        def place(start: Array) -> tuple[slice, ...]:
            firsts = (min(int(start), extent - size) for extent, size in zip(self.shape, sizes, strict=True))
            return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))

        def run(values: Values) -> None:
            updated = np.array(values[a])
            updated[place(placed_at(values))] = values[b][place(taken_at(values))]
            values[c] = updated

        return lines, run

    def gather(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        a, b, c = self.pick(names), self.pick(names), self.name("v")
        names.append(c)
        types = f"{self.type}[{self.type}] -> {self.type}"

        def run(values: Values) -> None:
            values[c] = values[a][np.clip(values[b], 0, self.shape[0] - 1)]

        return [f"%{c} = graph.gather %{a}[%{b}] axes [0] : {types}"], run

    def scalar(self, a: str) -> tuple[list[str], str, Callable[[Values], Array]]:
        """A small number made of a value: its sum modulo 4."""
        total, four, small = self.name("t"), self.name("k"), self.name("s")
        axes = list(range(len(self.shape)))
        lines = [
            f"%{total} = graph.reduce add %{a} axes {axes} : {self.type} -> tensor<i32>",
            f"%{four} = graph.constant dense<4> : tensor<i32>",
            f"%{small} = graph.mod %{total}, %{four} : tensor<i32>",
        ]
        return lines, small, lambda values: values[a].sum(dtype=np.int32) % 4

    def branch(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        lines, small, number = self.scalar(self.pick(names))
        two, condition = self.name("k"), self.name("c")
        lines += [
            f"%{two} = graph.constant dense<2> : tensor<i32>",
            f"%{condition} = graph.lt %{small}, %{two} : tensor<i32>",
        ]
        results = [self.name("r") for _ in range(self.draw(st.integers(1, 2)))]
        branches: list[tuple[list[Run], list[str]]] = []
        for keyword in (
            f"{', '.join(f'%{r}' for r in results)} = graph.if %{condition} -> "
            f"({', '.join([self.type] * len(results))}) {{",
            "} else {",
        ):
            inner = list(names)
            body, runs = self.block(inner, depth + 1)
            given = [self.pick(inner) for _ in results]
            lines += [keyword, *body, self.yielded(given)]
            branches.append((runs, given))
        lines.append("}")
        names += results

        def run(values: Values) -> None:
            runs, given = branches[0 if number(values) < 2 else 1]
            seen = _run(runs, values)
            values.update(zip(results, [seen[name] for name in given], strict=True))

        return lines, run

    def yielded(self, names: list[str]) -> str:
        return f"graph.yield {', '.join(f'%{n}' for n in names)} : {', '.join([self.type] * len(names))}"

    def scan(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        n_carried = self.draw(st.integers(0, 3))
        initial = [self.pick(names) for _ in range(n_carried)]
        carried = [self.name("c") for _ in initial]
        results = [self.name("r") for _ in initial]
        stack, total, row, counter = self.name("s"), self.name("v"), self.name("x"), self.name("i")
        is_reverse = self.draw(st.booleans())
        inner = [*names, *carried, row]
        body, runs = self.block(inner, depth + 1)
        given = [self.pick(inner) for _ in range(n_carried + 1)]
        bindings = ", ".join(f"%{c} = %{i}" for c, i in zip(carried, initial, strict=True))
        order = "reverse " if is_reverse else ""
        types = ", ".join([self.type] * n_carried + [self.rows])
        lines = [
            f"{', '.join(f'%{r}' for r in (*results, stack))} = graph.scan %{counter} = {LENGTH} "
            f"{order}({bindings}) over (%{row} = %rows) : ({types}) -> ({types}) {{",
            *body,
            self.yielded(given),
            "}",
            f"%{total} = graph.reduce add %{stack} axes [0] : {self.rows} -> {self.type}",
        ]
        names += [*results, total]

        def run(values: Values) -> None:
            state = [values[name] for name in initial]
            stacked = np.zeros((LENGTH, *self.shape), np.int32)
            indices = range(LENGTH)
            for index in reversed(indices) if is_reverse else indices:
                around = values | dict(zip(carried, state, strict=True)) | {row: values["rows"][index]}
                seen = _run(runs, around)
                *state, stacked[index] = [seen[name] for name in given]
            values.update(zip(results, state, strict=True))
            values[total] = stacked.sum(axis=0, dtype=np.int32)

        return lines, run

    def loop(self, names: list[str], depth: int) -> tuple[list[str], Run]:
        lines, limit, number = self.scalar(self.pick(names))
        initial = [self.pick(names) for _ in range(self.draw(st.integers(1, 3)))]
        carried, results = [self.name("c") for _ in initial], [self.name("r") for _ in initial]
        zero, one, last, index = self.name("k"), self.name("k"), self.name("n"), self.name("i")
        more, following = self.name("m"), self.name("i")
        inner = [*names, *carried]
        body, runs = self.block(inner, depth + 1)
        given = [self.pick(inner) for _ in initial]
        types = ", ".join(["tensor<i32>"] + [self.type] * len(initial))
        bindings = "".join(f", %{c}_ = %{i}" for c, i in zip(carried, initial, strict=True))
        lines += [
            f"%{zero} = graph.constant dense<0> : tensor<i32>",
            f"%{one} = graph.constant dense<1> : tensor<i32>",
            f"{', '.join(f'%{r}' for r in (last, *results))} = graph.while (%{index}_ = %{zero}{bindings}) : "
            f"({types}) {{",
            f"%{more} = graph.lt %{index}_, %{limit} : tensor<i32>",
            f"graph.condition %{more}",
            f"}} do ({', '.join(f'%{c}' for c in (index, *carried))}) {{",
            *body,
            f"%{following} = graph.add %{index}, %{one} : tensor<i32>",
            f"graph.yield {', '.join(f'%{n}' for n in (following, *given))} : {types}",
            "}",
        ]
        names += results

        def run(values: Values) -> None:
            state = [values[name] for name in initial]
            for _ in range(int(number(values))):
                seen = _run(runs, values | dict(zip(carried, state, strict=True)))
                state = [seen[name] for name in given]
            values.update(zip(results, state, strict=True))

        return lines, run


def _run(runs: list[Run], values: Values) -> Values:
    """Runs a block, and returns the values that it sees and makes."""
    seen = dict(values)
    for run in runs:
        run(seen)
    return seen


@st.composite
def loop_programs(draw: Callable[..., Any]) -> LoopProgram:
    """Draws a function of two values and the rows that its scans go over, with one to three results."""
    shape = draw(st.sampled_from([(), (5,), (2, 3), (0,), (17,)]))
    writer = _Writer(draw, shape)
    names = ["a", "b"]
    lines, runs = writer.block(names, 0)
    own = [name for name in names if name not in "ab"] or names
    results = [draw(st.sampled_from(own)) for _ in range(draw(st.integers(1, 3)))]
    types = ", ".join([writer.type] * len(results))
    body = "\n  ".join([*lines, f"func.return {', '.join(f'%{r}' for r in results)} : {types}"])
    is_donated = draw(st.booleans())
    text = (
        f"func.func @main(%a: {writer.type}{' {tenon.donated}' if is_donated else ''}, %b: {writer.type}, "
        f"%rows: {writer.rows}) -> ({types}) {{\n  {body}\n}}\n"
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    inputs = [rng.integers(-9, 10, s, np.int32) for s in (shape, shape, (LENGTH, *shape))]
    with np.errstate(all="ignore"):
        seen = _run(runs, dict(zip(("a", "b", "rows"), inputs, strict=True)))
    return LoopProgram(text, inputs, [np.asarray(seen[name]) for name in results])
