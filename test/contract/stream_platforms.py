"""
Platforms whose devices have several streams where their backends can, and what the tests of streams share.
Import the fixture by name:

    from .stream_platforms import device
"""

from collections.abc import Iterator

import pytest
import tenon
from tenon.backends.interface import Queued, Streams
from tenon.backends.registry import DEVICE_NAMES
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform

from .open_platforms import Array, check_all_is_free, device_of

_OPEN: dict[str, Platform] = {}


def open_with_streams(name: str, num_devices: int = 2) -> Platform:
    """Returns a new platform of a backend; skips the test where its devices have one stream."""
    driver = device_of(name).driver
    if not isinstance(driver, Streams):
        pytest.skip(f"the devices of {name} have one stream")
    scheduler = None if isinstance(driver, Queued) else "multicore"
    return tenon.open_platform(name, scheduler=scheduler, num_devices=num_devices)


@pytest.fixture(params=DEVICE_NAMES)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """
    The first of two devices of each backend, all of which must be free when the test has ended; the platform
    is the same for all tests.
    """
    name = request.param
    if name not in _OPEN:
        _OPEN[name] = open_with_streams(name)
    platform = _OPEN[name]
    yield platform.get_device(0)
    check_all_is_free(platform)


def filled(context: Context, **values: tuple[tenon.TensorNode, Array]) -> Context:
    """Returns a child that has nodes with values."""
    for node, array in values.values():
        context = context.init_from_host(node, array)
    return context
