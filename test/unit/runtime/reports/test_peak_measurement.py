from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tenon.backends.cache.frame import Record
from tenon.backends.cache.place import cache_folder
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.backends.registry import get_backend
from tenon.backends.steps import LaunchStep, StepTime
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.runtime.reports import measured_rooflines, peak_measurement
from tenon.runtime.reports.measured_rooflines import device_roofline
from tenon.runtime.reports.peak_kernels import (
    COPY,
    FMA,
    N_ACCUMULATORS,
    READ,
    STEP,
    STREAM,
    WRITE,
    fma_elements,
    fma_kernel,
    fma_name,
    memory_kernel,
)
from tenon.runtime.reports.peak_measurement import GROUPS_PER_WORKER, measure_roofline

DIMS = "".join(f"graph.dim @{name} min 1 max 1000000\n" for name in "gnr")
LANES = 4


def ran(kernel: str, name: str, arrays: Sequence[np.ndarray[Any, Any]], sizes: Sequence[int]) -> None:
    """Runs a kernel in the interpreter, in the arrays."""
    backend = get_backend("reference")
    module = parse_module(DIMS + kernel, "kernel")
    verify_module(module)
    artifact = backend.compiler.compile(backend.renderer.render(module, backend.device), backend.device)
    places = [BufferLoc(number, 0) for number in range(1, len(arrays) + 1)]
    for place, array in zip(places, arrays, strict=True):
        backend.driver.alloc_pool(place.pool_id, array.nbytes, 64)
        backend.driver.copy_to_device(place, array)
    step = LaunchStep(name, (sizes[0], 1, 1), (1, 1, 1), tuple(range(len(arrays))), sizes=tuple(sizes))
    backend.driver.bind(artifact, (step,), places).run()
    for place, array in zip(places, arrays, strict=True):
        backend.driver.copy_from_device(array, place)


def test_the_kernel_of_arithmetic_does_so_many_operations():
    x = np.zeros(fma_elements(LANES), np.float32)
    x[: N_ACCUMULATORS * LANES] = 1
    x[-2 * LANES : -LANES], x[-LANES:] = 2, 3
    y = np.zeros(2 * LANES, np.float32)
    ran(fma_kernel("f32", LANES), fma_name("f32", LANES), (x, y), (2, 3))
    # 1 -> 5 -> 13 -> 29 in each accumulator.
    np.testing.assert_array_equal(y, np.full(2 * LANES, 29 * N_ACCUMULATORS, np.float32))


@pytest.mark.parametrize(
    ("name", "expected"),
    [(READ, None), (WRITE, lambda x: x * 0 + 1), (COPY, lambda x: x + 1), (STREAM, lambda x: x + 1)],
)
def test_the_kernels_of_memory_touch_every_element(name: str, expected: Any):
    n = 2 * STEP * LANES
    x, y = np.arange(3 * n, dtype=np.float32), np.zeros(3 * n, np.float32)
    ran(memory_kernel(name, LANES), name, (x, y), (3, n, 2))
    if expected is not None:
        np.testing.assert_array_equal(y, expected(x))
        return
    sums = y.reshape(3, n)[:, :LANES]
    np.testing.assert_array_equal(sums.sum(1), 2 * x.reshape(3, n).sum(1))


@dataclass
class FakeProgram:
    driver: "FakeDriver"
    step: LaunchStep

    def run_timed(self) -> list[StepTime]:
        self.driver.n_runs += 1
        taken = self.driver.nanoseconds_of(self.step)
        return [StepTime(5, 5 + taken)]


class FakeDriver:
    """
    A machine of 2 workers with 10 GFLOP/s in f32 and a half of that in f64, and memory that gives 8 GB/s to
    working sets of up to 4096 bytes, and 2 GB/s beyond; writing is half as fast, copying counts both.
    """

    n_workers = 2

    def __init__(self) -> None:
        self.n_runs = 0
        self.pools: dict[int, int] = {}

    def alloc_pool(self, pool_id: int, nbytes: int, alignment: int, mode: object = None) -> None:
        self.pools[pool_id] = nbytes

    def free_pool(self, pool_id: int) -> None:
        del self.pools[pool_id]

    def memset_zero(self, target: BufferLoc, nbytes: int) -> None:
        assert nbytes <= self.pools[target.pool_id]

    def bind(
        self, artifact: CompiledArtifact, steps: Sequence[LaunchStep], places: Sequence[BufferLoc]
    ) -> Any:
        (step,) = steps
        return FakeProgram(self, step)

    def nanoseconds_of(self, step: LaunchStep) -> int:
        groups, *sizes, times = step.sizes
        assert groups == GROUPS_PER_WORKER * self.n_workers
        if step.kernel.startswith(FMA):
            _, _, element, lanes = step.kernel.split("_")
            rate = 10 if element == "f32" else 5
            return round(2 * groups * times * N_ACCUMULATORS * int(lanes) / rate)
        (n,) = sizes
        n_buffers = 2 if step.kernel in (COPY, STREAM) else 1
        rate = 8 if 4 * n * n_buffers <= 4096 else 2
        return round(times * groups * 4 * n * n_buffers / (rate / 2 if step.kernel == WRITE else rate))


