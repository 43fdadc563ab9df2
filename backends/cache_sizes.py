"""How large the caches of the host's processor are."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

CacheNbytes = tuple[int, int, int]
"""Bytes of the first, second and last cache that one processor's data goes through, the smallest first."""

USUAL_CACHES: CacheNbytes = (48 << 10, 1 << 20, 32 << 20)
"""What is taken for caches that nothing is known of."""

_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def host_cache_nbytes(folder: Path = _FOLDER) -> CacheNbytes:
    """
    Returns the caches of this machine, as Linux tells them; those that it does not tell are as usual, but not
    smaller than the ones before them.
    """
    found: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        nbytes = _nbytes(size)
        if level.isdecimal() and kind != "Instruction" and nbytes:
            found[int(level)] = nbytes
    first = found.get(1, USUAL_CACHES[0])
    second = max(found.get(2, USUAL_CACHES[1]), first)
    if found and 3 not in found:
        return first, second, max(found[max(found)], second)
    return first, second, max(found.get(3, USUAL_CACHES[2]), second)


def _nbytes(text: str) -> int:
    """Returns the bytes of a size like `48K`, 0 for what is none."""
    match = re.fullmatch(r"(\d{1,9})([KMG]?)", text)
    return int(match[1]) * _UNITS[match[2]] if match else 0
