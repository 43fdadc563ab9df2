"""The backends by name, each imported when first asked for."""

from collections.abc import Callable

from ..errors import TenonError
from .interface import Backend


def _llvm() -> Backend:
    from .llvm import backend

    return backend()


def _opencl() -> Backend:
    from .opencl import backend

    return backend()


_BACKENDS: dict[str, Callable[[], Backend]] = {"llvm": _llvm, "opencl": _opencl}

BACKEND_NAMES = tuple(_BACKENDS)
"""The names `get_backend` takes."""


def get_backend(name: str) -> Backend:
    """
    Returns a fresh backend, with a driver and memory of its own.

    Raises:
        TenonError: there is no backend of that name.
        MissingExtraError: its package is not installed.
        DeviceError: there is no device for it.
    """
    if name not in _BACKENDS:
        raise TenonError(f"backend {name!r} is not one of {', '.join(BACKEND_NAMES)}")
    return _BACKENDS[name]()
