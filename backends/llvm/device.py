"""The host's processor as a device."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute

from ...dialects.element_types import ELEMENT_TYPES
from ..cache_sizes import USUAL_CACHES, CacheNbytes, host_cache_nbytes
from ..interface import DeviceKind
from .library import llvmlite_binding
from .limits import PRIVATE_NBYTES_LIMIT


@dataclass(frozen=True)
class CpuDevice:
    """One processor, by LLVM's name, with its features as LLVM's `+a,-b` text. Work-items run one by one."""

    name: str
    features: str
    vector_nbytes: int
    has_f16: bool
    max_shared_nbytes: int = PRIVATE_NBYTES_LIMIT
    max_block: tuple[int, int, int] = (1, 1, 1)
    max_buffer_nbytes: int = sys.maxsize
    kind: DeviceKind = DeviceKind.CPU
    max_items: int = 1
    group_multiple: int = 1
    n_units: int = 1
    cache_nbytes: CacheNbytes = USUAL_CACHES

    def supports(self, element_type: Attribute) -> bool:
        return element_type in ELEMENT_TYPES and (element_type != f16 or self.has_f16)


@cache
def host_device() -> CpuDevice:
    """Returns the processor that this process runs on."""
    llvm = llvmlite_binding()
    enabled = llvm.get_host_cpu_features()
    is_x86 = llvm.get_process_triple().startswith(("x86", "i386", "i686"))
    return CpuDevice(
        name=llvm.get_host_cpu_name(),
        features=enabled.flatten(),
        vector_nbytes=64 if enabled.get("avx512f") else 32 if enabled.get("avx") else 16,
        n_units=os.cpu_count() or 1,
        cache_nbytes=host_cache_nbytes(),
        has_f16=bool(enabled.get("f16c")) if is_x86 else True,
    )
