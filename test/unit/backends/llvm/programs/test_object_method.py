"""Calls of jitted functions that go straight to machine code, and calls that must not."""

import gc
import inspect
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm.native import object_layout
from tenon.errors import TenonError
from tenon.frontends.arrays.concrete import ConcreteArray
from tenon.frontends.jit.jit import Jitted
from tenon.runtime.timeline.timeline import record_timeline

pytestmark = pytest.mark.skipif(not object_layout.is_layout_known(), reason="unknown interpreter")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def add() -> Any:
    jitted = tenon.jit(lambda x, y: x + y)
    jitted(X, X)
    return jitted


def test_the_method_is_one_of_the_interpreter(add: Any):
    assert type(Jitted.__call__).__name__ == "method_descriptor"
    assert inspect.signature(add) == inspect.signature(lambda x, y: x + y)


def test_arrays_of_both_kinds_never_come_to_python(add: Any, python_calls: list[Any]):
    for x in (X, tnp.asarray(X)):
        for y in (X, tnp.asarray(X)):
            result = add(x, y)
            assert type(result) is ConcreteArray and (result.shape, result.dtype) == ((2, 3), np.float32)
            assert np.array_equal(np.asarray(result), 2 * X)
    assert not python_calls


def test_each_of_many_programs_takes_its_own_arrays(python_calls: list[Any]):
    double = tenon.jit(lambda x: x + x)
    many = [np.full((3,) * rank, rank, dtype) for rank in range(3) for dtype in (np.float32, np.int64)]
    for x in many:
        double(x)
    python_calls.clear()
    for x in many:
        result = double(x)
        assert result.dtype == x.dtype and np.array_equal(np.asarray(result), x + x)
    assert not python_calls


def test_arguments_by_name_scalars_and_other_kinds_are_left_to_python(add: Any, python_calls: list[Any]):
    for call in (
        lambda: add(X, y=X),
        lambda: add(y=X, x=X),
        lambda: add(X, 2.0),
        lambda: add(X[::-1], X),
        lambda: add(X.view(np.matrix), X),
        lambda: add(X, X[0]),
        lambda: add(X, X.astype(">f4")),
    ):
        python_calls.clear()
        call()
        assert python_calls
    assert np.array_equal(np.asarray(add(X, y=2 * X)), 3 * X)


def test_wrong_calls_have_the_errors_that_they_had(add: Any):
    with pytest.raises(TypeError, match="missing"):
        add(X)
    with pytest.raises(TypeError):
        add(X, X, X)
    with pytest.raises(TypeError, match="argument 'y' is"):
        add(X, "text")
    with pytest.raises(TypeError):
        add(X, X, z=X)
    with pytest.raises(TypeError):
        Jitted.__call__(3, X)


def test_a_donated_array_is_told_so(add: Any):
    x = tnp.asarray(X.copy())
    x.give_away("f")
    with pytest.raises(TenonError, match="donated to f"):
        add(x, X)


def test_a_call_inside_of_a_trace_is_a_part_of_it(add: Any, python_calls: list[Any]):
    twice = tenon.jit(lambda x: add(add(x, x), X))
    assert np.array_equal(np.asarray(twice(X)), 3 * X)
    assert np.array_equal(np.asarray(add(X, X)), 2 * X)


def test_a_timeline_sees_the_call(add: Any):
    with record_timeline() as timeline:
        add(X, X)
    assert timeline.spans


def test_functions_with_guards_captured_arrays_and_several_results_are_right(python_calls: list[Any]):
    weight = tnp.asarray(X)
    for jitted, wanted in (
        (tenon.jit(lambda x: x + weight), [2 * X]),
        (tenon.jit(lambda x: [x + 1, x - 1]), [X + 1, X - 1]),
    ):
        for _ in range(3):
            results = jitted(X)
            results = results if isinstance(results, list) else [results]
            assert all(np.array_equal(np.asarray(a), b) for a, b in zip(results, wanted, strict=True))


def test_forgotten_programs_are_not_called(add: Any, python_calls: list[Any]):
    add.clear_cache()
    assert np.array_equal(np.asarray(add(X, X)), 2 * X)
    assert python_calls and len(add.explain_misses()) == 1


def test_nothing_is_kept_and_nothing_is_freed_too_often(add: Any):
    x, wrapped = X.copy(), tnp.asarray(X.copy())
    values = wrapped.values
    add(x, X[0])
    gc.collect()
    watched = [x, wrapped, values, add.direct, X.dtype, add]
    counts = [sys.getrefcount(each) for each in watched]
    results = [add(x, wrapped) for _ in range(100)]
    aval = weakref.ref(results[0])
    del results
    for _ in range(100):
        add(x, X[0])
        add(x, wrapped)
    gc.collect()
    assert aval() is None
    after = [sys.getrefcount(each) for each in watched]
    assert all(abs(a - b) < 20 for a, b in zip(after, counts, strict=True)), (counts, after)


def test_programs_may_be_forgotten_while_other_threads_call():
    double = tenon.jit(lambda x: tnp.sin(x) + x)
    x = np.linspace(0, 1, 200_000, dtype=np.float32)
    wanted = np.asarray(double(x)).tobytes()
    wrong: list[Any] = []

    def call() -> None:
        for _ in range(50):
            if np.asarray(double(tnp.asarray(x))).tobytes() != wanted:
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        double.clear_cache()
        gc.collect()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_array_given_away_during_a_run_lives_until_its_end():
    double = tenon.jit(lambda x: tnp.sin(tnp.exp(x)) + x)
    values = np.linspace(0, 1, 1_000_000, dtype=np.float32)
    wanted = np.asarray(double(values)).tobytes()
    for _ in range(5):
        x = tnp.array(values)
        found: list[Any] = []
        thread = threading.Thread(target=lambda x=x, found=found: found.append(double(x)))
        thread.start()
        x.give_away("f") if not found else None
        thread.join()
        assert not found or np.asarray(found[0]).tobytes() == wanted


def test_a_process_whose_layout_is_not_known_calls_in_python():
    script = """
import numpy as np, sys
from tenon.backends.llvm.native import object_layout
object_layout.KNOWN_NUMPYS = ()
import tenon
f = tenon.jit(lambda x: x + x)
for _ in range(3):
    assert np.asarray(f(np.ones(3, np.float32))).sum() == 6
print(type(type(f).__call__).__name__)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "function"


MANY = """
import threading
import numpy as np, tenon
add_one, x = tenon.jit(lambda x: x + 1), np.ones(4, np.float32)
add_one(x)

def call():
    try:
        add_one(*[x] * 20000, **{f"y{number}": x for number in range(20000)})
    except TypeError as error:
        print(error)

threading.stack_size(256 << 10)
thread = threading.Thread(target=call)
thread.start()
thread.join()
"""


def test_more_arguments_than_the_stack_holds_are_a_wrong_call():
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=False)
    assert (done.returncode, "too many positional arguments" in done.stdout) == (0, True), done.stderr
