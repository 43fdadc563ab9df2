"""Kernels with `low.atomic_rmw` through every pass over `low`, and what else is asked of their ops."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tenon
from tenon.dialects import context
from tenon.dialects.low.atomic_rmw import AtomicRmwKind, AtomicRmwOp
from tenon.dialects.modules.kernel_access import KernelAccess, accesses_of
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.pipeline import low_passes
from tenon.passes.sched.host.kernel_cost import cost_of
from tenon.test.kernels import parsed
from tenon.test.unit.atomic_kernels import (
    BINS,
    WAYS,
    Array,
    N,
    kernels_of,
    run_reference,
    scatter,
    updates_of,
)
from tenon.tools.reduce.reductions.bodies import EraseEffects
from tenon.tools.reduce.reductions.surgery import is_dead


@pytest.fixture(autouse=True)
def several_threads() -> Iterator[None]:
    """More threads than processors, so that they come between one another."""
    count = tenon.get_num_threads()
    tenon.set_num_threads(4)
    yield
    tenon.set_num_threads(count)


def kernel(n: int) -> str:
    return f"""
low.kernel @k(%x: memref<{n}xi32>, %h: memref<{BINS}xi32>, %sum: memref<1xi64>, %max: memref<1xf32>,
              %y: memref<{n}xi32>) grid [{n}, 1, 1] block [1, 1, 1] {{
  %i = low.block_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1 : i32
  %bins = arith.constant {BINS} : i32
  %before = memref.load %y[%i] : memref<{n}xi32>
  %v = memref.load %x[%i] : memref<{n}xi32>
  %bin = arith.remui %v, %bins : i32
  %at = arith.index_cast %bin : i32 to index
  %o = low.atomic_rmw addi %one, %h[%at] : memref<{BINS}xi32>
  %p = low.atomic_rmw addi %one, %h[%at] : memref<{BINS}xi32>
  %lanes = vector.broadcast %v : i32 to vector<4xi32>
  %same = vector.reduction <maxsi>, %lanes : vector<4xi32> into i32
  %w = low.convert extsi %same : i32 to i64
  scf.for %j = %c0 to %c3 step %c1 {{
    %q = low.atomic_rmw addi %w, %sum[%c0] : memref<1xi64>
    %own = low.atomic_rmw addi %one, %y[%i] : memref<{n}xi32>
  }}
  scf.for %j = %c0 to %c1 step %c1 {{
    %r = low.atomic_rmw addi %w, %sum[%c0] : memref<1xi64>
  }}
  %f = low.convert sitofp %v : i32 to f32
  %e = math.exp2 %f : f32
  %m = low.atomic_rmw maximumf %e, %max[%c0] : memref<1xf32>
  %after = memref.load %y[%i] : memref<{n}xi32>
  %d = arith.subi %after, %before : i32
  %own = low.atomic_rmw assign %d, %y[%i] : memref<{n}xi32>
}}"""


LOW_PASSES = (
    "simplify-low",
    "eliminate-common-subexpressions",
    "hoist-invariant-ops",
    "promote-scalars",
    "expand-math",
    "expand-vectors",
    "expand-tiles",
    "deduplicate-kernels",
    "canonicalize",
    "cse",
    "dce",
    "licm",
    "low-pipeline",
)


def arrays(n: int) -> list[Array]:
    x = np.random.default_rng(2).integers(-100, 100, n, np.int32)
    return [
        x,
        np.zeros(BINS, np.int32),
        np.zeros(1, np.int64),
        np.full(1, -np.inf, np.float32),
        np.full(n, 9, np.int32),
    ]


def expect_right(found: list[Array]) -> None:
    x, h, sum, max, y = found
    assert h.tolist() == (2 * np.bincount(x.view(np.uint32) % BINS, minlength=BINS)).tolist()
    assert sum[0] == 4 * x.sum(dtype=np.int64)
    assert max[0] == 2.0 ** x.max()
    assert set(y) == {3}


PASSES = low_passes(Target(lacks=("low.tile_fma", "vector")))

FIRST_STAGE = 3
"""How many passes of the pipeline there must be before a backend takes the kernel: expand-math is one."""


@pytest.mark.parametrize("name", LOW_PASSES)
def test_passes_keep_updates(name: str):
    module = parsed(kernel(1009))
    PassManager(name).run(context(), module)
    assert len(updates_of(module)) == 7
    found = arrays(1009)
    run_reference(module, {"k": found})
    expect_right(found)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count", range(FIRST_STAGE, len(PASSES) + 1))
def test_every_stage_of_the_pipeline_gives_the_same(count: int, way: str):
    module = parsed(kernel(N))
    PassManager(PASSES[:count]).run(context(), module)
    found = arrays(N)
    WAYS[way](module, {"k": found})
    expect_right(found)


def test_loads_on_both_sides_of_an_update_stay_two():
    module = parsed(kernel(N))
    PassManager("eliminate-common-subexpressions,cse").run(context(), module)
    assert str(module).count("memref.load %y[%i]") == 2


SCHED = """
sched.kernel @k(%y: memref<8xi32>) {
  sched.axis %i = 8 {
    %one = arith.constant 1 : i32
    %o = low.atomic_rmw addi %one, %y[%i] : memref<8xi32>
  }
}"""


def test_a_kernel_of_sched_has_no_updates():
    module = parse_module(SCHED)
    with pytest.raises(PassError, match=r"error: low.atomic_rmw: cannot stand in the body of a kernel "):
        PassManager("low-pipeline").run(context(), module)


def test_an_update_reads_and_writes_its_buffer():
    module = parsed(scatter("addi", "i32"))
    assert accesses_of(module) == {"k": KernelAccess(reads=(0, 1, 2), writes=(2, 3))}
    cost = cost_of(kernels_of(module)["k"])
    assert (cost.loads[2], cost.stores[2], cost.flops) == (N, N, N)
    assert cost_of(kernels_of(parsed(scatter("assign", "i32")))["k"]).flops == 0


def test_an_update_without_uses_is_not_dead():
    assert not any(is_dead(update) for update in updates_of(parsed(kernel(N))))


def test_an_update_without_uses_may_be_reduced_away():
    module = parsed(kernel(N))
    for edit in EraseEffects(cascades=False).edits(module):
        edit()
    assert updates_of(module) == []
    used = parsed(scatter("addi", "i32"))
    edits = EraseEffects(cascades=False).edits(used)
    assert len(edits) == 1 and len(updates_of(used)) == 1, "the store alone"


def test_an_update_is_made_of_its_operands():
    (update,) = updates_of(parsed(scatter("addi", "i32")))
    made = AtomicRmwOp(AtomicRmwKind.XORI, update.value, update.buffer, update.index)
    made.verify()
    assert str(made).endswith("low.atomic_rmw xori %v, %y[%j] : memref<13xi32>")
