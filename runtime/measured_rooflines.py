"""The rooflines of devices, measured when first asked for."""

from __future__ import annotations

from threading import Lock

from ..backends.interface import Backend, workers_of
from .peak_measurement import measure_roofline
from .roofline import Roofline

_LOCK = Lock()
_MEASURED: dict[tuple[str, str, int], Roofline] = {}


def device_roofline(backend: Backend) -> Roofline:
    """
    Returns the limits of a device for the number of workers that it has now. They are measured once for each
    such number.

    Raises:
        DeviceError: the device failed, or has not enough memory.
        KernelCompileError: its compiler rejected a kernel.
    """
    key = (backend.name, backend.device.name, workers_of(backend))
    with _LOCK:
        found = _MEASURED.get(key)
        if found is None:
            found = _MEASURED[key] = measure_roofline(backend)
        return found
