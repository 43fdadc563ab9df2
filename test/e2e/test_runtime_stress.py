"""Many calls and many threads: memory stays as it is, and results are those of one thread."""

from __future__ import annotations

import gc
import itertools
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.runtime.memory.slab_pool import Slab
from tenon.runtime.nodes.tensor_node_host import TensorNodeHost
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.node_buffer import NodeBuffer
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.platforms.routine import Routine
from tenon.runtime.streams.event import Event
from tenon.runtime.streams.runner import Task

Array = npt.NDArray[Any]

N_CALLS = 10_000
N_THREADS = 32
GROWTH = 1 << 20
"""Bytes that the process may grow by: the allocator's noise, not one object per call."""

N_ROUNDS = 3
"""
What leaks grows each time. The list of all objects, which is looked through after each round, may grow the
heap of a large process once: by 1.04 MiB for two million objects.
"""

PLATFORMS = {
    "llvm-sync": ("llvm", "sync"),
    "llvm-multicore": ("llvm", "multicore"),
    "opencl": ("opencl", None),
    "reference": ("reference", "sync"),
}
BACKENDS = ("llvm", "opencl", "reference")

N_EVENTS = 64
"""Events that may stay noted."""

COUNTED = (Context, Event, NodeBuffer, Routine, Slab, Task)
"""What each call makes, and nothing may keep."""

LAYER = """
func.func @layer(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %product = graph.mul %x, %w : tensor<8xf32>
  %y = graph.add %product, %x : tensor<8xf32>
  func.return %y : tensor<8xf32>
}
"""

COUNT = """
graph.tnode @w : tensor<64xf32> mode on_device
func.func @count() {
  %one = graph.constant dense<1.0> : tensor<64xf32>
  graph.write add @w, %one : tensor<64xf32>
  func.return
}
"""

ROWS = """
graph.tnode @x : tensor<32x64xf32> mode on_device
graph.tnode @w : tensor<64xf32> mode on_device
func.func @add_row(%i: index) {
  %x = graph.read @x[%i] : tensor<64xf32>
  graph.write add @w, %x : tensor<64xf32>
  func.return
}
"""

MERGE = """
graph.tnode @w : tensor<64xf32> mode on_device
func.func @merge() {
  %other = graph.merge @w : tensor<64xf32>
  graph.write @w, %other : tensor<64xf32>
  func.return
}
"""


