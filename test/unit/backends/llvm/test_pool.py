"""The thread pool: every part runs once, whoever asks, whatever the number of threads."""

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.backends.llvm import backend
from tenon.backends.llvm.driver import CpuDriver
from tenon.backends.llvm.library import llvmlite_binding
from tenon.backends.llvm.native.library import native_library
from tenon.backends.llvm.native.object_layout import TUPLE_ITEMS
from tenon.backends.llvm.native.source import interpreter_functions, native_text
from tenon.backends.steps import LaunchStep
from tenon.dialects.modules.parsing import parse_module
from tenon.test.unit.library import ROOT

LONG = 1_000_000
"""So many nanoseconds of work are shared out."""

NATIVE_FILES = sorted((ROOT / "backends" / "llvm" / "native").glob("*.ll"))


@pytest.fixture(autouse=True)
def same_number_afterwards() -> Iterator[None]:
    count = tenon.get_num_threads()
    yield
    tenon.set_num_threads(count)


@pytest.fixture(scope="module")
def device() -> Backend:
    return backend()


def count_kernel(device: Backend, extent: int) -> CompiledArtifact:
    """Compiles a kernel that adds 1 to each of `extent` numbers, one in each work-group."""
    text = f"""low.kernel @count(%x: memref<{extent}xi32>) grid [{extent}, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %one = arith.constant 1 : i32
      %v = memref.load %x[%i] : memref<{extent}xi32>
      %r = arith.addi %v, %one : i32
      memref.store %r, %x[%i] : memref<{extent}xi32>
    }}"""
    source = device.renderer.render(parse_module(text), device.device)
    return device.compiler.compile(source, device.device)


def counts_after(artifact: CompiledArtifact, extent: int, runs: int) -> npt.NDArray[np.int32]:
    """Returns how often each work-group ran in `runs` runs of the kernel, on memory of its own."""
    driver = CpuDriver()
    counts = np.zeros(extent, np.int32)
    driver.map_host(1, counts.view(np.uint8))
    step = LaunchStep("count", (extent, 1, 1), (1, 1, 1), (0,), nanoseconds=LONG)
    program = driver.bind(artifact, [step], [BufferLoc(1, 0)])
    for _ in range(runs):
        program.run()
    return counts


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("extent", [1, 2, 3, 17, 255, 10_007])
def test_every_work_group_runs_once(device: Backend, n_threads: int, extent: int):
    artifact = count_kernel(device, extent)
    tenon.set_num_threads(n_threads)
    assert (counts_after(artifact, extent, 50) == 50).all()


def test_nothing_is_lost_in_many_forks_and_joins(device: Backend):
    tenon.set_num_threads(3)
    artifact = count_kernel(device, 64)
    assert (counts_after(artifact, 64, 20_000) == 20_000).all()


def test_the_number_of_threads_may_change_between_runs(device: Backend):
    artifact = count_kernel(device, 100)
    for n_threads in (4, 1, 2, 6, 2, 1, 4):
        tenon.set_num_threads(n_threads)
        assert (counts_after(artifact, 100, 20) == 20).all()


def test_several_threads_may_use_the_pool_at_the_same_time(device: Backend):
    tenon.set_num_threads(2)
    artifact = count_kernel(device, 500)
    with ThreadPoolExecutor(8) as executor:
        found = list(executor.map(lambda _: counts_after(artifact, 500, 300), range(16)))
    assert all((counts == 300).all() for counts in found)


def ranges_of_a_run(extent: int, least: int) -> list[tuple[int, int, int]]:
    """Runs a step that notes its parts and the thread that each runs in."""
    ranges: list[tuple[int, int, int]] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def note(_: int, begin: int, end: int) -> None:
        ranges.append((begin, end, threading.get_native_id()))

    record = np.array([ctypes.cast(note, ctypes.c_void_p).value, 0, extent, least], np.int64)
    native_library().steps_run(record.ctypes.data, 1)
    return ranges


