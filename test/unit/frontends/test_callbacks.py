"""`pure_callback` and `debug_print` in traced functions."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.registry import DEVICE_NAMES, compiling_names
from tenon.errors import CallError

Array = npt.NDArray[Any]

X = np.arange(4, dtype=np.float32)
LIKE_X = tenon.ShapeDtype((4,), "float32")


@pytest.fixture(params=DEVICE_NAMES)
def jit(request: pytest.FixtureRequest) -> Callable[[Callable[..., Any]], Any]:
    if request.param == "opencl":
        pytest.importorskip("pyopencl")
    return lambda function: tenon.jit(function, backend=request.param)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_trees_go_to_the_host_and_come_back(jit: Any) -> None:
    def called(x: Array, other: dict[str, Array], scale: Array) -> dict[str, Any]:
        assert (scale.dtype, scale.shape, x.flags.writeable) == (np.int64, (), True)
        return {"sum": (x.sum(), len(x)), "scaled": other["y"] * scale}

    @jit
    def f(x: Any, y: Any) -> Any:
        types = {"sum": (tenon.ShapeDtype(()), tenon.ShapeDtype((), np.int32)), "scaled": y}
        return tenon.pure_callback(called, types, x, {"y": y}, 3)

    found = f(X, tnp.ones(2))
    assert (float(found["sum"][0]), int(found["sum"][1])) == (6, 4)
    np.testing.assert_array_equal(found["scaled"], [3, 3])


def test_outside_of_a_trace_both_happen_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    given: list[Any] = []
    result = np.ones(4, np.float32)
    found = tenon.pure_callback(lambda x, n: given.append((x, n)) or result, LIKE_X, tnp.asarray(X), 2)
    result[:] = 5
    np.testing.assert_array_equal(found, [1, 1, 1, 1])
    assert type(given[0][0]) is np.ndarray and given[0][1].dtype == np.int64
    tenon.debug_print("{} {x:.1f}", X, x=tnp.asarray(2.0))
    assert lines(capsys) == ["[0. 1. 2. 3.] 2.0"]
    with pytest.raises(
        CallError, match=r"pure_callback: callback @<lambda>: result 0 is float32\[\], expected"
    ):
        tenon.pure_callback(lambda: 3, LIKE_X)
    with pytest.raises(TypeError, match="pure_callback: an argument is 'x', of type str, expected an array"):
        tenon.pure_callback(len, LIKE_X, "x")


def test_what_is_no_array_is_in_the_text_from_the_start(jit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    @jit
    def f(x: Any) -> Any:
        tenon.debug_print(
            "{} {{}} {name!r:>5} {0:.2f} {x[1]} {2:{w}}".replace("{}", "{1}"),
            x[3],
            "{s}",
            7,
            name="n",
            x=x,
            w=3,
        )
        tenon.debug_print("no values")
        return x

    f(X)
    f(X + 1)
    assert lines(capsys) == [
        "{s} {}   'n' 3.00 1.0   7".replace("{}", "{1}"),
        "no values",
        "{s} {}   'n' 4.00 2.0   7".replace("{}", "{1}"),
        "no values",
    ]


def test_a_function_that_only_prints_does_so_at_each_call(
    jit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    @jit
    def f(x: Any) -> Any:
        tenon.debug_print("{}", x)

    assert f(X) is None and f(X + 1) is None
    assert lines(capsys) == ["[0. 1. 2. 3.]", "[1. 2. 3. 4.]"]


def test_lines_are_printed_in_order_in_loops_and_branches(
    jit: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    @jit
    def f(x: Any, n: Any) -> Any:
        def body(i: Any, value: Any) -> Any:
            tenon.debug_print("fori {}", i)
            return value + tenon.pure_callback(lambda a, k: a * k, x, x, i.astype(np.float32))

        y = tenon.fori_loop(0, n, body, x)

        def row(total: Any, each: Any) -> Any:
            tenon.debug_print("scan {}", each)
            return total + each, tenon.pure_callback(np.negative, each, each)

        total, rows = tenon.scan(row, np.float32(0), y)
        z = tenon.while_loop(
            lambda v: tenon.pure_callback(lambda a: a < 20, tenon.ShapeDtype((), bool), v), twice, total
        )
        return tenon.cond(z > 30, lambda: shown("more", z), lambda: shown("less", z)), rows

    def twice(v: Any) -> Any:
        tenon.debug_print("while {:.0f}", v)
        return v * 2

    def shown(word: str, z: Any) -> Any:
        tenon.debug_print("{}", word)
        return z

    for _ in range(2):
        z, rows = f(X, 2)
        assert float(z) == 24
        np.testing.assert_array_equal(rows, [-0.0, -2, -4, -6])
        assert lines(capsys) == [
            *("fori 0", "fori 1", "scan 0.0", "scan 2.0", "scan 4.0", "scan 6.0", "while 12", "less")
        ]


@pytest.mark.parametrize("backend", compiling_names())
def test_equal_calls_are_one_and_those_without_use_none(backend: str) -> None:
    calls: list[str] = []

    def called(x: Array) -> Array:
        calls.append("called")
        return x

    @tenon.jit(backend=backend)
    def f(x: Any) -> Any:
        tenon.pure_callback(lambda a: calls.append("unused"), x, x)
        return tenon.pure_callback(called, x, x) + tenon.pure_callback(called, x, x)

    np.testing.assert_array_equal(f(X), 2 * X)
    assert calls == ["called"]


def test_what_a_callback_reads_is_no_reason_to_trace_again(jit: Any) -> None:
    seen: list[int] = []
    state = {"scale": 1}

    class Logger:
        def __init__(self) -> None:
            self.log: list[int] = []

        def note(self, x: Array) -> Array:
            self.log.append(len(x))
            return x

    logger = Logger()

    def outer(x: Array) -> Array:
        seen.append(1)
        return x * state["scale"]

    @jit
    def f(x: Any) -> Any:
        def inner(a: Array) -> Array:
            seen.append(2)
            return a + state["scale"]

        def body(i: Any, value: Any) -> Any:
            return value + tenon.pure_callback(inner, x, x)

        y = tenon.pure_callback(outer, x, x) + tenon.pure_callback(logger.note, x, x)
        y = y + tenon.pure_callback(lambda a: (seen.append(3), a)[1], x, x)
        return tenon.fori_loop(0, 2, body, y)

    for scale in (1, 2, 3):
        state["scale"] = scale
        np.testing.assert_array_equal(f(X), X * scale + X + X + 2 * (X + scale))
    assert len(f.explain_misses()) == 1
    assert len(seen) == 12 and logger.log == [4, 4, 4]


def test_another_function_under_the_same_name_is_called() -> None:
    scope: dict[str, Any] = {"tenon": tenon, "called": lambda x: x + 1}
    exec("def f(x):\n    return tenon.pure_callback(called, x, x)", scope)
    f = tenon.jit(scope["f"])
    np.testing.assert_array_equal(f(X), X + 1)
    scope["called"] = lambda x: x * 10
    np.testing.assert_array_equal(f(X), X * 10)


def test_a_function_that_is_traced_too_is_followed() -> None:
    state = {"scale": 1.0}

    def both(x: Any) -> Any:
        return x + np.float32(state["scale"])

    @tenon.jit
    def first(x: Any) -> Any:
        return both(x) + tenon.pure_callback(both, x, x)

    @tenon.jit
    def second(x: Any) -> Any:
        def inner(a: Any) -> Any:
            return both(a)

        return tenon.pure_callback(inner, x, x) + inner(x)

    for scale in (1.0, 2.0):
        state["scale"] = scale
        for f in (first, second):
            np.testing.assert_array_equal(f(X), 2 * (X + scale))


def test_functions_of_one_name_and_other_structures_are_told_apart(jit: Any) -> None:
    def make(number: int) -> Callable[..., Any]:
        def called(*arrays: Any) -> Any:
            return arrays[0] + number if isinstance(arrays[0], np.ndarray) else arrays[0][0]

        return called

    same = make(3)

    @jit
    def f(x: Any) -> Any:
        return (
            tenon.pure_callback(make(1), x, x),
            tenon.pure_callback(make(2), x, x),
            tenon.pure_callback(same, x, x),
            tenon.pure_callback(same, x, [x]),
        )

    for found, expected in zip(f(X), (X + 1, X + 2, X + 3, X), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_another_structure_than_said_is_an_error(jit: Any) -> None:
    f = jit(lambda x: tenon.pure_callback(lambda a: (a, a), [x, x], x))
    with pytest.raises(TypeError, match=r"callback @<lambda>: the function gives .*, expected"):
        f(X)


@pytest.mark.parametrize("wrong", [3, "float32", object()])
def test_a_result_type_has_a_shape_and_a_dtype(wrong: Any) -> None:
    with pytest.raises(
        TypeError, match=r"pure_callback: a result type is .*expected an array or a ShapeDtype"
    ):
        tenon.pure_callback(np.sin, wrong, X)


def test_exceptions_are_the_callers_also_in_fast_calls(jit: Any) -> None:
    fails = False

    def called(x: Array) -> Array:
        if fails:
            raise KeyError("told")
        return x

    f = jit(lambda x: tenon.pure_callback(called, x, x) * 2)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), 2 * X)
        fails = True
        with pytest.raises(KeyError, match="told") as caught:
            f(X)
        assert caught.traceback[-1].name == "called"
        fails = False


def test_a_donated_array_is_gone_after_a_run_that_failed() -> None:
    def called(x: Array) -> Array:
        raise KeyError("told")

    f = tenon.jit(lambda x: tenon.pure_callback(called, x, x * 2), donate_argnums=0)
    x = tnp.asarray(X)
    with pytest.raises(KeyError):
        f(x)
    with pytest.raises(tenon.TenonError, match="used after it was donated"):
        x + 1


def test_donated_memory_is_not_written_before_the_host_reads_it(jit: Any) -> None:
    f = tenon.jit(lambda x: (tenon.pure_callback(np.copy, x, x), x + 1), donate_argnums=0)
    before, after = f(tnp.asarray(X))
    np.testing.assert_array_equal(before, X)
    np.testing.assert_array_equal(after, X + 1)


def test_a_callback_may_trace_and_forget_programs(jit: Any) -> None:
    inner = tenon.jit(lambda x: tnp.sin(x) + 1)

    def called(x: Array) -> Array:
        f.clear_cache()
        gc.collect()
        return np.asarray(inner(x))

    f = jit(lambda x: tenon.pure_callback(called, x, x) * 2)
    for _ in range(3):
        np.testing.assert_allclose(f(X), 2 * (np.sin(X) + 1), rtol=1e-6)


def test_functions_go_with_their_programs() -> None:
    class Called:
        def __call__(self, x: Array) -> Array:
            return x

    called = Called()
    f = tenon.jit(lambda x: tenon.pure_callback(kept[0], x, x))
    kept = [called]
    f(X)
    gone = weakref.ref(called)
    f.clear_cache()
    kept.clear()
    del called
    gc.collect()
    assert gone() is None


def test_extents_that_are_left_open(jit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        tenon.debug_print("{}", x.shape[0])
        return tenon.pure_callback(lambda a: np.concatenate([a, a]), tenon.ShapeDtype((2 * x.shape[0],)), x)

    compiled = tenon.jit(f, dynamic={"x": {0: tenon.Dim("n", 1, 64)}})
    for n in (2, 5):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(compiled(x), [*x, *x])
    assert lines(capsys) == ["2", "5"]


@pytest.mark.parametrize(
    ("format", "values", "named", "error", "message"),
    [
        ("{} {}", (1,), {}, IndexError, "debug_print: there is no value 1 (1 values)"),
        ("{x}", (), {"y": 1}, KeyError, "debug_print: there is no value 'x' (values: y)"),
        ("{0}", (1, 2), {}, ValueError, "debug_print: value 1 is not in the text '{0}'"),
        ("a", (), {"x": 1}, ValueError, "debug_print: value 'x' is not in the text 'a'"),
        ("{} {0}", (1,), {}, ValueError, "the text has fields with numbers and fields without"),
        ("{0} {}", (1,), {}, ValueError, "the text has fields with numbers and fields without"),
        ("{:{}}", (1.5, X), {}, ValueError, "debug_print: {} in '{}' is an array, expected a constant"),
        ("{0:{0}}", (X,), {}, ValueError, "debug_print: {0} in '{0}' is an array, expected a constant"),
        ("{", (), {}, ValueError, "Single '{' encountered"),
    ],
)
def test_a_text_fits_its_values(
    format: str, values: tuple[Any, ...], named: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        tenon.debug_print(format, *values, **named)
    assert message in str(caught.value)


def test_programs_with_callbacks_are_kept_on_disk_without_their_functions(tmp_path: Any) -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      graph.print "{0}"(%x) : tensor<4xf32>
      %y = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    for scale in (2, 3):
        before = tenon.cache_info()
        executable = tenon.compile(text, callbacks={"f": lambda x, scale=scale: x * scale})
        np.testing.assert_array_equal(executable(X), scale * X)
        after = tenon.cache_info()
        if after.folder is not None and scale == 3:
            assert after.hits == before.hits + 1
        executable.close()