@pytest.fixture(params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    backend, scheduler = PLATFORMS[request.param]
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    opened = tenon.open_platform(backend, scheduler=scheduler, num_devices=2)
    yield opened
    opened.close()


def resident_nbytes() -> int:
    """Returns the memory that the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def live_objects() -> dict[str, int]:
    """Returns how many of what runs make there are."""
    gc.collect()
    counts = dict.fromkeys((kind.__name__ for kind in COUNTED), 0)
    for thing in gc.get_objects():
        if isinstance(thing, COUNTED):
            kind = next(kind for kind in COUNTED if isinstance(thing, kind))
            counts[kind.__name__] += 1
    return counts


def check_flat(call: Callable[[], object], settle: Callable[[], object], n_calls: int = N_CALLS) -> None:
    """Asserts that many calls leave neither objects nor memory behind."""

    def calls(times: int) -> tuple[dict[str, int], int]:
        for number in range(1, times + 1):
            call()
            if number % 100 == 0:  # what waits in a queue is no leak, and its length is up to the machine
                settle()
        settle()
        call()
        settle()
        return live_objects(), resident_nbytes()

    objects, resident = calls(n_calls // 5)
    n_events = objects.pop("Event")
    growths: list[int] = []
    for _ in range(N_ROUNDS):
        found, grown = calls(n_calls)
        # The last few events of readers stay noted, whether they are done or not.
        assert abs(found.pop("Event") - n_events) <= N_EVENTS
        assert found == objects
        growths.append(grown - resident)
        resident = grown
        if growths[-1] < GROWTH:
            return
    raise AssertionError(f"memory grows by {growths} bytes in {n_calls} calls each")


def together(*works: Callable[[], object]) -> list[Any]:
    """Runs each work in a thread of its own, all at once, and returns what they return."""
    barrier = threading.Barrier(len(works))

    def begin(work: Callable[[], object]) -> object:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(begin, work) for work in works]]


def numbers(n: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(-50, 50, n).astype(np.float32)


# Many calls


def test_a_leak_is_noticed():
    """Pages of their own: small objects may find room that earlier tests left."""
    kept: list[mmap.mmap] = []

    def call() -> None:
        kept.append(mmap.mmap(-1, mmap.PAGESIZE))
        kept[-1][0] = 1

    with pytest.raises(AssertionError, match=r"memory grows by \[\d+, \d+, \d+\] bytes in 1000 calls each"):
        check_flat(call, lambda: None, 1000)


def test_memory_that_is_taken_once_is_no_leak():
    calls = itertools.count()
    taken: list[bytes] = []

    def call() -> None:
        if next(calls) == N_CALLS:
            taken.append(b"a" * 8 * GROWTH)

    check_flat(call, lambda: None)
    assert len(taken) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_an_executable_leave_nothing(backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    executable = tenon.compile(LAYER, backend=backend)
    x, w = numbers(8, 0), numbers(8, 1)
    check_flat(lambda: executable(x, w), lambda: None)
    np.testing.assert_array_equal(executable(x, w), x * w + x)
    executable.close()


def test_runs_of_a_routine_leave_nothing(platform: Platform):
    device = platform.get_device(0)
    code = platform.compile(ROWS)
    x, w = code.nodes["x"], code.nodes["w"]
    values = numbers(32 * 64, 0).reshape(32, 64)
    context = device.make_context().init_from_host(x, values).init_zeros(w)
    routine = context.link(code)
    before = device.memory_statistics()
    rows = iter(range(10**9))
    check_flat(lambda: routine.run(i=next(rows) % 32), device.await_idle)
    assert device.memory_statistics() == before
    context.from_host(w, np.zeros(64, np.float32))
    for i in range(32):
        routine.run(i=i)
    np.testing.assert_array_equal(context.to_host(w), values.sum(0))


def test_transfers_leave_nothing(platform: Platform):
    first, second = platform.devices
    code = platform.compile(MERGE)
    w = code.nodes["w"]
    values, out = numbers(64, 0), np.zeros(64, np.float32)
    source = first.make_context().init_zeros(w)
    target = second.make_context().init_zeros(w)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)

    def call() -> None:
        source.from_host(w, values)
        transfer.run()
        routine.run()
        target.to_host(w, out)

    check_flat(call, lambda: None, N_CALLS // 4)
    np.testing.assert_array_equal(out, values)


def test_contexts_that_come_and_go_leave_nothing(platform: Platform):
    device = platform.get_device(0)
    code = platform.compile(COUNT)
    w = code.nodes["w"]
    root = device.make_context()

    def call() -> None:
        context = root.init_zeros(w)
        context.link(code).run()
        context.finalize()

    check_flat(call, device.synchronize, N_CALLS // 10)
    assert (device.used_memory, device.memory_statistics().n_slabs) == (0, 0)
    assert root.children == ()


def test_everything_is_gone_at_the_end(platform: Platform):
    objects = live_objects()
    use_everything(platform)
    for device in platform.devices:
        device.merge_buffer.free()
    assert live_objects() == objects
    for device in platform.devices:
        assert (device.used_memory, device.memory_statistics().n_slabs) == (0, 0)


def use_everything(platform: Platform) -> None:
    first, second = platform.devices
    codes = platform.compile_batch([COUNT, ROWS, MERGE])
    nodes = {name: node for code in codes if code is not None for name, node in code.nodes.items()}
    x, w = nodes["x"], nodes["w"]
    source = first.make_context().init_from_host(x, numbers(2048, 0).reshape(32, 64)).init_zeros(w)
    target = second.make_context().init_from_device(w, source)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    transfer.run()
    context, routines = transfer.context.link_batch(platform.compile_batch([MERGE], nodes=[w]))
    for routine in routines:
        assert routine is not None
        routine.run()
    count, rows = source.link(codes[0]), source.link(codes[1])  # pyright: ignore[reportArgumentType]
    events = [count.run() for _ in range(50)] + [rows.run(i=i) for i in range(32)]
    events[-1].sync()
    context.to_host(w)
    for device in platform.devices:
        device.await_idle()


# Many threads


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_call_the_same_executable(backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    executable = tenon.compile(LAYER, backend=backend)
    arguments = [(numbers(8, 2 * i), numbers(8, 2 * i + 1)) for i in range(N_THREADS)]

    def work(x: Array, w: Array) -> list[Array]:
        return [executable(x, w) for _ in range(20)]

    found = together(*(lambda pair=pair: work(*pair) for pair in arguments))
    for (x, w), results in zip(arguments, found, strict=True):
        for result in results:
            np.testing.assert_array_equal(result, x * w + x)
    executable.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_call_different_executables(backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    shared = tenon.backends.registry.get_backend(backend)
    executables = [tenon.compile(LAYER.replace("8x", f"{n}x"), backend=shared) for n in range(1, 9)]

    def work(number: int) -> bool:
        executable, n = executables[number % 8], number % 8 + 1
        for i in range(20):
            x, w = numbers(n, number), numbers(n, i)
            np.testing.assert_array_equal(executable(x, w), x * w + x)
        return True

    assert all(together(*(lambda i=i: work(i) for i in range(N_THREADS))))
    for executable in executables:
        executable.close()


def test_threads_run_the_same_routine(platform: Platform):
    code = platform.compile(COUNT)
    w = code.nodes["w"]
    context = platform.get_device(0).make_context().init_zeros(w)
    routine = context.link(code)

    def work() -> None:
        for _ in range(20):
            routine.run()
        routine.run().sync()

    together(*[work] * N_THREADS)
    assert context.to_host(w).tolist() == [21 * N_THREADS] * 64


def test_threads_bind_symbols_of_the_same_routine(platform: Platform):
    code = platform.compile(ROWS)
    x, w = code.nodes["x"], code.nodes["w"]
    values = numbers(2048, 0).reshape(32, 64)
    context = platform.get_device(0).make_context().init_from_host(x, values).init_zeros(w)
    routine = context.link(code)

    def work(row: int) -> None:
        for _ in range(10):
            routine.run(i=row)

    together(*(lambda row=row: work(row) for row in range(N_THREADS)))
    np.testing.assert_array_equal(context.to_host(w), 10 * values.sum(0))


def test_threads_run_routines_of_their_own(platform: Platform):
    code = platform.compile(ROWS)
    x, w = code.nodes["x"], code.nodes["w"]
    values = numbers(2048, 0).reshape(32, 64)

    def work(number: int) -> Array:
        context = platform.get_device(number % 2).make_context()
        context = context.init_from_host(x, values + number).init_zeros(w)
        routine = context.link(code)
        for i in range(number + 1):
            routine.run(i=i)
        return context.to_host(w)

    found = together(*(lambda i=i: work(i) for i in range(N_THREADS)))
    for number, result in enumerate(found):
        np.testing.assert_array_equal(result, (values + number)[: number + 1].sum(0))
    for device in platform.devices:
        device.await_idle()
    gc.collect()
    assert [device.used_memory for device in platform.devices] == [0, 0]


def test_threads_copy_to_and_from_the_same_nodes(platform: Platform):
    """Every value that is read was written as a whole by one thread."""
    w = tenon.TensorNode.create("f4", dims=(4096,), label="w", memory_mode="on_device")
    first, second = platform.devices
    source, target = first.make_context().init_zeros(w), second.make_context().init_zeros(w)
    copy = target.device_to_device(w, source)
    assert copy is not None

    def write(number: int) -> bool:
        for _ in range(10):
            source.from_host(w, np.full(4096, number, np.float32))
            copy.run()
        return True

    def read(context: Context) -> bool:
        return all(np.unique(context.to_host(w)).size == 1 for _ in range(10))

    works = [lambda i=i: write(i) for i in range(N_THREADS // 2)]
    readers = [lambda context=context: read(context) for context in [source, target] * (N_THREADS // 4)]
    assert all(together(*works, *readers))


def test_threads_make_and_finalize_contexts(platform: Platform):
    code = platform.compile(COUNT)
    w = code.nodes["w"]
    roots = [device.make_context() for device in platform.devices]

    def work(number: int) -> bool:
        for _ in range(5):
            context = roots[number % 2].init_zeros(w)
            routine = context.link(code)
            for _ in range(number % 5):
                routine.run()
            assert context.to_host(w).tolist() == [number % 5] * 64
            context.finalize()
        return True

    assert all(together(*(lambda i=i: work(i) for i in range(N_THREADS))))
    assert [device.used_memory for device in platform.devices] == [0, 0]


def test_the_host_changes_a_node_while_threads_run(platform: Platform):
    """Each run computes with values that were set as a whole."""
    code = platform.compile(
        COUNT.replace("on_device", "hosted").replace("64xf32", "4096xf32").replace("@count", "@count_hosted")
    )
    w = code.nodes["w"]
    w.set_values(np.zeros(4096, np.float32))
    routines = [device.make_context().link(code) for device in platform.devices]

    def run(number: int) -> bool:
        routine = routines[number % 2]
        found = []
        for _ in range(20):
            routine.run()
            found.append(np.unique(routine.context.to_host(w)).size)
        return found == [1] * 20

    def change() -> bool:
        for value in range(50):
            w.set_values(np.full(4096, value, np.float32))
        return True

    assert all(together(change, *(lambda i=i: run(i) for i in range(4))))


def test_what_a_device_is_sent_is_never_half_of_a_change(platform: Platform, monkeypatch: pytest.MonkeyPatch):
    code = platform.compile(COUNT.replace("on_device", "hosted").replace("@count", "@count_hosted"))
    w = code.nodes["w"]
    w.set_values(np.zeros(64, np.float32))
    device = platform.devices[0]
    routine = device.make_context().link(code)
    routine.run()
    found: list[list[float]] = []
    reader = threading.Thread(target=lambda: found.append(routine.context.to_host(w).tolist()))
    do_write = TensorNodeHost.do_write

    def write_half(host: TensorNodeHost, *, overwrite: bool = False) -> None:
        do_write(host, overwrite=overwrite)
        assert host.array is not None
        host.array[:32] = 7
        device.schedule_lock.release()
        reader.join(0.2)

    # The reader has seen that the device has the newest values, and is about to schedule the read.
    device.schedule_lock.acquire()
    reader.start()
    reader.join(0.1)
    with monkeypatch.context() as patch:
        patch.setattr(TensorNodeHost, "do_write", write_half)
        w.set_values(np.full(64, 7, np.float32))
    reader.join()
    assert found in ([[1.0] * 64], [[7.0] * 64])
    assert routine.context.to_host(w).tolist() == [7.0] * 64


def test_contexts_are_finalized_while_others_use_them(platform: Platform):
    """Who comes too late is told so, and touches no memory that is somebody else's by then."""
    device = platform.get_device(0)
    code = platform.compile(COUNT)
    w = code.nodes["w"]
    root = device.make_context()

    def use(context: Context, routine: Routine) -> None:
        values = np.ones(64, np.float32)
        try:
            while True:
                routine.run()
                context.from_host(w, values)
        except tenon.ContextError as error:
            assert "is finalized" in error.message

    def finalize(context: Context) -> Context:
        context.finalize()
        return root.init_zeros(w)

    for _ in range(50):
        context = root.init_zeros(w)
        routine = context.link(code)
        works = [lambda context=context, routine=routine: use(context, routine)] * 3
        *_, canary = together(*works, lambda context=context: finalize(context))
        device.await_idle()
        assert canary.to_host(w).tolist() == [0] * 64
        canary.finalize()
    assert device.used_memory == 0


@pytest.mark.parametrize("other", ["llvm-multicore", "opencl"])
def test_threads_copy_between_platforms_in_both_directions(platform: Platform, other: str):
    backend, scheduler = PLATFORMS[other]
    second = tenon.open_platform(backend, scheduler=scheduler, num_devices=1)
    w = tenon.TensorNode.create("f4", dims=(64,), label="w", memory_mode="on_device")
    here = platform.get_device(0).make_context().init_zeros(w)
    there = second.get_device(0).make_context().init_zeros(w)
    copies = [here.device_to_device(w, there), there.device_to_device(w, here)]

    def work(number: int) -> bool:
        copy, context = copies[number % 2], (here, there)[number // 2 % 2]
        assert copy is not None
        for _ in range(20):
            context.from_host(w, np.full(64, number, np.float32))
            copy.run()
        return np.unique(context.to_host(w)).size == 1

    assert all(together(*(lambda i=i: work(i) for i in range(8))))
    here.device.await_idle()
    there.device.await_idle()
    second.close()


def test_threads_compile_at_the_same_time():
    platform = tenon.open_platform("llvm")
    device: Device = platform.get_device(0)

    def work(n: int) -> Array:
        code = platform.compile(COUNT.replace("64xf32", f"{n}xf32"))
        w = code.nodes["w"]
        context = device.make_context().init_zeros(w)
        context.link(code).run()
        return context.to_host(w)

    found = together(*(lambda n=n: work(n) for n in range(1, 9)))
    assert [array.tolist() for array in found] == [[1.0] * n for n in range(1, 9)]
