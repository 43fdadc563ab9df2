"""
How long each kernel of a program took, and how much it computed and moved in that time.

    kernel      launches  time us   share  GFLOP/s   GB/s
    @matmul            1   40.120   77.6%    10.21   0.92
    @tanh              1   11.560   22.4%     2.77   2.21
    total              2   51.680  100.0%     8.55   1.21
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from ..backends.interface import CopyStep, LaunchStep, Step
from .program_plan import ProgramPlan
from .step_cost import StepCost
from .text_table import text_table
from .timeline import Span

COPIES = "copies"
"""The name of the row of the copies from one buffer to another."""


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """
    One kernel in one run of the program: its launches, the time and the cost of all of them together; where
    data decides how many there are, the median of the runs. `cost` is None where the schedule was not
    analyzed.
    """

    name: str
    launches: int
    nanoseconds: float
    cost: StepCost | None

    @property
    def gflops(self) -> float | None:
        """Thousand million operations per second; None where that is not known."""
        return self.cost.flops / self.nanoseconds if self.cost and self.nanoseconds else None

    @property
    def gbps(self) -> float | None:
        """Thousand million bytes per second; None where that is not known."""
        return self.cost.nbytes / self.nanoseconds if self.cost and self.nanoseconds else None


@dataclass(frozen=True, slots=True)
class ProgramStatistics:
    """
    The kernels of a program in the order of their first launches, then its copies, if it has any. Times are
    medians over `n_runs` runs; `total` is the median of the sums, not the sum of the medians.
    """

    kernels: tuple[KernelStatistics, ...]
    total: KernelStatistics
    n_runs: int

    def __str__(self) -> str:
        header = ("kernel", "launches", "time us", "share", "GFLOP/s", "GB/s")
        rows = [self._cells(row) for row in (*self.kernels, self.total)]
        return "\n".join(text_table(header, "<>>>>>", rows)) + "\n"

    def _cells(self, row: KernelStatistics) -> tuple[str, ...]:
        shared = sum(kernel.nanoseconds for kernel in self.kernels)
        share = row.nanoseconds / shared if shared else 0.0
        return (
            row.name,
            str(row.launches),
            f"{row.nanoseconds / 1e3:.3f}",
            f"{100 if row is self.total else 100 * share:.1f}%",
            _rate(row.gflops),
            _rate(row.gbps),
        )


def kernel_statistics(plan: ProgramPlan, spans: Iterable[Span]) -> ProgramStatistics:
    """
    Returns the statistics of `plan` from the spans that `report_steps` made of its timed runs, and of no
    other program's. Spans of anything but steps may be among them.
    """
    times: list[list[int]] = [[] for _ in plan.steps]
    counts: list[list[int]] = [[] for _ in plan.steps]
    for span in spans:
        number = span.args.get("step")
        if isinstance(number, int):
            times[number].append(span.end_ns - span.begin_ns)
            runs = span.args.get("runs", 1)
            assert isinstance(runs, int), f"step {number} ran {runs} times"
            counts[number].append(runs)
    n_runs = len(times[0]) if times else 0
    assert all(len(durations) == n_runs for durations in times), "a run that was not timed to its end"
    groups: dict[str, list[int]] = {}
    for number, step in enumerate(plan.steps):
        if (name := _row_of(step)) is not None:
            groups.setdefault(name, []).append(number)
    if COPIES in groups:
        groups[COPIES] = groups.pop(COPIES)
    launches = [round(median(runs)) if runs else 1 for runs in counts]
    rows = [_statistics(name, steps, times, launches, plan.costs) for name, steps in groups.items()]
    everything = [number for numbers in groups.values() for number in numbers]
    total = _statistics("total", everything, times, launches, plan.costs)
    return ProgramStatistics(tuple(rows), total, n_runs)


def _row_of(step: Step) -> str | None:
    match step:
        case LaunchStep():
            return f"@{step.kernel}"
        case CopyStep():
            return COPIES
        case _:
            return None


def _statistics(
    name: str,
    steps: Sequence[int],
    times: Sequence[Sequence[int]],
    launches: Sequence[int],
    costs: Sequence[StepCost | None],
) -> KernelStatistics:
    runs = [sum(durations) for durations in zip(*(times[number] for number in steps), strict=True)]
    cost = _sum([costs[number] for number in steps], [launches[number] for number in steps])
    return KernelStatistics(
        name, sum(launches[number] for number in steps), median(runs) if runs else 0.0, cost
    )


def _sum(costs: Sequence[StepCost | None], launches: Sequence[int]) -> StepCost | None:
    """Returns what all launches cost together, None where the cost of a step is not known."""
    known = [(cost, count) for cost, count in zip(costs, launches, strict=True) if cost is not None]
    if len(known) < len(costs):
        return None
    return StepCost(
        sum(count * cost.flops for cost, count in known),
        sum(count * cost.read_nbytes for cost, count in known),
        sum(count * cost.written_nbytes for cost, count in known),
    )


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"
