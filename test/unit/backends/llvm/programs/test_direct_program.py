"""Calls that go straight to machine code: what they accept, and that the others come out the same."""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon.backends.interface import BufferLoc
from tenon.backends.llvm import backend, driver
from tenon.backends.llvm.native import object_layout
from tenon.backends.llvm.programs import direct_program
from tenon.backends.llvm.programs.direct_program import DirectProgram
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.memory.slab_pool import slab_pool_of

ADD = """
func.func @add(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %z = graph.add %x, %y : tensor<2x4xf32>
  func.return %z : tensor<2x4xf32>
}
"""

BOTH = """
func.func @both(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %c = graph.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %y = graph.add %x, %c : tensor<3xf32>
  func.return %y, %x, %c : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
"""

CHAIN = """
func.func @chain(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %a = graph.tanh %x {memory_mode = #graph.memory_mode<materialized, "asked for">} : tensor<512x512xf32>
  %b = graph.exp %a {memory_mode = #graph.memory_mode<materialized, "asked for">} : tensor<512x512xf32>
  %c = graph.sin %b : tensor<512x512xf32>
  func.return %c : tensor<512x512xf32>
}
"""


def compiled(text: str, **options: Any) -> DeviceExecutable:
    executable = tenon.compile(text, **options)
    assert isinstance(executable, DeviceExecutable)
    return executable


@pytest.fixture(scope="module")
def add() -> DeviceExecutable:
    return compiled(ADD)


@pytest.fixture(scope="module")
def chain() -> DeviceExecutable:
    return compiled(CHAIN)


def ones() -> np.ndarray:
    return np.ones((2, 4), np.float32)


def direct_of(executable: DeviceExecutable) -> Any:
    assert executable.direct_program is not None
    return executable.direct_program


