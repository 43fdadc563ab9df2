"""
Random programs: `graph` text built op by op beside the same computation in plain numpy.

Floats start as small whole numbers, so that sums and products of them are exact whatever the order; from the
first rounding op on a value counts as inexact, is compared within a tolerance, and feeds only ops that do
not magnify errors (no comparison, no floor).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from hypothesis import strategies as st

from . import random_elementwise, random_indexing
from .random_elementwise import INTEGERS, TYPES, is_bounded

Array = np.ndarray[Any, np.dtype[Any]]

MAX_ELEMENTS = 400


def tensor_text(shape: Sequence[int], type: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{type}>"


@dataclass
class Value:
    """An SSA value: its name, its element type, what numpy says it is, and whether that is exact."""

    name: str
    type: str
    array: Array
    exact: bool

    @property
    def text(self) -> str:
        return tensor_text(self.array.shape, self.type)


@dataclass
class Program:
    """The text of a function `main`, its inputs by name, and what its results are."""

    lines: list[str] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)

    @property
    def text(self) -> str:
        arguments = ", ".join(f"%{value.name}: {value.text}" for value in self.inputs)
        types = ", ".join(value.text for value in self.results)
        names = ", ".join(f"%{value.name}" for value in self.results)
        body = "\n  ".join([*self.lines, f"func.return {names} : {types}"])
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n}}\n"


class Writer:
    def __init__(self, draw: Callable[..., Any]):
        self.draw = draw
        self.program = Program()

    def add(self, op: str, array: Array, type: str, exact: bool, suffix: Callable[[Value], str]) -> Value:
        value = Value(f"v{len(self.program.lines)}", type, np.asarray(array, TYPES[type]), exact)
        self.program.lines.append(f"%{value.name} = graph.{op} {suffix(value)}")
        self.program.values.append(value)
        return value

    def hidden(self, words: str) -> str:
        """Adds an op whose value goes nowhere but into the next one, and returns its name."""
        name = f"v{len(self.program.lines)}"
        self.program.lines.append(f"%{name} = {words}")
        return name

    def one_of(self, options: Sequence[Any]) -> Any:
        """Draws one of many. The first are drawn most: which these are differs from program to program."""
        so_far = b"".join(value.array.tobytes() for value in self.program.inputs)
        start = crc32("\n".join(self.program.lines).encode(), crc32(so_far)) % len(options)
        return self.draw(st.sampled_from([*options[start:], *options[:start]]))

    def pick(self, accept: Callable[[Value], bool]) -> Value | None:
        found = [value for value in self.program.values if accept(value)]
        return self.draw(st.sampled_from(found)) if found else None


def _reshape(w: Writer) -> None:
    value = w.pick(lambda v: True)
    if value is None:
        return
    size = value.array.size
    shapes = [(size,), (1, size), (size, 1)]
    shapes += [(d, size // d) for d in range(2, 9) if size and size % d == 0]
    shapes += [(2, size // 4, 2)] if size and size % 4 == 0 else []
    shape = w.draw(st.sampled_from(shapes))
    w.add(
        "reshape",
        value.array.reshape(shape),
        value.type,
        value.exact,
        lambda v: f"%{value.name} : {value.text} -> {v.text}",
    )


def _permute(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 1)
    if value is None:
        return
    axes = list(w.draw(st.permutations(range(value.array.ndim))))
    array = value.array.transpose(axes)
    w.add("permute", array, value.type, value.exact, lambda _: f"%{value.name} {axes} : {value.text}")


def _broadcast(w: Writer) -> None:
    value = w.pick(lambda v: v.array.size <= 64)
    if value is None:
        return
    shape = [w.draw(st.integers(1, 4)) if extent == 1 else extent for extent in value.array.shape]
    if len(shape) < 3 and w.draw(st.booleans()):
        shape = [w.draw(st.integers(1, 5)), *shape]
    array = np.broadcast_to(value.array, shape)
    w.add("broadcast", array, value.type, value.exact, lambda v: f"%{value.name} : {value.text} -> {v.text}")


def _slice(w: Writer) -> None:
    value = w.pick(lambda v: True)
    if value is None:
        return
    offsets, sizes, strides, index = [], [], [], []
    for extent in value.array.shape:
        offset = w.draw(st.integers(0, max(extent - 1, 0)))
        stride = w.draw(st.integers(1, 3))
        most = len(range(offset, extent, stride))
        size = w.draw(st.integers(min(1, most), most))
        offsets.append(offset if extent else 0)
        sizes.append(size)
        strides.append(stride)
        index.append(slice(offset, offset + size * stride, stride))
    array = value.array[tuple(index)]
    w.add(
        "slice",
        array,
        value.type,
        value.exact,
        lambda _: f"%{value.name} offsets {offsets} sizes {sizes} strides {strides} : {value.text}",
    )


def _flip(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0)
    if value is None:
        return
    axes = sorted(w.draw(st.sets(st.integers(0, value.array.ndim - 1), min_size=1)))
    array = np.flip(value.array, axes)
    w.add("flip", array, value.type, value.exact, lambda _: f"%{value.name} axes {axes} : {value.text}")


def _pad(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0 and v.array.size <= 64)
    if value is None:
        return
    low = [w.draw(st.integers(0, 2)) for _ in value.array.shape]
    high = [w.draw(st.integers(0, 2)) for _ in value.array.shape]
    number = {"f32": "-1.5", "i1": "true"}.get(value.type, "7")
    filler = {"f32": -1.5, "i1": True}.get(value.type, 7)
    scalar = w.add("constant", np.array(filler), value.type, True, lambda v: f"dense<{number}> : {v.text}")
    array = np.pad(value.array, list(zip(low, high, strict=True)), constant_values=filler)
    w.add(
        "pad",
        array,
        value.type,
        value.exact,
        lambda _: f"%{value.name}, %{scalar.name} low {low} high {high} : {value.text}",
    )


def _concat(w: Writer) -> None:
    first = w.pick(lambda v: v.array.ndim > 0 and v.array.size <= 100)
    if first is None:
        return
    axis = w.draw(st.integers(0, first.array.ndim - 1))

    def fits(value: Value) -> bool:
        shape, other = list(value.array.shape), list(first.array.shape)
        if value.type != first.type or len(shape) != len(other):
            return False
        shape[axis] = other[axis] = 0
        return shape == other

    second = w.pick(fits)
    assert second is not None
    array = np.concatenate([first.array, second.array], axis)
    exact = first.exact and second.exact
    w.add(
        "concat",
        array,
        first.type,
        exact,
        lambda v: f"%{first.name}, %{second.name} axis {axis} : {first.text}, {second.text} -> {v.text}",
    )


def _reduce(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0)
    if value is None:
        return
    axes = sorted(w.draw(st.sets(st.integers(0, value.array.ndim - 1), min_size=1)))
    keep = w.draw(st.booleans())
    kinds: dict[str, Callable[..., Array]] = {"and": np.all, "or": np.any}
    if value.type != "i1":
        limits = np.iinfo(value.array.dtype) if value.type in INTEGERS else None
        low, high = (limits.min, limits.max) if limits is not None else (-np.inf, np.inf)
        kinds = {
            "add": lambda a, **k: np.sum(a, dtype=a.dtype, **k),
            "max": lambda a, **k: np.max(a, initial=low, **k),
            "min": lambda a, **k: np.min(a, initial=high, **k),
        }
        if value.type == "f32" and value.array.size and np.abs(value.array).max() > 2**14:
            del kinds["add"]
    if value.type in INTEGERS:
        kinds["mul"] = lambda a, **k: np.prod(a, dtype=a.dtype, **k)
    kind = w.draw(st.sampled_from(sorted(kinds)))
    array = kinds[kind](value.array, axis=tuple(axes), keepdims=keep)
    words = f"axes {axes}" + (" keep" if keep else "")
    w.add(
        f"reduce {kind}",
        array,
        value.type,
        value.exact and np.isfinite(array.astype(np.float64)).all(),
        lambda v: f"%{value.name} {words} : {value.text} -> {v.text}",
    )


def _contract(w: Writer) -> None:
    lhs = w.pick(lambda v: v.type != "i1" and v.array.ndim == 2 and is_bounded(v))
    if lhs is None:
        return
    rows, inner = lhs.array.shape
    rhs = w.pick(
        lambda v: v.type == lhs.type and v.array.ndim == 2 and inner in v.array.shape and is_bounded(v)
    )
    if rhs is None:
        return
    plain = rhs.array.shape[0] == inner
    columns = rhs.array.shape[1 if plain else 0]
    if rows * columns > MAX_ELEMENTS:
        return
    array = lhs.array @ (rhs.array if plain else rhs.array.T)
    right = "(k, n)" if plain else "(n, k)"
    maps = ", ".join(f"affine_map<(m, n, k) -> {to}>" for to in ("(m, k)", right, "(m, n)"))
    w.add(
        "contract",
        array,
        lhs.type,
        lhs.exact and rhs.exact,
        lambda v: f"%{lhs.name}, %{rhs.name} maps [{maps}] : {lhs.text}, {rhs.text} -> {v.text}",
    )


def _pad_inside(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0 and 0 < v.array.size <= 40)
    if value is None:
        return
    shape = value.array.shape
    low = [w.draw(st.integers(0, 2)) for _ in shape]
    high = [w.draw(st.integers(0, 2)) for _ in shape]
    inner = [w.draw(st.integers(0, 2)) for _ in shape]
    number = {"f32": "2.5", "i32": "-3", "i1": "true"}.get(value.type, "7")
    filler = {"f32": 2.5, "i32": -3, "i1": True}.get(value.type, 7)
    scalar = w.add("constant", np.array(filler), value.type, True, lambda v: f"dense<{number}> : {v.text}")
    spans = [(extent - 1) * (n + 1) + 1 for extent, n in zip(shape, inner, strict=True)]
    sums = [a + span + b for a, span, b in zip(low, spans, high, strict=True)]
    array = np.full(sums, filler, value.array.dtype)
    array[tuple(slice(a, a + n, m + 1) for a, n, m in zip(low, spans, inner, strict=True))] = value.array
    words = f"low {low} high {high} interior {inner}"
    w.add(
        "pad",
        array,
        value.type,
        value.exact,
        lambda _: f"%{value.name}, %{scalar.name} {words} : {value.text}",
    )


def _pad_with(w: Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0 and 0 < v.array.size <= 64)
    if value is None:
        return
    mode = w.draw(st.sampled_from(["edge", "reflect", "symmetric", "wrap"]))
    pads = [(w.draw(st.integers(0, 5)), w.draw(st.integers(0, 5))) for _ in value.array.shape]
    array = np.pad(value.array, pads, mode)
    words = f"low {[low for low, _ in pads]} high {[high for _, high in pads]}"
    w.add(
        f"pad_with {mode}", array, value.type, value.exact, lambda _: f"%{value.name} {words} : {value.text}"
    )


def _arg_reduce(w: Writer) -> None:
    value = w.pick(lambda v: v.exact and v.array.ndim > 0 and v.array.size > 0)
    if value is None:
        return
    axis = w.draw(st.integers(0, value.array.ndim - 1))
    keep = w.draw(st.booleans())
    kind, find = w.draw(st.sampled_from([("max", np.argmax), ("min", np.argmin)]))
    array = find(value.array, axis, keepdims=keep)
    index = tensor_text(array.shape, "i64")
    words = f"axis {axis}{' keep' if keep else ''}"
    name = w.hidden(f"graph.arg_reduce {kind} %{value.name} {words} : {value.text} -> {index}")
    w.add("cast", array, "i32", True, lambda v: f"%{name} : {index} -> {v.text}")


def _windows(w: Writer) -> None:
    """A contraction of the windows along the last axis."""
    value = w.pick(lambda v: v.type != "i1" and v.array.ndim > 0 and v.array.shape[-1] > 2 and is_bounded(v))
    if value is None:
        return
    extent = value.array.shape[-1]
    size = w.draw(st.integers(1, min(4, extent)))
    step = w.draw(st.integers(1, 3))
    count = (extent - size) // step + 1
    windows = np.lib.stride_tricks.sliding_window_view(value.array, size, -1)[..., ::step, :]
    kinds: dict[str, Callable[..., Array]] = {
        "add": lambda a: np.sum(a, -1, dtype=a.dtype),
        "max": lambda a: np.max(a, -1),
        "min": lambda a: np.min(a, -1),
    }
    kind = w.draw(st.sampled_from(sorted(kinds)))
    dims = [f"d{axis}" for axis in range(value.array.ndim)]
    outer = ", ".join(dims)
    source = ", ".join([*dims[:-1], f"{dims[-1]} * {step} + k"])
    bounds = [*value.array.shape[:-1], count, size]
    maps = f"affine_map<({outer}, k) -> ({source})>, affine_map<({outer}, k) -> ({outer})>"
    w.add(
        "contract",
        kinds[kind](windows),
        value.type,
        value.exact,
        lambda v: f"%{value.name} maps [{maps}] bounds {bounds} accumulate {kind} : {value.text} -> {v.text}",
    )


def _tropical(w: Writer) -> None:
    lhs = w.pick(lambda v: v.type != "i1" and v.array.ndim == 2 and is_bounded(v))
    if lhs is None:
        return
    rhs = w.pick(lambda v: v.type == lhs.type and v.array.shape == lhs.array.shape and is_bounded(v))
    assert rhs is not None
    rows, inner = lhs.array.shape
    if rows * rows > MAX_ELEMENTS or not inner:
        return
    combine, function = w.draw(st.sampled_from([("add", np.add), ("sub", np.subtract), ("max", np.maximum)]))
    kind, fold = w.draw(st.sampled_from([("max", np.max), ("min", np.min)]))
    array = fold(function(lhs.array[:, None, :], rhs.array[None, :, :]), -1)
    maps = ", ".join(f"affine_map<(m, n, k) -> {to}>" for to in ("(m, k)", "(n, k)", "(m, n)"))
    words = f"maps [{maps}] accumulate {kind} combine {combine}"
    exact = lhs.exact and rhs.exact
    w.add(
        "contract",
        array,
        lhs.type,
        exact,
        lambda v: f"%{lhs.name}, %{rhs.name} {words} : {lhs.text}, {rhs.text} -> {v.text}",
    )


_STEPS = (
    *random_elementwise.STEPS,
    *random_elementwise.STEPS,
    _reshape,
    _permute,
    _broadcast,
    _slice,
    _flip,
    _pad,
    _concat,
    _reduce,
    _reduce,
    _contract,
    _pad_inside,
    _pad_with,
    _arg_reduce,
    _windows,
    _tropical,
    *random_indexing.STEPS,
)


@st.composite
def programs(draw: Callable[..., Any], max_steps: int = 12) -> Program:
    """Draws a program of up to `max_steps` ops on one to three inputs, with one to three results."""
    writer = Writer(draw)
    program = writer.program
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    for number in range(draw(st.integers(1, 3))):
        shape = draw(
            st.sampled_from([(), (1,), (9,), (17, 5), (4, 19), (3, 4, 8), (2, 0), (33,), (16, 16), (1, 8)])
        )
        type = draw(st.sampled_from(["f32", "f32", "i32", "ui32"]))
        array = rng.integers(0 if type == "ui32" else -6, 7, shape).astype(TYPES[type])
        program.inputs.append(Value(f"x{number}", type, array, True))
    program.values.extend(program.inputs)
    for _ in range(draw(st.integers(1, max_steps))):
        count = len(program.values)
        draw(st.sampled_from(_STEPS))(writer)
        for value in program.values[count:]:
            if value.array.size > MAX_ELEMENTS:
                program.values = [v for v in program.values if v is not value]
    own = [value for value in program.values if value not in program.inputs] or program.inputs
    chosen = draw(st.lists(st.sampled_from(range(len(own))), min_size=1, max_size=3))
    program.results = [own[index] for index in chosen]
    return program


def assert_agrees(program: Program, results: Any) -> None:
    """Compares what a call of a program gives with what numpy says."""
    found_all = results if len(program.results) > 1 else (results,)
    for expected, found in zip(program.results, found_all, strict=True):
        assert found.dtype == expected.array.dtype and found.shape == expected.array.shape
        if expected.exact:
            np.testing.assert_array_equal(found, expected.array, err_msg=program.text)
        else:
            finite = expected.array[np.isfinite(expected.array)]
            scale = float(np.abs(finite).max()) if finite.size else 1.0
            np.testing.assert_allclose(
                found, expected.array, rtol=2e-5, atol=2e-5 * max(scale, 1.0), err_msg=program.text
            )
