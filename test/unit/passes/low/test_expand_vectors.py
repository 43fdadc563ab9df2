"""Kernels compute the same bits with scalars in the place of vectors."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.reference.device import ReferenceDevice
from tenon.backends.reference.kernels.low import run_kernel
from tenon.backends.registry import get_backend
from tenon.dialects import context
from tenon.dialects.element_types import lanes_of
from tenon.dialects.low import KernelOp
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.passes.low.expand_vectors import ExpandVectorsPass
from tenon.test.bits import are_same
from xdsl.utils.exceptions import PassFailedException

VECTORS = "default-pipeline{vector-nbytes=8}"
SCALARS = (
    f"{VECTORS},expand-tiles{{vector-nbytes=8}},expand-vectors,verify-stage{{absent=low.tile_fma,vector}}"
)

PROGRAMS = {
    "branches": """
func.func @f(%x: tensor<37xf32>) -> tensor<37xf32> {
  %y = graph.sin %x : tensor<37xf32>
  %z = graph.pow %y, %x : tensor<37xf32>
  func.return %z : tensor<37xf32>
}""",
    "masks": """
func.func @f(%x: tensor<37xf32>) -> tensor<37xi32> {
  %y = graph.isfinite %x : tensor<37xf32>
  %s = graph.signbit %x : tensor<37xf32>
  %b = graph.xor %y, %s : tensor<37xi1>
  %n = graph.cast %x : tensor<37xf32> -> tensor<37xi32>
  %m = graph.mod %n, %n : tensor<37xi32>
  %r = graph.select %b, %n, %m : tensor<37xi32>
  func.return %r : tensor<37xi32>
}""",
    "sums": """
func.func @f(%x: tensor<37xf32>) -> tensor<2x3xf16> {
  %i = graph.iota axis 0 : tensor<2x3x37xf32>
  %t = graph.broadcast %x : tensor<37xf32> -> tensor<2x3x37xf32>
  %p = graph.mul %t, %i : tensor<2x3x37xf32>
  %s = graph.logsumexp %p axes [2] : tensor<2x3x37xf32> -> tensor<2x3xf32>
  %h = graph.cast %s : tensor<2x3xf32> -> tensor<2x3xf16>
  func.return %h : tensor<2x3xf16>
}""",
    "products": """
func.func @f(%x: tensor<37xf32>) -> tensor<19x19xf32> {
  %a = graph.pad_with wrap %x low [0] high [324] : tensor<37xf32>
  %m = graph.reshape %a : tensor<361xf32> -> tensor<19x19xf32>
  %n = graph.tanh %m : tensor<19x19xf32>
  %p = graph.contract %n, %n maps [
    affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>
  ] : tensor<19x19xf32>, tensor<19x19xf32> -> tensor<19x19xf32>
  %t = graph.permute %p [1, 0] : tensor<19x19xf32>
  %s = graph.add %p, %t : tensor<19x19xf32>
  func.return %s : tensor<19x19xf32>
}""",
    "orders": """
func.func @f(%x: tensor<37xf32>) -> tensor<37xf32> {
  %s = graph.sort %x axis 0 : tensor<37xf32>
  %c = graph.cumulate add %s axis 0 : tensor<37xf32>
  func.return %c : tensor<37xf32>
}""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_without_vectors_compute_the_same_bits(program: str):
    x = np.random.default_rng(3).normal(0, 20, 37).astype(np.float32)
    x[:6] = [0.0, -0.0, 1e30, -np.inf, np.nan, 1e-40]
    with tenon.compile(PROGRAMS[program], backend="reference", pipeline=VECTORS) as vectors:
        expected = vectors(x)
    with tenon.compile(PROGRAMS[program], backend="reference", pipeline=SCALARS) as scalars:
        assert are_same(scalars(x), expected)