def let_no_frame_be_free(executable: DeviceExecutable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the next call find no frame, as where all of them run."""
    program = direct_of(executable)
    call, answers = program.call, iter([lambda arguments, out: None])
    monkeypatch.setattr(executable, "direct_call", None)
    monkeypatch.setattr(program, "call", lambda *given: next(answers, call)(*given))
    monkeypatch.setattr(DirectProgram, "has_free_frame", False)


def direct(executable: DeviceExecutable, *arguments: Any, out: Any = None) -> Any:
    """Returns what machine code returns, None where it refuses."""
    return direct_of(executable).call(arguments, out)


def test_results_are_new_or_the_arrays_given(add: DeviceExecutable):
    x, out = ones(), np.zeros((2, 4), np.float32)
    first, second = direct(add, x, x), direct(add, x, x)
    assert first.tolist() == second.tolist() == [[2.0] * 4] * 2
    assert first.flags.owndata and not np.shares_memory(first, second)
    assert direct(add, x, x, out=out) is out
    assert out.tolist() == [[2.0] * 4] * 2
    assert direct(add, x, x, out=(out,)) is out
    assert add(x, x, out=(out,)) is add(np.asfortranarray(x), x, out=(out,)) is out


def test_several_results_are_a_tuple():
    both = compiled(BOTH)
    x = np.array([10, 20, 30], np.float32)
    results = direct(both, x)
    assert type(results) is tuple
    assert [result.tolist() for result in results] == [[11, 22, 34], [10, 20, 30], [1, 2, 4]]
    assert not any(np.shares_memory(result, x) for result in results)
    targets = tuple(np.zeros(3, np.float32) for _ in range(3))
    assert direct(both, x, out=targets) is targets
    assert [target.tolist() for target in targets] == [[11, 22, 34], [10, 20, 30], [1, 2, 4]]
    assert both(x, out=list(targets))[0] is targets[0]


def offset_array() -> np.ndarray:
    """One whose elements do not begin at multiples of their size."""
    return np.ones(33, np.uint8)[1:].view(np.float32).reshape(2, 4)


class Subclass(np.ndarray):
    pass


def foreign_dtype() -> np.ndarray:
    """One whose dtype equals float32's and is another object."""
    array = pickle.loads(pickle.dumps(ones()))
    array = array.view(pickle.loads(pickle.dumps(np.dtype(np.float32))))
    assert array.dtype is not np.dtype(np.float32)
    return array


@pytest.mark.parametrize("make", [ones, foreign_dtype, lambda: np.broadcast_to(ones()[:, :], (2, 4))])
def test_plain_contiguous_arrays_are_accepted(add: DeviceExecutable, make: Callable[[], np.ndarray]):
    assert direct(add, make(), make()).tolist() == [[2.0] * 4] * 2


@pytest.mark.parametrize(
    "argument",
    [
        ones().astype(np.float64),
        ones().astype(np.int32),
        ones().astype(">f4"),
        ones()[:1],
        ones().reshape(8),
        ones().reshape(2, 4, 1),
        ones().reshape(4, 2),
        np.asfortranarray(ones()),
        np.ones((2, 8), np.float32)[:, ::2],
        np.ones((3, 4), np.float32)[::2],
        offset_array(),
        ones().view(Subclass),
        np.ma.masked_array(ones()),
        np.float32(1),
        ones().tolist(),
        None,
        3,
        "ones",
    ],
    ids=lambda argument: f"{type(argument).__name__}-{getattr(argument, 'dtype', '')}-{np.shape(argument)}",
)
def test_other_arguments_are_refused_and_come_out_as_without_machine_code(
    add: DeviceExecutable, monkeypatch: pytest.MonkeyPatch, argument: Any
):
    assert direct(add, argument, ones()) is None
    assert direct(add, ones(), argument) is None

    def outcome() -> Any:
        try:
            return add(argument, ones()).tolist()
        except tenon.TenonError as error:
            return type(error), str(error)

    fast = outcome()
    monkeypatch.setattr(add, "direct_call", None)
    assert outcome() == fast


@pytest.mark.parametrize(
    "out",
    [
        ones().astype(np.float64),
        ones()[:1],
        np.asfortranarray(ones()),
        offset_array(),
        np.broadcast_to(np.float32(1), (2, 4)),
        ones().view(Subclass),
        (),
        (ones(), ones()),
        3,
        ones().tolist(),
    ],
    ids=lambda out: f"{type(out).__name__}-{getattr(out, 'dtype', '')}-{np.shape(out)}",
)
def test_other_targets_are_refused_and_come_out_as_without_machine_code(
    add: DeviceExecutable, monkeypatch: pytest.MonkeyPatch, out: Any
):
    assert direct(add, ones(), ones(), out=out) is None

    def outcome() -> Any:
        try:
            return add(ones(), ones(), out=out).tolist()
        except tenon.TenonError as error:
            return type(error), str(error)

    fast = outcome()
    monkeypatch.setattr(add, "direct_call", None)
    assert outcome() == fast


def test_a_target_that_cannot_be_written_is_an_error(add: DeviceExecutable):
    out = ones()
    out.flags.writeable = False
    assert direct(add, ones(), ones(), out=out) is None
    with pytest.raises(tenon.CallError, match=r"^out 0: the array is not writeable$"):
        add(ones(), ones(), out=out)


def test_an_argument_that_cannot_be_written_is_accepted(add: DeviceExecutable):
    x = ones()
    x.flags.writeable = False
    assert direct(add, x, x).tolist() == [[2.0] * 4] * 2


def test_a_target_that_overlaps_an_argument_is_refused_and_comes_out_right(add: DeviceExecutable):
    memory = np.arange(12, dtype=np.float32)
    x, out = memory[:8].reshape(2, 4), memory[4:].reshape(2, 4)
    assert direct(add, x, ones(), out=out) is None
    assert direct(add, ones(), x, out=x) is None
    assert add(x, ones(), out=out).reshape(-1).tolist() == list(range(1, 9))
    beside = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert direct(add, beside[:2], ones(), out=beside[2:]).tolist() == (beside[:2] + 1).tolist()


def test_targets_that_overlap_are_an_error():
    both = compiled(BOTH)
    memory = np.zeros(9, np.float32)
    x = np.zeros(3, np.float32)
    assert direct(both, x, out=(memory[:3], memory[2:5], memory[6:])) is None
    with pytest.raises(tenon.CallError, match=r"^out 1: the array overlaps out 0$"):
        both(x, out=(memory[:3], memory[2:5], memory[6:]))
    assert direct(both, x, out=(memory[:3], memory[3:6], memory[6:])) is not None


def test_arrays_of_no_bytes_overlap_nothing():
    text = """func.func @f(%x: tensor<8xf32>, %z: tensor<0xf32>) -> (tensor<0xf32>, tensor<8xf32>) {
      %y = graph.add %z, %z : tensor<0xf32>
      %w = graph.add %x, %x : tensor<8xf32>
      func.return %y, %w : tensor<0xf32>, tensor<8xf32>
    }"""
    with compiled(text) as executable:
        memory, x = np.ones(8, np.float32), np.ones(8, np.float32)
        # A slice of a slice: numpy moves the start of an empty one of an array to the array's.
        argument, result = memory[3:][:0], memory[5:][:0]
        assert argument.ctypes.data == memory.ctypes.data + 12
        assert direct(executable, x, argument, out=(result, memory)) is not None
        assert memory.tolist() == [2.0] * 8
        assert direct(executable, memory, argument, out=(result, x)) is not None
        assert executable(memory, argument, out=(result, x))[1].tolist() == [4.0] * 8


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_arguments_is_refused(add: DeviceExecutable, count: int):
    assert direct(add, *[ones()] * count) is None
    with pytest.raises(tenon.CallError, match=rf"^add: takes 2 arguments \(x, y\), found {count}$"):
        add(*[ones()] * count)


def test_arguments_by_name_come_out_the_same(add: DeviceExecutable):
    x, y = ones(), 2 * ones()
    assert add(y=y, x=x).tolist() == add(x, y=y).tolist() == add(x, y).tolist()
    out = ones()
    assert add(x=x, y=y, out=out) is out


def test_calls_by_name_go_straight_to_machine_code_too(
    add: DeviceExecutable, monkeypatch: pytest.MonkeyPatch
):
    calls: list[Any] = []
    monkeypatch.setattr(add, "direct_call", lambda *call: calls.append(call) or "result")
    assert add(y=2, x=1) == add(1, y=2, out=3) == "result"
    assert calls == [((1, 2), None), ((1, 2), 3)]


def test_arguments_by_name_that_are_refused_come_out_right(add: DeviceExecutable):
    assert add(y=ones(), x=np.asfortranarray(ones())).tolist() == [[2.0] * 4] * 2
    with pytest.raises(tenon.CallError, match=r"^argument 'y': dtype float64, expected float32$"):
        add(x=ones(), y=ones().astype(np.float64))
    with pytest.raises(tenon.CallError, match=r"^add: there is no argument 'z' \(arguments: x, y\)$"):
        add(x=ones(), z=ones())


def test_what_is_no_call_is_refused(add: DeviceExecutable):
    call: Any = direct_of(add).call
    assert call() is None
    assert call((ones(), ones())) is None
    assert call([ones(), ones()], None) is None
    assert call((ones(), ones()), None, None) is None


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        ("f64", np.float64),
        ("f32", np.float32),
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("i64", np.int64),
        ("i32", np.int32),
        ("i16", np.int16),
        ("i8", np.int8),
        ("ui8", np.uint8),
        ("i1", np.bool_),
    ],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 2), (2, 1, 3, 2)])
