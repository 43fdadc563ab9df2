"""
The `opencl` backend: `low` as OpenCL C 1.2, for any OpenCL device, through pyopencl.

    renderer.py    a module to text: the table of rules, by op class
    emission/      what the rules write into, the rules; how types, names and missing operators are spelled
    compile.py     text to a program
    pocl_library.py pocl_processor.py                 for which processor PoCL compiles it
    device.py shared_contexts.py                      the devices there are, their limits; a context for each
    pools.py strided_kernel.py driver.py batch_program.py   its memory, its queue, programs as one batch
    failures.py                                     what goes wrong, as errors

pyopencl is imported when a backend is made, not before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import MissingExtraError
from ..interface import Backend
from .compile import OpenCLCompiler
from .device import OpenCLDeviceInfo, choose_devices, device_info, is_cpu, is_pocl
from .driver import HostMappingDriver, OpenCLDriver
from .failures import check_process, device_error, note_opened
from .renderer import OpenCLRenderer
from .shared_contexts import compiler_of

if TYPE_CHECKING:
    import pyopencl


def backend(device: str | None = None) -> Backend:
    """Returns a fresh backend on the first device that `backends` would take. Raises what it raises."""
    return backends(device, 1)[0]


def backends(device: str | None = None, count: int | None = None) -> list[Backend]:
    """
    Returns `count` logical devices, each with a queue and memory of its own, on the devices whose platform or
    name contains `device`, in turn; on PoCL's by default. None for `count` is one for each. Those of one
    physical device share a context and a compiler, with those that were opened before.

    Raises:
        MissingExtraError: pyopencl is not installed.
        DeviceError: there is no such device, or the process was forked from one that uses OpenCL.
    """
    try:
        import pyopencl
    except ImportError:
        raise MissingExtraError("opencl: pyopencl is not installed; pip install 'tenon[opencl]'") from None
    check_process()
    chosen = choose_devices(device)[:count]
    note_opened()
    physical: list[Backend] = []
    for found in chosen:
        info = device_info(found)
        try:
            compiler = compiler_of(found)
        except pyopencl.Error as error:
            raise device_error(f"opencl: cannot open device {info.name}", error) from error
        driver = _driver(compiler.context, found, info)
        physical.append(Backend("opencl", info, OpenCLRenderer(), compiler, driver))
    logical = list(physical)
    for number in range(len(physical), len(physical) if count is None else count):
        first = physical[number % len(physical)]
        compiler = first.compiler
        assert isinstance(compiler, OpenCLCompiler) and isinstance(first.device, OpenCLDeviceInfo)
        logical.append(replace(first, driver=_driver(compiler.context, compiler.device, first.device)))
    return logical


def _driver(context: pyopencl.Context, device: pyopencl.Device, info: OpenCLDeviceInfo) -> OpenCLDriver:
    # other CPU platforms may copy between the host's memory and a buffer made of it
    driver_type = HostMappingDriver if is_pocl(device) and is_cpu(device) else OpenCLDriver
    return driver_type(context, device, info)
