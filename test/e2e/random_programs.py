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

import numpy as np
from hypothesis import strategies as st

from . import random_indexing

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32, "i1": np.bool_}
INTEGERS = ("i32", "ui32")
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


class _Writer:
    def __init__(self, draw: Callable[..., Any]):
        self.draw = draw
        self.program = Program()

    def add(self, op: str, array: Array, type: str, exact: bool, suffix: Callable[[Value], str]) -> Value:
        value = Value(f"v{len(self.program.lines)}", type, np.asarray(array, TYPES[type]), exact)
        self.program.lines.append(f"%{value.name} = graph.{op} {suffix(value)}")
        self.program.values.append(value)
        return value

    def pick(self, accept: Callable[[Value], bool]) -> Value | None:
        found = [value for value in self.program.values if accept(value)]
        return self.draw(st.sampled_from(found)) if found else None


_FLOAT_BINARY: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
_INTEGER_BINARY: dict[str, Callable[..., Array]] = {
    **_FLOAT_BINARY,
    "div": lambda a, b: np.where(b == 0, 0, a // np.where(b == 0, 1, b)),
    "mod": lambda a, b: np.where(b == 0, 0, a % np.where(b == 0, 1, b)),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_INTEGER_BINARY |= {
    "rem": lambda a, b: np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b))),
    "truncdiv": lambda a, b: np.where(b == 0, 0, np.trunc(a / np.where(b == 0, 1, b))).astype(a.dtype),
}
_EXACT_BINARY: dict[str, Callable[..., Array]] = {
    **_FLOAT_BINARY,
    "copysign": np.copysign,
    "rem": np.fmod,
    "floordiv": np.floor_divide,
}
"""Of floats that are not off at all: the results jump."""
_ROUNDING_BINARY: dict[str, Callable[..., Array]] = {"hypot": np.hypot, "logaddexp": np.logaddexp}
_TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit}
_BOOLEAN_BINARY: dict[str, Callable[..., Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}
_COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def _bounded(value: Value) -> bool:
    return value.array.size == 0 or bool(np.abs(value.array.astype(np.float64)).max() < 2**10)


def _unary(w: _Writer) -> None:
    value = w.pick(lambda v: v.type != "i1")
    if value is None:
        return
    ops: dict[str, Callable[[Array], Array]] = {
        "neg": np.negative,
        "abs": np.abs,
        "relu": lambda a: np.maximum(a, 0),
    }
    if value.type in INTEGERS:
        ops["not"] = np.invert
    elif value.exact:
        ops |= {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
    if value.exact:
        ops["sign"] = np.sign
    exact = value.exact
    if value.type == "f32" and _bounded(value) and w.draw(st.booleans()):
        ops = {"tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp": lambda a: np.exp(np.minimum(a, 0))}
        ops |= {"atan": np.arctan, "asinh": np.arcsinh}
        exact = False
    op = w.draw(st.sampled_from(sorted(ops)))
    source = value
    if op == "exp":
        zero = w.add("constant", np.zeros(value.array.shape), "f32", True, lambda v: f"dense<0.0> : {v.text}")
        source = w.add(
            "min",
            np.minimum(value.array, 0),
            "f32",
            value.exact,
            lambda v: f"%{value.name}, %{zero.name} : {v.text}",
        )
    w.add(op, ops[op](value.array), value.type, exact, lambda v: f"%{source.name} : {v.text}")


def _binary(w: _Writer) -> None:
    lhs = w.pick(lambda v: True)
    if lhs is None:
        return
    rhs = w.pick(lambda v: v.type == lhs.type and v.array.shape == lhs.array.shape)
    assert rhs is not None
    exact = lhs.exact and rhs.exact
    of_floats = _EXACT_BINARY if exact else _FLOAT_BINARY
    table = {"f32": of_floats, "i1": _BOOLEAN_BINARY}.get(lhs.type, _INTEGER_BINARY)
    if lhs.type == "f32" and _bounded(lhs) and _bounded(rhs) and w.draw(st.booleans()):
        table, exact = _ROUNDING_BINARY, False
    op = w.draw(st.sampled_from(sorted(table)))
    if lhs.type == "f32" and op == "mul" and not (_bounded(lhs) and _bounded(rhs)):
        op = "add"
    if (
        lhs.type == "f32"
        and op in ("add", "sub")
        and not all(v.array.size == 0 or np.abs(v.array).max() < 2**22 for v in (lhs, rhs))
    ):
        op = "max"
    with np.errstate(all="ignore"):
        array = table[op](lhs.array, rhs.array)
    w.add(op, array, lhs.type, exact, lambda v: f"%{lhs.name}, %{rhs.name} : {v.text}")


def _compare(w: _Writer) -> None:
    lhs = w.pick(lambda v: v.exact)
    if lhs is None:
        return
    rhs = w.pick(lambda v: v.exact and v.type == lhs.type and v.array.shape == lhs.array.shape)
    assert rhs is not None
    op = w.draw(st.sampled_from(sorted(_COMPARE)))
    w.add(
        op, _COMPARE[op](lhs.array, rhs.array), "i1", True, lambda v: f"%{lhs.name}, %{rhs.name} : {lhs.text}"
    )


def _test(w: _Writer) -> None:
    value = w.pick(lambda v: v.type == "f32" and v.exact)
    if value is None:
        return
    op = w.draw(st.sampled_from(sorted(_TESTS)))
    w.add(op, _TESTS[op](value.array), "i1", True, lambda v: f"%{value.name} : {value.text}")


def _select(w: _Writer) -> None:
    condition = w.pick(lambda v: v.type == "i1")
    if condition is None:
        return
    on_true = w.pick(lambda v: v.array.shape == condition.array.shape)
    assert on_true is not None
    on_false = w.pick(lambda v: v.type == on_true.type and v.array.shape == on_true.array.shape)
    assert on_false is not None
    array = np.where(condition.array, on_true.array, on_false.array)
    w.add(
        "select",
        array,
        on_true.type,
        on_true.exact and on_false.exact,
        lambda v: f"%{condition.name}, %{on_true.name}, %{on_false.name} : {v.text}",
    )


def _cast(w: _Writer) -> None:
    value = w.pick(lambda v: v.exact and _bounded(v))
    if value is None:
        return
    type = w.draw(st.sampled_from([t for t in TYPES if t != value.type]))
    array = value.array
    if type == "ui32" and value.type == "f32":
        array = np.maximum(array, 0)
    array = array != 0 if type == "i1" else array.astype(TYPES[type])
    w.add("cast", array, type, True, lambda v: f"%{value.name} : {value.text} -> {v.text}")


def _bitcast(w: _Writer) -> None:
    value = w.pick(lambda v: v.exact and v.type != "i1" and not np.isnan(v.array.astype(np.float64)).any())
    if value is None:
        return
    type = w.draw(st.sampled_from([t for t in INTEGERS if t != value.type]))
    array = value.array.view(TYPES[type])
    w.add("bitcast", array, type, True, lambda v: f"%{value.name} : {value.text} -> {v.text}")


def _reshape(w: _Writer) -> None:
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


def _permute(w: _Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 1)
    if value is None:
        return
    axes = list(w.draw(st.permutations(range(value.array.ndim))))
    array = value.array.transpose(axes)
    w.add("permute", array, value.type, value.exact, lambda _: f"%{value.name} {axes} : {value.text}")


def _broadcast(w: _Writer) -> None:
    value = w.pick(lambda v: v.array.size <= 64)
    if value is None:
        return
    shape = [w.draw(st.integers(1, 4)) if extent == 1 else extent for extent in value.array.shape]
    if len(shape) < 3 and w.draw(st.booleans()):
        shape = [w.draw(st.integers(1, 5)), *shape]
    array = np.broadcast_to(value.array, shape)
    w.add("broadcast", array, value.type, value.exact, lambda v: f"%{value.name} : {value.text} -> {v.text}")


def _slice(w: _Writer) -> None:
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


def _flip(w: _Writer) -> None:
    value = w.pick(lambda v: v.array.ndim > 0)
    if value is None:
        return
    axes = sorted(w.draw(st.sets(st.integers(0, value.array.ndim - 1), min_size=1)))
    array = np.flip(value.array, axes)
    w.add("flip", array, value.type, value.exact, lambda _: f"%{value.name} axes {axes} : {value.text}")


def _pad(w: _Writer) -> None:
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


def _concat(w: _Writer) -> None:
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


def _reduce(w: _Writer) -> None:
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


def _contract(w: _Writer) -> None:
    lhs = w.pick(lambda v: v.type != "i1" and v.array.ndim == 2 and _bounded(v))
    if lhs is None:
        return
    rows, inner = lhs.array.shape
    rhs = w.pick(
        lambda v: v.type == lhs.type and v.array.ndim == 2 and inner in v.array.shape and _bounded(v)
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


def _pad_inside(w: _Writer) -> None:
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


def _pad_with(w: _Writer) -> None:
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


def _arg_reduce(w: _Writer) -> None:
    value = w.pick(lambda v: v.exact and v.array.ndim > 0 and v.array.size > 0)
    if value is None:
        return
    axis = w.draw(st.integers(0, value.array.ndim - 1))
    keep = w.draw(st.booleans())
    kind, find = w.draw(st.sampled_from([("max", np.argmax), ("min", np.argmin)]))
    array = find(value.array, axis, keepdims=keep)
    index = tensor_text(array.shape, "i64")
    name = f"v{len(w.program.lines)}"
    words = f"axis {axis}{' keep' if keep else ''}"
    w.program.lines.append(
        f"%{name} = graph.arg_reduce {kind} %{value.name} {words} : {value.text} -> {index}"
    )
    w.add("cast", array, "i32", True, lambda v: f"%{name} : {index} -> {v.text}")


def _windows(w: _Writer) -> None:
    """A contraction of the windows along the last axis."""
    value = w.pick(lambda v: v.type != "i1" and v.array.ndim > 0 and v.array.shape[-1] > 2 and _bounded(v))
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


def _tropical(w: _Writer) -> None:
    lhs = w.pick(lambda v: v.type != "i1" and v.array.ndim == 2 and _bounded(v))
    if lhs is None:
        return
    rhs = w.pick(lambda v: v.type == lhs.type and v.array.shape == lhs.array.shape and _bounded(v))
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
    _unary,
    _binary,
    _binary,
    _compare,
    _test,
    _select,
    _cast,
    _bitcast,
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
    writer = _Writer(draw)
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
