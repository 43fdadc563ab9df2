"""Calls of jitted functions that go to their program at once: they give what other calls give."""

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.errors import TenonError


class Counted:
    """Counts how often a function is traced."""

    def __init__(self, function: Any) -> None:
        self.traces = 0

        def run(*arguments: Any) -> Any:
            self.traces += 1
            return function(*arguments)

        self.jitted = tenon.jit(run)


X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_the_second_call_with_arrays_of_either_kind_or_both_goes_to_the_program(slow_calls: list[Any]):
    add = Counted(lambda x, y: x + y)
    for x in (X, tnp.asarray(X)):
        for y in (X, tnp.asarray(X)):
            assert np.array_equal(np.asarray(add.jitted(x, y)), 2 * X)
    assert len(slow_calls) == 1 and add.traces == 1


def test_other_shapes_and_dtypes_have_their_own_programs_which_are_all_found(slow_calls: list[Any]):
    double = Counted(lambda x: x + x)
    arguments = [X, X[0], X.astype(np.float64), X.astype(np.int32), np.array(3, np.float32)]
    for _ in range(3):
        for x in arguments:
            result = np.asarray(double.jitted(x))
            assert result.dtype == x.dtype and np.array_equal(result, 2 * x)
    assert double.traces == len(slow_calls) == len(arguments)


def test_more_programs_than_are_tried_at_once_are_all_right():
    double = Counted(lambda x: x + x)
    for _ in range(2):
        for extent in range(1, 14):
            x = np.full(extent, extent, np.float32)
            assert np.array_equal(np.asarray(double.jitted(x)), 2 * x)
    assert double.traces == 13


STRANGE = {
    "strided": np.arange(12, dtype=np.float32)[::2].reshape(2, 3),
    "transposed": np.asfortranarray(X),
    "reversed": X[::-1, ::-1],
    "unaligned": np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3),
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "broadcast": np.broadcast_to(np.float32(2), (2, 3)),
    "subclass": X.view(np.matrix),
    "read only": np.frombuffer(X.tobytes(), np.float32).reshape(2, 3),
}


@pytest.mark.parametrize("name", STRANGE)
def test_arrays_that_are_laid_out_otherwise_give_the_same(name: str):
    double = Counted(lambda x: x + x)
    double.jitted(X)
    x = STRANGE[name]
    for _ in range(2):
        assert np.array_equal(np.asarray(double.jitted(x)), 2 * np.asarray(x, np.float32))
    assert double.traces == 1


def test_an_offset_into_an_array_is_no_other_array(slow_calls: list[Any]):
    double = Counted(lambda x: x + x)
    many = np.arange(20, dtype=np.float32)
    for start in range(5):
        x = many[start : start + 8]
        assert np.array_equal(np.asarray(double.jitted(x)), 2 * x)
    assert len(slow_calls) == 1


def test_a_python_scalar_is_no_array_of_rank_0(slow_calls: list[Any]):
    add = Counted(lambda x, y: x + y)
    x = np.ones(2, np.float32)
    for _ in range(2):
        assert add.jitted(x, 2.0).dtype == np.float32
        assert add.jitted(x, np.array(2.0)).dtype == np.float64
        assert add.jitted(x, 2).dtype == np.float32
        assert add.jitted(x, True).dtype == np.float32
    assert add.traces == len(slow_calls) == 4
    assert np.array_equal(np.asarray(add.jitted(x, 5.5)), [6.5, 6.5])


def test_a_scalar_of_numpy_is_an_array_of_rank_0_and_no_scalar_of_python(slow_calls: list[Any]):
    add = Counted(lambda x, y: x + y)
    x = np.ones(2, np.float32)
    for _ in range(2):
        for scalar in (
            np.float64(2),
            np.float32(2),
            np.int64(2),
            np.bool_(True),
            np.float16(2),
            2.0,
            2,
            True,
        ):
            result = add.jitted(x, scalar)
            assert result.dtype == (x + scalar).dtype
            np.testing.assert_array_equal(np.asarray(result), x + scalar)
        assert add.jitted(x, np.array(2.0)).dtype == np.float64
    assert len(slow_calls) == add.traces == 8


def test_text_of_numpy_is_an_error_in_every_call():
    double = tenon.jit(lambda x: x + x)
    double(np.float32(1))
    for _ in range(2):
        with pytest.raises(TypeError, match=r"argument .x.: dtype <U1 is not supported"):
            double(np.str_("1"))


def test_arrays_that_are_not_contiguous_go_to_the_program(slow_calls: list[Any]):
    double = Counted(lambda x: x + x)
    double.jitted(X)
    for name in ("strided", "transposed", "reversed", "broadcast"):
        result = double.jitted(STRANGE[name])
        np.testing.assert_array_equal(np.asarray(result), 2 * STRANGE[name])
    assert len(slow_calls) == 1


