"""The cost of a step of a program, as the analysis of its schedule counted it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepCost:
    """
    Arithmetic operations, and bytes of global memory read and written, each element of a buffer once.
    `element` is the type that the arithmetic is taken to be in: f64 where a buffer is of f64, else f32.
    """

    flops: int
    read_nbytes: int
    written_nbytes: int
    element: str = "f32"

    @property
    def nbytes(self) -> int:
        """The bytes that are moved."""
        return self.read_nbytes + self.written_nbytes