def test_every_dtype_and_rank_is_accepted(element: str, dtype: Any, shape: tuple[int, ...]):
    type = f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"
    text = f"""func.func @f(%x: {type}, %y: {type}) -> ({type}, {type}) {{
      %a = graph.max %x, %y : {type}
      %b = graph.min %x, %y : {type}
      func.return %a, %b : {type}, {type}
    }}"""
    with compiled(text) as executable:
        generator = np.random.default_rng(0)
        x, y = ((8 * generator.random(shape)).astype(dtype) for _ in range(2))
        assert direct(executable, np.asarray(x), np.asarray(y)) is not None
        largest, least = executable(x, y)
        assert largest.dtype == least.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(largest, np.maximum(x, y))
        np.testing.assert_array_equal(least, np.minimum(x, y))


def test_a_dtype_that_is_equal_but_of_another_number_comes_out_right():
    text = """func.func @f(%x: tensor<2xi64>) -> tensor<2xi64> {
      %y = graph.add %x, %x : tensor<2xi64>
      func.return %y : tensor<2xi64>
    }"""
    executable = compiled(text)
    x, out = np.array([1, 2], np.longlong), np.zeros(2, np.longlong)
    assert x.dtype == np.int64
    assert executable(x).tolist() == [2, 4]
    assert executable(x, out=out) is out
    assert out.tolist() == [2, 4]


