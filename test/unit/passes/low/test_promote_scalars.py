"""What loops carry in registers instead of memory computes, bit for bit, what it did."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.reference.kernels import low as interpreter
from tenon.dialects import context, low
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.promote_scalars import PromoteScalarsPass
from tenon.passes.pass_manager import PassManager
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
        op = module.body.block.first_op
        assert isinstance(op, low.KernelOp)
        arrays = [x.copy(), y.copy(), z.copy()]
        interpreter.run_kernel(op, arrays)
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
