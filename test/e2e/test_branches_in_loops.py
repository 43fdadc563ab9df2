"""Branches in loops update arrays in place, and copy them only where what was there is read afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import sched
from tenon.dialects.buffer_size import size_of
from tenon.dialects.modules.parsing import parse_module

Array = npt.NDArray[Any]

N = 5001
KEYS = np.random.default_rng(0).integers(0, N, 60)
X = np.random.default_rng(1).integers(-50, 50, N)
Y = X[::-1].copy()


def looped(step: Callable[..., Any]) -> Callable[..., Any]:
    """A loop of 60 steps, each of which is told its key and two arrays."""

    def function(x: Any, y: Any, keys: Any) -> Any:
        return tenon.fori_loop(0, keys.shape[0], lambda i, s: step(keys[i], *s), (x, y))

    return function


def one_way(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(k % 3 == 0, lambda x: x.at[k].set(k), lambda x: x, x), y


def both_ways(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(x[k] > 0, lambda x: x.at[k].add(-5), lambda x: x.at[N - 1 - k].set(k), x), y


def three_ways(k: Any, x: Any, y: Any) -> Any:
    ways = [lambda x: x.at[k].set(1), lambda x: x, lambda x: x.at[k].set(x[0]).at[0].set(k)]
    return tenon.switch(k % 3, ways, x), y


def ways_in_ways(k: Any, x: Any, y: Any) -> Any:
    def inner(x: Any) -> Any:
        return tenon.cond(k > 500, lambda x: x.at[k].set(3), lambda x: x.at[0].add(k), x)

    return tenon.cond(k % 2 == 0, inner, lambda x: x, x), y


def two_arrays(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(
        k % 2 == 0, lambda x, y: (x.at[k].set(y[0]), y.at[k].set(7)), lambda x, y: (x, y.at[0].set(k)), x, y
    )


def then_another(k: Any, x: Any, y: Any) -> Any:
    return one_way(k, x, y)[0].at[1].add(k), y


def after_a_loop(k: Any, x: Any, y: Any) -> Any:
    _, x = tenon.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1].at[s[0]].add(k)), (k * 0, x))
    return x.at[k].set(1), y


def other_array(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(k % 2 == 0, lambda x, y: x.at[k].set(k), lambda x, y: y, x, y), y


def exchanged(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(k % 2 == 0, lambda x, y: (y, x), lambda x, y: (x.at[k].set(k), y), x, y)


def summed(k: Any, x: Any, y: Any) -> Any:
    # What reads the array runs before the branch.
    return one_way(k, x, y)[0], y.at[k].set(tnp.sum(x))


def read_within(k: Any, x: Any, y: Any) -> Any:
    return tenon.cond(k % 2 == 0, lambda x: x.at[k].set(1) + tnp.flip(x), lambda x: x, x), y


IN_PLACE = (one_way, both_ways, three_ways, ways_in_ways, two_arrays, then_another, after_a_loop, summed)
COPIED = (other_array, exchanged, read_within)


def expected(step: Callable[..., Any]) -> tuple[Array, Array]:
    """What the steps make one by one, each a program of its own."""
    compiled = tenon.jit(step, backend="reference")
    x, y = X, Y
    for key in KEYS:
        x, y = (np.asarray(each) for each in compiled(np.asarray(key), x, y))
    return x, y


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("step", [*IN_PLACE, *COPIED])
def test_branches_in_loops_give_what_their_steps_do(step: Callable[..., Any], backend: str) -> None:
    found = tenon.jit(looped(step), backend=backend)(X, Y, KEYS)
    for one, other in zip(found, expected(step), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


@pytest.mark.parametrize("step", [*IN_PLACE, *COPIED])
def test_what_is_read_afterwards_alone_is_copied(step: Callable[..., Any]) -> None:
    module = parse_module(tenon.jit(looped(step)).lower(X, Y, KEYS).text("sched"))
    # A loop that is one kernel has no item of its own, and copies nothing.
    loops = [op for op in module.walk() if isinstance(op, sched.ForOp | sched.WhileOp)]
    inner = (op for loop in loops for op in loop.walk() if isinstance(op, sched.TransferOp))
    copies = [op for op in inner if size_of(op.source.type) == N]
    assert bool(copies) == (step in COPIED)


def test_a_branch_stores_in_the_memory_of_a_donated_argument() -> None:
    def function(x: Any, k: Any) -> Any:
        return tenon.cond(k > 0, lambda x: x.at[k].set(5), lambda x: x, x)

    f = tenon.jit(function, donate_argnums=0)
    assert "sched.transfer" not in f.lower(X, np.int64(3)).text("sched")
    for key in (3, -1):
        found = np.asarray(f(tnp.asarray(X.copy()), np.int64(key)))
        held = X.copy()
        if key > 0:
            held[key] = 5
        np.testing.assert_array_equal(found, held)
