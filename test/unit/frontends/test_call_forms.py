"""Calls with arguments by name, and with static ones, go to their program at once, and to no other's."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import tenon

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = X + 10


def plain(x: Any, y: Any, z: Any = 1.0) -> Any:
    return x * 100 + y * 10 + z


def named_only(x: Any, *, y: Any, z: Any = 1.0) -> Any:
    return plain(x, y, z)


def with_rest(x: Any, *rest: Any, **named: Any) -> Any:
    return x * 100 + sum(rest) * 10 + sum((n + 1) * named[key] for n, key in enumerate(sorted(named)))


def by_position_only(x: Any, /, **named: Any) -> Any:
    return x * 100 + sum(named.values())


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]] = {
    "all by name": (plain, (), {"x": X, "y": Y}),
    "in another order": (plain, (), {"y": Y, "z": X, "x": X}),
    "the last by name": (plain, (X,), {"y": Y}),
    "a parameter between left out": (plain, (), {"z": Y, "y": X, "x": Y}),
    "only by name": (named_only, (X,), {"z": Y, "y": X}),
    "a default of those": (named_only, (X,), {"y": Y}),
    "any": (with_rest, (X, Y), {"b": X, "a": Y}),
    "any, in another order": (with_rest, (X, Y), {"a": Y, "b": X}),
    "a name twice": (by_position_only, (X,), {"x": Y}),
    "scalars": (plain, (X,), {"y": 2.5, "z": 3}),
    "containers": (lambda x, p: x + p["w"] * p["n"][0], (X,), {"p": {"w": Y, "n": [2]}}),
    "not contiguous": (plain, (), {"x": X[:, ::-1], "y": Y[::-1]}),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_second_call_by_name_goes_to_the_program(name: str, slow_calls: list[Any]):
    function, arguments, named = CALLS[name]
    jitted = tenon.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(jitted(*arguments, **named)), function(*arguments, **named))
    assert len(slow_calls) == 1


def test_the_same_arguments_given_in_other_ways_are_never_mixed_up():
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((X, Y), {}),
        ((Y, X), {}),
        ((X,), {"y": Y}),
        ((), {"x": X, "y": Y}),
        ((), {"y": Y, "x": X}),
        ((), {"x": Y, "y": X}),
        ((X, Y), {"z": X}),
        ((X, Y, X), {}),
        ((), {"z": X, "x": Y, "y": Y}),
    ]
    jitted = tenon.jit(plain)
    for arguments, named in calls * 3:
        np.testing.assert_array_equal(np.asarray(jitted(*arguments, **named)), plain(*arguments, **named))


def test_names_that_the_function_does_not_take_are_errors_after_fast_calls():
    jitted = tenon.jit(plain)
    for _ in range(2):
        jitted(x=X, y=Y)
        with pytest.raises(TypeError, match="unexpected keyword argument 'w'"):
            jitted(X, Y, w=X)
        with pytest.raises(TypeError, match="multiple values for argument 'x'"):
            jitted(X, x=X)
        with pytest.raises(TypeError, match="missing a required argument: 'y'"):
            jitted(x=X)


def scaled(x: Any, n: Any, *, mode: Any = "up") -> Any:
    """Looks at the types of static values as well."""
    assert isinstance(mode, str)
    is_negative = isinstance(n, float) and str(n).startswith("-")
    return x * (-7 if is_negative else 5 if n is True else n) + (1 if mode == "up" else 2)


STATIC_WAYS: dict[str, dict[str, Any]] = {
    "by number": {"static_argnums": 1, "static_argnames": "mode"},
    "by name": {"static_argnames": ("n", "mode")},
    "by a number from the end": {"static_argnums": -1, "static_argnames": ["mode"]},
}


@pytest.mark.parametrize("way", STATIC_WAYS)
def test_calls_with_static_values_go_to_the_program_of_these(way: str, slow_calls: list[Any]):
    jitted = tenon.jit(scaled, **STATIC_WAYS[way])
    for _ in range(3):
        for n in (1, True, 1.0, 0.0, -0.0, 3, np.float32(1)):
            for mode in ("up", "down"):
                for found in (jitted(X, n, mode=mode), jitted(mode=mode, n=n, x=X)):
                    expected = scaled(X, n, mode=mode)
                    np.testing.assert_array_equal(np.asarray(found), expected)
        np.testing.assert_array_equal(np.asarray(jitted(X, 3)), scaled(X, 3))
    assert len(slow_calls) == 2 * 2 * 7 + 1


def test_a_static_value_that_is_not_hashable_is_the_same_error_in_every_call():
    jitted = tenon.jit(scaled, static_argnums=1)
    jitted(X, 2)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"scaled: static argument 'n' is \[2\], of type list, which is"):
            jitted(X, [2])
    np.testing.assert_array_equal(np.asarray(jitted(X, 2)), scaled(X, 2))


class Size:
    """Is equal to what has the same number now, as careless classes are."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and other.number == self.number

    def __hash__(self) -> int:
        return hash(self.number)


