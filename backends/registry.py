"""The backends by name, each imported when first asked for."""

import os
from collections.abc import Callable

from ..errors import TenonError
from .interface import Backend

OPENCL_DEVICE = "TENON_OPENCL_DEVICE"
"""The environment variable with a part of the name of the OpenCL device to take, or of its platform's."""


def _llvm() -> Backend:
    from .llvm import backend

    return backend()


def _opencl() -> Backend:
    from .opencl import backend

    return backend(os.environ.get(OPENCL_DEVICE) or None)


_BACKENDS: dict[str, Callable[[], Backend]] = {"llvm": _llvm, "opencl": _opencl}

BACKEND_NAMES = tuple(_BACKENDS)
"""The names `get_backend` takes."""


def get_backend(name: str) -> Backend:
    """
    Returns a fresh backend, with a driver and memory of its own. For OpenCL the environment variable
    `OPENCL_DEVICE` may choose the device.

    Raises:
        TenonError: there is no backend of that name.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    if name not in _BACKENDS:
        raise TenonError(f"backend {name!r} is not one of {', '.join(BACKEND_NAMES)}")
    return _BACKENDS[name]()
