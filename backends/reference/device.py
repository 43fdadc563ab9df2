"""The interpreter of `low` kernels as a device: its limits."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.ir import Attribute

from ...dialects.element_types import ELEMENT_TYPES
from ..cache_sizes import USUAL_CACHES, CacheNbytes
from ..interface import DeviceKind


@dataclass(frozen=True)
class ReferenceDevice:
    """
    A device that does all that `low` can say. Its vectors have the width that reductions are grouped by on
    most processors, so that sums come out as they do there.
    """

    name: str = "reference"
    vector_nbytes: int = 32
    vector_registers: int = 16
    max_shared_nbytes: int = sys.maxsize
    max_block: tuple[int, int, int] = (sys.maxsize, sys.maxsize, sys.maxsize)
    max_buffer_nbytes: int = sys.maxsize
    kind: DeviceKind = DeviceKind.CPU
    max_items: int = sys.maxsize
    group_multiple: int = 1
    n_units: int = 1
    cache_nbytes: CacheNbytes = USUAL_CACHES

    def supports(self, element_type: Attribute) -> bool:
        return element_type in ELEMENT_TYPES
