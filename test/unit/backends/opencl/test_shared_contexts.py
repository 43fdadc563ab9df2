"""One context for each device of the process, until it is lost or nobody uses it."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.opencl import backend, backends
from tenon.errors import DeviceError, DeviceLostError
from tenon.test.unit.backends.opencl.error_records import error_record

cl = pytest.importorskip("pyopencl")


def context_of(it: Any) -> Any:
    assert it.compiler.context is it.driver.context
    return it.driver.context


def test_backends_on_one_device_share_its_context_and_not_its_memory():
    first, (second, third) = backend(), backends(count=2)
    assert context_of(first) is context_of(second) is context_of(third)
    for number, it in enumerate((first, second)):
        it.driver.alloc_pool(1, 64, 64)
        it.driver.copy_to_device(BufferLoc(1, 0), np.full(16, number, np.float32))
    for number, it in enumerate((first, second)):
        found = np.empty(16, np.float32)
        it.driver.copy_from_device(found, BufferLoc(1, 0))
        assert found.tolist() == [number] * 16
    with pytest.raises(DeviceError, match="pool 1 is not allocated"):
        third.driver.free_pool(1)
    # What one compiled, the other runs.
    artifact = first.compiler.compile("__kernel void f() {}", first.device)
    kernel = second.driver.get_kernel(artifact, "f")
    second.driver.launch(kernel, (1, 1, 1), (1, 1, 1), [])
    second.driver.synchronize()


def test_a_context_is_given_back_when_nobody_uses_it(monkeypatch: pytest.MonkeyPatch):
    # Other tests of this process have the device open.
    monkeypatch.setattr("tenon.backends.opencl.shared_contexts.COMPILERS", weakref.WeakValueDictionary())
    it: Any = backend()
    compiler = weakref.ref(it.compiler)
    again: Any = backend()
    assert again.compiler is compiler()
    del it, again
    gc.collect()
    assert compiler() is None


@pytest.mark.parametrize("is_launch", [False, True])
def test_who_opens_a_device_that_was_lost_gets_another_context(
    monkeypatch: pytest.MonkeyPatch, is_launch: bool
):
    def fail(*_: object, **__: object) -> None:
        raise cl.RuntimeError(error_record("enqueue", -36))

    lost: Any = backend()
    artifact = lost.compiler.compile("__kernel void f() {}", lost.device)
    with monkeypatch.context() as patch, pytest.raises(DeviceLostError):
        patch.setattr(cl, "enqueue_nd_range_kernel", fail)
        patch.setattr(cl, "enqueue_marker", fail)
        if is_launch:
            lost.driver.launch(lost.driver.get_kernel(artifact, "f"), (1, 1, 1), (1, 1, 1), [])
        else:
            lost.driver.record()
    fresh: Any = backend()
    assert context_of(fresh) is not context_of(lost)
    assert context_of(backend()) is context_of(fresh)


def test_a_failure_that_loses_no_device_keeps_its_context(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise cl.RuntimeError(error_record("enqueue", -6))

    it: Any = backend()
    with monkeypatch.context() as patch, pytest.raises(DeviceError):
        patch.setattr(cl, "enqueue_marker", fail)
        it.driver.record()
    assert context_of(backend()) is context_of(it)


def test_a_driver_that_gives_no_context_is_an_error(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object, **__: object) -> None:
        raise cl.RuntimeError(error_record("Context", -6))

    monkeypatch.setattr("tenon.backends.opencl.shared_contexts.COMPILERS", weakref.WeakValueDictionary())
    monkeypatch.setattr(cl, "Context", fail)
    with pytest.raises(
        DeviceError, match=r"^opencl: cannot open device .+ \(Context failed: OUT_OF_HOST_MEMORY\)$"
    ):
        backend()
