"""Kernels with other axes than their results: unrolled, and in pieces. What is computed is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from hypothesis import given
from hypothesis import strategies as st

Function = Callable[..., Any]


def _concat(m: Any, arrays: list[Any], axis: int) -> Any:
    return np.concatenate(arrays, axis) if m is np else tnp.concat(arrays, axis=axis)


def _rotated(m: Any, x: Any, c: Any, s: Any) -> Any:
    even, odd = x[..., ::2], x[..., 1::2]
    return m.reshape(m.stack([even * c - odd * s, even * s + odd * c], axis=-1), x.shape)


def _crossed(m: Any, a: Any, b: Any) -> Any:
    pairs = [(1, 2), (2, 0), (0, 1)]
    return m.stack([a[:, i] * b[:, j] - a[:, j] * b[:, i] for i, j in pairs], axis=1)


PROGRAMS: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "stack": (lambda m, a, b: m.stack([a, b], axis=-1), [(37, 211), (37, 211)]),
    "stack of eight": (lambda m, *a: m.stack(a, axis=-1), [(3, 65)] * 8),
    "stack of nine": (lambda m, *a: m.stack(a, axis=-1), [(3, 65)] * 9),
    "stack of scalars": (lambda m, a, b: m.stack([a[0], b[1], a[2]]), [(3,), (3,)]),
    "parts of three and one": (lambda m, a, b: _concat(m, [a, a[:, :1] * b], 1), [(501, 3), (501, 1)]),
    "an empty part": (lambda m, a, b: _concat(m, [a[:, :0], b, a], 1), [(40, 3), (40, 2)]),
    "rotated": (_rotated, [(2, 3, 19, 34), (19, 17), (19, 17)]),
    "crossed": (_crossed, [(333, 3), (333, 3)]),
    "repeated": (lambda m, x: m.repeat(m.repeat(x, 2, axis=1), 3, axis=2), [(5, 33, 17)]),
    "repeated and added": (lambda m, x, y: m.repeat(x, 5, axis=1) * m.exp(y), [(21, 31), (21, 155)]),
    "eight times": (lambda m, x: m.repeat(x, 8, axis=0), [(77,)]),
    "tiled": (lambda m, x, y: m.tile(x, (41,)) + y, [(3,), (123,)]),
    "channels first": (lambda m, x: m.permute_dims(x, (2, 0, 1)) - 1, [(19, 23, 3)]),
    "four channels first": (lambda m, x: m.permute_dims(x, (2, 0, 1)), [(19, 23, 4)]),
    "of some channels": (lambda m, x: m.permute_dims(x[:, :, 1:3], (2, 0, 1)), [(19, 23, 4)]),
    "channels last": (lambda m, x: m.permute_dims(x, (1, 2, 0)), [(5, 19, 23)]),
    "heavy": (lambda m, x: m.permute_dims(m.exp(x), (1, 0)), [(400, 6)]),
    "reductions": (lambda m, x: m.stack([m.mean(x, axis=1), m.max(x, axis=1)], axis=1), [(50, 30)]),
    "products": (lambda m, x, y: m.stack([x @ y, x @ (y * 2)], axis=-1), [(20, 30), (30, 40)]),
    "shuffled": (
        lambda m, x: m.reshape(
            m.permute_dims(m.reshape(x, (2, 3, 2, 2, 8, 9)), (0, 1, 4, 2, 5, 3)), (2, 3, 16, 18)
        ),
        [(2, 12, 8, 9)],
    ),
    "flipped": (lambda m, a, b: m.stack([m.flip(a, axis=0), b], axis=1), [(123,), (123,)]),
    "by an index": (lambda m, a: m.stack([a * m.arange(70.0), m.arange(70.0)], axis=1), [(70,)]),
    "with constants": (
        lambda m, a: m.stack([a + m.arange(70.0), m.ones(70), a], axis=1) * m.asarray([1.0, 2.0, 3.0]),
        [(70,)],
    ),
    "heads": (lambda m, x: m.reshape(m.permute_dims(x, (0, 2, 1, 3)), (2, 19, 60)), [(2, 5, 19, 12)]),
    "all of it": (lambda m, x: m.reshape(m.permute_dims(x, (1, 0, 2)), (-1,)) * 2, [(5, 19, 12)]),
    "turned": (lambda m, x: m.reshape(m.permute_dims(x, (1, 0)), (-1,)), [(33, 50)]),
    "patches": (
        lambda m, x: m.reshape(m.permute_dims(m.reshape(x, (3, 4, 8, 5, 9)), (1, 3, 0, 2, 4)), (20, 216)),
        [(3, 32, 45)],
    ),
    "kronecker": (
        lambda m, a, b: m.reshape(a[:, None, :, None] * b[None, :, None, :], (45, 108)),
        [(5, 9), (9, 12)],
    ),
    "tiled and repeated": (lambda m, x, y: m.tile(x, (3, 4)) + m.repeat(y, 30, axis=1), [(5, 15), (15, 2)]),
    "of no one period": (lambda m, x, y: m.repeat(x, 12, axis=0) * m.repeat(y, 9, axis=0), [(15,), (20,)]),
    "one row": (lambda m, a, b: m.stack([a, b], axis=-1), [(1, 1), (1, 1)]),
}

MODES = [("llvm", "x86-64-v2"), ("llvm", "x86-64-v3"), ("llvm", None), ("opencl", None), ("reference", None)]


@pytest.mark.parametrize(("backend", "target"), MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_what_numpy_does(name: str, backend: str, target: str | None) -> None:
    function, shapes = PROGRAMS[name]
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
        jitted = tenon.jit(lambda *a: function(tnp, *a), backend=backend, target=target)
        found, expected = np.asarray(jitted(*arrays)), function(np, *arrays)
        assert found.shape == expected.shape
        limit = 64 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, expected, rtol=limit, atol=limit * 8)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "bool"])
def test_numbers_of_other_sizes_are_interleaved(dtype: str) -> None:
    rng = np.random.default_rng(1)
    a, b, x = ((rng.integers(0, 100, shape) % 100).astype(dtype) for shape in ((333,), (333,), (41, 5)))
    stacked = tenon.jit(lambda a, b: tnp.stack([a, b], axis=1))(a, b)
    np.testing.assert_array_equal(np.asarray(stacked), np.stack([a, b], 1))
    np.testing.assert_array_equal(
        np.asarray(tenon.jit(lambda x: tnp.repeat(x, 3, axis=1))(x)), x.repeat(3, 1)
    )
    np.testing.assert_array_equal(np.asarray(tenon.jit(lambda x: tnp.permute_dims(x, (1, 0)))(x)), x.T)


def _stores(function: Function, *arrays: Any) -> list[int]:
    """Returns how many elements an iteration of each kernel stores."""
    text = tenon.jit(function).lower(*arrays).text("sched")
    return [part.count("memref.store") for part in text.split("sched.kernel")[1:]]


def test_one_kernel_stores_all_parts() -> None:
    x, y = np.ones((40, 50), np.float32), np.ones((40, 50), np.float32)
    assert _stores(lambda x, y: tnp.stack([x, y, x * y], axis=-1), x, y) == [3]
    assert _stores(lambda x: tnp.repeat(x, 7, axis=1), x) == [7]
    assert _stores(lambda x: tnp.repeat(x, 8, axis=1), x) == [1]
    assert _stores(lambda x: tnp.stack([x, tnp.ones((40, 50))], axis=-1), x) == [2]
    assert _stores(lambda x: tnp.permute_dims(x, (2, 0, 1)), np.ones((9, 8, 3), np.float32)) == [3]


def test_what_squares_transpose_is_left_to_them() -> None:
    assert _stores(lambda x: tnp.permute_dims(x, (2, 0, 1)), np.ones((9, 8, 4), np.float32)) == [1]
    assert _stores(lambda x: tnp.permute_dims(x, (2, 0, 1)), np.ones((9, 8, 4), np.int16)) == [4]


def test_no_function_is_computed_by_way_of_a_buffer_for_it() -> None:
    x = np.ones((400, 6), np.float32)
    assert _stores(lambda x: tnp.permute_dims(tnp.exp(x), (1, 0)), x) == [1]
    assert _stores(lambda x: tnp.permute_dims(x * 2 + x, (1, 0)), x) == [1]
    image = np.ones((300, 200, 3), np.float32)
    assert _stores(lambda x: tnp.permute_dims(x * 2 + x, (2, 0, 1)), image) == [3]


def test_a_loop_updates_what_it_carries_in_place() -> None:
    a, x = np.arange(100.0), np.zeros((100, 2))

    def run(m: Any, steps: Function, a: Any, x: Any) -> Any:
        return steps(lambda x: x * 0.5 + m.stack([a, a + 1], axis=-1), x)

    def repeat(step: Function, x: Any) -> Any:
        for _ in range(5):
            x = step(x)
        return x

    lowered = tenon.jit(lambda a, x: run(tnp, lambda f, x: tenon.fori_loop(0, 5, lambda _, x: f(x), x), a, x))
    np.testing.assert_array_equal(np.asarray(lowered(a, x)), run(np, repeat, a, x))
    text = lowered.lower(a, x).text("sched")
    assert text.count("sched.buffer") == 2  # The result, and what the loop adds.


def test_parts_that_change_places_in_a_loop() -> None:
    x = np.arange(54.0).reshape(27, 2)
    swap = tenon.jit(
        lambda x: tenon.fori_loop(0, 7, lambda _, x: tnp.stack([x[:, 1] + 1, x[:, 0] * 2], axis=-1), x)
    )
    expected = x
    for _ in range(7):
        expected = np.stack([expected[:, 1] + 1, expected[:, 0] * 2], -1)
    np.testing.assert_array_equal(np.asarray(swap(x)), expected)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_named_dims(backend: str) -> None:
    dims = {0: tenon.Dim("h", 1, 64), 1: tenon.Dim("w", 1, 64)}
    twice = tenon.jit(
        lambda x: tnp.repeat(tnp.repeat(x, 2, axis=0), 3, axis=1), dynamic={"x": dims}, backend=backend
    )
    apart = tenon.jit(
        lambda x: tnp.permute_dims(tnp.stack([x, -x, x + 1], axis=-1) * 2, (2, 0, 1)),
        dynamic={"x": dims},
        backend=backend,
    )
    heads = tenon.jit(
        lambda x: tnp.reshape(tnp.permute_dims(tnp.reshape(x, (x.shape[0], 3, 4, -1)), (0, 2, 1, 3)), (-1,)),
        dynamic={"x": {0: tenon.Dim("h", 1, 64)}},
        backend=backend,
    )
    for n in (1, 9, 64):
        x = np.arange(n * 60.0).reshape(n, 60)
        expected = x.reshape(n, 3, 4, 5).transpose(0, 2, 1, 3).reshape(-1)
        np.testing.assert_array_equal(np.asarray(heads(x)), expected)
    for shape in ((1, 1), (7, 13), (64, 33)):
        x = np.arange(float(np.prod(shape))).reshape(shape)
        np.testing.assert_array_equal(np.asarray(twice(x)), x.repeat(2, 0).repeat(3, 1))
        expected = np.stack([x, -x, x + 1]) * 2
        np.testing.assert_array_equal(np.asarray(apart(x)), expected)


@st.composite
def _views(draw: st.DrawFn) -> tuple[Function, list[tuple[int, ...]]]:
    """Draws a few views of short axes, one after the other, of two arrays."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    kinds = ["stack", "repeat", "turn", "flat", "join", "slice", "add", "part", "join dims"]
    steps = draw(st.lists(st.sampled_from(kinds), max_size=7))
    numbers = draw(st.lists(st.integers(0, 7), min_size=len(steps), max_size=len(steps)))

    def function(m: Any, x: Any, y: Any) -> Any:
        for step, number in zip(steps, numbers, strict=True):
            axis = number % x.ndim
            match step:
                case "stack" if x.ndim < 4:
                    x = m.stack([x, x * 2, x + 1][: 2 + number % 2], axis=-1)
                case "repeat" if x.size < 2000:
                    x = m.repeat(x, 2 + number, axis=axis)
                case "part" if x.shape[-1] % (2 + number) == 0 and x.ndim < 5:
                    x = m.reshape(x, (*x.shape[:-1], -1, 2 + number))
                case "join dims" if x.ndim > 1:
                    x = m.reshape(x, (*x.shape[:-2], -1))
                case "turn":
                    x = m.permute_dims(x, tuple((each + number) % x.ndim for each in range(x.ndim)))
                case "flat":
                    x = m.reshape(x, (-1,))
                case "join" if x.size < 2000:
                    x = _concat(m, [x, x[..., : 1 + number] - 1], x.ndim - 1)
                case "slice":
                    x = x[..., number % x.shape[-1] :]
                case _:
                    x = x + m.sum(y)
        return x

    return function, [shape, (3,)]


@given(_views())
def test_views_of_short_axes(drawn: tuple[Function, list[tuple[int, ...]]]) -> None:
    function, shapes = drawn
    arrays = [np.arange(float(np.prod(shape))).reshape(shape) for shape in shapes]
    found = tenon.jit(lambda *a: function(tnp, *a))(*arrays)
    np.testing.assert_array_equal(np.asarray(found), function(np, *arrays))
