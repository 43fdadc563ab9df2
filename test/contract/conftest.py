"""The backends that every test of this folder runs on."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import BACKEND_NAMES, DEVICE_NAMES, get_backend, open_backends

from .faulty_driver import mend_compilers

DEVICES: dict[str, Backend] = {}


def device_of(name: str) -> Backend:
    if name not in DEVICES:
        if name == "opencl":
            pytest.importorskip("pyopencl")
        DEVICES[name] = get_backend(name)
    return DEVICES[name]


@pytest.fixture(autouse=True)
def sound_compilers_afterwards() -> Iterator[None]:
    yield
    mend_compilers()


@pytest.fixture(params=DEVICE_NAMES)
def device(request: pytest.FixtureRequest) -> Backend:
    """Each backend that has a device."""
    return device_of(request.param)


PAIRS: dict[str, list[Backend]] = {}


@pytest.fixture(params=DEVICE_NAMES)
def pair(request: pytest.FixtureRequest) -> list[Backend]:
    """Two logical devices of each backend."""
    if request.param not in PAIRS:
        if request.param == "opencl":
            pytest.importorskip("pyopencl")
        PAIRS[request.param] = open_backends(request.param, 2)
    return PAIRS[request.param]


@pytest.fixture(params=(*BACKEND_NAMES, "reference"))
def build(request: pytest.FixtureRequest) -> Iterator[Callable[..., tenon.Executable]]:
    """Compiles text for each backend; what it compiled is closed at the end of the test."""
    backend: Backend | str = request.param if request.param == "reference" else device_of(request.param)
    made: list[tenon.Executable] = []

    def build_one(text: str, **options: Any) -> tenon.Executable:
        made.append(tenon.compile(text, backend=backend, **options))
        return made[-1]

    yield build_one
    for executable in made:
        executable.close()
