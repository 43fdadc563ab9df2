"""
The processors that code is made for, by name, and what the host lacks to run it.

A processor is all that the text of kernels and their machine code depend on. What a named one has is what
code for arrays can use, so that a host that hides the rest runs it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...errors import TenonError
from ..cache_sizes import USUAL_CACHES, CacheNbytes, host_cache_nbytes
from .library import llvmlite_binding

NATIVE = "native"
"""The name of the processor that this process runs on."""


_X86 = ("x86_64", "i386", "i686")


_PAIR_PRODUCTS = {4: "x86.sse2.pmadd.wd", 8: "x86.avx2.pmadd.wd", 16: "x86.avx512.pmaddw.d.512"}

_QUAD_PRODUCTS = {lanes: f"x86.avx512.vpdpbusd.{bits}" for lanes, bits in ((4, 128), (8, 256), (16, 512))}


@dataclass(frozen=True, slots=True)
class Processor:
    """
    One kind of processor. `arch` is its part of LLVM's triple, `cpu` LLVM's name of what code is scheduled
    for, and `features` are LLVM's `+a,-b`. Vectors of arithmetic have `vector_nbytes`. The caches are those
    that a core has to itself, and its part of the last one.
    """

    name: str
    arch: str
    cpu: str
    features: str
    vector_nbytes: int
    cache_nbytes: CacheNbytes = USUAL_CACHES

    @property
    def vector_registers(self) -> int:
        """How many vectors it has registers for."""
        return 16 if self.arch in _X86 and not self.has("avx512f") else 32

    def has(self, feature: str) -> bool:
        """Returns whether it has a feature, by LLVM's name."""
        return feature in _enabled(self.features)

    @property
    def converts_f16(self) -> bool:
        """Returns whether it has instructions from f16 and to it."""
        return self.arch not in _X86 or self.has("f16c")

    @property
    def multiplies_and_adds(self) -> bool:
        """Returns whether it has instructions that multiply and add with one rounding."""
        return self.arch not in _X86 or self.has("fma")

    @property
    def fences_streams(self) -> bool:
        """
        Returns whether a thread must say so before others may read what it stored past the caches: x86
        orders all other stores.
        """
        return self.arch in _X86

    @property
    def adds_addresses_apart(self) -> bool:
        """
        Returns whether it has units for integers that do no arithmetic of vectors, so that what counts
        addresses costs nothing beside that: AMD's have since the first Zen.
        """
        return self.cpu.startswith("znver")

    def pair_products(self, lanes: int) -> str | None:
        """
        Returns the intrinsic that adds the products of pairs of i16 in vectors of so many i32, if it has one.
        """
        if self.arch not in _X86:
            return None
        needs = {4: "sse2", 8: "avx2", 16: "avx512bw"}.get(lanes)
        return _PAIR_PRODUCTS[lanes] if needs is not None and self.has(needs) else None

    def quad_products(self, lanes: int) -> str | None:
        """
        Returns the intrinsic that adds the products of four bytes without a sign by four with one, in vectors
        of so many i32, to a third vector, if it has one. No sum saturates.
        """
        if self.arch not in _X86 or lanes not in _QUAD_PRODUCTS:
            return None
        is_wide = self.has("avx512vnni") and (lanes == 16 or self.has("avx512vl"))
        is_there = is_wide or (lanes < 16 and self.has("avxvnni"))
        return _QUAD_PRODUCTS[lanes] if is_there else None

    @property
    def multiplies_bytes(self) -> bool:
        """Returns whether it has `quad_products` in its widest vectors."""
        return self.quad_products(self.vector_nbytes // 4) is not None

    def look_up_of_nibbles(self, lanes: int) -> str | None:
        """
        Returns the intrinsic that takes for each lane of so many f32 the one whose number the lower four bits
        of another vector's lane are, whatever the others, if it has one.
        """
        has = self.arch in _X86 and self.has("avx512f") and lanes == 16
        return "x86.avx512.permvar.sf.512" if has else None

    @property
    def triple(self) -> str:
        """LLVM's triple, for this operating system."""
        _, _, system = llvmlite_binding().get_process_triple().partition("-")
        return f"{self.arch}-{system}"

    def lacking_on(self, host: Processor) -> str:
        """Returns why code for this one does not run on another, empty where it does."""
        if self.arch != host.arch:
            return f"is for {self.arch} processors, this machine is {host.arch}"
        has = _enabled(host.features)
        if missing := [feature for feature in _enabled(self.features) if feature not in has]:
            return f"needs {', '.join(missing)}, which this machine ({host.name}) lacks"
        return ""


@cache
def _enabled(features: str) -> dict[str, None]:
    """Returns LLVM's `+a,-b` without the signs and what is off, in that order."""
    return dict.fromkeys(feature[1:] for feature in features.split(",") if feature.startswith("+"))


_V2 = ("cmov", "crc32", "cx16", "cx8", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

_NOT_USED = ("-prfchw", "-sse4a")
"""What LLVM would use for stores and prefetches that pass the caches by, of which kernels gain nothing."""


def _kib(first: int, second: int, last: int) -> CacheNbytes:
    return first << 10, second << 10, last << 10


def _with(*features: str) -> str:
    return ",".join(f"+{feature}" for feature in sorted(features))


PROCESSORS = {
    processor.name: processor
    for processor in (
        # The caches are Nehalem's, Zen 3's and Zen 4's.
        Processor("x86-64-v2", "x86_64", "x86-64-v2", _with(*_V2), 16, _kib(32, 256, 8192)),
        Processor("x86-64-v3", "x86_64", "x86-64-v3", _with(*_V3), 32, _kib(32, 512, 16384)),
        Processor("x86-64-v4", "x86_64", "x86-64-v4", _with(*_V4), 64, _kib(32, 1024, 32768)),
        Processor(
            "znver3", "x86_64", "znver3", ",".join((_with(*_V3), *_NOT_USED)), 32, _kib(32, 512, 32768)
        ),
        # All such processors have NEON; the caches are Neoverse N1's.
        Processor("aarch64", "aarch64", "generic", "", 16, _kib(64, 1024, 32768)),
    )
}
"""The processors that have a name whatever the host is."""

PROCESSOR_NAMES = (NATIVE, *PROCESSORS)


@cache
def host_processor() -> Processor:
    """Returns the processor that this process runs on."""
    llvm = llvmlite_binding()
    enabled = llvm.get_host_cpu_features()
    arch, _, _ = llvm.get_process_triple().partition("-")
    return Processor(
        name=llvm.get_host_cpu_name(),
        arch="aarch64" if arch == "arm64" else arch,
        cpu=llvm.get_host_cpu_name(),
        features=enabled.flatten(),
        vector_nbytes=64 if enabled.get("avx512f") else 32 if enabled.get("avx") else 16,
        cache_nbytes=host_cache_nbytes(),
    )


def find_processor(name: str) -> Processor:
    """
    Returns the processor of a name, `native` or one of `PROCESSORS`.

    Raises:
        TenonError: there is none of that name.
    """
    if name == NATIVE:
        return host_processor()
    if name not in PROCESSORS:
        raise TenonError(f"target {name!r} is not one of {', '.join(PROCESSOR_NAMES)}")
    return PROCESSORS[name]
