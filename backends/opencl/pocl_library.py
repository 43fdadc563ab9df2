"""
What kernels must be compiled for to call the library of PoCL.

A PoCL made for many processors has its library of functions once for each generation of them. It takes the
one for AVX or AVX-512 by what the processor can do, and compiles kernels for what LLVM calls the processor.
Where LLVM is older than the processor the two differ: LLVM 14 takes a Zen 4 for a Zen 3, without AVX-512, and
knows no Zen 5 at all (`pocl_processor.py`). Then a kernel passes a vector of 64 bytes in two registers, and
the function reads one: numbers are wrong, or LLVM crashes. From 4.0 on PoCL compiles kernels for the
processor of the library.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl

_VERSION = re.compile(r"PoCL (\d+)\.")
_FIRST_CONSISTENT = 4

_FEATURES = {
    32: ("avx",),
    64: ("avx", "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"),
}
"""By the bytes of the widest registers, what the library for them is compiled for and its calls depend on."""


def is_for_many_processors(device: pyopencl.Device) -> bool:
    """Returns whether `device` is of a PoCL before 4.0 that was made for many processors with x86-64."""
    version = _VERSION.search(device.platform.version)
    is_distributed = "DISTRO" in device.platform.version and "x86_64" in device.version
    return is_distributed and version is not None and int(version[1]) < _FIRST_CONSISTENT


def library_options(device: pyopencl.Device) -> list[str]:
    """Returns the options of a build, for a device of PoCL: none where kernels and library agree without."""
    if not is_for_many_processors(device):
        return []
    features = _FEATURES.get(4 * device.native_vector_width_float)
    if features is None:
        return []
    # PoCL lets definitions through, and no option of its compiler. It takes options apart at spaces, but what
    # it hands to its compiler at tabs as well: to these, as options of its own, the compiler listens.
    return ["\t".join(("-DTENON_FEATURES", *(f"-target-feature\t+{name}" for name in features)))]
