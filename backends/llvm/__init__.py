"""The backend `llvm`: `low` to LLVM IR, compiled for a processor and run on the host's through llvmlite."""

from ..interface import Backend


def backend(target: str | None = None) -> Backend:
    """Returns the host's processor, with a driver and memory of its own; see `backends`."""
    return backends(1, target)[0]


def backends(count: int, target: str | None = None) -> list[Backend]:
    """
    Returns the host's processor `count` times, each with a driver and memory of its own. All of a process
    have one compiler. Their code is made for the processor that `target` names, else the environment variable
    `TENON_TARGET`, else for the host's own.

    Raises:
        TenonError: there is no processor of that name, or the environment variable `TENON_NUM_THREADS` is no
            number of threads.
    """
    from .compile import shared_compiler
    from .device import cpu_device
    from .driver import CpuDriver
    from .renderer import LLVMRenderer
    from .threads import get_num_threads

    get_num_threads()
    device, renderer, compiler = cpu_device(target), LLVMRenderer(), shared_compiler()
    return [Backend("llvm", device, renderer, compiler, CpuDriver()) for _ in range(count)]