@dataclass(frozen=True)
class FakeDevice:
    name: str = "fake"
    vector_nbytes: int = 32
    max_buffer_nbytes: int = 1 << 20
    cache_nbytes: tuple[int, int, int] = (8192, 65536, 1 << 18)
    has_f64: bool = True

    def supports(self, element_type: Any) -> bool:
        return self.has_f64 or str(element_type) != "f64"


def fake_backend(device: FakeDevice) -> tuple[Backend, FakeDriver]:
    class Renderer:
        suffix = ".fake"

        def render(self, module: object, device: object) -> str:
            return str(module)

    class Compiler:
        def compile(self, source: str, device: object) -> CompiledArtifact:
            return CompiledArtifact(None, ())

    driver = FakeDriver()
    backend: Any = Backend("fake", device, Renderer(), Compiler(), driver)  # pyright: ignore
    return backend, driver


def test_a_roofline_is_what_the_device_does():
    backend, driver = fake_backend(FakeDevice())
    roofline = measure_roofline(backend)
    assert roofline.gflops == pytest.approx({"f32": 10, "f64": 5}, rel=1e-3)
    assert [(level.name, level.nbytes) for level in roofline.levels] == [
        ("L1", 2 * 8192),
        ("L2", 2 * 65536),
        ("L3", 1 << 18),
        ("memory", None),
    ]
    first, *others = roofline.levels
    assert (first.read_gbps, first.write_gbps, first.copy_gbps) == pytest.approx((8, 4, 8), rel=1e-3)
    for level in others:
        assert (level.read_gbps, level.write_gbps, level.copy_gbps) == pytest.approx((2, 1, 2), rel=1e-3)
    assert (roofline.device, roofline.n_workers) == ("fake", 2)
    assert not driver.pools or len(driver.pools) == 2, "what was allocated is given back"


def test_a_device_without_f64_has_no_peak_of_it():
    backend, _ = fake_backend(FakeDevice(has_f64=False))
    assert list(measure_roofline(backend).gflops) == ["f32"]


def test_a_device_without_a_third_cache_has_three_levels():
    backend, _ = fake_backend(FakeDevice(cache_nbytes=(8192, 65536, 65536)))
    assert [level.name for level in measure_roofline(backend).levels] == ["L1", "L2", "memory"]


def test_a_device_is_measured_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measured_rooflines, "MEASURED", {})
    backend, driver = fake_backend(FakeDevice(name="once"))
    found = device_roofline(backend)
    n_runs = driver.n_runs
    assert device_roofline(replace(backend)) is found
    assert driver.n_runs == n_runs
    driver.n_workers = 3
    assert device_roofline(backend) is not found


def test_what_was_measured_is_kept_for_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENON_CACHE", "1")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    backend, driver = fake_backend(FakeDevice(name="kept"))
    monkeypatch.setattr(measured_rooflines, "MEASURED", {})
    found = device_roofline(backend)
    n_runs = driver.n_runs
    monkeypatch.setattr(measured_rooflines, "MEASURED", {})
    assert device_roofline(backend) == found
    assert driver.n_runs == n_runs
    folder = cache_folder()
    assert folder is not None
    (info,) = folder.files()
    assert info.name.startswith("roofline-")


def test_what_is_no_roofline_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENON_CACHE", "1")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    backend, driver = fake_backend(FakeDevice(name="spoiled"))
    monkeypatch.setattr(measured_rooflines, "MEASURED", {})
    found = device_roofline(backend)
    n_runs = driver.n_runs
    folder = cache_folder()
    assert folder is not None
    (info,) = folder.files()
    good = asdict(found)
    for data in (None, good | {"gflops": {"f32": 0}}, good | {"levels": []}):
        folder.store(info.key, Record(data))
        monkeypatch.setattr(measured_rooflines, "MEASURED", {})
        assert device_roofline(backend) == found
        assert driver.n_runs > n_runs
        n_runs = driver.n_runs


@pytest.mark.parametrize("name", ["llvm", "opencl"])
def test_a_real_device_has_limits(name: str, monkeypatch: pytest.MonkeyPatch):
    if name == "opencl":
        pytest.importorskip("pyopencl")
    monkeypatch.setattr(peak_measurement, "MOST_NBYTES", 1 << 22)
    monkeypatch.setattr(peak_measurement, "ENOUGH_NANOSECONDS", 2000)
    roofline = measure_roofline(get_backend(name))
    assert roofline.gflops["f32"] > 0.1
    assert all(level.copy_gbps > 0.01 for level in roofline.levels)
