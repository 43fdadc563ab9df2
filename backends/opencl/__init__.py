"""
The `opencl` backend: `low` as OpenCL C 1.2, for any OpenCL device, through pyopencl.

    renderer.py    a module to text: the table of rules, by op class
    source.py kernel.py                             what the rules write into
    arithmetic.py conversions.py memory.py control.py   the rules
    types.py names.py helpers.py                    how types, names and missing operators are spelled
    compile.py     text to a program
    device.py driver.py                             the device, its memory, its queue

pyopencl is imported when a backend is made, not before.
"""

from __future__ import annotations

from ...errors import MissingExtraError
from ..interface import Backend
from .compile import OpenCLCompiler
from .device import choose_device, device_info, is_cpu, is_pocl
from .driver import HostMappingDriver, OpenCLDriver
from .renderer import OpenCLRenderer


def backend(device: str | None = None) -> Backend:
    """
    Returns a fresh backend on the first device whose platform or name contains `device`; PoCL's by default.

    Raises:
        MissingExtraError: pyopencl is not installed.
        DeviceError: there is no such device.
    """
    try:
        import pyopencl
    except ImportError:
        raise MissingExtraError("opencl: pyopencl is not installed; pip install 'tenon[opencl]'") from None
    chosen = choose_device(device)
    info = device_info(chosen)
    context = pyopencl.Context([chosen])
    # other CPU platforms may copy between the host's memory and a buffer made of it
    driver_type = HostMappingDriver if is_pocl(chosen) and is_cpu(chosen) else OpenCLDriver
    return Backend(
        name="opencl",
        device=info,
        renderer=OpenCLRenderer(),
        compiler=OpenCLCompiler(context, chosen),
        driver=driver_type(context, chosen, info),
    )
