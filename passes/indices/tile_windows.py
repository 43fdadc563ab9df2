"""Which rows of register tiles are inside of an image with each step of a window that moves with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TileWindows:
    """
    Of tiles of one size: from which row up to which, exclusive, each step of a window takes part. Where that
    is so of one tile alone, `tiles` has its number, and in all others all rows do. `middle` is a row that
    takes part in all steps, in each tile.
    """

    rows: tuple[tuple[int, int], ...]
    tiles: tuple[int | None, ...]
    middle: int


@dataclass(frozen=True, slots=True)
class Pixels:
    """Rows of an image in tiles: how many rows, how many at once, and how far a window moves with each."""

    count: int
    tile: int
    step: int

    def windows(self, extent: int, low: int, high: int) -> list[TileWindows] | None:
        """
        Returns what takes part where windows of `extent` steps, the first one at 0, are from `low` up to
        `high`, exclusive: of whole tiles, if there are any, and of what is left over. None where tiles differ
        in more than that one of them leaves out some rows, or one has no row that takes part in all steps.
        """
        whole, left = divmod(self.count, self.tile)
        found: list[TileWindows] = []
        for numbers, size in ((range(whole), self.tile), (range(whole, whole + 1), left)):
            if numbers and size:
                windows = self._of_tiles(numbers, size, range(extent), range(low, high))
                if windows is None:
                    return None
                found.append(windows)
        return found

    def _of_tiles(self, numbers: range, size: int, steps: range, inside: range) -> TileWindows | None:
        rows: list[tuple[int, int]] = []
        tiles: list[int | None] = []
        for step in steps:
            places = [range(number * self.tile, number * self.tile + size) for number in numbers]
            ranges = [self._inside(each, step, inside) for each in places]
            cut = [number for number, each in enumerate(ranges) if each != (0, size)]
            is_one = len(set(ranges)) == 1
            if not is_one and len(cut) != 1:
                return None
            rows.append(ranges[0] if is_one else ranges[cut[0]])
            tiles.append(None if is_one else numbers[cut[0]])
        full = [row for row in range(size) if all(first <= row < end for first, end in rows)]
        return TileWindows(tuple(rows), tuple(tiles), full[len(full) // 2]) if full else None

    def _inside(self, places: Sequence[int], step: int, inside: range) -> tuple[int, int]:
        rows = [row for row, place in enumerate(places) if place * self.step + step in inside]
        return (rows[0], rows[-1] + 1) if rows else (0, 0)
