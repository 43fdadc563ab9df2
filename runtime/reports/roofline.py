"""
How fast a device can be at best, and which of its limits a piece of work meets first.

A roofline has the most arithmetic per second, and for each level of memory the most bytes. Work takes at
least the time of its operations and at least that of its bytes; the longer of the two is its bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ..timeline.step_cost import StepCost


class Bound(StrEnum):
    """Which limit of the device work meets first."""

    COMPUTE = "compute"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """
    Memory for working sets of up to `nbytes`, None for the last level. Rates are thousand million bytes per
    second: of what only reads, of what only writes, and of copies, which count what they read and write.
    """

    name: str
    nbytes: int | None
    read_gbps: float
    write_gbps: float
    copy_gbps: float

    def least_nanoseconds(self, cost: StepCost) -> float:
        """Returns how long it takes at least to read and write so much, in equal parts as a copy does."""
        both = min(cost.read_nbytes, cost.written_nbytes)
        return (
            2 * both / self.copy_gbps
            + (cost.read_nbytes - both) / self.read_gbps
            + (cost.written_nbytes - both) / self.write_gbps
        )


@dataclass(frozen=True, slots=True)
class Roofline:
    """
    The limits of a device, as they were measured with `n_workers` work-groups at a time. `gflops` are of
    fused multiply-adds, two operations each, by the element type; `levels` go from small to large.
    """

    device: str
    n_workers: int
    gflops: Mapping[str, float]
    levels: tuple[MemoryLevel, ...]

    def level_of(self, nbytes: int) -> MemoryLevel:
        """Returns the smallest level that holds so many bytes."""
        for level in self.levels:
            if level.nbytes is None or nbytes <= level.nbytes:
                return level
        return self.levels[-1]

    def compute_nanoseconds(self, cost: StepCost) -> float:
        """Returns how long the arithmetic takes at least."""
        return cost.flops / self.gflops.get(cost.element, self.gflops["f32"])

    def memory_nanoseconds(self, cost: StepCost) -> float:
        """Returns how long the bytes take at least, moved once from the level that holds all of them."""
        return self.level_of(cost.nbytes).least_nanoseconds(cost)

    def least_nanoseconds(self, cost: StepCost) -> float:
        """Returns how long work takes at least."""
        return max(self.compute_nanoseconds(cost), self.memory_nanoseconds(cost))

    def bound_of(self, work: Sequence[tuple[StepCost, int]]) -> Bound:
        """Returns which limit pieces of work meet, each done so often: the one that takes them longer."""
        compute = sum(count * self.compute_nanoseconds(cost) for cost, count in work)
        memory = sum(count * self.memory_nanoseconds(cost) for cost, count in work)
        return Bound.COMPUTE if compute > memory else Bound.MEMORY

    def __str__(self) -> str:
        workers = "1 worker" if self.n_workers == 1 else f"{self.n_workers} workers"
        peaks = ", ".join(f"{element} {rate:.0f} GFLOP/s" for element, rate in self.gflops.items())
        lines = [f"roofline of {self.device}, {workers}: {peaks}"]
        for level in self.levels:
            size = "beyond" if level.nbytes is None else f"to {_size_text(level.nbytes)}"
            lines.append(
                f"  {level.name} ({size}): read {level.read_gbps:.0f}, write {level.write_gbps:.0f}, "
                f"copy {level.copy_gbps:.0f} GB/s"
            )
        return "\n".join(lines)


def _size_text(nbytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes >= unit:
            return f"{nbytes / unit:g} {name}"
    return f"{nbytes} bytes"