def parts_of_a_shared_run(extent: int, least: int) -> list[tuple[int, int]]:
    """Runs a step until the pool shares it out: for a while after workers lost the processor it does not."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        parts = sorted((begin, end) for begin, end, _ in ranges_of_a_run(extent, least))
        if len(parts) > 1:
            return parts
    pytest.fail("nothing was shared out for 300 s")


@pytest.mark.parametrize(("extent", "least"), [(100, 1), (100, 30), (17, 16), (1000, 7), (5, 1)])
def test_parts_make_up_the_range_and_are_not_too_small(extent: int, least: int):
    tenon.set_num_threads(2)
    parts = parts_of_a_shared_run(extent, least)
    assert parts[0][0] == 0 and parts[-1][1] == extent
    assert all(first[1] == second[0] for first, second in pairwise(parts))
    assert all(end - begin >= least for begin, end in parts[:-1])
    assert len(parts) <= 16


@pytest.mark.parametrize(("extent", "least", "n_threads"), [(100, 0, 2), (100, 100, 2), (100, 1, 1)])
def test_what_is_not_shared_out_runs_in_the_calling_thread(extent: int, least: int, n_threads: int):
    tenon.set_num_threads(n_threads)
    assert ranges_of_a_run(extent, least) == [(0, extent, threading.get_native_id())]


def test_a_thread_with_a_limit_of_one_runs_alone_and_others_do_not():
    tenon.set_num_threads(4)
    alone = [(0, 1000, threading.get_native_id())]
    with tenon.num_threads(1):
        assert ranges_of_a_run(1000, 1) == alone
        with ThreadPoolExecutor(1) as executor:
            assert len(executor.submit(parts_of_a_shared_run, 1000, 1).result()) > 1
        assert ranges_of_a_run(1000, 1) == alone
    assert len(parts_of_a_shared_run(1000, 1)) > 1


@pytest.mark.parametrize("limit", [2, 3])
def test_no_more_workers_join_than_a_limit_allows(limit: int):
    tenon.set_num_threads(6)
    for _ in range(30):
        ranges_of_a_run(1000, 1)
        with tenon.num_threads(limit):
            found = ranges_of_a_run(1000, 1)
        assert len({thread for _, _, thread in found}) <= limit
        assert len(found) <= 8 * limit
        assert sum(end - begin for begin, end, _ in found) == 1000


def test_runs_with_and_without_limits_at_the_same_time_lose_nothing(device: Backend):
    tenon.set_num_threads(3)
    artifact = count_kernel(device, 200)

    def work(limit: int) -> bool:
        with tenon.num_threads(limit):
            return bool((counts_after(artifact, 200, 300) == 300).all())

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(work, [1, 2, 3, 4] * 4))


def test_workers_that_look_for_work_follow_a_lower_number_at_once():
    for _ in range(50):
        tenon.set_num_threads(8)
        ranges_of_a_run(1000, 1)
        tenon.set_num_threads(2)
        assert len({thread for _, _, thread in ranges_of_a_run(1000, 1)}) <= 2


def seconds_alone_after(lost: float) -> float:
    """Returns how long nothing is shared out after a worker that did not work for so long."""
    parts_of_a_shared_run(100, 1)
    caller = threading.get_native_id()
    slept: list[int] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    def dawdle(_: int, begin: int, end: int) -> None:
        if threading.get_native_id() == caller:
            time.sleep(lost / 150)
        elif not slept:
            slept.append(begin)
            time.sleep(lost)

    record = np.array([ctypes.cast(dawdle, ctypes.c_void_p).value, 0, 100, 1], np.int64)
    native_library().steps_run(record.ctypes.data, 1)
    start = time.monotonic()
    parts_of_a_shared_run(100, 1)
    return time.monotonic() - start


def test_a_process_that_was_stopped_for_long_shares_out_again_soon():
    tenon.set_num_threads(2)
    assert seconds_alone_after(1.5) < 10  # eight times what was lost is more


def test_what_is_lost_once_is_forgotten_sooner_than_what_is_lost_again():
    tenon.set_num_threads(2)

    def after_a_while() -> float:
        time.sleep(4.1)  # four times the longest that anything runs alone
        return seconds_alone_after(0.1)

    # The workers of a busy machine may be late by themselves, or not work at all.
    assert any(0.05 < after_a_while() < 0.6 for _ in range(6))  # eight times as long is more
    assert any(seconds_alone_after(0.1) > 0.15 for _ in range(40))


IN_A_CHILD = """
import os, sys
import numpy as np, tenon
tenon.set_num_threads(3)
text = '''func.func @f(%x: tensor<4096x64xf32>) -> tensor<4096x64xf32> {
  %y = graph.tanh %x : tensor<4096x64xf32>
  func.return %y : tensor<4096x64xf32>
}'''
f = tenon.compile(text)
x = np.linspace(-3, 3, 4096 * 64, dtype=np.float32).reshape(4096, 64)
expected = f(x)
for _ in range(20):
    child = os.fork()
    if child == 0:
        same = all(np.array_equal(f(x), expected) for _ in range(20))
        f.close()
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert np.array_equal(f(x), expected)
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_has_a_pool_of_its_own():
    done = subprocess.run([sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "same\n"), done.stderr


AT_THE_END = """
import numpy as np, tenon
tenon.set_num_threads(4)
f = tenon.compile('''func.func @f(%x: tensor<4096x64xf32>) -> tensor<4096x64xf32> {
  %y = graph.tanh %x : tensor<4096x64xf32>
  func.return %y : tensor<4096x64xf32>
}''')
f(np.zeros((4096, 64), np.float32))
"""


def test_a_process_ends_while_workers_look_for_work():
    for _ in range(5):
        subprocess.run([sys.executable, "-c", AT_THE_END], check=True, timeout=600)


def text_for(machine: str, system: str) -> str:
    return native_text(machine, system, time.CLOCK_MONOTONIC, TUPLE_ITEMS)


@pytest.mark.parametrize(
    ("machine", "system"), [("x86_64", "Darwin"), ("s390x", "Linux"), ("AMD64", "Windows")]
)
def test_where_futexes_are_not_known_the_caller_runs_everything(machine: str, system: str):
    text = text_for(machine, system)
    assert "pthread" not in text and "syscall" not in text and "pause" not in text
    assert "@pool_run(" in text and "@pool_use(" in text and "@pool_forget(" in text


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64", "loongarch64", "s390x"])
def test_the_text_for_every_processor_is_valid(machine: str):
    llvmlite_binding().parse_assembly(text_for(machine, "Linux")).verify()


def test_the_record_of_a_job_is_written_behind_a_fence_on_processors_that_reorder():
    llvm = llvmlite_binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-linux-gnu").create_target_machine(opt=0)
    module = llvm.parse_assembly(text_for("aarch64", "Linux"))
    module.triple = machine.triple
    functions = machine.emit_assembly(module).split(".cfi_endproc")
    for name, load, store in (("pool_drain", "ldr", "dmb\tishld"), ("pool_run", "stlr", "dmb\tish")):
        (function,) = (text for text in functions if f"\n{name}:" in text)
        assert load in function and store in function


def test_every_processor_pauses_in_its_own_way():
    assert "@llvm.x86.sse2.pause()" in text_for("x86_64", "Linux")
    assert "@llvm.aarch64.hint(i32 1)" in text_for("aarch64", "Linux")
    assert "@syscall(i64 98," in text_for("riscv64", "Linux")


@pytest.mark.parametrize("path", NATIVE_FILES, ids=lambda path: path.name)
def test_every_file_of_llvm_ir_is_valid_as_it_stands(path: Path):
    llvmlite_binding().parse_assembly(path.read_text(encoding="utf-8")).verify()


@pytest.mark.parametrize(("tuple_items", "skipped"), [(24, 0), (32, 8)])
def test_numbers_that_differ_are_filled_in(tuple_items: int, skipped: int):
    text = native_text("x86_64", "Linux", 6, tuple_items)
    assert f"%tuple = type {{ %object, i64, [{skipped} x i8], [0 x ptr] }}" in text
    assert "@clock_gettime(i32 6, ptr" in text and "ptrtoint (ptr @" not in text


def test_what_is_called_of_the_interpreter_is_told_by_the_declarations():
    names = interpreter_functions(text_for("x86_64", "Linux"))
    assert len(names) == 24 and {"Py_IncRef", "PyEval_SaveThread", "PyMem_Malloc"} < {*names}
