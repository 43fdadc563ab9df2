"""Devices that are made to fail are what they were otherwise."""

import numpy as np
import pytest
import tenon
from tenon.backends.interface import (
    BufferLoc,
    CompiledArtifact,
    DirectCalls,
    HostMapped,
    HostVisible,
    PeerCopies,
    PinnedHost,
    Queued,
)
from tenon.backends.registry import DEVICE_NAMES, get_backend, open_backends
from tenon.backends.steps import CopyStep
from tenon.errors import DeviceError, DeviceLostError, KernelCompileError, OutOfMemoryError

from .faulty_driver import CALLS, inject_faults, mend_compilers
from .open_platforms import device_of

ABILITIES = (HostMapped, HostVisible, PeerCopies, PinnedHost, Queued, DirectCalls)


@pytest.fixture(params=DEVICE_NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return device_of(request.param).name


def test_abilities_stay(name: str):
    plain, faulty = open_backends(name, 2)
    inject_faults(faulty)
    for ability in ABILITIES:
        assert isinstance(plain.driver, ability) == isinstance(faulty.driver, ability)
    if isinstance(faulty.driver, PeerCopies) and isinstance(plain.driver, PeerCopies):
        assert faulty.driver.reaches(plain.driver) and plain.driver.reaches(faulty.driver)


def test_a_call_fails_when_it_is_planned_to_and_then_works(name: str):
    backend = get_backend(name)
    faults = inject_faults(backend)
    faults.plan("alloc_pool", OutOfMemoryError("no more"), after=1, times=2)
    backend.driver.alloc_pool(1, 64, 64)
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match=r"^no more$"):
            backend.driver.alloc_pool(2, 64, 64)
    backend.driver.alloc_pool(2, 64, 64)
    assert faults.calls["alloc_pool"] == 4


def test_a_lost_device_fails_until_it_is_mended(name: str):
    backend = get_backend(name)
    faults = inject_faults(backend)
    faults.plan("memset_zero", DeviceLostError("gone", ["@k"]), times=None)
    backend.driver.alloc_pool(1, 64, 64)
    for _ in range(3):
        with pytest.raises(DeviceLostError, match=r"^gone \(in flight: @k\)$"):
            backend.driver.memset_zero(BufferLoc(1, 0), 64)
    faults.clear()
    backend.driver.memset_zero(BufferLoc(1, 0), 64)


def test_programs_and_events_fail_too(name: str):
    backend = get_backend(name)
    driver = backend.driver
    faults = inject_faults(backend)
    driver.alloc_pool(1, 64, 64)
    artifact = CompiledArtifact(None, ())
    if isinstance(driver, Queued):
        event = driver.record()
        faults.plan("wait", DeviceError("late"))
        with pytest.raises(DeviceError, match=r"^late$"):
            event.wait()
        event.wait()
    program = driver.bind(artifact, [CopyStep(0, 1, 8)], [BufferLoc(1, 0), BufferLoc(1, 8)])
    faults.plan("run", DeviceError("broken"))
    with pytest.raises(DeviceError, match=r"^broken$"):
        program.run()
    program.run()
    assert faults.calls["run"] == 2


def test_compilers_fail_too(name: str):
    backend = get_backend(name)
    faults = inject_faults(backend)
    faults.plan("compile", KernelCompileError("no", "log"))
    text = """
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.add %x, %x : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    """
    with pytest.raises(KernelCompileError, match=r"^no\nlog$"):
        tenon.compile(text, backend=backend)
    with tenon.compile(text, backend=backend) as f:
        assert f(np.ones(4, np.float32)).tolist() == [2] * 4


def test_compilers_are_sound_again_for_the_next_test(name: str):
    backend = get_backend(name)
    kind = type(backend.compiler)
    for _ in range(2):
        inject_faults(backend)
        assert type(backend.compiler) is not kind
    mend_compilers()
    assert type(backend.compiler) is kind


def test_only_what_is_called_can_be_planned_to_fail(name: str):
    assert {"alloc_pool", "launch", "run", "call", "compile", "synchronize", "wait"} <= set(CALLS)
    faults = inject_faults(get_backend(name))
    with pytest.raises(AssertionError, match=r"^no call explode among "):
        faults.plan("explode", DeviceError("boom"))
