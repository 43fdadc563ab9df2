"""What a step of a program costs, as the analysis of its schedule counted it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepCost:
    """Arithmetic operations, and bytes of global memory read and written, each element of a buffer once."""

    flops: int
    read_nbytes: int
    written_nbytes: int

    @property
    def nbytes(self) -> int:
        """The bytes that are moved."""
        return self.read_nbytes + self.written_nbytes