def test_an_integer_that_does_not_fit_is_an_error_in_every_call():
    add = Counted(lambda x, y: x + y)
    x = np.ones(2, np.int8)
    assert np.array_equal(np.asarray(add.jitted(x, 2)), [3, 3])
    for value in (300, 2**70):
        for _ in range(2):
            with pytest.raises(OverflowError, match=r"[Pp]ython integer \d+ (is )?out of bounds"):
                add.jitted(x, value)
    assert np.array_equal(np.asarray(add.jitted(x, 3)), [4, 4])


def test_results_in_lists_and_dicts_with_constants_come_back_so(slow_calls: list[Any]):
    split = tenon.jit(lambda x: {"sum": x + x, "rest": (None, [x - x], "text")})
    for _ in range(2):
        result = split(X)
        assert np.array_equal(np.asarray(result["sum"]), 2 * X)
        assert result["rest"][0] is None and result["rest"][2] == "text"
        assert np.array_equal(np.asarray(result["rest"][1][0]), 0 * X)
    assert len(slow_calls) == 1


def test_arrays_from_outside_are_read_at_each_call(slow_calls: list[Any]):
    weights = np.ones(3, np.float32)
    scaled = tenon.jit(lambda x: x * weights)
    scaled(X)
    weights[:] = 3
    assert np.array_equal(np.asarray(scaled(X)), 3 * X)
    assert len(slow_calls) == 1


def test_a_variable_from_outside_that_changes_is_seen():
    factor: Any = 2.0
    scaled = tenon.jit(lambda x: x * factor)
    assert np.array_equal(np.asarray(scaled(X)), 2 * X)
    assert np.array_equal(np.asarray(scaled(X)), 2 * X)
    factor = 3.0
    assert np.array_equal(np.asarray(scaled(X)), 3 * X)
    factor = 2.0
    assert np.array_equal(np.asarray(scaled(X)), 2 * X)


def test_a_static_argument_is_never_taken_for_another():
    power = tenon.jit(lambda x, n: x * n, static_argnums=1)
    for n in (2, 3, 2, 3):
        assert np.array_equal(np.asarray(power(X, n)), n * X)


def test_results_are_new_at_each_call():
    double = tenon.jit(lambda x: x + x)
    first, second = (double(X) for _ in range(2))
    third = double(2 * X)
    assert np.array_equal(np.asarray(first), np.asarray(second))
    assert np.array_equal(np.asarray(third), 4 * X)
    assert not np.may_share_memory(first.numpy(), second.numpy())


def test_a_donated_array_is_an_error_in_a_fast_call_too():
    double = tenon.jit(lambda x: x + x)
    give = tenon.jit(lambda x: x * 2.0, donate_argnums=0)
    x = tnp.asarray(X.copy())
    double(x)
    give(x)
    with pytest.raises(TenonError, match="donated"):
        double(x)


def test_wrong_numbers_of_arguments_are_errors_after_fast_calls():
    add = tenon.jit(lambda x, y: x + y)
    add(X, X)
    add(X, X)
    for arguments in ((X,), (X, X, X), ()):
        with pytest.raises(TypeError):
            add(*arguments)


def test_forgotten_programs_are_traced_again():
    double = Counted(lambda x: x + x)
    double.jitted(X)
    double.jitted.clear_cache()
    double.jitted(X)
    assert double.traces == 2


def test_a_jitted_function_in_another_is_inlined_after_fast_calls():
    double = tenon.jit(lambda x: x + x)
    double(X)
    double(X)
    outer = tenon.jit(lambda x: double(x) * 2.0)
    assert np.array_equal(np.asarray(outer(X)), 4 * X)


def test_several_threads_call_one_function_at_once():
    double = tenon.jit(lambda x: x + x)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = np.full((number % 3 + 1, 50), number, np.float32)
        for _ in range(200):
            if not np.array_equal(np.asarray(double(x)), 2 * x):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_by_name_says_nothing_of_calls_that_leave_the_argument_out():
    with_default = tenon.jit(lambda x, scale=3.0: x if scale is None else x * scale)
    named_only = tenon.jit(lambda x, *, scale=3.0: x if scale is None else x * scale)
    with_rest = tenon.jit(lambda x, **rest: x * (1 + len(rest)))
    for jitted, nothing in ((with_default, {"scale": None}), (named_only, {"scale": None})):
        for _ in range(2):
            assert np.array_equal(np.asarray(jitted(X, **nothing)), X)
            assert np.array_equal(np.asarray(jitted(X)), 3 * X)
    for _ in range(2):
        assert np.array_equal(np.asarray(with_rest(X, a=None)), 2 * X)
        assert np.array_equal(np.asarray(with_rest(X)), X)


