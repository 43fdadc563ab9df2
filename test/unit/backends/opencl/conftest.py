"""What the tests of OpenCL share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tenon.backends.opencl.device import choose_devices, is_pocl

if TYPE_CHECKING:
    import pyopencl


@pytest.fixture
def pocl_device() -> pyopencl.Device:
    """The first device of PoCL, which the extra `opencl` brings; beside a GPU there may be none."""
    found = next((device for device in choose_devices(None) if is_pocl(device)), None)
    if found is None:
        pytest.skip("there is no PoCL")
    return found
