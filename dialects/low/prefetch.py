"""
Loads that say what will be needed soon: `{tenon.prefetch = 1024 : index}` on a `memref.load` or `vector.load`
names the element so many further on in memory, be it inside of the buffer or not. With
`{tenon.prefetch_level = 2 : index}` it is needed in the second cache, else in the first, and with
`{tenon.prefetch_rows = 2 : index}` by register tiles of so many rows or more only. It changes no result, and
a backend may pass over it.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation

PREFETCH, PREFETCH_LEVEL = "tenon.prefetch", "tenon.prefetch_level"
PREFETCH_ROWS = "tenon.prefetch_rows"

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


def prefetch_rows(op: Operation) -> int:
    """Returns how many rows a register tile has at least that needs the element so soon."""
    found = op.attributes.get(PREFETCH_ROWS)
    return found.value.data if isinstance(found, IntegerAttr) else 1


def copy_prefetch(source: Operation, target: Operation) -> None:
    """Makes a load name what another one of the same place names, if that names something."""
    distance = prefetch_distance(source)
    if distance is not None:
        set_prefetch_distance(target, distance, prefetch_level(source), prefetch_rows(source))


def set_prefetch_distance(op: Operation, distance: int, level: int = LEVELS[0], rows: int = 1) -> None:
    """
    Makes a load name the element `distance` further on, the cache that it is needed in, and by register tiles
    of how many rows.
    """
    for name, number, default in (
        (PREFETCH, distance, None),
        (PREFETCH_LEVEL, level, LEVELS[0]),
        (PREFETCH_ROWS, rows, 1),
    ):
        op.attributes.pop(name, None)
        if number != default:
            op.attributes[name] = IntegerAttr(number, IndexType())