def test_a_static_value_that_has_changed_is_another_one():
    jitted = tenon.jit(lambda x, size: x * size.number, static_argnums=1)
    size = Size(2)
    for number in (2, 3, 2, 3):
        size.number = number
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(jitted(X, size)), number * X)


def test_all_arguments_may_be_static():
    jitted = tenon.jit(
        lambda n, m: np.full(2, n, np.float32) * tenon.numpy.ones(2) + m, static_argnums=(0, 1)
    )
    for n, m in ((1, 2), (2, 1), (1, 2), (2, 1)):
        np.testing.assert_array_equal(np.asarray(jitted(n, m)), [n + m, n + m])


def test_static_values_among_further_arguments(slow_calls: list[Any]):
    jitted = tenon.jit(lambda x, *rest: x * rest[0] + rest[1], static_argnums=1)
    for _ in range(3):
        for n in (2, 3):
            np.testing.assert_array_equal(np.asarray(jitted(X, n, Y)), X * n + Y)
    assert len(slow_calls) == 2


def test_what_the_function_reads_is_looked_at_in_calls_by_name():
    factor: Any = 2.0
    jitted = tenon.jit(lambda x, n: x * factor * n, static_argnames="n")
    for _ in range(2):
        for factor in (2.0, 3.0):
            np.testing.assert_array_equal(np.asarray(jitted(x=X, n=2)), X * factor * 2)


def test_forgotten_programs_with_static_values_are_traced_again(slow_calls: list[Any]):
    jitted = tenon.jit(scaled, static_argnums=1)
    for _ in range(2):
        jitted(X, n=2)
        jitted(X, n=2)
        jitted.clear_cache()
    assert len(slow_calls) == 2


def test_calls_of_sizes_that_were_met_go_to_the_program(slow_calls: list[Any]):
    weights = np.arange(3, dtype=np.float32)
    jitted = tenon.jit(lambda x, y: (x * weights + y, x.shape[0]), dynamic={"x": {0: tenon.Dim("n", 1, 8)}})
    for _ in range(3):
        for count in (1, 2, 7):
            x = np.full((count, 3), count, np.float32)
            found, extent = jitted(x, 1.5)
            np.testing.assert_array_equal(np.asarray(found), x * weights + 1.5)
            assert np.asarray(extent) == count
        weights[:] += 1
    assert len(slow_calls) == 3
    for wrong in (np.ones((9, 3), np.float32), np.ones((0, 3), np.float32)):
        for _ in range(2):
            with pytest.raises(tenon.errors.CallError, match="n"):
                jitted(wrong, 1.5)
    double = np.ones((2, 3))
    assert jitted(double, 1.5)[0].dtype == np.float64
    np.testing.assert_array_equal(np.asarray(jitted(double, 1.5)[0]), double * weights + 1.5)
