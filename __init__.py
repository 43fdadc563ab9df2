"""
Tenon: an array compiler you can read.

    executable = tenon.compile(text, backend="llvm")
    result = executable(x, w=weights)

What is heavy to import is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    CallError,
    DeviceError,
    KernelCompileError,
    MissingExtraError,
    TenonError,
)

if TYPE_CHECKING:
    from .dialects.parsing import parse_module, verify_module
    from .driver import BACKENDS, compile
    from .passes.pass_manager import PassManager
    from .runtime.executable import Executable

__all__ = [
    "BACKENDS",
    "CallError",
    "DeviceError",
    "Executable",
    "KernelCompileError",
    "MissingExtraError",
    "PassManager",
    "TenonError",
    "compile",
    "parse_module",
    "verify_module",
]

_HOMES = {
    "BACKENDS": "driver",
    "Executable": "runtime.executable",
    "PassManager": "passes.pass_manager",
    "compile": "driver",
    "parse_module": "dialects.parsing",
    "verify_module": "dialects.parsing",
}
"""The modules that hold the names which are not imported at once."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
