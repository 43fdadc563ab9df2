"""
Loads that say what will be needed soon: `{tenon.prefetch = 1024 : index}` on a `memref.load` or `vector.load`
names the element so many further on in memory, be it inside of the buffer or not. It changes no result, and a
backend may pass over it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation

PREFETCH = "tenon.prefetch"


def prefetch_distance(op: Operation) -> int | None:
    """Returns how many elements further on the element is that will be needed; None where none is named."""
    found = op.attributes.get(PREFETCH)
    return found.value.data if isinstance(found, IntegerAttr) else None


def set_prefetch_distance(op: Operation, distance: int) -> None:
    """Makes a load name the element `distance` further on."""
    op.attributes[PREFETCH] = IntegerAttr(distance, IndexType())
