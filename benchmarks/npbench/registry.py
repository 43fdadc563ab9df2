"""All kernels of NPBench."""

from __future__ import annotations

from . import flows, learning, numerics, products, sequences, solvers, stencils
from .kernel import Kernel

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for module in (products, solvers, stencils, flows, learning, sequences, numerics)
    for kernel in module.KERNELS
}
"""By name: all 54."""
