"""
Loads that say what will be needed soon: `{tenon.prefetch = 1024 : index}` on a `memref.load` or `vector.load`
names the element so many further on in memory, be it inside of the buffer or not. With
`{tenon.prefetch_level = 2 : index}` it is needed in the second cache, else in the first. It changes no
result, and a backend may pass over it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation

PREFETCH, PREFETCH_LEVEL = "tenon.prefetch", "tenon.prefetch_level"

LEVELS = (1, 2)
"""The caches that there are names for, the nearest one first."""


def prefetch_distance(op: Operation) -> int | None:
    """Returns how many elements further on the element is that will be needed; None where none is named."""
    found = op.attributes.get(PREFETCH)
    return found.value.data if isinstance(found, IntegerAttr) else None


def prefetch_level(op: Operation) -> int:
    """Returns the cache that the element is needed in."""
    found = op.attributes.get(PREFETCH_LEVEL)
    return found.value.data if isinstance(found, IntegerAttr) else LEVELS[0]


def copy_prefetch(source: Operation, target: Operation) -> None:
    """Makes a load name what another one of the same place names, if that names something."""
    distance = prefetch_distance(source)
    if distance is not None:
        set_prefetch_distance(target, distance, prefetch_level(source))


def set_prefetch_distance(op: Operation, distance: int, level: int = LEVELS[0]) -> None:
    """Makes a load name the element `distance` further on, and the cache that it is needed in."""
    op.attributes[PREFETCH] = IntegerAttr(distance, IndexType())
    op.attributes.pop(PREFETCH_LEVEL, None)
    if level != LEVELS[0]:
        op.attributes[PREFETCH_LEVEL] = IntegerAttr(level, IndexType())
