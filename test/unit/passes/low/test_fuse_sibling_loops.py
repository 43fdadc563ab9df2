"""Loops beside one another that read the same buffer: one loop where that computes the same bits."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.reference.kernels import low as interpreter
from tenon.dialects import context, low
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low import fuse_sibling_loops
from tenon.passes.low.fuse_sibling_loops import FuseSiblingLoopsPass
from tenon.passes.pass_manager import PassManager
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

KERNEL = """
low.kernel @k(%x: memref<9xf64>, %y: memref<9xf64>, %z: memref<9xf64>) grid [1, 1, 1] block [1, 1, 1] {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %same = arith.constant 9 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f64
  %s = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %zero) -> (f64) {{
    %v = memref.load %x[%i] : memref<9xf64>
    %t = arith.addf %a, %v : f64
    scf.yield %t : f64
  }}
  {between}
  %m = scf.for %j = %c0 to {end} step {step} iter_args(%b = {start}) -> (f64) {{
    %w = memref.load {buffer}[%j] : memref<9xf64>
    {inside}
    %p = arith.mulf %w, %w : f64
    %u = arith.addf %b, %p : f64
    scf.yield %u : f64
  }}
  memref.store %s, %z[%c0] : memref<9xf64>
  memref.store %m, %z[%c1] : memref<9xf64>
}}"""


def loops_after(text: str, **options: int) -> int:
    """Runs the pass; returns how many loops there are then, which compute what those before did."""
    x, y, z = np.random.default_rng(5).normal(size=(3, 9))
    results: list[list[Array]] = []
    module = parse_module(text, "k.mlir")
    for _ in range(2):
        kernel = module.body.block.first_op
        assert isinstance(kernel, low.KernelOp)
        arrays = [x.copy(), y.copy(), z.copy()]
        interpreter.run_kernel(kernel, arrays)
        results.append(arrays)
        PassManager((FuseSiblingLoopsPass(**options),)).run(context(), module)
        verify_module(module)
    for before, after in zip(*results, strict=True):
        assert before.tobytes() == after.tobytes()
    return sum(isinstance(op, scf.ForOp) for op in module.walk())


def kernel(
    between: str = "",
    end: str = "%c9",
    step: str = "%c1",
    start: str = "%zero",
    buffer: str = "%x",
    inside: str = "",
) -> str:
    return KERNEL.format(between=between, end=end, step=step, start=start, buffer=buffer, inside=inside)


@pytest.mark.parametrize(
    "text",
    [
        kernel(),
        kernel(end="%same"),
        kernel(between="%d = arith.mulf %s, %s : f64"),
        kernel(between="%d = memref.load %x[%c1] : memref<9xf64>", start="%d"),
        kernel(
            between="%e = arith.addi %c1, %c1 : index\n%d = memref.load %y[%e] : memref<9xf64>", start="%d"
        ),
    ],
    ids=["beside", "the same number", "what follows between", "a load moves up", "with its index"],
)
def test_siblings_are_one_loop(text: str) -> None:
    assert loops_after(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        kernel(end="%c8"),
        kernel(step="%c2"),
        kernel(buffer="%y"),
        kernel(start="%s"),
        kernel(between="%d = arith.addf %s, %zero : f64", start="%d"),
        kernel(between="memref.store %zero, %x[%c0] : memref<9xf64>"),
        kernel(between="low.barrier"),
        kernel(inside="memref.store %w, %y[%j] : memref<9xf64>"),
    ],
    ids=[
        "other ends",
        "other steps",
        "another buffer",
        "goes on where the other ends",
        "computed of the other",
        "stored between",
        "a barrier between",
        "stores",
    ],
)
def test_others_stay_apart(text: str) -> None:
    assert loops_after(text) == 2


def test_a_third_loop_needs_what_moved_up_for_the_second() -> None:
    text = kernel(
        between="%e = arith.addi %c1, %c1 : index\n%d = memref.load %y[%e] : memref<9xf64>", start="%d"
    )
    third = """
  %f = arith.addf %d, %d : f64
  %n = scf.for %l = %c0 to %c9 step %c1 iter_args(%g = %f) -> (f64) {
    %q = memref.load %x[%l] : memref<9xf64>
    %h = arith.subf %g, %q : f64
    scf.yield %h : f64
  }
  memref.store %n, %z[%e] : memref<9xf64>
  memref.store %s"""
    assert loops_after(text.replace("  memref.store %s", third, 1)) == 1


def test_partial_results_leave_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    spare = fuse_sibling_loops.SPARE
    assert loops_after(kernel(), vector_registers=spare + 2) == 1
    assert loops_after(kernel(), vector_registers=spare + 1) == 2


def test_vectors_have_a_width() -> None:
    with pytest.raises(PassFailedException, match=r"^fuse-sibling-loops: vector-nbytes 0 must be 1 or more$"):
        FuseSiblingLoopsPass(vector_nbytes=0).apply(context(), ModuleOp([]))


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize(("rows", "columns"), [(7, 515), (3, 1000), (2, 31)])
def test_a_kernel_reads_once_what_its_reductions_share(
    rows: int, columns: int, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spread(x: Any) -> Any:
        return tnp.max(x, axis=1) - tnp.min(x, axis=1) + tnp.sum(x, axis=1)

    x = np.random.default_rng(0).standard_normal((rows, columns)).astype("f4")
    x[1, columns // 2] = np.nan
    module = tenon.jit(spread).lower(x).module
    with tenon.compile(module, backend=backend) as together:
        found = np.asarray(together(x))
        loops = str(together.stages["low"]).count("scf.for")
    monkeypatch.setattr(FuseSiblingLoopsPass, "apply", lambda *_: None)
    with tenon.compile(module, backend=backend) as apart:
        expected = np.asarray(apart(x))
        loops_apart = str(apart.stages["low"]).count("scf.for")
    assert found.tobytes() == expected.tobytes()
    assert loops < loops_apart
