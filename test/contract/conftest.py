"""
What every test of this folder runs on: the backends that are registered, Tenon's and others. What they can do
is asked of them (`isinstance` of the Protocols in `backends/interface.py`); no test goes by their names.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import DEVICE_NAMES, REFERENCE

from .faulty_driver import mend_compilers
from .open_platforms import device_of, opened


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
        PAIRS[request.param] = opened(request.param, 2)
    return PAIRS[request.param]


@pytest.fixture(params=DEVICE_NAMES)
def build(request: pytest.FixtureRequest) -> Iterator[Callable[..., tenon.Executable]]:
    """Compiles text for each backend; what it compiled is closed at the end of the test."""
    # By its name the interpreter takes modules of all levels, as a device kernels only.
    backend: Backend | str = REFERENCE if request.param == REFERENCE else device_of(request.param)
    made: list[tenon.Executable] = []

    def build_one(text: str, **options: Any) -> tenon.Executable:
        made.append(tenon.compile(text, backend=backend, **options))
        return made[-1]

    yield build_one
    for executable in made:
        executable.close()
