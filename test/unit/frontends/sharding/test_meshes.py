"""What every mesh must do, on devices of this process and on ranks; and what devices alone do."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.test.unit.frontends.sharding.mesh_cases import CASES, A, Meshes

RUNS = [("llvm", 2), ("llvm", 3), ("llvm", 4), ("opencl", 2), ("reference", 2)]


@pytest.mark.parametrize(("backend", "size"), RUNS)
@pytest.mark.parametrize("name", CASES)
def test_devices_give_the_bits_of_ranks(name: str, backend: str, size: int):
    case = CASES[name]
    with tenon.open_platform(backend, num_devices=size) as platform:
        found = case(Meshes(size, lambda *axes: tenon.Mesh(*axes, devices=platform), backend))
    for of_rank in tenon.run_ranks(size, lambda: case(Meshes(size, tenon.Mesh, backend))):
        for one, other in zip(found, of_rank, strict=True):
            assert one.dtype == other.dtype
            # A device of the reference backend runs what is lowered, by its name a program is interpreted.
            tolerance = 1e-5 if backend == "reference" else 0
            np.testing.assert_allclose(one, other, tolerance, tolerance)


@pytest.fixture(params=["llvm", "opencl"])
def mesh(request: pytest.FixtureRequest) -> Iterator[tenon.Mesh]:
    """A mesh of two devices."""
    with tenon.open_platform(request.param, num_devices=2) as platform:
        yield tenon.Mesh((2,), ("x",), devices=platform)


def rows_of(mesh: tenon.Mesh) -> tenon.ShardedArray:
    return tenon.shard(A, tenon.sharding(mesh, "x"))


def test_each_device_has_a_row_in_a_timeline_with_the_bytes_that_it_sends(mesh: tenon.Mesh):
    x = rows_of(mesh)
    program = tenon.jit(lambda a: tenon.shard(a, tenon.sharding(mesh, None, "x")) + 1)
    program(x)
    with tenon.record_timeline() as timeline:
        program(x)
    backend = mesh.devices[0].backend.name
    kernels = {span.track.thread for span in timeline.spans if span.category == "kernel"}
    assert kernels == {f"{backend}:0", f"{backend}:1"}
    sent = {
        span.track.thread: span.args["nbytes"]
        for span in timeline.spans
        if "all_to_all" in span.name
        if span.category == "transfer"
    }
    # Of 7 rows and of 6, half the columns.
    assert sent == {f"{backend}:0": 7 * 5 * 4, f"{backend}:1": 6 * 5 * 4}


def test_what_is_sent_is_explained_and_planned(mesh: tenon.Mesh):
    lowered = tenon.jit(lambda a: tnp.sum(a, axis=0)).lower(rows_of(mesh))
    assert "all_reduce add on [2] axes = [0] channel = 1" in str(lowered.explain())
    (exchange,) = lowered.memory_plan().exchanges
    assert exchange.sent_nbytes == 40
    assert "tenon.rank = 0" in lowered.text("graph")
    assert "tenon.rank = 1" in lowered.programs[1].executable.stages["graph"]


def failing(mesh: tenon.Mesh) -> Callable[..., Any]:
    def check(total: Any) -> Any:
        if failing_now:
            raise ValueError("no more")
        return total

    def summed(a: Any) -> Any:
        total = tenon.pure_callback(check, tnp.zeros((10,), dtype=np.float32), tnp.sum(a, axis=0))
        return tnp.sum(a * total, axis=0)

    return tenon.jit(summed)


failing_now: list[int] = []


def test_a_device_that_raises_leaves_no_other_waiting_and_the_next_call_runs(mesh: tenon.Mesh):
    program, x = failing(mesh), rows_of(mesh)
    wanted = program(x)
    for _ in range(2):
        failing_now.append(1)
        try:
            with pytest.raises(ValueError, match="no more"):
                program(x)
        finally:
            failing_now.clear()
        np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), tenon.gather(wanted).numpy())


def test_a_callback_cannot_use_a_mesh_of_devices(mesh: tenon.Mesh):
    x = rows_of(mesh)
    inner = tenon.jit(lambda a: a + 1)

    def calls(a: Any) -> Any:
        tenon.gather(inner(x))
        return a

    program = tenon.jit(lambda a: tenon.pure_callback(calls, tnp.sum(a, axis=0), tnp.sum(a, axis=0)))
    with pytest.raises(tenon.TenonError, match="wait for the callback that uses a mesh of devices"):
        program(x)


def test_meshes_that_share_a_device_run_one_after_the_other():
    with tenon.open_platform("llvm", num_devices=3) as platform:
        devices = platform.devices
        meshes = [
            tenon.Mesh((2,), ("x",), devices=pair)
            for pair in (devices[:2], devices[1:], (devices[2], devices[0]))
        ]
        program = tenon.jit(lambda a: tenon.fori_loop(0, 20, lambda _, y: y + tnp.sum(y, axis=0) * 0.01, a))

        def run(mesh: tenon.Mesh) -> list[Any]:
            x = rows_of(mesh)
            return [tenon.gather(program(x)).numpy() for _ in range(5)]

        with ThreadPoolExecutor(3) as threads:
            found = [each for listed in threads.map(run, meshes) for each in listed]
        for each in found:
            np.testing.assert_array_equal(each, found[0])


def test_a_closed_device_is_an_error():
    with tenon.open_platform("llvm", num_devices=2) as platform:
        mesh = tenon.Mesh((2,), ("x",), devices=platform)
        x = rows_of(mesh)
    with pytest.raises(tenon.DeviceError, match=r"llvm:0: the device is closed"):
        tenon.jit(lambda a: a + 1)(x)


def test_devices_of_two_kinds_or_twice_are_an_error():
    with tenon.open_platform("llvm", num_devices=2) as one, tenon.open_platform("reference") as other:
        with pytest.raises(
            tenon.TenonError, match=r"^Mesh: llvm:0 \(.*\) and reference:0 \(.*\) are of two kinds: "
        ):
            tenon.Mesh((2,), ("x",), devices=[one.devices[0], other.devices[0]])
        with pytest.raises(
            tenon.TenonError,
            match=r"^Mesh: device llvm:1 is there twice "
            r"\(hint: tenon\.open_platform\('llvm', num_devices=2\)\)$",
        ):
            tenon.Mesh((2,), ("x",), devices=[one.devices[1], one.devices[1]])
        with pytest.raises(
            tenon.TenonError,
            match=r"^Mesh: a mesh of shape \(2, 2\) has 4 devices, and 2 are given "
            r"\(hint: tenon\.open_platform\('llvm', num_devices=4\)\)$",
        ):
            tenon.Mesh((2, 2), ("x", "y"), devices=one)
        with pytest.raises(
            TypeError, match=r"^Mesh: devices are 2, expected a platform or a list of devices$"
        ):
            tenon.Mesh((2,), ("x",), devices=2)
        with pytest.raises(TypeError, match=r"^Mesh: 'llvm:0' is no device \(hint: tenon\.open_platform"):
            tenon.Mesh((1,), ("x",), devices=["llvm:0"])
        with pytest.raises(ValueError, match=r"^Mesh: there are no devices$"):
            tenon.Mesh((1,), ("x",), devices=[])
        with pytest.raises(TypeError, match=r"^Mesh: devices of this process exclude ranks and a world$"):
            tenon.Mesh((2,), ("x",), devices=one, ranks=[0, 1])


def test_arrays_of_other_devices_or_of_ranks_do_not_mix(mesh: tenon.Mesh):
    x = rows_of(mesh)
    alone = tenon.Mesh((1,), ("x",))
    y = tenon.shard(A, tenon.sharding(alone, "x"))
    with pytest.raises(
        tenon.TenonError, match=r"^<lambda>: arguments are of several meshes \(Mesh\(x=1\), Me"
    ):
        tenon.jit(lambda a, b: a + b)(x, y)
    with pytest.raises(
        tenon.TenonError, match=r"^reshard: Mesh\(x=1\) is of other devices than Mesh\(x=2\)$"
    ):
        tenon.reshard(x, tenon.sharding(alone, "x"))
    with tenon.open_platform("llvm", num_devices=2) as platform:
        other = tenon.Mesh((2,), ("x",), devices=platform)
        assert other != mesh and other == tenon.Mesh((2,), ("x",), devices=platform.devices)
        with pytest.raises(tenon.TenonError, match=r"is of other devices than Mesh\(x=2\)$"):
            tenon.reshard(x, tenon.sharding(other, "x"))
        with pytest.raises(tenon.TenonError, match=r"^<lambda>: arguments are of several meshes"):
            tenon.jit(lambda a, b: a + b)(x, rows_of(other))


def test_there_is_no_part_of_this_rank(mesh: tenon.Mesh):
    x = rows_of(mesh)
    assert [part.shape for part in x.parts] == [(7, 10), (6, 10)] and mesh.here == (0, 1) and mesh.is_here
    for read in (lambda: x.local, lambda: x.offsets, lambda: mesh.rank):
        with pytest.raises(
            tenon.TenonError, match=r"^the parts on all devices of a mesh are here, .*x\.parts\)$"
        ):
            read()
    with pytest.raises(TypeError, match=r"spread over 2 devices \(hint: x\.parts for those on each device, "):
        np.asarray(x)
    with pytest.raises(TypeError, match=r"^unique_values: an array of shape .* is spread over 2 devices, "):
        tnp.unique_values(x)
    with pytest.raises(
        tenon.TenonError, match=r"^shard: dim 0 of the array has extent 1, which 2 parts of axes"
    ):
        tenon.shard(A[:1], tenon.sharding(mesh, "x"))


def test_the_mesh_says_on_which_devices_a_program_runs(mesh: tenon.Mesh):
    x, own = rows_of(mesh), mesh.devices[0].backend.name
    other = "reference"
    with pytest.raises(
        tenon.TenonError,
        match=rf"^<lambda>: backend='{other}' is given, and the mesh is of devices of {own}$",
    ):
        tenon.jit(lambda a: a + 1, backend=other)(x)
    with pytest.raises(
        tenon.TenonError, match=rf"^<lambda>: target='znver3' is given, and the mesh is of .* {own}$"
    ):
        tenon.jit(lambda a: a + 1, target="znver3")(x)


@pytest.mark.parametrize("before", [1, 3])
def test_checkpoints_go_from_ranks_to_devices_and_back(tmp_path: Path, mesh: tenon.Mesh, before: int):
    def saved(mesh: tenon.Mesh) -> None:
        tenon.save_checkpoint(tmp_path, {"a": rows_of(mesh)})

    def loaded(mesh: tenon.Mesh) -> None:
        columns = tenon.sharding(mesh, None, "x")
        found = tenon.load_checkpoint(tmp_path, {"a": columns})["a"]
        assert found.sharding == columns
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A)

    tenon.run_ranks(before, lambda: saved(tenon.Mesh((before,), ("x",))))
    loaded(mesh)
    saved(mesh)
    tenon.run_ranks(before, lambda: loaded(tenon.Mesh((before,), ("x",))))


def test_functions_and_files_give_each_device_its_part(tmp_path: Path, mesh: tenon.Mesh):
    np.save(tmp_path / "a.npy", A)
    rows = tenon.sharding(mesh, "x")
    for x in (
        tenon.shard(tmp_path / "a.npy", rows),
        tenon.shard_from(lambda index: A[index], A.shape, np.float32, rows),
    ):
        np.testing.assert_array_equal(tenon.gather(x).numpy(), A)


def test_several_devices_of_pocl_are_a_mesh():
    """Devices that PoCL itself tells apart."""
    program = (
        "import numpy as np, tenon, tenon.numpy as tnp\n"
        "with tenon.open_platform('opencl') as platform:\n"
        "    mesh = tenon.Mesh((2,), ('x',), devices=platform)\n"
        "    x = tenon.shard(np.arange(7, dtype=np.float32), tenon.sharding(mesh, 'x'))\n"
        "    print(tenon.gather(tenon.jit(lambda a: a - tnp.sum(a))(x)).numpy().tolist())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "POCL_DEVICES": "pthread pthread"},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == f"{[float(each) for each in range(-21, -14)]}\n", ran.stderr
