"""What `memory_plan` says, against what the device does while the program runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc, CallableKernel, DirectCalls, HostVisible
from tenon.backends.registry import get_backend
from tenon.backends.serial_program import SerialProgram
from tenon.backends.steps import LaunchStep
from tenon.errors import ContextError
from tenon.runtime.memory.slab_pool import slab_pool_of
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.platforms.routine import ProgramRoutine
from tenon.runtime.reports.memory_plan import MemoryPlan
from tenon.runtime.reports.planned_memory import PlannedBuffer

from .open_platforms import MERGE, STEP, code_of, context_with, numbers, platform

__all__ = ["platform"]

PRODUCT = (
    "maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
)
CHAIN = f"""\
func.func @chain(%x: tensor<16x16xf32>, %w: tensor<16x32xf32>, %v: tensor<32x16xf32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>) {{
  %table = graph.constant dense<[{", ".join(map(str, range(16)))}]> : tensor<16xf32>
  %wide = graph.broadcast %table : tensor<16xf32> -> tensor<16x16xf32>
  %a = graph.contract %x, %w {PRODUCT} : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %b = graph.contract %a, %v {PRODUCT} : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  %c = graph.add %b, %wide : tensor<16x16xf32>
  %d = graph.contract %c, %w {PRODUCT} : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %e = graph.contract %d, %v {PRODUCT} : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  %f = graph.contract %e, %w {PRODUCT} : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
  %g = graph.contract %f, %v {PRODUCT} : tensor<16x32xf32>, tensor<32x16xf32> -> tensor<16x16xf32>
  func.return %g, %x : tensor<16x16xf32>, tensor<16x16xf32>
}}
"""


@dataclass
class Watch:
    """Writes down, for each launch, where its buffers lie, what is held, and which bytes it changes."""

    backend: Backend
    launches: list[tuple[str, tuple[BufferLoc, ...]]] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    changed: list[set[tuple[int, int]]] = field(default_factory=list)
    pools: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._launch = self.backend.driver.launch

    def launch(
        self,
        kernel: CallableKernel,
        grid: Any,
        block: Any,
        arguments: tuple[BufferLoc, ...],
        sizes: tuple[int, ...] = (),
    ) -> None:
        self.launches.append((kernel.name, tuple(arguments)))
        self.held.append(slab_pool_of(self.backend.driver).statistics().nbytes)
        before = self.contents()
        self._launch(kernel, grid, block, arguments, sizes)
        after = self.contents()
        self.changed.append(
            {
                (pool_id, int(offset))
                for pool_id, nbytes in before.items()
                for offset in np.flatnonzero(nbytes != after[pool_id])
            }
        )

    def contents(self) -> dict[int, np.ndarray]:
        """Returns the bytes of the pools, where the host can see them."""
        driver = self.backend.driver
        if not isinstance(driver, HostVisible):
            return {}
        driver.synchronize()
        return {
            pool_id: np.array(driver.host_view(BufferLoc(pool_id, 0), nbytes))
            for pool_id, nbytes in self.pools.items()
        }


@pytest.fixture
def watch(device: Backend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """A watch over all that is launched on a device; programs are then bound to single launches."""
    watch = Watch(get_backend(device.name))
    driver = watch.backend.driver
    monkeypatch.setattr(driver, "launch", watch.launch)
    monkeypatch.setattr(driver, "bind", partial(SerialProgram, driver))
    if isinstance(driver, DirectCalls):
        monkeypatch.setattr(driver, "bind_direct", lambda *_: None)
    yield watch


def run_chain(watch: Watch) -> tuple[MemoryPlan, tenon.Executable]:
    executable = tenon.compile(CHAIN, backend=watch.backend)
    plan = executable.memory_plan()
    watch.pools = {pool.pool_id: pool.nbytes for pool in plan.pools}
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(type.shape).astype(type.dtype) for type in executable.argument_types]
    executable(*arrays)
    return plan, executable


def buffers_of(executable: tenon.Executable, plan: MemoryPlan) -> list[tuple[str, list[PlannedBuffer]]]:
    return [
        (step.kernel, [plan.buffers[number] for number in step.buffers])
        for step in executable.program.steps
        if isinstance(step, LaunchStep)
    ]


def test_kernels_run_on_the_places_that_the_plan_says(watch: Watch):
    plan, executable = run_chain(watch)
    with executable:
        planned = buffers_of(executable, plan)
        assert [name for name, _ in planned] == [name for name, _ in watch.launches]
        assert len(planned) > 4
        for (_, buffers), (_, places) in zip(planned, watch.launches, strict=True):
            known = [(b, place) for b, place in zip(buffers, places, strict=True) if b.pool_id is not None]
            assert [BufferLoc(b.pool_id, b.offset) for b, _ in known] == [place for _, place in known]
        own_pools = {pool.pool_id for pool in plan.pools}
        callers = {b.number for _, buffers in planned for b in buffers if b.pool_id is None}
        for (_, buffers), (_, places) in zip(planned, watch.launches, strict=True):
            for buffer, place in zip(buffers, places, strict=True):
                assert buffer.number not in callers or place.pool_id not in own_pools


def test_the_bytes_of_the_plan_are_held_while_it_runs_and_given_back_after(watch: Watch):
    pool = slab_pool_of(watch.backend.driver)
    before = pool.statistics().nbytes
    plan, executable = run_chain(watch)
    assert set(watch.held) == {before + plan.nbytes}
    assert pool.statistics().nbytes == before + plan.nbytes
    assert executable.memory_plan() == plan
    executable.close()
    assert pool.statistics().nbytes == before


def test_a_kernel_changes_no_byte_that_the_plan_does_not_give_it(watch: Watch):
    if not isinstance(watch.backend.driver, HostVisible):
        pytest.skip("the host cannot see this device's memory")
    plan, executable = run_chain(watch)
    with executable:
        assert any(watch.changed)
        for step, ((_, buffers), changed) in enumerate(
            zip(buffers_of(executable, plan), watch.changed, strict=True)
        ):
            inside = {(b.pool_id, byte) for b in buffers for byte in range(b.offset, b.end)}
            assert changed <= inside, f"step {step} changes bytes of other buffers"


def test_buffers_that_share_bytes_do_not_live_at_the_same_time(watch: Watch):
    plan, executable = run_chain(watch)
    executable.close()
    sharing = [b for b in plan.buffers if b.shares_with]
    assert sharing, "the program is to share memory"
    for buffer in sharing:
        for number in buffer.shares_with:
            other = plan.buffers[number]
            assert not any(
                buffer.is_live(step) and other.is_live(step) for step in range(len(plan.steps) + 1)
            )


def test_the_most_that_lives_at_a_step_is_the_peak(watch: Watch):
    plan, executable = run_chain(watch)
    executable.close()
    for pool in plan.pools:
        live = [
            sum(b.nbytes for b in plan.buffers if b.pool_id == pool.pool_id and b.is_live(step))
            for step in range(len(plan.steps) + 1)
        ]
        assert max(live) == pool.peak_nbytes <= pool.nbytes


def linked_step(platform: Platform) -> ProgramRoutine:
    code = code_of(platform, STEP)
    x, w = code.nodes["x"], code.nodes["w"]
    context = context_with(platform.get_device(0), x=(x, numbers(100, 4)), w=(w, numbers(4)))
    routine = context.link(code)
    assert isinstance(routine, ProgramRoutine)
    return routine


def test_a_routine_has_its_nodes_where_its_context_has_them(platform: Platform):
    routine = linked_step(platform)
    plan = routine.memory_plan()
    x, w, y = (buffer for buffer in plan.buffers if buffer.name in ("@x", "@w", "@y"))
    assert {(b.name, b.kind, b.nbytes) for b in (x, w, y)} == {
        ("@x", "node", 16),
        ("@w", "node", 16),
        ("@y", "node", 16),
    }
    assert [(index.symbol, index.stride_nbytes, index.extent) for index in x.moves] == [("i", 16, 100)]
    assert x.end - x.offset == 1600
    assert all(not b.shares_with for b in (x, w, y))
    assert plan.nbytes == platform.get_device(0).used_memory


def test_a_routine_that_merges_reads_pool_0(platform: Platform):
    code = code_of(platform, MERGE)
    w = code.nodes["w"]
    first, second = (context_with(device, w=(w, numbers(4))) for device in platform.devices)
    copy = first.device_to_device(w, second, into_merge_buffer=True)
    assert copy is not None
    routine = copy.context.link(code)
    assert isinstance(routine, ProgramRoutine)
    plan = routine.memory_plan()
    merged = [buffer for buffer in plan.buffers if buffer.kind == "merge"]
    assert [(buffer.name, buffer.pool_id, buffer.offset) for buffer in merged] == [("@w", 0, 0)]
    assert (plan.pools[0].content, plan.pools[0].nbytes) == ("merge buffer", 0)
    copy.run()
    assert routine.memory_plan().pools[0].nbytes == 64


def test_a_routine_without_its_context_has_no_plan(platform: Platform):
    routine = linked_step(platform)
    routine.context.finalize()
    with pytest.raises(ContextError, match=r"step: .*finalized"):
        routine.memory_plan()
