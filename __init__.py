"""
Tenon: an array compiler you can read.

    executable = tenon.compile(text, backend="llvm")
    result = executable(x, w=weights)
"""

from .dialects.parsing import parse_module, verify_module
from .driver import BACKENDS, compile
from .errors import CallError, DeviceError, KernelCompileError, MissingExtraError, TenonError
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
