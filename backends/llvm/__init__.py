"""The backend `llvm`: `low` to LLVM IR, compiled and run on the host's processor through llvmlite."""

from ..interface import Backend


def backend() -> Backend:
    """Returns the host's processor, with a driver and memory of its own. Raises what `backends` raises."""
    return backends(1)[0]


def backends(count: int) -> list[Backend]:
    """
    Returns the host's processor `count` times, each with a driver and memory of its own. All of a process
    have one compiler.

    Raises:
        TenonError: the environment variable `TENON_NUM_THREADS` is no number of threads.
    """
    from .compile import shared_compiler
    from .device import host_device
    from .driver import CpuDriver
    from .renderer import LLVMRenderer
    from .threads import get_num_threads

    get_num_threads()
    device, renderer, compiler = host_device(), LLVMRenderer(), shared_compiler()
    return [Backend("llvm", device, renderer, compiler, CpuDriver()) for _ in range(count)]
