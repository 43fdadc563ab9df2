"""Calls that give arrays away again and again: as the first one, without a look at their signature."""

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.errors import TenonError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def new(value: np.ndarray = X) -> Any:
    return tnp.asarray(value.copy())


def stepping() -> Any:
    return tenon.jit(lambda state, x: {"w": state["w"] + x, "n": state["n"] + 1}, donate_argnums=0)


def test_a_step_gives_its_state_away_each_time(slow_calls: list[Any]):
    step, state = stepping(), {"w": new(), "n": tnp.asarray(np.int32(0))}
    for number in range(1, 6):
        before, state = state, step(state, X if number % 2 else tnp.asarray(X))
        np.testing.assert_array_equal(np.asarray(state["w"]), X * (number + 1))
        assert int(state["n"]) == number
        with pytest.raises(TenonError, match="used after it was donated to <lambda>"):
            np.asarray(before["w"])
    assert len(slow_calls) == 1


def test_an_array_that_was_given_away_is_an_error_of_the_next_call():
    double = tenon.jit(lambda x: x * 2.0, donate_argnums=0)
    double(new())
    x = new()
    double(x)
    with pytest.raises(TenonError, match="donated"):
        double(x)


def test_what_others_see_of_an_array_stays_as_it_is(slow_calls: list[Any]):
    double = tenon.jit(lambda x: x * 2.0, donate_argnums=0)
    for _ in range(3):
        plain, x = X.copy(), new()
        seen = x.numpy()
        for given in (plain, x):
            np.testing.assert_array_equal(np.asarray(double(given)), 2 * X)
        np.testing.assert_array_equal(plain, X)
        np.testing.assert_array_equal(seen, X)
    assert len(slow_calls) == 1


def test_frozen_arrays_are_not_given_away():
    double = tenon.jit(lambda x: x * 2.0, donate_argnums=0)
    double(new())
    frozen = tenon.freeze(X.copy())
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(double(frozen)), 2 * X)
        np.testing.assert_array_equal(np.asarray(frozen), X)


def test_an_array_that_is_given_twice_is_an_error_of_every_call():
    add = tenon.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(add(new(), new())), 2 * X)
        x = new()
        with pytest.raises(ValueError, match="argument 0 is donated, and the same array is given again"):
            add(x, x)
    # Of arguments that stay one may be given twice.
    add = tenon.jit(lambda x, y, z: x + y + z, donate_argnums=0)
    y = new()
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(add(new(), y, y)), 3 * X)


OTHERS: dict[str, Any] = {
    "another dtype": lambda: {"w": new(X.astype(np.float64)), "n": tnp.asarray(np.int32(0))},
    "another shape": lambda: {"w": new(X[:1]), "n": tnp.asarray(np.int32(0))},
    "a scalar": lambda: {"w": new(), "n": 0},
    "a weak array": lambda: {"w": new(), "n": tnp.asarray(0)},
    "arrays of numpy": lambda: {"w": X.copy(), "n": np.int32(0)},
    "not contiguous": lambda: {"w": np.asfortranarray(X), "n": np.array(0, np.int32)},
    "another byte order": lambda: {"w": X.astype(">f4"), "n": np.array(0, np.int32)},
    "another key": lambda: {"w": new(), "n": tnp.asarray(np.int32(0)), "b": new()},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments_are_never_taken_for_those_of_a_program(name: str):
    step = stepping()
    for make in (lambda: {"w": new(), "n": tnp.asarray(np.int32(0))}, OTHERS[name]) * 3:
        found, expected = step(make(), X), stepping()(make(), X)
        for key in ("w", "n"):
            assert found[key].dtype == expected[key].dtype
            np.testing.assert_array_equal(np.asarray(found[key]), np.asarray(expected[key]))


def test_what_the_function_reads_is_looked_at_and_names_and_static_values_are_right():
    factor: Any = 2.0
    scale = tenon.jit(lambda x, n=1: x * factor * n, donate_argnums=0, static_argnames="n")
    for factor in (2.0, 3.0, 2.0):
        for n in (1, 2):
            np.testing.assert_array_equal(np.asarray(scale(new(), n)), X * factor * n)
            np.testing.assert_array_equal(np.asarray(scale(n=n, x=new())), X * factor * n)
        np.testing.assert_array_equal(np.asarray(scale(new())), X * factor)


def test_calls_of_open_sizes_give_away_too():
    double = tenon.jit(lambda x: x * 2.0, donate_argnums=0, dynamic={"x": {0: tenon.Dim("n", 1, 8)}})
    for count in (1, 2, 1, 2):
        x = new(np.ones((count, 3), np.float32))
        np.testing.assert_array_equal(np.asarray(double(x)), np.full((count, 3), 2))
        with pytest.raises(TenonError, match="donated"):
            np.asarray(x)


def test_forgotten_programs_are_traced_again(slow_calls: list[Any]):
    double = tenon.jit(lambda x: x * 2.0, donate_argnums=0)
    for _ in range(2):
        double(new())
        double(new())
        double.clear_cache()
    assert len(slow_calls) == 2


RATES: dict[str, Any] = {"step": 2.0, "each": [1.0, 3.0]}


def _grown(x: Any) -> Any:
    return x * RATES["step"] + sum(RATES["each"])


def test_what_a_step_reads_from_outside_may_change(slow_calls: list[Any]):
    step = tenon.jit(lambda x: _grown(x), donate_argnums=0)
    try:
        for value in (2.0, 5.0, 2.0):
            RATES["step"] = value
            for _ in range(3):
                np.testing.assert_array_equal(np.asarray(step(new())), X * np.float32(value) + 4)
        assert len(step.explain_misses()) == 2
        before = len(slow_calls)
        RATES["each"].append(1.0)
        np.testing.assert_array_equal(np.asarray(step(new())), X * 2 + 5)
        assert len(slow_calls) == before + 1 and len(step.explain_misses()) == 3
    finally:
        RATES["step"], RATES["each"][2:] = 2.0, []