def references(*values: Any) -> list[int]:
    return [sys.getrefcount(value) for value in values]


def test_references_are_counted_right(add: DeviceExecutable):
    x, y, out, pair = ones(), ones(), ones(), (ones(),)
    bad = ones().astype(np.float64)
    watched = (x, y, out, pair, pair[0], bad, np.dtype(np.float32), np.empty, np.ndarray, direct_of(add))
    gc.collect()  # else programs of other tests may give theirs back meanwhile
    before = references(*watched)
    for _ in range(1000):
        add(x, y)
        add(x, y, out=out)
        add(x, y, out=pair)
        direct(add, x, bad)
        direct(add, x, y, out=x)
        add(np.asfortranarray(x), y)
    assert references(*watched) == before
    result, fresh = add(x, y), ones()
    assert sys.getrefcount(result) == sys.getrefcount(fresh)  # Python 3.14 counts fewer of both
    none_before = sys.getrefcount(None)
    for _ in range(1000):
        direct(add, x, bad)
    assert abs(sys.getrefcount(None) - none_before) < 100


def resident_nbytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell")
def test_10000_calls_leave_memory_as_it_was():
    both = compiled(BOTH)
    x = np.zeros(3, np.float32)
    large = compiled(ADD.replace("2x4", "64x512"))
    y = np.ones((64, 512), np.float32)

    def calls(count: int) -> None:
        for _ in range(count):
            both(x)
            both(x=x)
            large(y, y)
        gc.collect()

    calls(500)
    before = resident_nbytes()
    calls(10_000)
    assert resident_nbytes() - before < 1 << 20


def test_calls_from_many_threads_run_at_the_same_time_and_right(chain: DeviceExecutable):
    inputs = [np.full((512, 512), n / 8, np.float32) for n in range(8)]
    expected = [chain(x) for x in inputs]
    start = threading.Barrier(8)

    def work(number: int) -> bool:
        start.wait()
        return all(np.array_equal(chain(inputs[number]), expected[number]) for _ in range(20))

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))
    n_frames = direct_of(chain).n_frames
    assert 1 < n_frames <= 8
    chain(inputs[0])
    assert direct_of(chain).n_frames == n_frames


def test_each_frame_has_temporaries_of_its_own_until_it_is_closed(
    monkeypatch: pytest.MonkeyPatch,
):
    device = backend()
    pool = slab_pool_of(device.driver)
    executable = compiled(CHAIN, backend=device)
    one = pool.statistics().nbytes
    assert one == executable.memory_plan().nbytes
    let_no_frame_be_free(executable, monkeypatch)
    executable(np.zeros((512, 512), np.float32))
    assert pool.statistics().nbytes == 2 * one
    executable.close()
    assert pool.statistics().n_slabs == 0


def test_close_waits_for_calls_that_run_and_refuses_later_ones():
    device = backend()
    executable = compiled(CHAIN, backend=device)
    x = np.zeros((512, 512), np.float32)
    expected = executable(x)
    outcomes: list[Any] = []

    def work() -> None:
        try:
            while True:
                outcomes.append(np.array_equal(executable(x), expected))
        except tenon.CallError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(outcomes) < 8:
        pass
    executable.close()
    executable.close()
    for thread in threads:
        thread.join()
    assert outcomes.count("chain: the executable is closed") == 4
    assert all(outcome is True for outcome in outcomes if not isinstance(outcome, str))
    assert slab_pool_of(device.driver).statistics().n_slabs == 0


