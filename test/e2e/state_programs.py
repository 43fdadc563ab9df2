"""Random programs over tensor nodes, with what they should compute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Array = npt.NDArray[Any]

N = 4
SHAPES: dict[str, tuple[int, ...]] = {"a": (N, N), "b": (N, N), "t": (3, N, N), "l": (N, N), "o": (N, N)}
MODES = {"a": "hosted", "b": "on_device", "t": "materialized", "l": "local", "o": None}
SYMBOLS = ("i", "j")
DECLARATIONS = "".join(
    f"graph.tnode @{name} : tensor<{'x'.join(map(str, shape))}xi32>"
    f"{f' mode {MODES[name]}' if MODES[name] else ''}\n"
    for name, shape in SHAPES.items()
)


def type_of(shape: tuple[int, ...]) -> str:
    return "tensor<" + "x".join([*map(str, shape), "i32"]) + ">"


@dataclass
class StateProgram:
    """A program's text, what it is run with, and what it gives: results, and nodes afterwards."""

    symbols: dict[str, int]
    argument: Array
    before: dict[str, Array]
    merge: Array
    after: dict[str, Array]
    merges: bool = True
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, Array]] = field(default_factory=list[tuple[str, Array]])
    results: list[tuple[str, Array]] = field(default_factory=list[tuple[str, Array]])

    def add(self, text: str, shape: tuple[int, ...], value: Array) -> None:
        name = f"%v{len(self.values)}"
        self.lines.append(f"{name} = {text}")
        assert value.shape == shape
        self.values.append((name, value.copy()))

    @property
    def text(self) -> str:
        arguments = [f"%{symbol}: index" for symbol in SYMBOLS]
        arguments.insert(1, f"%x: {type_of((N, N))}")
        types = [type_of(value.shape) for _, value in self.results]
        result = f" -> ({', '.join(types)})" if types else ""
        names = ", ".join(name for name, _ in self.results)
        ending = f"func.return {names} : {', '.join(types)}" if types else "func.return"
        body = "\n  ".join([*self.lines, ending])
        return f"{DECLARATIONS}func.func @step({', '.join(arguments)}){result} {{\n  {body}\n}}\n"

    @property
    def routine_text(self) -> str:
        """The program with nodes for its argument, `@x`, and its results, `@result0`, `@result1`, ..."""
        declarations = [f"graph.tnode @x : {type_of((N, N))}"]
        lines = [f"%x = graph.read @x : {type_of((N, N))}", *self.lines]
        for number, (name, value) in enumerate(self.results):
            declarations.append(f"graph.tnode @result{number} : {type_of(value.shape)}")
            lines.append(f"graph.write @result{number}, {name} : {type_of(value.shape)}")
        arguments = ", ".join(f"%{symbol}: index" for symbol in SYMBOLS)
        body = "\n  ".join([*lines, "func.return"])
        joined = "\n".join(declarations)
        return f"{DECLARATIONS}{joined}\nfunc.func @step({arguments}) {{\n  {body}\n}}\n"


