"""The backend `llvm`: `low` to LLVM IR, compiled and run on the host's processor through llvmlite."""

from ..interface import Backend


def backend() -> Backend:
    """Returns the host's processor, with a driver and memory of its own."""
    from .compile import LLVMCompiler
    from .device import host_device
    from .driver import CpuDriver
    from .render import LLVMRenderer

    return Backend("llvm", host_device(), LLVMRenderer(), LLVMCompiler(), CpuDriver())