def test_a_program_that_is_closed_while_results_are_made_does_not_run(monkeypatch: pytest.MonkeyPatch):
    made: list[weakref.ref[np.ndarray]] = []

    @ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 2, ctypes.c_int, *[ctypes.c_void_p] * 5)
    def make(kind: int, dtype: int, *of_no_interest: Any) -> Any:
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(dtype))
        array = np.empty(3, np.float32)
        made.append(weakref.ref(array))
        if len(made) == 2:
            executable.close()
        return array

    address = ctypes.cast(make, ctypes.c_void_p).value
    monkeypatch.setattr(direct_program, "numpy_function", lambda _: address)
    executable = compiled(BOTH)
    monkeypatch.undo()
    made.clear()
    x = np.zeros(3, np.float32)
    before = references(x)
    assert direct(executable, x) is None
    assert [array() for array in made] == [None] * 3 and references(x) == before
    with pytest.raises(tenon.CallError, match=r"^both: the executable is closed$"):
        executable(x)


def test_a_finalizer_cannot_call_an_executable_that_is_garbage_with_it():
    outcomes: list[str] = []

    class Caller:
        def __init__(self, executable: DeviceExecutable) -> None:
            self.executable = executable
            executable.stages.caller = self  # pyright: ignore

        def __del__(self) -> None:
            with pytest.raises(tenon.CallError) as raised:
                self.executable(np.zeros((512, 512), np.float32))
            outcomes.append(str(raised.value))

    device = backend()
    Caller(compiled(CHAIN, backend=device))
    gc.collect()
    assert outcomes == ["chain: the executable is closed"]
    assert slab_pool_of(device.driver).statistics().n_slabs == 0


def test_a_finalizer_may_close_an_executable_that_grows(monkeypatch: pytest.MonkeyPatch):
    device = backend()
    pool = slab_pool_of(device.driver)
    executable = compiled(CHAIN, backend=device)
    allocate = pool.allocate

    def close_and_allocate(*arguments: Any) -> Any:
        executable.close()
        return allocate(*arguments)

    monkeypatch.setattr(pool, "allocate", close_and_allocate)
    let_no_frame_be_free(executable, monkeypatch)
    with pytest.raises(tenon.CallError, match=r"^chain: the executable is closed$"):
        executable(np.zeros((512, 512), np.float32))
    assert pool.statistics().n_slabs == 0


def test_the_memory_of_a_frame_lives_until_the_program_is_closed():
    device = backend()
    executable = compiled(CHAIN, backend=device)
    program = direct_of(executable)
    assert isinstance(program, DirectProgram)
    (pool,) = executable.memory_plan().pools
    memory = weakref.ref(device.driver.host_view(BufferLoc(pool.pool_id, 0), 0).base)  # pyright: ignore
    device.driver.free_pool(pool.pool_id)
    assert memory() is not None
    program.close()
    assert memory() is None and not program.n_frames and not program.has_free_frame
    device.driver.alloc_pool(pool.pool_id, pool.nbytes, 64)
    executable.close()


PRELUDE = f"""
import os, sys, threading, time, types
import numpy as np, tenon
tenon.set_num_threads(2)
executable = tenon.compile('''{CHAIN}''')
x = np.ones((512, 512), np.float32)
expected = executable(x)
stopped = []
def work():
    while not stopped:
        executable(x)
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
time.sleep(0.1)
"""

IN_A_CHILD = r"""
import warnings
# Python 3.12 and later say so of every fork beside threads, which is what is tested here.
warnings.filterwarnings("ignore", r"This process \(pid=\d+\) is multi-threaded", DeprecationWarning)
program = executable.direct_program
while not program.n_running:
    pass
child = os.fork()
if child == 0:
    assert not program.n_running
    done = []
    def call():
        assert np.array_equal(executable(x), expected)
        done.append(1)
    caller = threading.Thread(target=call)
    caller.start()
    while not program.n_running and not done:
        pass
    executable.close()
    os._exit(0 if not program.n_running else 1)
stopped.append(1)
_, status = os.waitpid(child, 0)
assert status == 0, status
"""

