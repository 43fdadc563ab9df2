"""
How long each kernel of a program took, how much it computed and moved in that time, and how much of what the
device can do at best that is.

    kernel      launches  time us   share  GFLOP/s   GB/s   roof  bound
    @matmul            1   40.120   77.6%    61.21   0.92  42.1%  compute f32
    @tanh              1   11.560   22.4%     2.77   2.21   8.5%  memory L2
    total              2   51.680  100.0%    48.55   1.21  34.6%  compute
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from ...backends.steps import CopyStep, LaunchStep, Step
from ..plan.program_plan import ProgramPlan
from ..timeline.spans import Span
from ..timeline.step_cost import StepCost
from ..timeline.text_table import text_table
from .roofline import Bound, Roofline

COPIES = "copies"
"""The name of the row of the copies from one buffer to another."""


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """
    One kernel in one run of the program: its launches, the time and the cost of all of them together; where
    data decides how many there are, the median of the runs. `cost` is None where the schedule was not
    analyzed.

    `least_nanoseconds` is what the device needs for that at least, by its roofline, and `bound` the limit
    that says so, with the element type or the level of memory that it is of: `compute f32`, `memory L2`. Both
    are None where there is no roofline, or no cost.
    """

    name: str
    launches: int
    nanoseconds: float
    cost: StepCost | None
    least_nanoseconds: float | None = None
    bound: str | None = None

    @property
    def gflops(self) -> float | None:
        """Thousand million operations per second; None where that is not known."""
        return self.cost.flops / self.nanoseconds if self.cost and self.nanoseconds else None

    @property
    def gbps(self) -> float | None:
        """Thousand million bytes per second; None where that is not known."""
        return self.cost.nbytes / self.nanoseconds if self.cost and self.nanoseconds else None

    @property
    def roof_share(self) -> float | None:
        """The share of the roofline that was reached, 1 for all of it; None where that is not known."""
        if self.least_nanoseconds is None or not self.nanoseconds:
            return None
        return self.least_nanoseconds / self.nanoseconds


@dataclass(frozen=True, slots=True)
class ProgramStatistics:
    """
    The kernels of a program in the order of their first launches, then its copies, if it has any. Times are
    medians over `n_runs` runs; `total` is the median of the sums, not the sum of the medians. `roofline` is
    what the shares are of, None where it was not measured.
    """

    kernels: tuple[KernelStatistics, ...]
    total: KernelStatistics
    n_runs: int
    roofline: Roofline | None = None

    def __str__(self) -> str:
        header = ["kernel", "launches", "time us", "share", "GFLOP/s", "GB/s"]
        alignment = "<>>>>>"
        if self.roofline is not None:
            header += ["roof", "bound"]
            alignment += "><"
        rows = [self._cells(row)[: len(header)] for row in (*self.kernels, self.total)]
        lines = text_table(header, alignment, rows)
        if self.roofline is not None:
            lines.append(str(self.roofline))
        return "\n".join(lines) + "\n"

    def to_json(self) -> str:
        """
        Returns an object with `runs`, `kernels` and `total`, each kernel with what the table has, and the
        `roofline`; what is not known is null. Times are nanoseconds.
        """
        return json.dumps(
            {
                "runs": self.n_runs,
                "kernels": [_as_dict(row) for row in self.kernels],
                "total": _as_dict(self.total),
                "roofline": None if self.roofline is None else asdict(self.roofline),
            },
            indent=2,
        )

    def _cells(self, row: KernelStatistics) -> tuple[str, ...]:
        shared = sum(kernel.nanoseconds for kernel in self.kernels)
        share = row.nanoseconds / shared if shared else 0.0
        roof = row.roof_share
        return (
            row.name,
            str(row.launches),
            f"{row.nanoseconds / 1e3:.3f}",
            f"{100 if row is self.total else 100 * share:.1f}%",
            _rate(row.gflops),
            _rate(row.gbps),
            "-" if roof is None else f"{100 * roof:.1f}%",
            row.bound or "-",
        )


def kernel_statistics(
    plan: ProgramPlan, spans: Iterable[Span], roofline: Roofline | None = None
) -> ProgramStatistics:
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

    def row_of(name: str, steps: Sequence[int]) -> KernelStatistics:
        runs = [sum(durations) for durations in zip(*(times[number] for number in steps), strict=True)]
        costs = [plan.costs[number] for number in steps]
        often = [launches[number] for number in steps]
        return KernelStatistics(
            name,
            sum(often),
            median(runs) if runs else 0.0,
            _sum(costs, often),
            *_least(costs, often, roofline, name == "total"),
        )

    rows = [row_of(name, steps) for name, steps in groups.items()]
    everything = [number for numbers in groups.values() for number in numbers]
    return ProgramStatistics(tuple(rows), row_of("total", everything), n_runs, roofline)


def _row_of(step: Step) -> str | None:
    match step:
        case LaunchStep():
            return f"@{step.kernel}"
        case CopyStep():
            return COPIES
        case _:
            return None


def _sum(costs: Sequence[StepCost | None], launches: Sequence[int]) -> StepCost | None:
    """Returns what all launches cost together, None where the cost of a step is not known."""
    known = [(cost, count) for cost, count in zip(costs, launches, strict=True) if cost is not None]
    if len(known) < len(costs):
        return None
    return StepCost(
        sum(count * cost.flops for cost, count in known),
        sum(count * cost.read_nbytes for cost, count in known),
        sum(count * cost.written_nbytes for cost, count in known),
        "f64" if any(cost.element == "f64" for cost, _ in known) else "f32",
    )


def _least(
    costs: Sequence[StepCost | None], launches: Sequence[int], roofline: Roofline | None, is_total: bool
) -> tuple[float | None, str | None]:
    """Returns how long launches take at least, and which limit says so; of a total without what it is of."""
    work = [(cost, count) for cost, count in zip(costs, launches, strict=True) if cost is not None]
    if roofline is None or not work or len(work) < len(costs):
        return None, None
    nanoseconds = sum(count * roofline.least_nanoseconds(cost) for cost, count in work)
    bound = roofline.bound_of(work)
    if is_total:
        return nanoseconds, bound.value
    longest, _ = max(work, key=lambda item: roofline.least_nanoseconds(item[0]))
    detail = longest.element if bound is Bound.COMPUTE else roofline.level_of(longest.nbytes).name
    return nanoseconds, f"{bound.value} {detail}"


def _rate(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


def _as_dict(row: KernelStatistics) -> dict[str, Any]:
    return {
        **asdict(row),
        "gflops": row.gflops,
        "gbps": row.gbps,
        "roof_share": row.roof_share,
    }
