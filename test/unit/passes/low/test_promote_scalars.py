"""What loops carry in registers instead of memory computes, bit for bit, what it did."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.promote_scalars import PromoteScalarsPass
from tenon.passes.pass_manager import PassManager
from tenon.test.kernels import interpret_kernel
from xdsl.dialects import scf

Array = npt.NDArray[Any]


def kernel(end: str, at: str = "%c0") -> str:
    return f"""
low.kernel @k(%x: memref<7xf64>, %y: memref<7xf64>, %z: memref<7xf64>) grid [1, 1, 1] block [1, 1, 1] {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  scf.for %i = %c0 to %c7 step %c1 {{
    scf.for %j = %c0 to {end} step %c1 {{
      %left = memref.load %z[{at}] : memref<7xf64>
      %v = memref.load %x[%j] : memref<7xf64>
      %w = arith.addf %left, %v : f64
      %q = arith.divf %w, %v : f64
      memref.store %q, %z[{at}] : memref<7xf64>
      memref.store %q, %y[%j] : memref<7xf64>
    }}
    %last = memref.load %z[{at}] : memref<7xf64>
    memref.store %last, %y[%i] : memref<7xf64>
  }}
}}"""


@pytest.mark.parametrize(
    ("end", "at", "n_carried"),
    [("%c7", "%c0", 2), ("%i", "%c1", 2), ("%c0", "%c1", 2), ("%c7", "%i", 1)],
    ids=["always", "not at first", "never", "a place of the outer loop"],
)
def test_values_are_those_of_memory(end: str, at: str, n_carried: int) -> None:
    x, y, z = np.random.default_rng(3).normal(size=(3, 7))
    results: list[list[Array]] = []
    module = parse_module(kernel(end, at), "k.mlir")
    for _ in range(2):
        arrays = [x.copy(), y.copy(), z.copy()]
        interpret_kernel(module, *arrays)
        results.append(arrays)
        PassManager((PromoteScalarsPass(),)).run(context(), module)
        verify_module(module)
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    assert sum(len(loop.iter_args) for loop in loops) == n_carried
    for before, after in zip(*results, strict=True):
        assert before.tobytes() == after.tobytes()


@pytest.mark.parametrize("n", [1, 2, 37])
def test_recurrences_of_a_row_are_those_of_numpy(n: int) -> None:
    @tenon.jit
    def relaxed(a: Any) -> Any:
        def row(i: Any, a: Any) -> Any:
            def element(left: Any, other: Any) -> Any:
                value = (left + other) / 9.0
                return value, value

            return a.at[i, 1:].set(tenon.scan(element, a[i, 0], a[i - 1, 1:] + a[i, 1:])[1])

        return tenon.fori_loop(1, n, row, a)

    a = np.random.default_rng(n).normal(size=(n, 23))
    expected = a.copy()
    for i in range(1, n):
        for j in range(1, 23):
            expected[i, j] = (expected[i, j - 1] + (expected[i - 1, j] + expected[i, j])) / 9.0
    assert np.asarray(relaxed(tnp.asarray(a))).tobytes() == expected.tobytes()


WHILE = """
low.kernel @k(%n: memref<GRIDxi64>, %a: memref<9xi64>) grid [ITEMS, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %first = memref.load %n[%c0] : memref<GRIDxi64>
  %p = arith.cmpi sgt, %first, %zero : i64
  %q = scf.while (%more = %p) : (i1) -> i1 {
    BEFORE
    scf.condition(%more) %more : i1
  } do {
  ^bb0(%goes: i1):
    %x = memref.load %n[%c0] : memref<GRIDxi64>
    %y = arith.subi %x, %one : i64
    memref.store %y, %n[%c0] : memref<GRIDxi64>
    %i = arith.index_cast %y : i64 to index
    memref.store %x, %a[%i] : memref<9xi64>
    %s = memref.load %a[%c1] : memref<9xi64>
    %again = arith.cmpi sgt, %y, %zero : i64
    scf.yield %again : i1
  }
}
"""


@pytest.mark.parametrize(
    ("items", "before", "n_carried"),
    [
        (1, "", 2),
        # Others may count along; a condition reads what is stored.
        (2, "", 1),
        (1, "%held = memref.load %n[%c1] : memref<2xi64>", 1),
    ],
    ids=["alone", "beside others", "read by the condition"],
)
def test_a_loop_with_a_condition_carries_its_elements(items: int, before: str, n_carried: int) -> None:
    text = WHILE.replace("GRID", "2").replace("ITEMS", str(items)).replace("BEFORE", before)
    for count in (0, 1, 8):
        results: list[list[Array]] = []
        module = parse_module(text, "k.mlir")
        for _ in range(2):
            arrays = [np.array([count, 5]), np.arange(9)]
            interpret_kernel(module, *arrays)
            results.append(arrays)
            PassManager((PromoteScalarsPass(),)).run(context(), module)
            verify_module(module)
        (loop,) = (op for op in module.walk() if isinstance(op, scf.WhileOp))
        assert len(loop.results) == n_carried
        for one, other in zip(*results, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_loops_with_conditions_in_loops_are_those_of_python(backend: str) -> None:
    def steps(seed: Any, n: Any) -> Any:
        """Collatz: how many steps each number takes, and the greatest number on the way."""

        def one(i: Any, state: Any) -> Any:
            counts, tops = state

            def step(s: Any) -> Any:
                x, count, top = s
                x = tnp.where(x % 2 == 0, x // 2, 3 * x + 1)
                return x, count + 1, tnp.maximum(top, x)

            _, count, top = tenon.while_loop(lambda s: s[0] != 1, step, (seed + i, 0 * seed, seed + i))
            return counts.at[i].set(count), tops.at[i].set(top)

        zeros = tnp.zeros(40, dtype=tnp.int64)
        return tenon.fori_loop(0, n, one, (zeros, zeros))

    counts, tops = tenon.jit(steps, backend=backend)(np.int64(1), np.int64(37))
    for number in range(40):
        x = top = number + 1
        count = 0
        while number < 37 and x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            count, top = count + 1, max(top, x)
        assert int(counts[number]) == count
        assert int(tops[number]) == (top if number < 37 else 0)
