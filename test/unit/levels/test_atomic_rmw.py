"""`low.atomic_rmw` on every backend, with threads: no update is lost, and each is what the plain op gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import BufferLoc
from tenon.backends.llvm import backend as llvm_backend
from tenon.backends.llvm.driver import CpuDriver
from tenon.backends.opencl import backend as opencl_backend
from tenon.backends.opencl.device import UNLIMITED
from tenon.backends.opencl.renderer import OpenCLRenderer
from tenon.backends.steps import LaunchStep
from tenon.test.bits import assert_same_bits
from tenon.test.kernels import parsed
from tenon.test.unit.atomic_kernels import (
    BINS,
    DTYPES,
    LONG,
    WAYS,
    Array,
    N,
    kinds_of,
    run_opencl,
    run_reference,
    scatter,
)
from xdsl.utils.exceptions import DiagnosticException

NUMPY: dict[str, Callable[..., Any]] = {
    "addi": np.add,
    "muli": np.multiply,
    "maxs": np.maximum,
    "mins": np.minimum,
    "maxu": np.maximum,
    "minu": np.minimum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}


@pytest.fixture(autouse=True)
def several_threads() -> Iterator[None]:
    """More threads than processors, so that they come between one another."""
    count = tenon.get_num_threads()
    tenon.set_num_threads(4)
    yield
    tenon.set_num_threads(count)


def values(kind: str, type: str) -> Array:
    """Values of which no two orders give different results: sums and products of floats are exact."""
    random, dtype = np.random.default_rng(0), DTYPES[type]
    match kind:
        case "addf":
            return random.integers(-8, 9, N).astype(dtype)
        case "mulf":
            return random.choice([-1.0, 1.0, 2.0, 0.5], N).astype(dtype)
        case "maximumf" | "minimumf":
            return random.standard_normal(N).astype(dtype)
        case "assign":
            return np.arange(1, N + 1).astype(dtype)
        case _:
            info = np.iinfo(dtype)
            return random.integers(info.min, info.max, N, dtype, endpoint=True)


def combined(kind: str, y: Array, at: Array, x: Array) -> Array:
    """What numpy gives."""
    if kind in ("maxu", "minu"):
        unsigned = y.view(f"u{y.dtype.itemsize}").copy()
        NUMPY[kind].at(unsigned, at, x.view(unsigned.dtype))  # pyright: ignore
        return unsigned.view(y.dtype)
    result = y.copy()
    NUMPY[kind].at(result, at, x)  # pyright: ignore
    return result


@pytest.mark.parametrize("bins", [1, BINS])
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_no_update_is_lost(way: str, type: str, bins: int):
    kinds, at = kinds_of(type), np.random.default_rng(1).integers(0, bins, N, np.int32)
    module = parsed("".join(scatter(kind, type, bins=bins, name=kind) for kind in kinds))
    before = np.full(bins, 1, DTYPES[type])
    before[0] = -1
    old = np.zeros_like(values(kinds[0], type))
    calls = {kind: [values(kind, type), at.copy(), before.copy(), old.copy()] for kind in kinds}
    WAYS[way](module, calls)
    for kind, (x, _, y, old) in calls.items():
        if kind != "assign":
            assert_same_bits(y, combined(kind, before, at, x))
            continue
        # Each value is found by the one that comes next, or left at the end.
        for bin in range(bins):
            mine = at == bin
            assert sorted([*old[mine], y[bin]]) == sorted([before[bin], *x[mine]])


@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_the_result_is_what_the_element_was(way: str, type: str):
    x, at = np.ones(N, DTYPES[type]), np.zeros(N, np.int32)
    y, old = np.zeros(1, x.dtype), np.zeros_like(x)
    WAYS[way](parsed(scatter(f"add{'f' if type[0] == 'f' else 'i'}", type, bins=1)), {"k": [x, at, y, old]})
    assert sorted(old) == list(range(N))
    assert y[0] == N


def many(kind: str, type: str) -> str:
    """16 work-groups of which each combines 10007 times: long enough for others to come between."""
    return f"""
    low.kernel @k(%one: memref<1x{type}>, %y: memref<{BINS}x{type}>) grid [16, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant {N} : index
      %bins = arith.constant {BINS} : index
      %v = memref.load %one[%c0] : memref<1x{type}>
      scf.for %i = %c0 to %n step %c1 {{
        %j = arith.remui %i, %bins : index
        %o = low.atomic_rmw {kind} %v, %y[%j] : memref<{BINS}x{type}>
      }}
    }}"""


COUNTED = [("addi", "i32", 1), ("addi", "i64", 1), ("addf", "f32", 1), ("addf", "f64", 1)]
COUNTED += [("muli", "i32", -3), ("mulf", "f32", -1), ("mulf", "f64", -1), ("xori", "i64", 5)]


@pytest.mark.parametrize(("kind", "type", "value"), COUNTED)
def test_threads_of_several_launches_come_between(kind: str, type: str, value: int):
    """One launch after the other may leave no two threads at work; four at once do."""
    it, n_calls = llvm_backend(), 4
    artifact = it.compiler.compile(it.renderer.render(parsed(many(kind, type)), it.device), it.device)
    one, y = np.full(1, value, DTYPES[type]), np.ones(BINS, DTYPES[type])

    def call(_: int) -> None:
        driver = CpuDriver()
        for pool_id, array in enumerate((one, y)):
            driver.map_host(pool_id, array.view(np.uint8))
        step = LaunchStep("k", (16, 1, 1), (1, 1, 1), (0, 1), nanoseconds=LONG)
        driver.bind(artifact, [step], [BufferLoc(0, 0), BufferLoc(1, 0)]).run()

    with ThreadPoolExecutor(n_calls) as executor:
        list(executor.map(call, range(n_calls)))
    each = 16 * n_calls * np.bincount(np.arange(N) % BINS)
    with np.errstate(over="ignore"):
        if kind.startswith("add"):
            expected = 1 + value * each
        elif kind == "xori":
            expected = np.where(each % 2 == 0, 1, 1 ^ value)
        else:
            expected = np.array([pow(value, int(count), 1 << 32) for count in each]).astype(np.uint32)
            expected = expected.view(np.int32)
    assert y.tolist() == expected.tolist()


EDGES: dict[str, list[float]] = {
    "f32": [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 1e-40, -1e-45, 3e38, 1.0000001, 1 / 3],
    "f64": [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 1e-310, -5e-324, 1.7e308, 1 + 2**-52, 1 / 3],
    "i32": [0, -1, 1, 2**31 - 1, -(2**31), 12345, -99],
    "i64": [0, -1, 1, 2**63 - 1, -(2**63), 2**40 + 7, -(2**33)],
}
OPS = {"maxs": "maxsi", "mins": "minsi", "maxu": "maxui", "minu": "minui"}


def pairs(name: str, kind: str, type: str, is_atomic: bool) -> str:
    """Combines each element with a value: by `low.atomic_rmw`, or by the op of `arith` that it goes by."""
    n = len(EDGES[type]) ** 2
    plain = f"""
      %o = memref.load %y[%i] : memref<{n}x{type}>
      %c = arith.{OPS.get(kind, kind)} %o, %v : {type}
      memref.store {"%v" if kind == "assign" else "%c"}, %y[%i] : memref<{n}x{type}>"""
    if kind == "assign":
        plain = plain.replace(f"%c = arith.assign %o, %v : {type}", "")
    atomic = f"%o = low.atomic_rmw {kind} %v, %y[%i] : memref<{n}x{type}>"
    return f"""
    low.kernel @{name}(%x: memref<{n}x{type}>, %y: memref<{n}x{type}>) grid [{n}, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<{n}x{type}>
      {atomic if is_atomic else plain}
    }}"""


@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_elements_become_what_the_plain_op_gives(way: str, type: str):
    edges = np.array(EDGES[type], DTYPES[type])
    y, x = (part.ravel() for part in np.meshgrid(edges, edges))
    names = [(f"{word}_{kind}", kind) for kind in kinds_of(type) for word in ("plain", "atomic")]
    module = parsed("".join(pairs(name, kind, type, name.startswith("atomic")) for name, kind in names))
    expected, found = ({name: [x.copy(), y.copy()] for name, _ in names} for _ in range(2))
    run_reference(module, expected)
    WAYS[way](module, found)
    for kind in kinds_of(type):
        for word in ("plain", "atomic"):
            assert_same_bits(found[f"{word}_{kind}"][1], expected[f"plain_{kind}"][1])


TICKETS = f"""
low.kernel @k(%next: memref<1xi64>, %x: memref<{N}xf32>, %y: memref<{N}xf32>, %ends: memref<2xf32>)
    grid [50, 1, 1] block [1, 1, 1] {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i64
  %n = arith.constant {N} : i64
  %zero = arith.constant 0.0 : f32
  %last = scf.while (%seen = %one) : (i64) -> i64 {{
    %ticket = low.atomic_rmw addi %one, %next[%c0] : memref<1xi64>
    %is_inside = arith.cmpi slt, %ticket, %n : i64
    scf.condition(%is_inside) %ticket : i64
  }} do {{
  ^bb0(%ticket: i64):
    %i = arith.index_cast %ticket : i64 to index
    %v = memref.load %x[%i] : memref<{N}xf32>
    %is_below = arith.cmpf olt, %v, %zero : f32
    %before = scf.if %is_below -> (f32) {{
      %o = low.atomic_rmw minimumf %v, %ends[%c0] : memref<2xf32>
      %least = arith.minimumf %o, %v : f32
      scf.yield %least : f32
    }} else {{
      %o = low.atomic_rmw maximumf %v, %ends[%c1] : memref<2xf32>
      scf.yield %v : f32
    }}
    memref.store %before, %y[%i] : memref<{N}xf32>
    scf.yield %ticket : i64
  }}
}}"""


@pytest.mark.parametrize("way", WAYS)
def test_work_groups_draw_tickets_in_loops_and_branches(way: str):
    """Each takes the next element for as long as there are some; retries stand in branches of loops."""
    x = np.random.default_rng(3).standard_normal(N).astype(np.float32)
    drawn, y, ends = np.zeros(1, np.int64), np.full(N, np.nan, np.float32), np.zeros(2, np.float32)
    WAYS[way](parsed(TICKETS), {"k": [drawn, x, y, ends]})
    assert drawn[0] == N + 50
    assert ends.tolist() == [x.min(), x.max()]
    is_below = x < 0
    assert (y[~is_below] == x[~is_below]).all() and (y[is_below] <= x[is_below]).all()


def shared(n: int = 1003) -> str:
    """A histogram for each work-group of 17, of which every one is added to the whole."""
    return f"""
    low.kernel @k(%x: memref<{17 * n}xi32>, %y: memref<5xi32>) grid [{n}, 1, 1] block [17, 1, 1] {{
      %b = low.block_id x
      %t = low.thread_id x
      %c5 = arith.constant 5 : index
      %c17 = arith.constant 17 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %counts = low.alloca : memref<5xi32, "shared">
      %is_first = arith.cmpi ult, %t, %c5 : index
      scf.if %is_first {{
        memref.store %zero, %counts[%t] : memref<5xi32, "shared">
      }}
      low.barrier
      %row = arith.muli %b, %c17 : index
      %i = arith.addi %row, %t : index
      %v = memref.load %x[%i] : memref<{17 * n}xi32>
      %at = arith.index_cast %v : i32 to index
      %old = low.atomic_rmw addi %one, %counts[%at] : memref<5xi32, "shared">
      low.barrier
      scf.if %is_first {{
        %count = memref.load %counts[%t] : memref<5xi32, "shared">
        %before = low.atomic_rmw addi %count, %y[%t] : memref<5xi32>
      }}
    }}"""


@pytest.mark.parametrize("way", ["reference", "opencl"])  # on llvm nobody waits at barriers
def test_work_items_of_a_group_share_a_histogram(way: str):
    x, y = np.random.default_rng(0).integers(0, 5, 17 * 1003, np.int32), np.zeros(5, np.int32)
    WAYS[way](parsed(shared()), {"k": [x, y]})
    assert y.tolist() == np.bincount(x).tolist()


@pytest.mark.parametrize("type", DTYPES)
def test_memory_of_a_group_takes_every_kind_on_opencl(type: str):
    kinds = kinds_of(type)
    updates = "\n".join(
        f'%o{number} = low.atomic_rmw {kind} %v, %m[%c{number}] : memref<{len(kinds)}x{type}, "shared">'
        f"\n%c{number + 1} = arith.addi %c{number}, %c1_step : index"
        for number, kind in enumerate(kinds)
    )
    n = len(kinds)
    text = f"""
    low.kernel @k(%x: memref<{n}x{type}>, %y: memref<{n}x{type}>) grid [1, 1, 1] block [{n}, 1, 1] {{
      %t = low.thread_id x
      %c0 = arith.constant 0 : index
      %c1_step = arith.constant 1 : index
      %m = low.alloca : memref<{n}x{type}, "shared">
      %v = memref.load %x[%t] : memref<{n}x{type}>
      %first = memref.load %y[%t] : memref<{n}x{type}>
      memref.store %first, %m[%t] : memref<{n}x{type}, "shared">
      low.barrier
      {updates}
      low.barrier
      %last = memref.load %m[%t] : memref<{n}x{type}, "shared">
      memref.store %last, %y[%t] : memref<{n}x{type}>
    }}"""
    x = np.full(n, 3, DTYPES[type])
    y, expected = np.full(n, 5, x.dtype), np.full(n, 5, x.dtype)
    run_reference(parsed(text), {"k": [x, expected]})
    run_opencl(parsed(text), {"k": [x, y]})
    assert_same_bits(y, expected)


@pytest.mark.parametrize("type", ["i64", "f64"])
def test_a_device_without_64_bits_says_so(type: str):
    module = parsed(scatter("assign", type))
    small = replace(UNLIMITED, name="small", has_i64_atomics=False)
    message = rf"^opencl: low.atomic_rmw: device small lacks cl_khr_int64_base_atomics, which {type} needs$"
    with pytest.raises(DiagnosticException, match=message):
        OpenCLRenderer().render(module, small)
    for narrow in ("i32", "f32"):
        OpenCLRenderer().render(parsed(scatter("assign", narrow)), small)


def test_a_program_that_its_device_lacks_atomics_for_does_not_compile():
    pytest.importorskip("pyopencl")
    found = opencl_backend()
    lacking = replace(found, device=replace(found.device, has_i64_atomics=False))  # pyright: ignore
    text = (
        scatter("addi", "i64", 8, 8)
        + """
    sched.program @p(%x: memref<8xi64>, %at: memref<8xi32>) : (tensor<8xi64>, tensor<8xi32>)
        -> (tensor<8xi64>, tensor<8xi64>) {
      %y = sched.buffer global result : memref<8xi64>
      %old = sched.buffer global result : memref<8xi64>
      %t = sched.launch @k(%x, %at, %y, %old) after()
        : memref<8xi64>, memref<8xi32>, memref<8xi64>, memref<8xi64>
      sched.return %y, %old after(%t) : memref<8xi64>, memref<8xi64>
    }"""
    )
    message = r"error: opencl: low.atomic_rmw: device .* lacks cl_khr_int64_base_atomics, which i64 needs$"
    with pytest.raises(tenon.TenonError, match=message):
        tenon.compile(text, backend=lacking, pipeline="low-pipeline")
