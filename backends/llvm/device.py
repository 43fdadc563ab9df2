"""A processor as a device: the host's own, or another one that the host may be able to run code for."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache

from xdsl.ir import Attribute

from ...dialects.buffer_size import PRIVATE_NBYTES_LIMIT
from ...dialects.element_types import ELEMENT_TYPES
from ...errors import TenonError
from ..cache_sizes import CacheNbytes
from ..interface import DeviceKind
from .processors import NATIVE, Processor, find_processor, host_processor
from .threads import initial_num_threads

TARGET = "TENON_TARGET"
"""The environment variable with the name of the processor that code is made for where nothing else says."""


@dataclass(frozen=True)
class CpuDevice:
    """One processor. Work-items run one by one."""

    processor: Processor
    max_shared_nbytes: int = PRIVATE_NBYTES_LIMIT
    max_block: tuple[int, int, int] = (1, 1, 1)
    max_buffer_nbytes: int = sys.maxsize
    kind: DeviceKind = DeviceKind.CPU
    max_items: int = 1
    group_multiple: int = 1
    n_units: int = 1

    @property
    def name(self) -> str:
        return self.processor.name

    @property
    def vector_nbytes(self) -> int:
        return self.processor.vector_nbytes

    @property
    def vector_registers(self) -> int:
        return self.processor.vector_registers

    @property
    def multiplies_bytes(self) -> bool:
        return self.processor.multiplies_bytes

    @property
    def cache_nbytes(self) -> CacheNbytes:
        return self.processor.cache_nbytes

    @property
    def unmet(self) -> str:
        """Why code for this device does not run in this process, empty where it does."""
        reason = self.processor.lacking_on(host_processor())
        return reason and f"target '{self.name}' {reason}"

    def supports(self, element_type: Attribute) -> bool:
        return element_type in ELEMENT_TYPES


def cpu_device(target: str | None = None) -> CpuDevice:
    """
    Returns a processor by its name, None for the one that the environment variable `TENON_TARGET` names, and
    the host's own without it. All of them have as many processors as this process has threads for.

    Raises:
        TenonError: there is no processor of that name.
    """
    return _device(find_processor(target) if target else _processor_by_default())


def _processor_by_default() -> Processor:
    try:
        return find_processor(os.environ.get(TARGET) or NATIVE)
    except TenonError as error:
        raise TenonError(f"{TARGET}: {error}") from None


@cache
def _device(processor: Processor) -> CpuDevice:
    return CpuDevice(processor, n_units=initial_num_threads())


def host_device() -> CpuDevice:
    """Returns the processor that this process runs on."""
    return _device(host_processor())
