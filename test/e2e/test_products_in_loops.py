"""Products by what does not change in a loop, which is copied before it: numbers as numpy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(5)


def transposed(xp: Any, h: Any, w: Any) -> Any:
    return xp.tanh(h @ w.T)[:, : h.shape[1]]


def plain(xp: Any, h: Any, w: Any) -> Any:
    return xp.tanh(h @ w[: h.shape[1]])[:, : h.shape[1]]


def of_views(xp: Any, h: Any, w: Any) -> Any:
    first, second = w[1:-1], w[::2]
    return xp.tanh(h @ first[: h.shape[1]].T) + xp.tanh(h @ second[: h.shape[1]].T)


STEPS: list[Callable[[Any, Any, Any], Any]] = [transposed, plain, of_views]


def iterated(xp: Any, step: Callable[[Any, Any, Any], Any], h: Any, w: Any, count: int) -> Any:
    if xp is tnp:
        return tenon.fori_loop(0, count, lambda _, h: step(tnp, h, w), h)
    for _ in range(count):
        h = step(xp, h, w)
    return h


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("rows", [1, 3, 8, 13])
@pytest.mark.parametrize("step", STEPS)
def test_a_loop_of_products(step: Callable[[Any, Any, Any], Any], rows: int, backend: str):
    h = RNG.standard_normal((rows, 131)).astype(np.float32)
    w = (RNG.standard_normal((300, 131)) / 16).astype(np.float32)
    if step is plain:
        w = np.ascontiguousarray(w.T)
    expected = iterated(np, step, h.astype(np.float64), w.astype(np.float64), 70)
    frozen = tenon.freeze(w)
    given = tenon.jit(lambda h, w: iterated(tnp, step, h, w, 70), backend=backend)
    kept = tenon.jit(lambda h: iterated(tnp, step, h, frozen, 70), backend=backend)
    for found in (given(h, w), kept(h)):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=2e-4, atol=2e-4)


def test_weights_of_a_branch_and_of_loops_in_loops():
    h = RNG.standard_normal((5, 96)).astype(np.float32)
    w = (RNG.standard_normal((2, 256, 96)) / 16).astype(np.float32)
    frozen = tenon.freeze(w)

    def outer(h: Any, inner: Callable[[Any], Any]) -> Any:
        return tenon.fori_loop(0, 9, lambda i, h: tenon.cond(i % 2 == 0, inner, lambda h: h * 0.5, h), h)

    def run(h: Any, w: Any) -> Any:
        return outer(h, lambda h: tenon.fori_loop(0, 8, lambda _, h: transposed(tnp, h, w[1]), h))

    expected = h.astype(np.float64)
    for i in range(9):
        expected = (
            iterated(np, transposed, expected, w[1].astype(np.float64), 8) if i % 2 == 0 else expected * 0.5
        )
    for found in (tenon.jit(run)(h, w), tenon.jit(lambda h: run(h, frozen))(h)):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=2e-4, atol=2e-4)


def test_a_copy_is_made_before_the_loop():
    h, w = np.ones((8, 128), np.float32), np.ones((128, 128), np.float32)
    text = tenon.jit(lambda h, w: iterated(tnp, transposed, h, w, 32)).lower(h, w).text("graph")
    assert text.index("in panels as wide as a tile") < text.index("graph.scan")
