"""The backends by name."""

import pytest
from tenon.backends.registry import BACKEND_NAMES, DEVICE_NAMES, get_backend, open_backends
from tenon.errors import TenonError


def test_the_reference_is_a_device_and_compiles_to_no_machine_code():
    assert DEVICE_NAMES == ("llvm", "opencl", "reference")
    assert BACKEND_NAMES == ("llvm", "opencl")


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


def test_no_devices_cannot_be_opened():
    with pytest.raises(TenonError, match=r"^backend 'llvm': cannot open 0 devices \(at least 1\)$"):
        open_backends("llvm", 0)
