"""
The interpreters: every level runs in numpy, as the oracle for everything else. Kernels of `low` also run as
those of any other backend do, on a device of their own: `backends`.
"""

from ..interface import Backend


def backends(count: int) -> list[Backend]:
    """Returns `count` devices that interpret, each with a driver and memory of its own, and one compiler."""
    from .compile import ReferenceCompiler
    from .device import ReferenceDevice
    from .driver import ReferenceDriver
    from .renderer import ReferenceRenderer

    device, renderer, compiler = ReferenceDevice(), ReferenceRenderer(), ReferenceCompiler()
    return [Backend("reference", device, renderer, compiler, ReferenceDriver()) for _ in range(count)]
