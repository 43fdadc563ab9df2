"""A backend of one's own: kernels as plain C, compiled by gcc. Importing this registers it as `gcc`."""

from __future__ import annotations

import shutil

import tenon
from tenon.backends.interface import Backend
from tenon.errors import MissingExtraError

from .device import CDevice
from .driver import CDriver, GccCompiler
from .renderer import CRenderer


def open_devices(count: int | None) -> list[Backend]:
    """Returns the processor as often as asked for, once by default, each with a memory of its own."""
    if shutil.which("gcc") is None:
        raise MissingExtraError("gcc: the program gcc is not installed")
    device, renderer, compiler = CDevice(), CRenderer(), GccCompiler()
    return [Backend("gcc", device, renderer, compiler, CDriver()) for _ in range(count or 1)]


tenon.register_backend("gcc", open_devices)
