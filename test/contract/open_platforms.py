"""
The platforms that the runtime's contract holds for, and what its tests share. Import the fixtures by name:

    from .open_platforms import device, platform
"""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend, HostVisible, Queued
from tenon.backends.registry import DEVICE_NAMES, REFERENCE, get_backend, open_backends
from tenon.errors import MissingExtraError
from tenon.runtime.platforms.code import Code
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import SCHEDULERS, Device
from tenon.runtime.platforms.platform import Platform

Array = npt.NDArray[Any]

_DEVICES: dict[str, Backend] = {}


def opened(name: str, count: int | None = None) -> list[Backend]:
    """Returns new devices of a backend; skips the test where its package is missing."""
    try:
        return open_backends(name, count)
    except MissingExtraError as error:
        pytest.skip(str(error))


def device_of(name: str) -> Backend:
    """Returns the device of a backend that all tests share."""
    if name not in _DEVICES:
        _DEVICES[name] = opened(name, 1)[0]
    return _DEVICES[name]


def _has_queue(name: str) -> bool | None:
    """Returns None where nobody knows, as the backend's package is missing."""
    try:
        _DEVICES.setdefault(name, get_backend(name))
    except MissingExtraError:
        return None
    return isinstance(_DEVICES[name].driver, Queued)


def _kinds() -> dict[str, tuple[str, str | None]]:
    kinds: dict[str, tuple[str, str | None]] = {}
    for name in DEVICE_NAMES:
        if name == REFERENCE or _has_queue(name) is not False:
            kinds[name] = (name, None)
        else:
            kinds |= {f"{name}-{scheduler}": (name, scheduler) for scheduler in SCHEDULERS}
    return kinds


KINDS = _kinds()
"""
The backend and the scheduler of each kind of platform: devices without a queue of their own have each
scheduler, those of the interpreter only the one that they have by default.
"""

QUEUED = [kind for kind, (name, _) in KINDS.items() if _has_queue(name)]
"""The kinds of platforms whose devices have a queue of their own."""

MULTICORE = [kind for kind, (_, scheduler) in KINDS.items() if scheduler == "multicore"]
"""The kinds of platforms whose devices have a thread each."""

OF_EACH_BACKEND = list({name: kind for kind, (name, _) in KINDS.items()}.values())
"""A kind of platform for each backend."""

_OPEN: dict[str, Platform] = {}
_CODES: dict[tuple[str, str], Code] = {}


def open_kind(kind: str, num_devices: int = 2, **options: Any) -> Platform:
    """Returns a new platform of a kind; skips the test where its package is missing."""
    backend, scheduler = KINDS[kind]
    device_of(backend)
    return tenon.open_platform(backend, scheduler=scheduler, num_devices=num_devices, **options)


def kind_of(platform: Platform) -> str:
    """Returns the kind that a platform is of."""
    return next(
        kind
        for kind, (name, scheduler) in KINDS.items()
        if name == platform.name and scheduler in (None, platform.scheduler)
    )


@pytest.fixture(params=KINDS)
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """
    A platform of each kind with two devices, the same for all tests. What a test allocates on it must be gone
    when the test has ended, and no failure may be left.
    """
    kind = request.param
    if kind not in _OPEN:
        _OPEN[kind] = open_kind(kind)
    yield _OPEN[kind]
    check_all_is_free(_OPEN[kind])


@pytest.fixture
def device(platform: Platform) -> Device:
    """The first device of the platform."""
    return platform.get_device(0)


def check_all_is_free(platform: Platform) -> None:
    """Asserts that a platform holds no memory but its merge buffers, which are freed."""
    for device in platform.devices:
        device.await_idle()
    for device in platform.devices:
        with device.schedule_lock:
            device.merge_buffer.free()
        if device.used_memory or device.memory_statistics().n_slabs:
            gc.collect()
        assert (device.used_memory, device.memory_statistics().n_slabs) == (0, 0), (
            f"{device.name} holds memory"
        )


def code_of(platform: Platform, text: str, **options: Any) -> Code:
    """Returns what a program compiles to, compiled once for all tests of a platform that is shared."""
    if _OPEN.get(kind_of(platform)) is not platform or options:
        return platform.compile(text, **options)
    key = (kind_of(platform), text)
    if key not in _CODES:
        _CODES[key] = platform.compile(text)
    return _CODES[key]


def node_of(*dims: int, label: str = "w", dtype: str = "f4", mode: str = "on_device", **options: Any):
    """Returns a new node that lives on devices."""
    return tenon.TensorNode.create(dtype, dims=dims, label=label, memory_mode=mode, **options)


def numbers(*shape: int, start: int = 0) -> Array:
    """Returns small integers in f32: what is computed with them is exact."""
    return (np.arange(np.prod(shape, dtype=int), dtype=np.float32) + start).reshape(shape)


def context_with(device: Device, **values: tuple[tenon.TensorNode, Array]) -> Context:
    """Returns a context with nodes that have values."""
    context = device.make_context()
    for node, array in values.values():
        context = context.init_from_host(node, array)
    return context


def hide_memory_from_host(backend: Backend) -> None:
    """Takes the ability `HostVisible` from a device that no other test uses: its memory is then its own."""
    kind: Any = type(backend.driver)
    hidden = type(f"Distant{kind.__name__}", (kind,), {"__slots__": (), "host_view": None})
    object.__setattr__(backend.driver, "__class__", hidden)
    assert not isinstance(backend.driver, HostVisible)


DOUBLE = """
graph.tnode @x : tensor<4xf32> mode on_device
graph.tnode @y : tensor<4xf32> mode on_device
func.func @double() {
  %x = graph.read @x : tensor<4xf32>
  %y = graph.add %x, %x : tensor<4xf32>
  graph.write @y, %y : tensor<4xf32>
  func.return
}
"""
"""y = 2 x"""

STEP = """
graph.tnode @x : tensor<100x4xf32> mode on_device
graph.tnode @w : tensor<4xf32> mode on_device
graph.tnode @y : tensor<4xf32> mode on_device
func.func @step(%i: index) {
  %x = graph.read @x[%i] : tensor<4xf32>
  %w = graph.read @w : tensor<4xf32>
  %y = graph.mul %x, %w : tensor<4xf32>
  graph.write @y, %y : tensor<4xf32>
  graph.write add @w, %y : tensor<4xf32>
  func.return
}
"""
"""y = x[i] w; w += y"""

COUNT = """
graph.tnode @w : tensor<4xf32> mode on_device
func.func @count() {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  graph.write add @w, %one : tensor<4xf32>
  func.return
}
"""
"""w += 1"""

MERGE = """
graph.tnode @w : tensor<4xf32> mode on_device
func.func @add_other() {
  %other = graph.merge @w : tensor<4xf32>
  graph.write add @w, %other : tensor<4xf32>
  func.return
}
"""
"""w += merge buffer"""
