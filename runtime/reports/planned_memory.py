"""Buffers and pools of a memory plan, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..plan.program_plan import SymbolIndex


@dataclass(frozen=True, slots=True)
class PlannedBuffer:
    """
    One buffer; a node's is called `@` and the node's name. It lies `offset` bytes into pool `pool_id`, or in
    the caller's own array where that is None. A buffer that is a part of a node moves with the values of
    static symbols: `moves` are they, the bytes that each moves it by, and how many values each has; `offset`
    is for all symbols 0.

    `first_step` and `last_step` are the steps that it holds something for: a temporary from its first use to
    its last, a result from its first use to the return (the step after the last), everything else from the
    first step to the return. They are None where nothing uses it. `shares_with` are the numbers of the
    buffers that have bytes in common with it.
    """

    number: int
    name: str
    kind: str
    pool_id: int | None
    offset: int
    nbytes: int
    moves: tuple[SymbolIndex, ...]
    first_step: int | None
    last_step: int | None
    shares_with: tuple[int, ...]

    @property
    def end(self) -> int:
        """The byte of the pool after the last that the buffer can have."""
        return self.offset + self.nbytes + reach_of(self.moves)

    def is_live(self, step: int) -> bool:
        """Returns whether the buffer holds something at `step`."""
        return (
            self.first_step is not None
            and self.last_step is not None
            and (self.first_step <= step <= self.last_step)
        )


@dataclass(frozen=True, slots=True)
class PlannedPool:
    """
    One pool of the device: its bytes, those that a buffer lies in (`covered_nbytes`; the others are gaps),
    and the most that are live at one step (`peak_nbytes`).
    """

    pool_id: int
    content: str
    nbytes: int
    covered_nbytes: int
    peak_nbytes: int

    @property
    def fragmentation(self) -> float:
        """The share of the pool that no buffer lies in, from 0 to 1."""
        return 1 - self.covered_nbytes / self.nbytes if self.nbytes else 0.0


def reach_of(moves: Sequence[SymbolIndex]) -> int:
    """Returns how far a buffer moves, at most, in bytes."""
    return sum((index.extent - 1) * index.stride_nbytes for index in moves if index.extent)
