"""What fills no whole step of a loop's lanes runs as vectors too, and gives the same bits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.reference.kernels import sched as sched_interpreter
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import ModuleOp

FIXED = """builtin.module {
  sched.kernel @k(%x: memref<5x{n}xf32>, %y: memref<5xf32>, %z: memref<5x{n}xf32>) {
    sched.axis %i = 5 {
      %s = sched.reduce {kind} %k = {n} vector(8) unroll(2) : f32 {
        %v = memref.load %x[%i, %k] : memref<5x{n}xf32>
        BODY
        sched.yield %w : f32
      }
      memref.store %s, %y[%i] : memref<5xf32>
    }
  }
}"""

NAMED = (
    FIXED.replace("builtin.module {", "builtin.module {\n  graph.dim @n min 1 max {n}")
    .replace("@k(%x: memref<5x{n}xf32>", "@k(%n: index, %x: memref<5x?xf32, {dims = #graph.dims<5, n>}>")
    .replace("%z: memref<5x{n}xf32>) {", "%z: memref<5x?xf32, {dims = #graph.dims<5, n>}>) dims [n] {")
    .replace("%k = {n}", "%k = n")
    .replace("memref<5x{n}xf32>", "memref<5x?xf32, {dims = #graph.dims<5, n>}>")
)

EXP = "%w = math.exp %v : f32"
STORED_EXP = f"{EXP}\nmemref.store %w, %z[%i, %k] : memref<5x{{n}}xf32>"
NEGATED = "%w = arith.negf %v : f32"


def reduction(kind: str, body: str, n: int, is_named: bool = False) -> str:
    text = NAMED if is_named else FIXED
    text = text.replace("BODY", body)
    if is_named:
        text = text.replace("memref<5x{n}xf32>", "memref<5x?xf32, {dims = #graph.dims<5, n>}>")
    return text.replace("{n}", str(n)).replace("{kind}", kind)


def lowered(text: str) -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    ConvertSchedToLowPass().apply(context(), module)
    verify_module(module)
    return module


def loads(text: str) -> tuple[int, int]:
    """Returns how many loads of `%x` there are, of vectors and of elements."""
    kinds = Counter(
        type(op) for op in lowered(text).walk() if op.operands and op.operands[0].name_hint == "x"
    )
    return kinds[vector.LoadOp], kinds[memref.LoadOp]


@pytest.mark.parametrize(
    ("kind", "body", "n", "expected"),
    [
        # Two vectors at once, and then one or two of what is left.
        ("maximumf", NEGATED, 23, (3, 0)),
        ("maximumf", NEGATED, 32, (2, 0)),
        ("maximumf", NEGATED, 31, (3, 0)),
        ("addf", EXP, 23, (3, 0)),
        ("addf", STORED_EXP, 18, (3, 0)),
        # An element takes no longer than a vector, and there is none before fewer than a vector has.
        ("addf", EXP, 17, (2, 1)),
        ("addf", EXP, 7, (0, 1)),
        # What takes an instruction takes no longer one by one, as it is added so.
        ("addf", NEGATED, 23, (2, 1)),
        # What is read may not be what was written before.
        ("addf", STORED_EXP.replace("%z", "%x"), 23, (2, 1)),
    ],
)
def test_what_is_left_is_vectors_where_that_is_quicker(
    kind: str, body: str, n: int, expected: tuple[int, int]
) -> None:
    assert loads(reduction(kind, body, n)) == expected


def test_of_a_number_that_varies_there_may_be_fewer_than_a_vector_has() -> None:
    assert loads(reduction("maximumf", NEGATED, 40, is_named=True)) == (3, 1)
    assert loads(reduction("addf", STORED_EXP, 40, is_named=True)) == (3, 1)
    # There are never as many.
    assert loads(reduction("addf", STORED_EXP, 7, is_named=True)) == (0, 1)


PANELS = """builtin.module {
  graph.dim @n min 1 max 40
  sched.kernel @k(%n: index, %x: memref<5x9xf32>, %z: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
    %w8 = arith.constant 8 : index
    sched.axis %k = n block(8) vector(8) unroll(2) {
      %p = arith.divui %k, %w8 : index
      %q = arith.remui %k, %w8 : index
      %v = memref.load %x[%p, %q] : memref<5x9xf32>
      memref.store %v, %z[%k] : memref<?xf32, {dims = #graph.dims<n>}>
    }
  }
}"""


def test_elements_in_panels_have_no_vectors_that_begin_in_the_middle() -> None:
    assert loads(PANELS) == (0, 1)
    # Those of one row do, and two of them never fit.
    assert loads(PANELS.replace("[%p, %q]", "[%w8, %k]").replace("5x9", "9x40")) == (1, 1)


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("maximumf", NEGATED),
        ("minimumf", NEGATED),
        ("maximumf", STORED_EXP),
        ("addf", EXP),
        ("addf", STORED_EXP),
        ("mulf", EXP),
    ],
)
def test_the_bits_are_those_of_one_by_one(kind: str, body: str, is_named: bool) -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 39, 40):
        text = reduction(kind, body, 40 if is_named else n, is_named)
        (kernel,) = (op for op in parse_module(text).walk() if isinstance(op, sched.KernelOp))
        (low_kernel,) = (op for op in lowered(text).walk() if isinstance(op, low.KernelOp))
        x = rng.standard_normal((5, n)).astype("f")
        x[0, -1], x[1, n // 2], x[2, 0] = np.nan, -0.0, np.inf
        sizes = [np.asarray(n)] if is_named else []
        results = [[np.zeros(5, "f"), np.zeros((5, n), "f")] for _ in range(2)]
        sched_interpreter.run_kernel(kernel, [*sizes, x, *results[0]])
        run_kernel(low_kernel, [*sizes, *(each.reshape(-1) for each in (x, *results[1]))])
        for expected, found in zip(*results, strict=True):
            # Which NaN it is does not matter.
            same = (expected.view("i4") == found.view("i4")) | (np.isnan(expected) & np.isnan(found))
            assert same.all(), n


@pytest.mark.processor
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_rows_of_any_length_are_as_numpy_has_them(backend: str) -> None:
    def rows(x: tnp.Array) -> tuple[tnp.Array, tnp.Array, tnp.Array]:
        e = tnp.exp(x - tnp.max(x, axis=-1, keepdims=True))
        return e / tnp.sum(e, axis=-1, keepdims=True), tnp.min(x * 2, axis=-1), tnp.tanh(x) * 3

    named = tenon.jit(
        rows, dynamic={"x": {0: tenon.Dim("m", 1, 9), 1: tenon.Dim("n", 1, 80)}}, backend=backend
    )
    rng = np.random.default_rng(0)
    for n in range(1, 81, 3 if backend == "opencl" else 1):
        x = rng.standard_normal((1 + n % 9, n)).astype("f")
        e = np.exp(x - x.max(-1, keepdims=True))
        expected = e / e.sum(-1, keepdims=True), (x * 2).min(-1), np.tanh(x) * 3
        for wanted, found in zip(expected, named(x), strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-6, atol=1e-7)
