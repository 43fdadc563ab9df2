"""Axes whose extents are left open: one program serves all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.jit.dims import Dim

N = tenon.Dim("n", 1, 64)

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: tnp.exp(x / 100) * 2 + 1,
    "sum": lambda x: tnp.sum(x, axis=0),
    "mean": lambda x: tnp.mean(x, axis=0),
    "mean of all": lambda x: tnp.mean(x),
    "std": lambda x: tnp.std(x, axis=0),
    "softmax": lambda x: tnp.exp(x - tnp.max(x, axis=1, keepdims=True)),
    "reshape": lambda x: tnp.reshape(x, (-1,)),
    "matmul": lambda x: x @ x.T,
    "concat": lambda x: tnp.concat([x, x], axis=0),
    "stack": lambda x: tnp.stack([x, x]),
    "flip": lambda x: tnp.flip(x, axis=0),
    "where": lambda x: tnp.where(x > 3, x, -x),
    "argmax": lambda x: tnp.argmax(x, axis=0),
    "an array of the same shape": lambda x: x + tnp.ones(x.shape, dtype=tnp.float32),
    "a loop": lambda x: tenon.fori_loop(0, 3, lambda i, v: v * 2, x),
    "an extent as a number": lambda x: tnp.sum(x, axis=0) / x.shape[0] + x.shape[0] * 2 + x.shape[0] * x,
    "an extent as an array": lambda x: tnp.asarray(x.shape[0] + 1, dtype=tnp.float32) * tnp.mean(x),
    "a range": lambda x: x * tnp.arange(x.shape[0])[:, None],
    "a range of floats": lambda x: x * tnp.arange(x.shape[0], dtype=tnp.float16)[:, None],
    "several results": lambda x: {"a": x + 1, "n": None, "b": tnp.sum(x)},
}


def arrays(tree: Any) -> list[Any]:
    return [np.asarray(tree[key]) for key in ("a", "b")] if isinstance(tree, dict) else [np.asarray(tree)]


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_serves_all_extents(name: str, backend: str):
    function = FUNCTIONS[name]
    f = tenon.jit(function, dynamic={"x": {0: N}}, backend=backend)
    for extent in (1, 5, 64):
        x = np.arange(3 * extent, dtype=np.float32).reshape(extent, 3)
        for found, expected in zip(arrays(f(x)), arrays(function(tnp.asarray(x))), strict=True):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert len(f.explain_misses()) == 1


PARTS: dict[str, Callable[[Any], Any]] = {
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "an element": lambda x: x[-1, 1],
    "from the second": lambda x: x[1:],
    "but the last": lambda x: x[:-1],
    "between": lambda x: x[1:-1],
    "differences": lambda x: x[1:] - x[:-1],
    "diff": lambda x: tnp.diff(x, axis=0),
    "a static part": lambda x: x[:2],
    "the last ones": lambda x: x[-3:],
    "every second": lambda x: x[::2],
    "every third": lambda x: x[1:-1:3],
    "backwards": lambda x: x[::-1],
    "along the other axis": lambda x: x[:, 1:],
    "a column": lambda x: x[:, 1],
    "new axes": lambda x: x[None, 1:, None],
    "rows in order": lambda x: x[tnp.argsort(x[:, 0])],
    "rows": lambda x: x[tnp.asarray([0, -1])],
    "elements": lambda x: x[tnp.arange(x.shape[0]), tnp.argmax(x, axis=1)],
    "taken": lambda x: tnp.take(x, tnp.asarray([0, -1, 2]), axis=0),
    "taken along": lambda x: tnp.take_along_axis(x, tnp.argsort(x, axis=0), axis=0),
    "taken along the other axis": lambda x: tnp.top_k(x, 2, axis=1)[0],
    "chosen from blocks": lambda x: tnp.top_k(tnp.tile(x, (1, 40)), 2, axis=1)[1],
    "rolled": lambda x: tnp.roll(x, 1, axis=0),
    "changed": lambda x: x.at[:, 1].set(7),
    "changed rows": lambda x: x.at[tnp.asarray([0, -1])].add(5),
    "ordered": lambda x: tnp.zeros_like(x).at[tnp.argsort(x[:, 0])].set(x),
    "counted": lambda x: tnp.zeros(4).at[tnp.astype(x[:, 0] * 3, tnp.int64)].add(1),
}


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_varying_axes_are_those_of_any_extent(name: str, backend: str):
    function = PARTS[name]
    f = tenon.jit(function, dynamic={"x": {0: tenon.Dim("n", 3, 64)}}, backend=backend)
    rng = np.random.default_rng(0)
    for extent in (3, 4, 7, 64):
        x = rng.random((extent, 3)).astype(np.float32)
        expected = np.asarray(function(tnp.asarray(x)))
        found = np.asarray(f(x))
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(f.explain_misses()) == 1


def test_a_slice_step_of_a_varying_axis_cannot_be_zero():
    with pytest.raises(ValueError, match="slice step cannot be zero"):
        tenon.jit(lambda x: x[::0], dynamic={"x": {0: N}})(np.ones(3))


def test_a_sweep_compiles_once():
    f = tenon.jit(lambda x: tnp.sum(x * 2), dynamic={"x": {0: N}})
    for extent in range(1, 65):
        assert float(f(np.ones(extent))) == 2 * extent
    assert len(f.explain_misses()) == 1


def test_arrays_in_containers_have_dynamic_axes_by_their_paths():
    f = tenon.jit(lambda params: params["w"][0] + params["w"][1], dynamic={"params['w'][0]": {-1: N}})
    f({"w": [np.ones(3), np.ones(1)]})
    assert f({"w": [np.ones(4), np.ones(1)]}).shape == (4,)
    assert len(f.explain_misses()) == 1


def test_extents_that_do_not_fit_are_errors_at_the_users_line():
    f = tenon.jit(lambda x, y: x + y, name="f", dynamic={"x": {0: N}, "y": {0: N}})
    with pytest.raises(tenon.CallError, match=r"argument 'x': axis 0 is 65, .* n is from 1 to 64") as caught:
        f(np.ones(65), np.ones(65))
    assert "        f(np.ones(65), np.ones(65))\n        ^" in str(caught.value)
    with pytest.raises(tenon.CallError, match="argument 'y': axis 0 is 4, expected n = 3"):
        f(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match=r"f: x has shape \(\), but its axis 0 is to be dynamic"):
        f(np.float64(1), np.ones(3))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: len(x), "len: axis 0 of an array of shape (n, 3) is known at each call only"),
        (lambda x: list(x), "iter: axis 0 of an array of shape (n, 3) is known at each call only"),
        (lambda x: x[1], "is known at each call only (n from 1 to 64), and index 1 may reach out"),
        (lambda x: x[-2], "(n from 1 to 64), and index -2 may reach out of it (hint: a tenon.Dim with"),
        (lambda x: x[x.shape[0] - 2], "and index n - 2 may count from its front or from its end"),
        (lambda x: x[x.shape[0] - 2 :], "and index n - 2 may count from its front or from its end"),
        (lambda x: tnp.ones(3)[x.shape[0]], "getitem: index n of axis 0 of shape (3,) is known at each call"),
        (lambda x: x + tnp.zeros(x.shape[0] - 2), "dimensions are not allowed, and n - 2 (n from 1 to 64)"),
        (lambda x: x if x.shape[0] > 2 else -x, "error: whether n > 2 is known at each call only (n from 1"),
        (lambda x: x * max(x.shape[0], 2), "error: whether n < 2 is known at each call only (n from 1 to 64"),
        (lambda x: x if x.shape[0] - 1 else -x, "error: whether n - 1 != 0 is known at each call only"),
        (lambda x: [x for _ in range(x.shape[0])], "error: index: the extent n is known at each call only"),
        (lambda x: x * math.sqrt(x.shape[0]), "error: float: the extent n is known at each call only (n fr"),
        (lambda x: int(x.shape[0]), "error: int: the extent n is known at each call only (n from 1 to 64)"),
        (lambda x: tnp.unstack(x), "error: index: the extent n is known at each call only (n from 1 to 64)"),
        (lambda x: tnp.max(x[1:], axis=0), "max: axis 0 of shape (n - 1, 3) may have no elements to choose"),
        (lambda x: tnp.argmin(x[1:], axis=0), "argmin: axis 0 of shape (n - 1, 3) may have no elements to"),
        (lambda x: tnp.pad(x[1:], 1, mode="edge"), "pad: axis 0 of shape (n - 1, 3) may have no elements"),
        (lambda x: x * (5 // (x.shape[0] - 1)), "5 floordiv (n - 1) may divide by 0: n - 1 (n from 1 to 64)"),
        (lambda x: tnp.ones(-3 % x.shape[0]), "(-3) mod n may divide what is negative: -3"),
        (lambda x: x[1:][tnp.argmax(x[:, 0])], "axis 0 of shape (n - 1, 3) is known at each call only"),
        (lambda x: tnp.take(x, tnp.asarray([0, 1]), axis=0), "take: axis 0 of shape (n, 3) is known"),
        (lambda x: x.at[1].set(1), "at: axis 0 of shape (n, 3) is known at each call only"),
    ],
)
def test_what_needs_the_extent_while_tracing_is_an_error(function: Callable[[Any], Any], message: str):
    with pytest.raises(tenon.TracingError) as caught:
        tenon.jit(function, dynamic={"x": {0: N}})(np.ones((2, 3), np.float32))
    assert message in str(caught.value)


def test_an_extent_takes_the_dtype_of_the_arrays_it_meets():
    f = tenon.jit(lambda x: (x / x.shape[0], x.shape[0] - x), dynamic={"x": {0: N}})
    for found in f(np.ones((2, 3), np.float32)):
        assert found.dtype == np.float32
    with pytest.raises(TypeError, match="unsupported operand type"):
        tenon.jit(lambda x: x.shape[0] + "a", dynamic={"x": {0: N}})(np.ones(3))


def test_ranges_to_an_extent_are_all_numbers_below_it():
    with pytest.raises(TypeError, match="arange: no arithmetic on bool"):
        tenon.jit(lambda x: tnp.arange(x.shape[0], dtype=bool), dynamic={"x": {0: N}})(np.ones(3))
    with pytest.raises(TypeError, match=r"arange: from 0 to n in steps of 0\.5, expected a step"):
        tenon.jit(lambda x: tnp.arange(0, x.shape[0], 0.5), dynamic={"x": {0: N}})(np.ones(3))


def test_dynamic_axes_of_what_is_no_array_are_errors():
    with pytest.raises(ValueError, match=r"jit: dynamic of f has 'y', expected one of \['x'\]"):
        tenon.jit(lambda x: x, name="f", dynamic={"y": {0: N}})
    f = tenon.jit(lambda x: x["w"], name="f", dynamic={"x": {0: N}})
    with pytest.raises(ValueError, match=r"f: dynamic has axes of x, .* array \(the arrays of x: x\['w'\]\)"):
        f({"w": np.ones(3)})
    g = tenon.jit(lambda x, y=None: x, dynamic={"x": {0: N}, "y": {0: N}})
    assert g(np.ones(3)).shape == (3,)
    h = tenon.jit(lambda *xs: xs[0] + 1, dynamic={"argument 0": {0: N}})
    assert h(np.ones(3)).shape == (3,) and h(np.ones(4)).shape == (4,) and len(h.explain_misses()) == 1


def test_dims_that_are_none_are_errors():
    with pytest.raises(ValueError, match="Dim: '2n' is not a name"):
        Dim("2n")
    with pytest.raises(ValueError, match="Dim: n has the bounds 5 and 4"):
        Dim("n", 5, 4)
    with pytest.raises(TypeError, match="jit: dynamic of f has 5 for axis 0 of x, expected a Dim"):
        tenon.jit(lambda x: x, name="f", dynamic={"x": {0: 5}})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="jit: dynamic of f has two dims n"):
        tenon.jit(lambda x: x, name="f", dynamic={"x": {0: N, 1: Dim("n", 2, 3)}})


def test_an_extent_as_a_number_is_an_index_and_no_sum():
    def centered(x: Any) -> Any:
        middle = x - tnp.mean(x, axis=1, keepdims=True)
        return middle / tnp.sqrt(tnp.mean(middle * middle, axis=1, keepdims=True))

    x = np.random.default_rng(0).random((64, 300)).astype(np.float32)
    f = tenon.jit(centered, dynamic={"x": {1: tenon.Dim("n", 0, 2048)}})
    np.testing.assert_allclose(f(x), np.asarray(centered(tnp.asarray(x))), rtol=1e-5, atol=1e-6)
    assert f(x[:, :0]).shape == (64, 0)
    assert len(tenon.explain(f, x).kernels) == len(tenon.explain(centered, x).kernels) == 1
    product = tenon.jit(lambda x: x * x.shape[0], dynamic={"x": {0: N}})
    assert "graph.reduce" not in product.lower(np.ones(5)).text("traced")


def test_a_varying_extent_less_than_the_correction_divides_by_zero():
    f = tenon.jit(lambda x: tnp.var(x, axis=0, correction=2), dynamic={"x": {0: N}})
    for extent in (1, 2, 3):
        x = np.arange(2.0 * extent).reshape(extent, 2) ** 2
        with np.errstate(all="ignore"):
            expected = ((x - x.mean(axis=0)) ** 2).sum(axis=0) / np.float64(max(extent - 2, 0))
        np.testing.assert_allclose(f(x), expected)