def weights(count: int = 3) -> dict[str, Any]:
    return {"layers": [{"w": X * n, "b": (tnp.asarray(X), None)} for n in range(count)], "scale": 2.0}


def total(x: Any, tree: Any) -> Any:
    """Says what containers it is given, and adds up what is in them."""
    seen: list[str] = []

    def found(part: Any) -> Any:
        seen.append(type(part).__name__)
        if isinstance(part, dict):
            return sum([found(part[key]) for key in sorted(part)], tnp.asarray(np.float32(len(part))))
        if isinstance(part, list | tuple):
            return sum(
                [n * found(each) for n, each in enumerate(part)], tnp.asarray(np.float32(len(part) / 8))
            )
        return np.float32(0) if part is None else part

    result = x + found(tree)
    return result, " ".join(seen)


def test_arrays_in_lists_and_dicts_go_to_the_program(slow_calls: list[Any]):
    add = Counted(total)
    expected = [np.asarray(each) for each in total(X, weights())[:1]]
    for _ in range(3):
        for x in (X, tnp.asarray(X)):
            result, _ = add.jitted(x, weights())
            np.testing.assert_array_equal(np.asarray(result), expected[0])
    assert len(slow_calls) == add.traces == 1


class State(NamedTuple):
    mean: Any
    count: Any


class Moments(NamedTuple):
    mean: Any
    count: Any


def test_named_tuples_go_to_the_program_and_keep_their_names(slow_calls: list[Any]):
    step = tenon.jit(lambda state: State(state.mean + 1, state.count * 2))
    for _ in range(3):
        found = step(State(X, 3))
        assert type(found) is State and np.asarray(found.count) == 6
        np.testing.assert_array_equal(np.asarray(found.mean), X + 1)
    assert len(slow_calls) == 1
    for count in (3, 4):
        assert np.asarray(step(Moments(X, count)).count) == 2 * count
    assert len(slow_calls) == 2
    with pytest.raises(AttributeError, match="mean"):
        step((X, 3))


class Text(str):
    """A key that is equal to a string and is none."""


OTHERS: dict[str, Any] = {
    "a tuple for a list": {**weights(), "layers": tuple(weights()["layers"])},
    "fewer layers": weights(2),
    "more layers": weights(4),
    "a key less": {"layers": weights()["layers"]},
    "a key more": {**weights(), "bias": X},
    "another key": {"layers": weights()["layers"], "factor": 2.0},
    "keys in another order": {"scale": 2.0, "layers": weights()["layers"]},
    "a key that is equal": {"layers": weights()["layers"], Text("scale"): 2.0},
    "an integer": {**weights(), "scale": 2},
    "a bool": {**weights(), "scale": True},
    "an array of rank 0": {**weights(), "scale": np.array(2.0)},
    "an array": {**weights(), "scale": X},
    "a list for a leaf": {**weights(), "scale": [2.0]},
    "nothing for a leaf": {**weights(), "scale": None},
    "nothing for a list": {**weights(), "layers": None},
    "a leaf for a list": {**weights(), "layers": X},
    "a leaf for nothing": {"layers": [{"w": X, "b": (X, X)}] * 3, "scale": 2.0},
    "another dtype": {"layers": [{"w": X.astype(np.float64), "b": (X, None)}] * 3, "scale": 2.0},
    "another shape": {"layers": [{"w": X[:1], "b": (X, None)}] * 3, "scale": 2.0},
    "another layout": {"layers": [{"w": X.T.copy().T, "b": (X, None)}] * 3, "scale": 2.0},
    "a number of numpy's": {**weights(), "scale": np.float32(2)},
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_containers_are_never_taken_for_those_of_a_program(name: str):
    add = tenon.jit(total)
    for tree in (weights(), OTHERS[name], weights(), OTHERS[name], OTHERS[name]):
        result, seen = add(X, tree)
        expected, expected_seen = tenon.jit(total)(X, tree)
        assert seen == expected_seen
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(result), np.asarray(expected))


def test_a_container_of_another_kind_is_no_argument_that_was_an_array(slow_calls: list[Any]):
    double = tenon.jit(lambda x: tnp.asarray(x) * 2)
    for argument in (X, [1.0, 2.0], X, [1.0, 2.0], (1.0, 2.0)):
        np.testing.assert_array_equal(np.asarray(double(argument)), np.asarray(argument) * 2)
    assert len(slow_calls) == 3
