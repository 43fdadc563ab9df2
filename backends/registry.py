"""The backends by name, each imported when first asked for."""

import os
from collections.abc import Callable

from ..errors import TenonError
from .interface import Backend

OPENCL_DEVICE = "TENON_OPENCL_DEVICE"
"""The environment variable with a part of the name of the OpenCL device to take, or of its platform's."""


def _llvm(count: int | None) -> list[Backend]:
    from .llvm import backends

    return backends(1 if count is None else count)


def _opencl(count: int | None) -> list[Backend]:
    from .opencl import backends

    return backends(os.environ.get(OPENCL_DEVICE) or None, count)


def _reference(count: int | None) -> list[Backend]:
    from .reference import backends

    return backends(1 if count is None else count)


REFERENCE = "reference"
"""The backend that interprets."""

_BACKENDS: dict[str, Callable[[int | None], list[Backend]]] = {
    "llvm": _llvm,
    "opencl": _opencl,
    REFERENCE: _reference,
}

DEVICE_NAMES = tuple(_BACKENDS)
"""The names `get_backend` and `open_backends` take."""

BACKEND_NAMES = tuple(name for name in DEVICE_NAMES if name != REFERENCE)
"""Those of them that compile to machine code."""


def get_backend(name: str) -> Backend:
    """
    Returns a fresh backend, with a driver and memory of its own. For OpenCL the environment variable
    `OPENCL_DEVICE` may choose the device.

    Raises:
        TenonError: there is no backend of that name.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    return open_backends(name, 1)[0]


def open_backends(name: str, count: int | None = None) -> list[Backend]:
    """
    Returns `count` logical devices of one backend, each with a driver and memory of its own. Those of one
    physical device share its compiler, and what it compiled runs on all of them. Where there are several
    physical devices, the logical ones go round them; None for `count` is one for each.

    Raises:
        TenonError: there is no backend of that name, or `count` is less than 1.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    if name not in _BACKENDS:
        raise TenonError(f"backend {name!r} is not one of {', '.join(DEVICE_NAMES)}")
    if count is not None and count < 1:
        raise TenonError(f"backend {name!r}: cannot open {count} devices (at least 1)")
    return _BACKENDS[name](count)
