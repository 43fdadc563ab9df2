"""What a search did and found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...passes.sched.steps.database import ScheduleEntry
from ...runtime.timeline.text_table import text_table

MOST_REASONS = 3
"""The most reasons that are printed for a kernel."""


@dataclass(frozen=True, slots=True)
class KernelReport:
    """
    The search for one kernel: its share of the program's time, how many schedules were measured, how many
    were not and why, and the times of the default schedule and of the best one, measured in turns at the end.
    `steps` are those of the best, empty where the default stays; `why` says why it stays, or what was gained.
    """

    name: str
    share: float
    measured: int
    rejected: Mapping[str, int]
    default_ns: int
    best_ns: int
    steps: tuple[Mapping[str, Any], ...]
    why: str

    @property
    def gain(self) -> float:
        """How many times as fast the kernel is as it was: 1 where the default stays."""
        return self.default_ns / self.best_ns if self.steps and self.best_ns else 1.0


@dataclass(frozen=True, slots=True)
class TuningReport:
    """
    What `tenon.tune` did. `entries` are the schedules that are faster than the default ones; `database` is
    where they were saved, None where they were not.
    """

    program: str
    device: str
    seconds: float
    kernels: tuple[KernelReport, ...]
    entries: tuple[ScheduleEntry, ...]
    database: Path | None

    @property
    def schedules(self) -> dict[str, list[dict[str, Any]]]:
        """The steps for each kernel that has some, as `tenon.compile(schedules=)` takes them."""
        return {entry.name: [dict(step) for step in entry.steps] for entry in self.entries}

    @property
    def gain(self) -> float:
        """How many times as fast the kernels are together as they were."""
        after = sum(kernel.share / kernel.gain for kernel in self.kernels)
        before = sum(kernel.share for kernel in self.kernels)
        return before / after if after else 1.0

    def __str__(self) -> str:
        lines = [f"tuned @{self.program} on {self.device} for {self.seconds:.1f} s"]
        header = ("kernel", "share", "measured", "rejected", "default us", "best us", "gain", "")
        rows = [
            (
                f"@{kernel.name}",
                f"{100 * kernel.share:.1f}%",
                str(kernel.measured),
                str(sum(kernel.rejected.values())),
                f"{kernel.default_ns / 1e3:.3f}",
                f"{kernel.best_ns / 1e3:.3f}",
                f"{kernel.gain:.2f}",
                kernel.why,
            )
            for kernel in self.kernels
        ]
        lines += text_table(header, "<>>>>>><", rows)
        lines.append(f"all kernels together: {self.gain:.2f} times as fast")
        for kernel in self.kernels:
            reasons = list(kernel.rejected.items())
            for reason, count in reasons[:MOST_REASONS]:
                lines.append(f"@{kernel.name}: {count} rejected: {reason}")
            if others := sum(count for _, count in reasons[MOST_REASONS:]):
                lines.append(f"@{kernel.name}: {others} rejected for other reasons")
        if self.entries:
            where = "not saved (hint: database=)" if self.database is None else f"saved in {self.database}"
            count = "1 schedule" if len(self.entries) == 1 else f"{len(self.entries)} schedules"
            lines.append(f"{count}, {where}")
        return "\n".join(lines) + "\n"