WHILE = """low.kernel @k(%x: memref<4xi32>, %y: memref<4xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %limit = arith.constant dense<[100, 100, 50, 100]> : vector<4xi32>
  %from = vector.load %x[%c0] : memref<4xi32>, vector<4xi32>
  %last = scf.while (%v = %from) : (vector<4xi32>) -> (vector<4xi32>) {
    %below = arith.cmpi slt, %v, %limit : vector<4xi32>
    %all = vector.reduction <and>, %below : vector<4xi1> into i1
    scf.condition(%all) %v : vector<4xi32>
  } do {
  ^bb0(%w: vector<4xi32>):
    %next = arith.addi %w, %w : vector<4xi32>
    scf.yield %next : vector<4xi32>
  }
  vector.store %last, %y[%c0] : memref<4xi32>, vector<4xi32>
}"""


def test_a_loop_without_a_count_carries_scalars():
    module = parse_module(WHILE)
    ExpandVectorsPass().apply(context(), module)
    verify_module(module)
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    assert all(lanes_of(value.type) is None for op in kernel.walk() for value in (*op.operands, *op.results))
    x, y = np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)
    run_kernel(kernel, [x, y])
    assert y.tolist() == [32, 64, 96, 128]


@dataclass(frozen=True)
class ScalarDevice(ReferenceDevice):
    """A device whose backend is to see neither tiles nor vectors."""

    lacks: tuple[str, ...] = ("vector", "low.tile_fma")


def scalar_backend(**options: Any) -> Backend:
    return replace(get_backend("reference"), device=ScalarDevice(**options))


@pytest.mark.parametrize(("program", "op"), [("products", "low.tile_fma"), ("masks", "vector.load")])
def test_a_device_is_given_none_of_the_ops_that_it_lacks(program: str, op: str):
    x = np.linspace(-3, 3, 37, dtype=np.float32)
    with tenon.compile(PROGRAMS[program], backend=get_backend("reference")) as all_ops:
        expected = all_ops(x)
        assert op in all_ops.stages["low"]
    with tenon.compile(PROGRAMS[program], backend=scalar_backend()) as scalars:
        assert are_same(scalars(x), expected)
        assert not re.search(r"low\.tile_fma|vector\.|vector<", scalars.stages["low"])


def test_a_device_may_lack_tiles_and_have_vectors():
    loops = scalar_backend(lacks=("low.tile_fma",))
    with tenon.compile(PROGRAMS["products"], backend=loops) as products:
        assert "low.tile_fma" not in products.stages["low"]
    with tenon.compile(PROGRAMS["masks"], backend=loops) as masks:
        assert "vector.load" in masks.stages["low"]


def test_a_device_is_given_none_of_them_after_passes_of_the_callers_own():
    with tenon.compile(PROGRAMS["masks"], backend=scalar_backend(), pipeline=VECTORS) as masks:
        assert "vector.load" not in masks.stages["low"]


def test_what_nothing_expands_cannot_be_lacking():
    with pytest.raises(
        TenonError,
        match=r"^device reference: nothing expands math\.fma \(there are: low\.tile_fma, vector\)$",
    ):
        tenon.compile(PROGRAMS["masks"], backend=scalar_backend(lacks=("vector", "math.fma")))


def kernel_of(body: str) -> str:
    return f"""low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
      {body}
    }}"""


def test_an_op_on_vectors_that_kernels_do_not_know_is_an_error():
    module = parse_module(
        kernel_of(
            '%r = "vector.fma"(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>'
        )
    )
    with pytest.raises(
        PassFailedException,
        match=r"^vector.fma: expand-vectors has no rule for it \(not an op of kernels\)$",
    ):
        ExpandVectorsPass().apply(context(), module)


def test_what_cannot_combine_lanes_is_an_error():
    module = parse_module(kernel_of("%r = vector.reduction <minnumf>, %v : vector<4xf32> into f32"))
    with pytest.raises(
        PassFailedException, match=r"^vector.reduction: cannot combine vector<4xf32> by minnumf$"
    ):
        ExpandVectorsPass().apply(context(), module)
