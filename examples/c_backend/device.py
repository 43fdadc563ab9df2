"""The processor, as far as plain C reaches it."""

import sys
from dataclasses import dataclass

from tenon.backends.cache_sizes import USUAL_CACHES
from tenon.backends.interface import DeviceKind
from tenon.dialects.element_types import is_narrow_float
from xdsl.ir import Attribute


@dataclass(frozen=True)
class CDevice:
    """One processor, one work-item to a group. Vectors and tiles are left to what gcc makes of scalars."""

    name: str = "gcc"
    kind: DeviceKind = DeviceKind.CPU
    lacks: tuple[str, ...] = ("low.tile_fma", "vector")
    vector_nbytes: int = 32
    vector_registers: int = 16
    max_shared_nbytes: int = 1 << 20
    max_block: tuple[int, int, int] = (1, 1, 1)
    max_items: int = 1
    group_multiple: int = 1
    n_units: int = 1
    cache_nbytes: tuple[int, int, int] = USUAL_CACHES
    max_buffer_nbytes: int = sys.maxsize

    def supports(self, element_type: Attribute) -> bool:
        return not is_narrow_float(element_type)
