"""What the host copies for programs that run once: on every backend, in plans, and of frozen weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.nn as nn
import tenon.numpy as tnp
from tenon.backends.reference.execute import run_module
from tenon.backends.steps import HostStep
from tenon.compiler.compile import compile_own
from tenon.dialects.modules.parsing import parse_module
from tenon.dialects.rearrangement import Rearrangement
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.plan.plan_codec import decode, encode

TEXT = """
sched.kernel @add(%a: memref<3x4xf32>, %b: memref<12xf32>, %c: memref<12xf32>) {
  %four = arith.constant 4 : index
  sched.axis %i = 12 {
    %r = arith.divui %i, %four : index
    %s = arith.remui %i, %four : index
    %v = memref.load %a[%r, %s] : memref<3x4xf32>
    %w = memref.load %b[%i] : memref<12xf32>
    %t = arith.addf %v, %w : f32
    memref.store %t, %c[%i] : memref<12xf32>
  }
}
sched.program @f(%x: memref<4x3xf32>) : (tensor<4x3xf32>) -> (tensor<12xf32>, tensor<3xf32>) {
  %t = sched.buffer global temporary : memref<3x4xf32>
  %b = sched.buffer global temporary : memref<12xf32>
  %y = sched.buffer global result : memref<12xf32>
  %last = sched.buffer global result : memref<3xf32>
  %0 = sched.rearrange [3, 4] strides = [1, 3] offset = 0(%x) to(%t) after()
      : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = sched.rearrange [12] strides = [-1] offset = 11 summed(%t) to(%b) after(%0)
      : (tensor<3x4xf32>) -> tensor<12xf32>
  %2 = sched.launch @add(%t, %b, %y) after(%1) : memref<3x4xf32>, memref<12xf32>, memref<12xf32>
  %3 = sched.rearrange [3] strides = [-1] offset = 11(%x) to(%last) after()
      : (tensor<4x3xf32>) -> tensor<3xf32>
  sched.return %y, %last after(%2, %3) : memref<12xf32>, memref<3xf32>
}
"""

X = np.random.default_rng(4).normal(size=(4, 3)).astype(np.float32)
EXPECTED = X.T.reshape(-1) + X.T.reshape(-1)[::-1], X.reshape(-1)[:8:-1]


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
def test_programs_with_copies_of_the_hosts(backend: str) -> None:
    if backend == "reference":
        found = run_module(parse_module(TEXT), "f", [X])
    else:
        with tenon.compile(TEXT, backend=backend) as executable:
            executable(X)
            found = executable(X)
            assert "rearrange" in str(executable.memory_plan())
    for mine, its in zip(found, EXPECTED, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_plans_keep_what_is_copied() -> None:
    with tenon.compile(TEXT) as executable:
        assert isinstance(executable, DeviceExecutable)
        plan = executable.program
        assert [str(call) for call in plan.host_calls] == [
            "rearrange as [3, 4]",
            "rearrange as [12]",
            "rearrange as [3]",
        ]
        assert plan.host_calls[1].rearrangement == Rearrangement((12,), (-1,), 11, True)
        assert {call.op_name for call in plan.host_calls} == {"sched.rearrange"}
        sections: list[bytes] = []
        assert decode(encode(plan, sections), sections).host_calls == plan.host_calls
        assert "rearrange" in str(executable.explain())


def test_what_a_library_cannot_have_is_named(tmp_path: Any) -> None:
    with pytest.raises(tenon.TenonError, match=r"@f: sched\.rearrange: rearrange as \[3, 4\]"):
        tenon.export(TEXT, tmp_path / "m")


FROZEN = """
func.func @f(%x: tensor<8x96xf32>, %w: tensor<96x160xf32> {tenon.frozen}, %s: tensor<160xf32> {tenon.frozen})
    -> tensor<8x160xf32> {
  %p = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>] : tensor<8x96xf32>, tensor<96x160xf32> -> tensor<8x160xf32>
  %e = graph.exp %s : tensor<160xf32>
  %b = graph.broadcast %e : tensor<160xf32> -> tensor<8x160xf32>
  %y = graph.mul %p, %b : tensor<8x160xf32>
  func.return %y : tensor<8x160xf32>
}
"""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_copies_of_frozen_weights_are_no_kernels_what_is_computed_of_them_is(backend: str) -> None:
    with compile_own(parse_module(FROZEN), backend=backend, part="preparation") as preparation:
        assert isinstance(preparation, DeviceExecutable)
        plan = preparation.program
        assert sum(isinstance(step, HostStep) for step in plan.steps) == 1
        assert len(plan.launches) == 1
    with compile_own(parse_module(FROZEN), backend=backend) as whole:
        assert isinstance(whole, DeviceExecutable)
        assert not any(isinstance(step, HostStep) for step in whole.program.steps)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_frozen_nets_compute_what_nets_that_change_do(backend: str) -> None:
    generator = np.random.default_rng(6)
    sizes = (64, 16, 3, 3), (40, 64, 1, 1)
    first, second = (generator.normal(size=size).astype(np.float32) for size in sizes)
    scale = generator.normal(size=64).astype(np.float32)
    second[:3] = -0.0
    x = generator.normal(size=(2, 16, 13, 13)).astype(np.float32)

    def net(x: Any, first: Any, scale: Any, second: Any) -> Any:
        inner = nn.conv(x, first * scale[:, None, None, None], padding=1)
        return nn.conv(tnp.maximum(inner, 0), second)

    expected = tenon.jit(net, backend=backend)(x, first, scale, second)
    frozen = tenon.freeze((first, scale, second))
    found = tenon.jit(lambda x: net(x, *frozen), backend=backend)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert not np.signbit(np.asarray(found)[:, :3]).any()
