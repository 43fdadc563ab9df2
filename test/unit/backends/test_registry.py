"""The backends by name."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import (
    DEVICE_NAMES,
    compiling_names,
    get_backend,
    open_backends,
    register_backend,
    unregister_backend,
)
from tenon.errors import TenonError


def test_the_reference_is_a_device_and_compiles_to_no_machine_code():
    assert tuple(DEVICE_NAMES) == ("llvm", "opencl", "reference")
    assert compiling_names() == ("llvm", "opencl")


@pytest.mark.parametrize("name", ["llvm", "reference"])
def test_logical_devices_share_all_but_their_memory(name: str):
    first, second, third = open_backends(name, 3)
    assert first.name == name == get_backend(name).name
    assert first.compiler is second.compiler is third.compiler
    assert len({id(backend.driver) for backend in (first, second, third)}) == 3
    assert len(open_backends(name)) == 1
    assert open_backends(name)[0].driver is not first.driver


def test_an_unknown_name_is_an_error_that_lists_those_that_are():
    with pytest.raises(TenonError, match=r"^backend 'cuda' is not one of llvm, opencl, reference$"):
        get_backend("cuda")


def test_the_processor_is_one_device_by_default_that_works_at_once():
    for name in ("llvm", "reference"):
        with tenon.open_platform(name) as platform:
            assert (platform.num_devices, platform.scheduler) == (1, "sync")
    assert tenon.open_platform().name == "llvm"


def test_no_devices_cannot_be_opened():
    with pytest.raises(TenonError, match=r"^backend 'llvm': cannot open 0 devices \(at least 1\)$"):
        open_backends("llvm", 0)


def toys(count: int | None) -> list[Backend]:
    """Backends that interpret, under a name of their own."""
    return [replace(backend, name="toy") for backend in open_backends("reference", count)]


@pytest.fixture
def toy_is_registered() -> Iterator[None]:
    yield
    unregister_backend("toy")


DOUBLE = """
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize("name", ["toy", "llvm"])
def test_what_was_not_registered_cannot_be_forgotten(name: str):
    with pytest.raises(TenonError, match=rf"^unregister_backend: no backend '{name}' was registered$"):
        unregister_backend(name)


@pytest.mark.usefixtures("toy_is_registered")
def test_a_registered_backend_is_taken_by_its_name():
    tenon.register_backend("toy", toys)
    assert tuple(tenon.BACKENDS) == ("llvm", "opencl", "reference", "toy")
    assert compiling_names() == ("llvm", "opencl", "toy")
    with tenon.compile(DOUBLE, backend="toy") as double:
        assert double(np.ones(4, np.float32)).tolist() == [2.0] * 4
    with tenon.open_platform("toy", num_devices=3) as platform:
        assert [device.name for device in platform.devices] == ["toy:0", "toy:1", "toy:2"]
    assert len(open_backends("toy")) == 1


@pytest.mark.usefixtures("toy_is_registered")
def test_a_registered_backend_takes_no_target():
    tenon.register_backend("toy", toys)
    with pytest.raises(TenonError, match=r"^target 'native' is for backend llvm: toy takes none$"):
        get_backend("toy", "native")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("llvm", "register_backend: there is a backend 'llvm' already"),
        ("", r"register_backend: '' is no name of a backend \(empty, or with a ':'\)"),
        ("toy:0", r"register_backend: 'toy:0' is no name of a backend \(empty, or with a ':'\)"),
    ],
)
def test_names_of_backends_are_new_and_name_devices(name: str, message: str):
    with pytest.raises(TenonError, match=f"^{message}$"):
        register_backend(name, toys)
    assert tuple(DEVICE_NAMES) == ("llvm", "opencl", "reference")


@pytest.mark.usefixtures("toy_is_registered")
@pytest.mark.parametrize(
    ("opened", "message"),
    [
        ((), r"backend 'toy': opened 0 devices \(2 asked for\)"),
        (toys(1), r"backend 'toy': opened 1 devices \(2 asked for\)"),
        (open_backends("reference", 2), "backend 'toy': opened a device of backend 'reference'"),
    ],
)
def test_other_devices_than_asked_for_are_an_error(opened: Sequence[Backend], message: str):
    register_backend("toy", lambda count: opened)
    with pytest.raises(TenonError, match=f"^{message}$"):
        open_backends("toy", 2)
