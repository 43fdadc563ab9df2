"""What is launched on an OpenCL device, one by one or in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import DeviceError
from ..interface import CompiledArtifact
from ..launch_errors import no_kernel
from .device import OpenCLDeviceInfo
from .emission.names import kernel_name
from .failures import device_error

if TYPE_CHECKING:
    import pyopencl


def make_kernel(artifact: CompiledArtifact, name: str) -> pyopencl.Kernel:
    """
    Returns a new object for the kernel of the symbol `@name`, with arguments of its own. Raises `DeviceError`
    where the artifact has none.
    """
    import pyopencl

    function = kernel_name(name)
    if function not in artifact.entry_points:
        raise no_kernel("opencl", name, artifact.entry_points)
    return pyopencl.Kernel(artifact.native, function)


def launch_error(
    device: OpenCLDeviceInfo, kernel: str, grid: Sequence[int], block: Sequence[int], error: pyopencl.Error
) -> DeviceError:
    """Returns what to raise where a launch of `@kernel` cannot be queued."""
    message = (
        f"opencl: cannot launch @{kernel} with grid {list(grid)} block {list(block)} on device {device.name}"
    )
    return device_error(message, error)
