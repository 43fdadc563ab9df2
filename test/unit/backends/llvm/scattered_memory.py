"""
An address space in which no two pages that are mapped one by one lie near each other. Sections that a loader
maps one by one are then further apart than an offset of 32 bits reaches, and far from every library.
"""

import ctypes
import mmap
from pathlib import Path

ISLAND_DISTANCE = 8 << 30
"""From one free page to the next: what 33 bits with a sign reach, as on aarch64, and more."""

N_ISLANDS = 2048

_HAVEN = 64 << 30
"""What stays free in one piece, far below the free pages: all that takes more than a page goes there."""

_END_OF_PROGRAMS = 1 << 48

_STACK_ROOM = 256 << 20

_MAP_NORESERVE, _MAP_FIXED_NOREPLACE = 0x4000, 0x100000
"""Linux has the same ones on x86-64 and aarch64."""

_N_ROUNDS = 100


class ScatteredMemory:
    """Maps all that is free, but for a page here and there, and room far below those."""

    def __init__(self) -> None:
        begin, self._end = max(_gaps(), key=lambda gap: gap[1] - gap[0])
        self._haven_end = begin + _HAVEN
        lowest = self._end - N_ISLANDS * ISLAND_DISTANCE
        assert lowest > self._haven_end, "there is too little address space"
        for top in range(self._end, lowest, -ISLAND_DISTANCE):
            _reserve(top - ISLAND_DISTANCE + mmap.PAGESIZE, top)
        _reserve(self._haven_end, lowest)
        self.fill()

    def fill(self) -> None:
        """Maps what is free and should not be: what was freed since."""
        # To look at it takes memory too.
        for _ in range(_N_ROUNDS):
            rest = [gap for gap in _gaps() if gap[0] > self._haven_end and not self._is_island(gap)]
            for gap in rest:
                _reserve(*gap)
            if not rest:
                return
        raise AssertionError("what is free changes all the time")

    def _is_island(self, gap: tuple[int, int]) -> bool:
        begin, end = gap
        return end - begin == mmap.PAGESIZE and (self._end - begin) % ISLAND_DISTANCE == 0


def _gaps() -> list[tuple[int, int]]:
    """Returns what is free above the program itself, without what its stack may grow into."""
    rows = Path("/proc/self/maps").read_text().splitlines()
    gaps: list[tuple[int, int]] = []
    last = _END_OF_PROGRAMS
    for row in rows:
        begin, end = (int(bound, 16) for bound in row.split()[0].split("-"))
        if begin >= _END_OF_PROGRAMS:
            break
        room = _STACK_ROOM if row.endswith("[stack]") else 0
        if begin - room > last:
            gaps.append((last, begin - room))
        last = end
    return gaps


def _reserve(begin: int, end: int) -> None:
    """Maps addresses without memory, unless something lies there already."""
    map_memory = ctypes.CDLL(None).mmap
    map_memory.restype = ctypes.c_void_p
    map_memory.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE | _MAP_FIXED_NOREPLACE
    map_memory(begin, end - begin, 0, flags, -1, 0)
