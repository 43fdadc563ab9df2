"""The choice of an OpenCL device, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from ...dialects.element_types import ELEMENT_TYPES
from ...errors import DeviceError
from ..cache_sizes import USUAL_CACHES, CacheNbytes, host_cache_nbytes
from ..interface import DeviceInfo, DeviceKind

if TYPE_CHECKING:
    import pyopencl

I64_ATOMICS = "cl_khr_int64_base_atomics"
"""The extension with atomics on 64 bits; those on 32 bits are part of OpenCL."""

_POCL = "Portable Computing Language"

_GPU_VECTOR_NBYTES = 16
_GPU_GROUP_MULTIPLE = 32


@dataclass(frozen=True)
class OpenCLDeviceInfo:
    """
    The limits of one OpenCL device, which does not tell its registers. Floats below f32 need no hardware:
    kernels hold them as bits.
    """

    name: str
    vector_nbytes: int
    max_shared_nbytes: int
    max_block: tuple[int, int, int]
    max_buffer_nbytes: int
    has_f64: bool
    kind: DeviceKind
    max_items: int
    group_multiple: int
    n_units: int
    cache_nbytes: CacheNbytes = USUAL_CACHES
    vector_registers: int = 0
    has_i64_atomics: bool = False

    def supports(self, element_type: Attribute) -> bool:
        return element_type in ELEMENT_TYPES and (element_type != f64 or self.has_f64)


UNLIMITED = OpenCLDeviceInfo(
    name="any",
    vector_nbytes=32,
    max_shared_nbytes=1 << 62,
    max_block=(1 << 31, 1 << 31, 1 << 31),
    max_buffer_nbytes=1 << 62,
    has_f64=True,
    kind=DeviceKind.CPU,
    max_items=1 << 31,
    group_multiple=1,
    n_units=1,
    has_i64_atomics=True,
)
"""No device in particular: what text is printed for when none is asked for."""


def has_i64_atomics(device: DeviceInfo) -> bool:
    """Returns whether a device has `I64_ATOMICS`; one that is not OpenCL's says nothing of it."""
    return isinstance(device, OpenCLDeviceInfo) and device.has_i64_atomics


def choose_devices(text: str | None) -> list[pyopencl.Device]:
    """
    Returns the devices whose platform and name contain `text`, in any case; without a text
    those of PoCL, or of all platforms where there is no PoCL.

    Raises:
        DeviceError: there is no such device.
    """
    devices = _devices()
    if text is None:
        if not devices:
            raise DeviceError("opencl: there is no device")
        return [device for device in devices if is_pocl(device)] or devices
    matching = [device for device in devices if text.casefold() in full_name(device).casefold()]
    if not matching:
        present = ", ".join(full_name(device) for device in devices) or "none"
        raise DeviceError(f"opencl: no device matches {text!r} (there are: {present})")
    return matching


def full_name(device: pyopencl.Device) -> str:
    """Returns the platform's name and the device's."""
    return f"{device.platform.name.strip()}: {device.name.strip()}"


def is_pocl(device: pyopencl.Device) -> bool:
    return device.platform.name == _POCL


def is_cpu(device: pyopencl.Device) -> bool:
    import pyopencl

    return bool(device.type & pyopencl.device_type.CPU)


def device_info(device: pyopencl.Device) -> OpenCLDeviceInfo:
    """Asks `device` for its limits."""
    extensions = device.extensions.split()
    sizes = [min(size, device.max_work_group_size) for size in device.max_work_item_sizes]
    return OpenCLDeviceInfo(
        name=device.name.strip(),
        vector_nbytes=_vector_nbytes(device),
        max_shared_nbytes=device.local_mem_size,
        max_block=(sizes[0], sizes[1], sizes[2]),
        max_buffer_nbytes=device.max_mem_alloc_size,
        has_f64="cl_khr_fp64" in extensions,
        kind=DeviceKind.CPU if is_cpu(device) else DeviceKind.GPU,
        max_items=device.max_work_group_size,
        group_multiple=_group_multiple(device),
        n_units=device.max_compute_units,
        cache_nbytes=_cache_nbytes(device),
        has_i64_atomics=I64_ATOMICS in extensions,
    )


def _cache_nbytes(device: pyopencl.Device) -> CacheNbytes:
    """A processor is the host's; another device tells of one cache, which its compute units share."""
    if is_cpu(device):
        return host_cache_nbytes()
    shared = max(device.global_mem_cache_size, 1024)
    return min(USUAL_CACHES[0], shared), shared, shared


def _vector_nbytes(device: pyopencl.Device) -> int:
    """GPUs run the lanes of a vector one after the other; four floats are what they load at once."""
    if not is_cpu(device):
        return _GPU_VECTOR_NBYTES
    return min(max(4 * device.native_vector_width_float, 16), 64)


def _group_multiple(device: pyopencl.Device) -> int:
    """Returns how many work-items the device runs in step, as far as it tells."""
    if is_cpu(device):
        return 1
    for vendor, attribute in (("cl_nv_", "warp_size_nv"), ("cl_amd_", "wavefront_width_amd")):
        if f"{vendor}device_attribute_query" in device.extensions.split():
            return getattr(device, attribute)
    return _GPU_GROUP_MULTIPLE


def _devices() -> list[pyopencl.Device]:
    import pyopencl

    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error:
        # the loader reports the absence of every platform as an error
        return []
    devices: list[pyopencl.Device] = []
    for platform in platforms:
        devices.extend(platform.get_devices())
    return devices
