"""The backends by name, each imported when first asked for."""

import os
from collections.abc import Callable, Sequence

from ..errors import TenonError
from .interface import Backend

OPENCL_DEVICE = "TENON_OPENCL_DEVICE"
"""The environment variable with a part of the name of the OpenCL device to take, or of its platform's."""


def _llvm(count: int | None, target: str | None) -> list[Backend]:
    from .llvm import backends

    return backends(1 if count is None else count, target)


def _opencl(count: int | None, target: str | None) -> list[Backend]:
    from .opencl import backends

    if target is not None:
        raise TenonError(
            f"target {target!r} is for backend llvm: an OpenCL driver compiles for its own device "
            f"(hint: {OPENCL_DEVICE})"
        )
    return backends(os.environ.get(OPENCL_DEVICE) or None, count)


def _reference(count: int | None, target: str | None) -> list[Backend]:
    from .reference import backends

    check_interpreted(target)
    return backends(1 if count is None else count)


def check_interpreted(target: str | None) -> None:
    """Raises TenonError where the interpreter is to work for a processor."""
    if target is not None:
        raise TenonError(f"target {target!r} is for backend llvm: {REFERENCE} interprets, for no processor")


REFERENCE = "reference"
"""The backend that interprets."""

_BACKENDS: dict[str, Callable[[int | None, str | None], list[Backend]]] = {
    "llvm": _llvm,
    "opencl": _opencl,
    REFERENCE: _reference,
}

_OWN_NAMES = frozenset(_BACKENDS)

DEVICE_NAMES = _BACKENDS.keys()
"""The names `get_backend` and `open_backends` take, those that are registered later among them."""


def compiling_names() -> tuple[str, ...]:
    """Returns the names of the backends that compile; the other one interprets."""
    return tuple(name for name in DEVICE_NAMES if name != REFERENCE)


def register_backend(name: str, open_devices: Callable[[int | None], Sequence[Backend]]) -> None:
    """
    Registers a backend of the user's own: `tenon.compile(..., backend=name)`, `tenon.open_platform(name)` and
    all else that takes the name of a backend know it from now on.

    `open_devices(count)` returns `count` logical devices, each a `Backend` of this name with a driver and
    memory of its own; None for `count` is one for each physical device. It is called when devices are wanted.

    Raises:
        TenonError: there is a backend of that name, or it is no name: it is empty or has a `:`.
    """
    if name in _BACKENDS:
        raise TenonError(f"register_backend: there is a backend {name!r} already")
    if not name or ":" in name:
        raise TenonError(f"register_backend: {name!r} is no name of a backend (empty, or with a ':')")

    def opened(count: int | None, target: str | None) -> list[Backend]:
        if target is not None:
            raise TenonError(f"target {target!r} is for backend llvm: {name} takes none")
        devices = list(open_devices(count))
        if not devices or len(devices) != (len(devices) if count is None else count):
            raise TenonError(f"backend {name!r}: opened {len(devices)} devices ({count or 'any'} asked for)")
        if strange := [device.name for device in devices if device.name != name]:
            raise TenonError(f"backend {name!r}: opened a device of backend {strange[0]!r}")
        return devices

    _BACKENDS[name] = opened


def unregister_backend(name: str) -> None:
    """
    Forgets a backend that `register_backend` made known. What it opened stays usable.

    Raises:
        TenonError: no backend was registered under that name.
    """
    if name in _OWN_NAMES or name not in _BACKENDS:
        raise TenonError(f"unregister_backend: no backend {name!r} was registered")
    del _BACKENDS[name]


def get_backend(name: str, target: str | None = None) -> Backend:
    """
    Returns a fresh backend, with a driver and memory of its own. For OpenCL the environment variable
    `OPENCL_DEVICE` may choose the device. For llvm `target` names the processor that code is made for, which
    the host need not be able to run: `native`, or one of those that the error lists.

    Raises:
        TenonError: there is no backend or target of that name, or the backend takes no target.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    return open_backends(name, 1, target)[0]


def open_backends(name: str, count: int | None = None, target: str | None = None) -> list[Backend]:
    """
    Returns `count` logical devices of one backend, each with a driver and memory of its own. Those of one
    physical device share its compiler, and what it compiled runs on all of them. Where there are several
    physical devices, the logical ones go round them; None for `count` is one for each.

    Raises:
        TenonError: there is no backend or target of that name, the backend takes no target, or `count` is
            less than 1.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    if name not in _BACKENDS:
        raise TenonError(f"backend {name!r} is not one of {', '.join(DEVICE_NAMES)}")
    if count is not None and count < 1:
        raise TenonError(f"backend {name!r}: cannot open {count} devices (at least 1)")
    return _BACKENDS[name](count, target)
