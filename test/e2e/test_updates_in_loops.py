"""Loops that update arrays give numpy's results, and neither copy them nor keep masks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon import numpy as tnp

Array = npt.NDArray[Any]

N = 70
"""Rows of 70 f32 times 70: above what is worth two buffers."""

LONG = 600
"""Rows that are too long for the kernels of a loop to be inlined into one."""


def run(body: Callable[[Any, Any], Any], count: int, x: Array, **options: Any) -> tuple[Array, str]:
    """Returns what a loop gives, and the steps that it is compiled to."""
    program = tenon.jit(lambda x: tenon.fori_loop(0, count, body, x), **options)
    found = np.asarray(program(x))
    text = str(program.lower(x).explain())
    return found, text.split("steps:")[1].split("memory:")[0]


def loop_of(steps: str) -> str:
    """Returns the steps of the loop, without what is done once before it; nothing where it is one kernel."""
    if " times" not in steps:
        assert "_loop_0(" in steps
        return ""
    return steps[steps.index(" times") :]


UPDATES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, int], None]]] = {}


def update(numpys: Callable[[Any, int], None]) -> Callable[[Callable[[Any, Any], Any]], Any]:
    def register(body: Callable[[Any, Any], Any]) -> Any:
        UPDATES[body.__name__] = (body, numpys)
        return body

    return register


def _column(x: Any, j: int) -> None:
    x[1:-1, j] = x[1:-1, j] * 2 + j


@update(_column)
def column(j: Any, x: Any) -> Any:
    return x.at[1:-1, j].set(x[1:-1, j] * 2 + j)


def _row(x: Any, j: int) -> None:
    x[j, 2:] = x[j - 1, :-2] + 1


@update(_row)
def row(j: Any, x: Any) -> Any:
    return x.at[j, 2:].set(x[j - 1, :-2] + 1)


def _element(x: Any, j: int) -> None:
    x[j, -j] += x[-j, j]


@update(_element)
def element(j: Any, x: Any) -> Any:
    return x.at[j, -j].add(x[-j, j])


def _reversed(x: Any, j: int) -> None:
    x[j, ::-1] = x[j].copy()


@update(_reversed)
def reversed_row(j: Any, x: Any) -> Any:
    return x.at[j, ::-1].set(x[j])


def _border(x: Any, j: int) -> None:
    x[0] = x[1] * 3
    x[:, -1] = x[:, -2] - 1


@update(_border)
def border(j: Any, x: Any) -> Any:
    x = x.at[0].set(x[1] * 3)
    return x.at[:, -1].set(x[:, -2] - 1)


def _greatest(x: Any, j: int) -> None:
    x[3:9, j] = np.maximum(x[3:9, j], 0.5)


@update(_greatest)
def greatest(j: Any, x: Any) -> Any:
    return x.at[3:9, j].max(0.5)


def _most(x: Any, j: int) -> None:
    x[1:] += j
    x[:-2, 3:] = x[:-2, 3:] * 0.5 - 1


@update(_most)
def most(j: Any, x: Any) -> Any:
    x = x.at[1:].add(j)
    return x.at[:-2, 3:].set(x[:-2, 3:] * 0.5 - 1)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("length", [N, LONG])
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_in_a_loop_is_numpys(name: str, length: int, backend: str):
    body, numpys = UPDATES[name]
    x = np.random.default_rng(0).standard_normal((length, length)).astype("f4")
    found, steps = run(body, length, x, backend=backend)
    expected = x.copy()
    with np.errstate(over="ignore"):
        for j in range(length):
            numpys(expected, j)
    np.testing.assert_array_equal(found, expected)
    assert "copy" not in loop_of(steps)
    # Kernels over most of the elements are worth their launches.
    is_inlined = name != "most" and (length == N or name in ("element", "greatest"))
    assert (loop_of(steps) == "") == is_inlined


@pytest.mark.parametrize("at", [-N - 1, -N, -1, 0, N - 1, N])
def test_an_index_out_of_range_changes_nothing(at: int):
    x = np.random.default_rng(1).standard_normal((N, N)).astype("f4")
    for index in (lambda i: (i, slice(1, -1)), lambda i: (slice(None, None, -1), i), lambda i: (i, i)):
        found = tenon.jit(lambda x, i, index=index: x.at[index(i)].set(7))(x, np.int64(at))
        expected = x.copy()
        if -N <= at < N:
            expected[index(at)] = 7
        np.testing.assert_array_equal(found, expected)


def jacobi(x: Any) -> Any:
    inner = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x.at[1:-1, 1:-1].set(inner)


@pytest.mark.parametrize("count", [2, 20, 21])
def test_a_stencil_goes_to_and_fro_between_two_buffers(count: int):
    x = np.random.default_rng(2).standard_normal((N, N)).astype("f4")
    found, steps = run(lambda _, x: jacobi(x), count, x)
    once = tenon.jit(jacobi)
    expected: Any = x
    for _ in range(count):
        expected = once(expected)
    assert found.tobytes() == np.asarray(expected).tobytes()
    assert "copy" not in loop_of(steps) and f"  {count // 2} times" in steps


def test_two_values_that_change_places_are_not_copied():
    def body(i: Any, pair: Any) -> Any:
        old, now = pair
        return now, 2 * now - old + 0.1 * tnp.roll(now, 1, axis=0)

    x = np.random.default_rng(3).standard_normal((N, N)).astype("f4")
    program = tenon.jit(lambda x: tenon.fori_loop(0, 11, body, (x, x + 1)))
    found = program(x)
    old, now = x, x + 1
    for _ in range(11):
        old, now = now, 2 * now - old + np.float32(0.1) * np.roll(now, 1, axis=0)
    np.testing.assert_allclose(found[0], old, rtol=2e-4, atol=1e-2)
    np.testing.assert_allclose(found[1], now, rtol=2e-4, atol=1e-2)
    text = str(program.lower(x).explain())
    assert "copy" not in loop_of(text.split("steps:")[1].split("memory:")[0])


def test_a_stencil_with_borders_is_not_copied():
    def body(_: Any, x: Any) -> Any:
        x = jacobi(x)
        x = x.at[0].set(x[1])
        return x.at[:, 0].set(x[:, 1] * 2)

    x = np.random.default_rng(4).standard_normal((N, N)).astype("f4")
    found, steps = run(body, 9, x)
    once = tenon.jit(lambda x: body(0, x))
    expected: Any = x
    for _ in range(9):
        expected = once(expected)
    assert found.tobytes() == np.asarray(expected).tobytes()
    assert "copy" not in loop_of(steps)


def test_fields_that_are_made_of_each_other_are_not_copied():
    def step(fields: Any, value: Any) -> Any:
        a, b, c = fields
        a = a.at[0].set(value).at[1:].add(c[:-1] - c[1:])
        b = b.at[:, 1:].add(c[:, :-1] - c[:, 1:])
        return (a, b, c.at[:-1, :-1].add(a[:-1, :-1] - b[1:, 1:])), None

    x, values = np.arange(N * N, dtype="f8").reshape(N, N) % 7, np.arange(4.0)
    program = tenon.jit(lambda x, values: tenon.scan(step, (x, x + 1, x * 2), values)[0])
    a, b, c = x.copy(), x + 1, x * 2
    for value in values:
        a[0] = value
        a[1:] += c[:-1] - c[1:]
        b[:, 1:] += c[:, :-1] - c[:, 1:]
        c[:-1, :-1] += a[:-1, :-1] - b[1:, 1:]
    for found, expected in zip(program(x, values), (a, b, c), strict=True):
        np.testing.assert_array_equal(found, expected)
    text = str(program.lower(x, values).explain())
    assert "copy" not in loop_of(text[text.index("steps:") :].partition("memory:")[0])


def test_a_stencil_between_two_arrays_stores_only_what_changes():
    def body(_: Any, pair: Any) -> Any:
        a, b = pair
        b = b.at[1:-1].set(a[:-2] + a[2:])
        return a.at[1:-1].set(b[:-2] - b[2:]), b

    x = np.arange(N * N, dtype="f8").reshape(N, N) % 5
    program = tenon.jit(lambda x: tenon.fori_loop(0, 3, body, (x, x + 1)))
    a, b = x.copy(), x + 1
    for _ in range(3):
        b[1:-1] = a[:-2] + a[2:]
        a[1:-1] = b[:-2] - b[2:]
    for found, expected in zip(program(x), (a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
    text = str(program.lower(x).explain())
    assert "select" not in text
    assert "copy" not in loop_of(text[text.index("steps:") :].partition("memory:")[0])


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_an_inner_loop_begins_where_nothing_is_read_any_more(backend: str):
    """What it begins with is made before a value is read that lies where its result will be carried."""

    def step(roll: Any, put: Any, loop: Any, i: Any, carried: Any) -> Any:
        a, b, d = carried
        d = put(d, (1, i), 2)
        b = roll(b, 1, axis=1)
        b, d = loop(i, lambda j, inner: (inner[0], inner[0]), (b, d))
        return b, put(d, (i, i), i), a

    def put(x: Any, at: Any, value: Any) -> Any:
        x = x.copy()
        x[at] = value
        return x

    def counted(n: int, body: Any, carried: Any) -> Any:
        for number in range(n):
            carried = body(number, carried)
        return carried

    def program(a: Any, b: Any, d: Any) -> Any:
        def body(i: Any, carried: Any) -> Any:
            return step(
                tnp.roll,
                lambda x, at, value: x.at[at].set(value),
                lambda n, inner, state: tenon.fori_loop(0, n, inner, state),
                i,
                carried,
            )

        return tenon.fori_loop(0, 2, body, (a, b, d))

    arrays = [np.arange(4).reshape(2, 2) + 10 * number for number in range(3)]
    expected = counted(2, lambda i, carried: step(np.roll, put, counted, i, carried), tuple(arrays))
    for found, value in zip(tenon.jit(program, backend=backend)(*arrays), expected, strict=True):
        np.testing.assert_array_equal(found, value)
