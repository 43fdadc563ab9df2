"""Arrays of one number that updates change: they are filled, and lie in no memory of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp

Array = npt.NDArray[Any]

RNG = np.random.default_rng(0)
PLACES, VALUES = RNG.integers(0, 7, 20), RNG.standard_normal(20)
SUMS = np.zeros(7)
np.add.at(SUMS, PLACES, VALUES)


def counted(i: Any, v: Any) -> Any:
    return tnp.zeros(7, dtype=np.int64).at[i].add(1)


def summed(i: Any, v: Any) -> Any:
    return tnp.full(7, 3.0).at[i].add(v)


def shared(i: Any, v: Any) -> Any:
    ones = tnp.ones(7)
    return ones.at[i].add(v) + ones.at[i].add(2 * v) + ones


def of_rows(i: Any, v: Any) -> Any:
    return tnp.zeros((7, 5)).at[i].add(tnp.broadcast_to(v[:, None], (20, 5)))


def of_nothing(i: Any, v: Any) -> Any:
    return tnp.full(7, 2.0).at[i[:0]].add(v[:0])


def set_at(i: Any, v: Any) -> Any:
    return tnp.zeros(7).at[i[0]].set(v[0])


def set_in(i: Any, v: Any) -> Any:
    return tnp.zeros(9).at[2:5].set(v[:3])


def in_a_loop(i: Any, v: Any) -> Any:
    return tenon.fori_loop(0, 5, lambda k, s: s + tnp.zeros(7).at[i].add(v * k), tnp.ones(7))


def carried_by_a_loop(i: Any, v: Any) -> Any:
    return tenon.fori_loop(0, 20, lambda k, s: s.at[i[k]].add(v[k]), tnp.zeros(7))


def set_in_a_loop(i: Any, v: Any) -> Any:
    return tenon.fori_loop(0, 5, lambda k, s: s + k * tnp.zeros(7).at[i[k]].set(v[k]), tnp.ones(7))


def in_a_branch(i: Any, v: Any) -> Any:
    return tenon.cond(v[0] > 0, lambda: tnp.zeros(7).at[i].add(v), lambda: tnp.ones(7).at[i].add(-v))


def expected_of_loop() -> Array:
    total = np.ones(7)
    for k in range(5):
        total[PLACES[k]] += k * VALUES[k]
    return total


CASES: list[tuple[Callable[..., Any], Array]] = [
    (counted, np.bincount(PLACES, minlength=7)),
    (summed, SUMS + 3),
    (shared, 3 * SUMS + 3),
    (of_rows, np.repeat(SUMS[:, None], 5, 1)),
    (of_nothing, np.full(7, 2.0)),
    (set_at, np.where(np.arange(7) == PLACES[0], VALUES[0], 0)),
    (set_in, np.concatenate([np.zeros(2), VALUES[:3], np.zeros(4)])),
    (in_a_loop, 10 * SUMS + 1),
    (carried_by_a_loop, SUMS),
    (set_in_a_loop, expected_of_loop()),
    (in_a_branch, SUMS if VALUES[0] > 0 else 1 - SUMS),
]


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize(("function", "expected"), CASES, ids=[function.__name__ for function, _ in CASES])
def test_updates_of_one_number(function: Callable[..., Any], expected: Array, backend: str) -> None:
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    found = np.asarray(tenon.jit(function, backend=backend)(PLACES, VALUES))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [counted, summed, shared, of_rows, set_at, set_in, in_a_loop])
def test_the_number_is_no_array_of_the_program(function: Callable[..., Any]) -> None:
    executable = tenon.jit(function).lower(PLACES, VALUES).program.executable
    assert "sched.constant" not in str(executable.stages["sched"])
    assert "sched.transfer" not in str(executable.stages["sched"])


def test_many_bins_take_no_memory_but_those_of_the_result() -> None:
    """Of 240 MB."""
    counts = tenon.jit(lambda i: tnp.zeros(30_000_000).at[i].add(1.0))
    program = counts.lower(PLACES).program.executable.program
    assert (program.constants.nbytes, program.temporary_nbytes) == (0, 0)
