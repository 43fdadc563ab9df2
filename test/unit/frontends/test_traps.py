"""The traps that tracing compilers have: each works, or is an error that says what to do."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.calls import versions

X = np.arange(4, dtype=np.float32)


def traced_error(function: Callable[..., Any], *arguments: Any) -> str:
    """Returns the text of the `TracingError` of a call, which names this file and has a caret."""
    with pytest.raises(tenon.TracingError) as caught:
        tenon.jit(function)(*arguments)
    text = str(caught.value)
    assert f"{__file__}:" in text
    assert text.splitlines()[-1].strip() == "^"
    return text


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_if_on_a_traced_array_says_what_to_use():
    def f(x: Any) -> Any:
        if x[0] > 0:
            return x
        return -x

    text = traced_error(f, X)
    assert (
        "error: bool: the values of an array of dtype bool and shape () are not known while @f is traced"
        in text
    )
    assert "tenon.cond" in text
    assert "        if x[0] > 0:\n" in text


def test_while_and_or_not_and_assert_on_a_traced_array_are_the_same_error():
    def loops(x: Any) -> Any:
        while x[0] < 3:
            x = x + 1
        return x

    def asserts(x: Any) -> Any:
        assert x[0] < 3
        return x

    for f in (loops, asserts, lambda x: x[0] and x[1], lambda x: x[0] or x[1], lambda x: not x[0]):
        assert "error: bool: the values" in traced_error(f, X)


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda x: float(x[0]), "float"),
        (lambda x: int(x[0]), "int"),
        (lambda x: complex(x[0]), "complex"),
        (lambda x: range(tnp.astype(x[0], tnp.int32)), "index"),
        (lambda x: x[0].item(), "item"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: x.numpy(), "numpy"),
        (lambda x: np.asarray(x), "numpy"),
        (lambda x: np.from_dlpack(x), "dlpack"),
        (lambda x: pickle.dumps(x), "pickle"),
        (lambda x: f"{x[0]:.3f}", "format"),
    ],
)
def test_reading_a_value_while_tracing_names_the_read(read: Callable[[Any], Any], what: str):
    assert f"error: {what}: the values of an array" in traced_error(read, X)


def test_len_and_iteration_over_a_traced_array_unroll():
    def f(x: Any) -> Any:
        total = x[0] * 0
        for number, row in enumerate(x):
            total = total + row * (number + len(x))
        return total

    same(tenon.jit(f)(X), f(X))


def test_the_length_of_an_array_of_rank_0_is_an_error_as_in_numpy():
    with pytest.raises(TypeError, match="len: an array of rank 0 has no length"):
        tenon.jit(lambda x: len(x[0]))(X)
    with pytest.raises(TypeError, match="iter: an array of rank 0 cannot be iterated over"):
        tenon.jit(lambda x: list(x[0]))(X)


def test_printing_a_traced_array_shows_its_type(capsys: pytest.CaptureFixture[str]):
    @tenon.jit
    def f(x: Any) -> Any:
        print(x, f"{x}", [x])
        return x

    f(X)
    f(X)
    shown = "<traced float32[4] of @f>"
    assert capsys.readouterr().out == f"{shown} {shown} [{shown}]\n", "once: calls do not run the function"


def test_numpy_functions_on_traced_arrays_are_those_of_tenon():
    def f(x: Any) -> Any:
        return np.sin(x), np.add(X, x), x + X, X + x, np.sum(x), np.concatenate([x, x]), np.maximum(x, 1.0)

    for found, expected in zip(tenon.jit(f)(X), f(X), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def test_numpy_functions_that_tenon_lacks_are_errors():
    assert "numpy.roots: the values" in traced_error(lambda x: np.roots(x), X)
    assert "numpy.add.reduce: the values" in traced_error(lambda x: np.add.reduce(x), X)
    assert "which takes no out" in traced_error(lambda x: np.add(x, x, out=np.zeros(4)), X)


SCALE = 2.0
WEIGHTS = np.ones(4, np.float32)
TABLE = {"rate": 0.5, "layers": [1, 2]}


class Settings:
    rate = 3.0


SETTINGS = Settings()


def test_a_global_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch):
    f = tenon.jit(lambda x: x * SCALE)
    same(f(X), X * 2)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    same(f(X), X * 5)
    assert "'SCALE' has changed since it was traced" in str(f.explain_misses())
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    same(f(X), X * 2)
    assert len(f.explain_misses()) == 2, "a program for the old value is there already"


def test_a_global_that_changes_from_zero_to_minus_zero_is_seen(monkeypatch: pytest.MonkeyPatch):
    f = tenon.jit(lambda x: x * 0 + SCALE)
    monkeypatch.setitem(globals(), "SCALE", 0.0)
    f(X)
    monkeypatch.setitem(globals(), "SCALE", -0.0)
    f(X)
    assert len(f.explain_misses()) == 2


def test_attributes_and_items_of_globals_that_change_are_seen(monkeypatch: pytest.MonkeyPatch):
    f = tenon.jit(lambda x: x * SETTINGS.rate + TABLE["rate"] + len(TABLE["layers"]))
    same(f(X), X * 3 + 2.5)
    monkeypatch.setattr(SETTINGS, "rate", 4.0)
    same(f(X), X * 4 + 2.5)
    monkeypatch.setitem(TABLE, "rate", 1.5)
    same(f(X), X * 4 + 3.5)
    monkeypatch.setitem(TABLE, "layers", [1, 2, 3])
    same(f(X), X * 4 + 4.5)


def test_arrays_that_no_program_has_can_be_read_from_outside():
    names = np.array(["a", "b"])
    f = tenon.jit(lambda x: x * len(names) + (names[0] == "a"))
    same(f(X), X * 2 + 1)
    same(f(X), X * 2 + 1)
    assert len(f.explain_misses()) == 1
    names = np.array(["b"])
    same(f(X), X)


def test_a_list_that_grows_is_seen():
    layers = [1.0]

    @tenon.jit
    def f(x: Any) -> Any:
        for layer in layers:
            x = x + layer
        return x

    same(f(X), X + 1)
    layers.append(2.0)
    same(f(X), X + 3)


def test_a_variable_of_a_closure_that_changes_is_seen():
    rate = 1.0

    @tenon.jit
    def f(x: Any) -> Any:
        return x * rate

    same(f(X), X)
    rate = 2.0
    same(f(X), X * 2)


def test_a_function_that_is_called_and_changes_is_seen(monkeypatch: pytest.MonkeyPatch):
    f = tenon.jit(lambda x: helper(x))
    same(f(X), X + 2)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    same(f(X), X + 7)
    monkeypatch.setitem(globals(), "helper", lambda x: x * 3)
    same(f(X), X * 3)


def helper(x: Any) -> Any:
    return x + SCALE


def test_a_captured_numpy_array_is_read_at_each_call():
    weights = np.ones(4, np.float32)
    f = tenon.jit(lambda x: x + weights)
    same(f(X), X + 1)
    weights[1] = 10
    same(f(X), X + weights)
    weights = weights * 2
    same(f(X), X + weights)
    assert len(f.explain_misses()) == 1, "another array in its place is no reason to trace"
    weights = np.ones(1, np.float32)
    same(f(X), X + 1)
    assert len(f.explain_misses()) == 2, "one of another shape is"


def test_two_names_of_one_captured_array_part_ways():
    first = second = np.ones(4, np.float32)
    f = tenon.jit(lambda x: x + first - second)
    same(f(X), X)
    second = np.zeros(4, np.float32)
    same(f(X), X + 1)


def test_a_captured_array_in_a_list_is_read_at_each_call():
    weights = [np.ones(4, np.float32)]
    f = tenon.jit(lambda x: x + weights[-1])
    same(f(X), X + 1)
    weights[0][:] = 5
    same(f(X), X + 5)
    weights[0] = np.zeros(4, np.float32)
    same(f(X), X)


def test_an_argument_that_is_changed_after_the_call_leaves_the_result_alone():
    x = X.copy()
    y = tenon.jit(lambda x: x)(x)
    z = tenon.jit(lambda x: (x, x[1:], x))(x)
    x[:] = -1
    same(y, X)
    same(z[0], X)
    same(z[1], X[1:])
    assert not np.shares_memory(z[0].values, z[2].values)


def test_the_same_array_twice_is_two_arguments():
    f = tenon.jit(lambda x, y: x - 2 * y)
    same(f(X, X), -X)
    same(f(X, X + 1), X - 2 * (X + 1))
    assert len(f.explain_misses()) == 1


def test_in_place_operators_make_new_arrays():
    def f(x: Any) -> Any:
        y = x
        x += 1
        return x, y

    found, old = tenon.jit(f)(tnp.asarray(X))
    same(found, X + 1)
    same(old, X)
    kept = eager = tnp.asarray(X)
    eager += 1
    same(kept, X)


def test_assignment_to_an_element_is_an_error_with_the_alternative():
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    message = (
        r"arrays are immutable: x\[index\] = value is not possible \(hint: x = x.at\[index\].set\(value\)\)"
    )
    with pytest.raises(TypeError, match=message):
        tenon.jit(f)(X)
    with pytest.raises(TypeError, match="arrays are immutable"):
        f(tnp.asarray(X))


def test_a_traced_array_that_leaks_is_an_error_where_it_is_used():
    kept: list[Any] = []

    @tenon.jit
    def f(x: Any) -> Any:
        kept.append(x)
        return x

    f(X)
    with pytest.raises(tenon.TracingError, match="of @f is used after its trace ended"):
        kept[0] + 1
    with pytest.raises(tenon.TracingError, match="is used after its trace ended"):
        tenon.jit(lambda x: x + kept[0])(X)
    with pytest.raises(tenon.TracingError, match="is used after its trace ended"):
        tenon.jit(lambda x: x)(kept[0])
    with pytest.raises(tenon.TracingError, match="is used after its trace ended"):
        tenon.jit(lambda x: kept[0])(X)


def test_a_value_of_a_loop_that_leaks_is_an_error():
    kept: list[Any] = []

    def f(x: Any) -> Any:
        tenon.fori_loop(0, 3, lambda i, v: kept.append(v) or v, x)
        return kept[0] + 1

    assert "is used after the body of a loop ended" in traced_error(f, X)


def test_a_traced_array_in_another_thread_is_an_error():
    def f(x: Any) -> Any:
        caught: list[BaseException] = []

        def use() -> None:
            try:
                x + 1
            except tenon.TracingError as error:
                caught.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        raise caught[0]

    assert "is used in another thread" in traced_error(f, X)


def test_side_effects_happen_once_per_signature():
    calls: list[Any] = []

    @tenon.jit
    def f(x: Any) -> Any:
        calls.append(x.shape)
        return x

    for extent in (3, 3, 4, 3):
        f(np.zeros(extent))
    assert calls == [(3,), (4,)]


COUNTER = 0


def test_a_global_that_the_function_itself_changes_is_changed_once_per_signature():
    counts = [0]

    @tenon.jit
    def f(x: Any) -> Any:
        global COUNTER
        COUNTER += 1
        counts[0] += 1
        return x * COUNTER

    for _ in range(3):
        same(f(X), X * COUNTER)
    assert COUNTER == counts[0] == 1


def test_an_object_in_the_place_of_one_that_is_gone_is_seen():
    class Layer:
        def __init__(self, rate: float):
            self.rate = rate

    layers = [Layer(1.0)]
    f = tenon.jit(lambda x: x * layers[-1].rate)
    for rate in (1.0, 2.0, 3.0, 4.0):
        layers[0] = Layer(rate)
        same(f(X), X * np.float32(rate))


def test_an_exception_of_the_function_leaves_nothing_behind():
    @tenon.jit
    def f(x: Any) -> Any:
        tenon.cond(x[0] > 0, lambda: 1 / 0, lambda: x)

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            f(X)
    assert not f.explain_misses()
    assert float(tnp.sum(tnp.asarray(X))) == 6, "no trace is open"


def test_a_caught_exception_does_not_end_a_trace():
    def f(x: Any) -> Any:
        try:
            tnp.reshape(x, (3, 3))
        except ValueError:
            x = x + 1
        return x

    same(tenon.jit(f)(X), X + 1)


def test_generators_and_coroutines_are_refused():
    def generator(x: Any) -> Any:
        yield x

    async def coroutine(x: Any) -> Any:
        return x

    for function in (generator, coroutine, functools.partial(generator, X)):
        with pytest.raises(TypeError, match="is a generator or a coroutine, expected a function"):
            tenon.jit(function)
    with pytest.raises(
        TypeError, match=r"returns a generator, expected arrays .* \(hint: a generator as a list\)"
    ):
        tenon.jit(lambda x: (row for row in x))(X)


def test_defaults_keywords_and_varargs():
    def f(x: Any, /, y: Any = 2, *rest: Any, scale: Any = 3, **more: Any) -> Any:
        return x * scale + y + sum(rest) + sum(more.values())

    jitted = tenon.jit(f)
    same(jitted(X), f(X))
    same(jitted(X, 5), f(X, 5))
    same(jitted(X, y=5), f(X, 5))
    assert len(jitted.explain_misses()) == 2, "by name or by position is the same"
    same(jitted(X, 5, 6, 7, scale=1, a=2, b=3), f(X, 5, 6, 7, scale=1, a=2, b=3))
    with pytest.raises(TypeError, match="f: missing a required argument: 'x'"):
        jitted(y=3)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument"):
        tenon.jit(lambda x, y: x)(X)


def test_methods_partials_lambdas_and_callable_objects():
    class Model:
        def __init__(self) -> None:
            self.scale = 2.0

        def apply(self, x: Any) -> Any:
            return x * self.scale

        @functools.partial(tenon.jit, static_argnums=0)
        def jitted(self, x: Any) -> Any:
            return x * self.scale

        def __call__(self, x: Any) -> Any:
            return x + self.scale

    model = Model()
    bound, called = tenon.jit(model.apply), tenon.jit(model)
    same(bound(X), X * 2)
    same(model.jitted(X), X * 2)
    same(called(X), X + 2)
    model.scale = 3.0
    same(bound(X), X * 3)
    same(model.jitted(X), X * 3)
    same(called(X), X + 3)
    same(tenon.jit(functools.partial(lambda x, y: x - y, y=1))(X), X - 1)
    assert bound.__name__ == "apply"


def test_a_method_whose_self_is_not_static_says_so():
    class Model:
        @tenon.jit
        def apply(self, x: Any) -> Any:
            return x

    with pytest.raises(
        TypeError, match=r"apply: argument 'self' is a Model, expected an array.*static_argnums"
    ):
        Model().apply(X)


def test_static_values_that_are_equal_but_not_the_same_are_told_apart():
    seen: list[Any] = []

    @functools.partial(tenon.jit, static_argnames="value")
    def f(x: Any, value: Any) -> Any:
        seen.append(value)
        return x

    values = [1, True, 1.0, 0.0, -0.0, (1, 2), (True, 2), np.int64(1), "1", None, slice(1), slice(True)]
    for value in (*values, *values):
        f(X, value)
    assert [repr(value) for value in seen] == [repr(value) for value in values]


def test_nan_is_one_static_value():
    f = tenon.jit(lambda x, value: x + value, static_argnums=1)
    f(X, float("nan"))
    f(X, float("nan"))
    assert len(f.explain_misses()) == 1


def test_static_arguments_that_are_not_hashable_are_errors():
    f = tenon.jit(lambda x, value: x, static_argnums=1)
    for value, hint in (
        ([1], r"a tuple"),
        ({"a": 1}, "frozen dataclass"),
        (X, "an array is no static argument"),
    ):
        with pytest.raises(TypeError, match=f"static argument 'value' is .* which is not hashable.*{hint}"):
            f(X, value)


def test_static_numbers_and_names_that_are_not_there_are_errors():
    with pytest.raises(ValueError, match="jit: static_argnums of f has 2, but it has 1 parameters"):
        tenon.jit(lambda x: x, static_argnums=2, name="f")
    with pytest.raises(ValueError, match=r"jit: static_argnames of f has 'y', expected one of \['x'\]"):
        tenon.jit(lambda x: x, static_argnames="y", name="f")
    with pytest.raises(TypeError, match="jit: donate_argnums of f has 'x', expected integers"):
        tenon.jit(lambda x: x, donate_argnums="x", name="f")
    with pytest.raises(ValueError, match="argument 0 of f is both static and donated"):
        tenon.jit(lambda x: x, static_argnums=0, donate_argnums=0, name="f")
    with pytest.raises(TypeError, match="jit: 3 is not a function"):
        tenon.jit(3)


def test_a_donated_array_cannot_be_used_again():
    f = tenon.jit(lambda x, y: x + y, donate_argnums=0)
    x = tnp.asarray(X.copy())
    f(x, X)
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: f(x, X), lambda: repr(x), lambda: float(x[0])):
        with pytest.raises(
            tenon.TenonError, match=r"an array of shape \(4,\) is used after it was donated to"
        ):
            use()
    assert x.shape == (4,)
    same(f(X, X), X + X)
    same(X, np.arange(4))


def test_a_donated_array_gives_its_memory_to_a_result():
    f = tenon.jit(lambda params, x: {"w": params["w"] + x, "b": params["b"] * 2}, donate_argnums=0)
    params = {"w": tnp.asarray(X.copy()), "b": tnp.asarray(X.copy())}
    addresses = {name: each.values.ctypes.data for name, each in params.items()}
    for _ in range(3):
        params = f(params, X)
        assert {name: each.values.ctypes.data for name, each in params.items()} == addresses
    same(params["w"], X * 4)
    same(params["b"], X * 8)
    assert "{tenon.donated}" in f.lower(params, X).text("traced")


def test_an_array_that_is_the_only_argument_gives_its_memory_to_the_result():
    f = tenon.jit(lambda x: x + 1, donate_argnums=0)
    x = tnp.asarray(X.copy())
    address = x.values.ctypes.data
    for _ in range(3):
        x = f(x)
        assert x.values.ctypes.data == address
    same(x, X + 3)


def test_memory_that_others_see_is_not_donated():
    f = tenon.jit(lambda x: x + 1, donate_argnums=0)
    values = X.copy()
    x = tnp.asarray(values)
    same(f(x), X + 1)
    same(values, X)
    x = tnp.asarray(X.copy())
    view = np.asarray(x)
    same(f(x), X + 1)
    same(view, X)
    same(f(tnp.asarray(values[1:])), X[1:] + 1)
    same(values, X)
    of_a_dict = tenon.jit(lambda params: {"w": params["w"] + 1}, donate_argnums=0)
    for see in (np.asarray, lambda x: x.values, lambda x: [x.values]):
        params = {"w": tnp.asarray(X.copy())}
        seen = see(params["w"])
        same(of_a_dict(params)["w"], X + 1)
        same(seen[0] if isinstance(seen, list) else seen, X)


def test_nothing_is_donated_where_references_are_counted_by_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(versions, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    monkeypatch.setattr(versions, "N_REFERENCES", versions.references_of_one())
    f = tenon.jit(lambda x: x + 1, donate_argnums=0)
    x = tnp.asarray(X.copy())
    address = x.values.ctypes.data
    assert f(x).values.ctypes.data != address


def test_an_array_that_is_donated_and_given_twice_is_an_error():
    f = tenon.jit(lambda x, y: x + y, donate_argnums=0)
    x = tnp.asarray(X)
    with pytest.raises(ValueError, match="argument 0 is donated, and the same array is given again"):
        f(x, x)


def test_python_integers_that_do_not_fit_are_errors():
    f = tenon.jit(lambda x, n: x + n)
    small = np.zeros(2, np.int8)
    same(f(small, 100), small + 100)
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        f(small, 300)
    with pytest.raises(OverflowError, match="out of bounds for int64 and uint64"):
        f(small, 2**64)
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        tenon.jit(lambda x: x + 300)(small)
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        tnp.asarray(small) + 300
    assert (tnp.asarray(small) + 100).dtype == np.int8


def test_python_scalars_take_the_dtype_of_arrays():
    f = tenon.jit(lambda x, n: x * n + 1)
    assert f(X, 2).dtype == np.float32
    assert f(X, 2.5).dtype == np.float32
    assert f(X.astype(np.float16), 2.5).dtype == np.float16
    assert f(np.arange(3, dtype=np.int8), 2).dtype == np.int8
    assert f(np.arange(3, dtype=np.int8), 2.5).dtype == np.float64
    assert f(X, np.float64(2.5)).dtype == np.float64, "a numpy scalar is no Python scalar"
    assert f(3, 4).dtype == np.int64
    assert f(3.0, 4).dtype == np.float64


def test_other_values_of_python_scalars_are_not_traced_again():
    f = tenon.jit(lambda x, n: x * n)
    for n in (1.5, 2.5, 0.0, -0.0, float("nan")):
        same(f(X, n), X * np.float32(n))
    assert len(f.explain_misses()) == 1


def test_threads_that_trace_at_once_are_independent():
    functions = [tenon.jit(lambda x, k=k: x * k + tnp.sum(x)) for k in range(4)]
    found: dict[int, Any] = {}
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        barrier.wait()
        found[number] = functions[number](X), functions[0](X)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        same(found[number][0], X * number + 6)
        same(found[number][1], X * 0 + 6)
    assert len(functions[0].explain_misses()) == 1, "what one thread compiled serves the others"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_a_fork_calls_and_compiles():
    f = tenon.jit(lambda x: x + 1)
    f(X)
    child = os.fork()
    if not child:
        try:
            works = bool((np.asarray(f(X)) == X + 1).all()) and bool(
                (np.asarray(f(X[:2])) == X[:2] + 1).all()
            )
        finally:
            os._exit(0 if works else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_function_that_jits_itself_without_end_is_an_error():
    @tenon.jit
    def f(x: Any) -> Any:
        return f(x) + 1

    with pytest.raises(
        tenon.TracingError, match=r"f calls itself without end while it is traced \(100 calls deep\)"
    ):
        f(X)


def test_a_function_that_jits_itself_with_an_end_works():
    @functools.partial(tenon.jit, static_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    same(power(X, 3), X**3)


def test_a_jitted_function_is_inlined_into_another():
    inner = tenon.jit(lambda x, y: {"sum": x + y})
    outer = tenon.jit(lambda x: inner(x, WEIGHTS)["sum"] * 2)
    same(outer(X), (X + 1) * 2)
    assert outer.lower(X).text("traced").count("func.func") == 1
    assert not inner.explain_misses()


def test_arguments_that_are_no_arrays_name_the_argument():
    f = tenon.jit(lambda x, params: x)
    with pytest.raises(
        TypeError, match=r"argument 'params\['w'\]\[1\]' is 'relu', of type str.*static_argnums"
    ):
        f(X, {"w": [X, "relu"]})
    with pytest.raises(TypeError, match=r"argument 'x'.*complex128"):
        f(np.zeros(2, complex), {})


def test_results_that_are_no_arrays_stay_as_they_are():
    found = tenon.jit(lambda x: {"n": 3, "name": "sum", "none": None, "x": (x, 2.5, True)})(X)
    assert found["n"] == 3 and type(found["n"]) is int
    assert found["name"] == "sum"
    assert found["none"] is None
    assert found["x"][1:] == (2.5, True)
    assert tenon.jit(lambda x: 7)(X) == 7


def test_a_result_of_another_type_is_an_error():
    with pytest.raises(TypeError, match="returns a Settings, expected arrays and constants of Python's"):
        tenon.jit(lambda x: SETTINGS)(X)


def test_copies_of_a_traced_array_are_the_array():
    same(tenon.jit(lambda x: copy.copy(x) + copy.deepcopy(x))(X), X + X)


def test_a_container_that_holds_itself_is_an_error():
    loop: list[Any] = [X]
    loop.append(loop)
    table: dict[str, Any] = {"x": X}
    table["table"] = (X, [table])
    for wrong, message in (
        (loop, "tree: a list contains itself"),
        (table, "tree: a dict contains itself"),
    ):
        with pytest.raises(tenon.TenonError, match=re.escape(message)):
            tenon.jit(lambda x: x)(wrong)
        with pytest.raises(tenon.TenonError, match="contains itself"):
            tenon.jit(lambda x, wrong=wrong: wrong)(X)
    shared = [X]
    assert len(tenon.jit(lambda x: x)([shared, shared])) == 2


def test_containers_nested_too_deeply_are_an_error():
    def nested(depth: int) -> Any:
        return functools.reduce(lambda inside, _: [inside], range(depth), X)

    deep = tenon.jit(lambda x: x)(nested(90))
    assert functools.reduce(lambda outside, _: outside[0], range(90), deep).shape == X.shape
    for depth in (101, 450, 100_000):
        with pytest.raises(tenon.TenonError, match="tree: containers are nested more than 100 deep"):
            tenon.jit(lambda x: x)(nested(depth))


def test_numpys_transpose_of_a_traced_array_is_tenons():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(tenon.jit(lambda a: np.transpose(a))(x), x.T)
    np.testing.assert_array_equal(tenon.jit(lambda a: np.transpose(a, (1, 0)))(x), x.T)