AT_THE_END = """
class Owner:
    def __del__(self, write=os.write):
        executable.close()
        write(1, b"closed")
sys.modules["owner"] = types.ModuleType("owner")
sys.modules["owner"].owner = Owner()
"""


def process_that_runs(program: str) -> str:
    """Returns what it prints while calls run in other threads."""
    command = [sys.executable, "-c", PRELUDE + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_knows_its_own_calls_only():
    assert process_that_runs(IN_A_CHILD) == ""


def test_the_interpreter_ends_while_calls_run():
    assert process_that_runs("") == ""


def test_an_executable_may_be_closed_at_the_end_of_the_interpreter_while_calls_run():
    assert process_that_runs(AT_THE_END) == "closed"


def test_an_interpreter_that_is_not_known_gets_the_same_results(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(driver, "is_layout_known", lambda: False)
    with compiled(BOTH) as both:
        assert both.direct_program is None
        x = np.array([10, 20, 30], np.float32)
        for _ in range(2):
            assert [result.tolist() for result in both(x)] == [[11, 22, 34], [10, 20, 30], [1, 2, 4]]


def test_arrays_that_fit_are_never_refused_for_good(monkeypatch: pytest.MonkeyPatch):
    with compiled(ADD) as executable:
        monkeypatch.setattr(executable, "direct_call", None)
        monkeypatch.setattr(direct_of(executable), "call", lambda arguments, out: None)
        with pytest.raises(AssertionError, match=r"^add: arrays that fit were refused$"):
            executable(x=ones(), y=ones())


def test_this_interpreter_is_known():
    assert object_layout.is_layout_known()


@pytest.mark.parametrize("what", ["word", "number"])
def test_objects_that_are_laid_out_otherwise_are_noticed(monkeypatch: pytest.MonkeyPatch, what: str):
    monkeypatch.setattr(object_layout, what, lambda owner, offset: 1)
    assert not object_layout.is_layout_known.__wrapped__()


def test_another_interpreter_is_not_looked_into(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_layout.sys.implementation, "name", "pypy")
    assert not object_layout.is_layout_known.__wrapped__()


@pytest.mark.parametrize(("what", "known"), [("KNOWN_PYTHONS", ((3, 10),)), ("KNOWN_NUMPYS", (3,))])
def test_a_version_that_is_not_known_is_not_looked_into(
    monkeypatch: pytest.MonkeyPatch, what: str, known: tuple[Any, ...]
):
    monkeypatch.setattr(object_layout, what, known)
    monkeypatch.setattr(object_layout, "word_at", lambda address: pytest.fail("it was looked into"))
    assert not object_layout.is_layout_known.__wrapped__()


def test_an_interpreter_without_a_lock_is_not_looked_into(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(object_layout.sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    assert not object_layout.is_layout_known.__wrapped__()


def test_an_argument_named_out_is_an_argument():
    text = ADD.replace("%x", "%out").replace("@add", "@outer")
    with compiled(text) as executable:
        assert executable(ones(), ones()).tolist() == [[2.0] * 4] * 2
        assert executable(out=ones(), y=ones()).tolist() == [[2.0] * 4] * 2
        assert executable(y=ones(), out=ones()).tolist() == [[2.0] * 4] * 2


def test_a_timeline_sees_the_kernels_of_direct_calls(chain: DeviceExecutable):
    x = np.zeros((512, 512), np.float32)
    expected = chain(x)
    with tenon.record_timeline() as timeline:
        assert np.array_equal(chain(x), expected)
    assert [span.name for span in timeline.spans if span.name.startswith("@")] == [
        "@chain_2_merged",
    ]
    assert np.array_equal(chain(x), expected)