def _random(seed: int, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(np.int32)


@st.composite
def state_programs(draw: st.DrawFn, merges: bool = True, max_size: int = 14) -> StateProgram:
    symbols = {symbol: draw(st.integers(0, 2)) for symbol in SYMBOLS}
    before = {name: _random(number, shape) for number, (name, shape) in enumerate(SHAPES.items())}
    del before["l"]
    program = StateProgram(
        symbols,
        _random(20, (N, N)),
        before,
        _random(21, (N, N)),
        {name: array.copy() for name, array in before.items()},
        merges,
    )
    program.values.append(("%x", program.argument))
    for _ in range(draw(st.integers(1, max_size))):
        draw(st.sampled_from([_draw_read, _draw_write, _draw_write, _draw_op, _draw_op]))(draw, program)
    program.results = draw(st.lists(st.sampled_from(program.values), max_size=3))
    return program


def _draw_place(draw: st.DrawFn, program: StateProgram) -> tuple[str, str, tuple[int, ...]]:
    """Returns a node, the text of its indices, and their values."""
    name = draw(st.sampled_from(["a", "a", "b", "t", "t", "l", "o"]))
    count = draw(st.integers(0, 2)) if name == "t" else draw(st.sampled_from([0, 0, 1])) if name == "b" else 0
    taken = [draw(st.sampled_from(SYMBOLS)) for _ in range(count)]
    indices = f"[{', '.join('%' + symbol for symbol in taken)}]" if taken else ""
    return name, indices, tuple(program.symbols[symbol] for symbol in taken)


def _draw_read(draw: st.DrawFn, program: StateProgram) -> None:
    if program.merges and draw(st.integers(0, 7)) == 0:
        program.add(f"graph.merge @a : {type_of((N, N))}", (N, N), program.merge)
        return
    name, indices, place = _draw_place(draw, program)
    if name not in program.after:
        return
    value = np.asarray(program.after[name][place])
    program.add(f"graph.read @{name}{indices} : {type_of(value.shape)}", value.shape, value)


def _draw_write(draw: st.DrawFn, program: StateProgram) -> None:
    name, indices, place = _draw_place(draw, program)
    shape = SHAPES[name][len(place) :]
    fitting = [pair for pair in program.values if pair[1].shape == shape]
    if not fitting:
        return
    text, value = draw(st.sampled_from(fitting))
    accumulates = name in program.after and draw(st.booleans())
    if accumulates:
        value = program.after[name][place] + value
    if name not in program.after:
        program.after[name] = np.zeros(SHAPES[name], np.int32)
    program.after[name][place] = value
    add = "add " if accumulates else ""
    program.lines.append(f"graph.write {add}@{name}{indices}, {text} : {type_of(shape)}")


def _draw_op(draw: st.DrawFn, program: StateProgram) -> None:
    text, value = draw(st.sampled_from(program.values))
    type = type_of(value.shape)
    kind = draw(st.sampled_from(["binary", "binary", "neg", "flip", "sum", "slice", "transpose", "constant"]))
    match kind:
        case "binary":
            other, second = draw(
                st.sampled_from([pair for pair in program.values if pair[1].shape == value.shape])
            )
            op = draw(st.sampled_from(["add", "sub", "max"]))
            function = {"add": np.add, "sub": np.subtract, "max": np.maximum}[op]
            program.add(f"graph.{op} {text}, {other} : {type}", value.shape, function(value, second))
        case "neg":
            program.add(f"graph.neg {text} : {type}", value.shape, -value)
        case "flip":
            program.add(f"graph.flip {text} axes [0] : {type}", value.shape, np.flip(value, 0))
        case "sum":
            total = value.sum(axis=-1, keepdims=True, dtype=np.int32)
            kept = type_of(total.shape)
            program.add(
                f"graph.reduce add {text} axes [{value.ndim - 1}] keep : {type} -> {kept}",
                total.shape,
                total,
            )
            last = program.values[-1][0]
            wide = np.broadcast_to(total, value.shape)
            program.add(f"graph.broadcast {last} : {kept} -> {type}", value.shape, wide)
        case "slice" if value.ndim > 1 and value.shape[0] > 2:
            sizes = [1, *value.shape[1:]]
            offsets, strides = [2, *[0] * (value.ndim - 1)], [1] * value.ndim
            part = value[2:3]
            program.add(
                f"graph.slice {text} offsets {offsets} sizes {sizes} strides {strides} : {type}",
                part.shape,
                part,
            )
            last = program.values[-1][0]
            rest = value.shape[1:]
            program.add(
                f"graph.reshape {last} : {type_of(part.shape)} -> {type_of(rest)}", rest, part.reshape(rest)
            )
        case "transpose" if value.shape == (N, N):
            program.add(f"graph.permute {text} [1, 0] : {type}", (N, N), value.T)
        case _:
            program.add(f"graph.constant dense<7> : {type_of((N, N))}", (N, N), np.full((N, N), 7, np.int32))
