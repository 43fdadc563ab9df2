import json

import numpy as np
import pytest
import tenon
from tenon.backends.steps import CopyStep, LaunchStep, Step, StepTime, SyncStep
from tenon.errors import TenonError
from tenon.runtime.plan.program_plan import ProgramPlan
from tenon.runtime.plan.signature import Signature
from tenon.runtime.reports.kernel_statistics import kernel_statistics
from tenon.runtime.reports.roofline import MemoryLevel, Roofline
from tenon.runtime.timeline.spans import Category, Span, Track
from tenon.runtime.timeline.step_cost import StepCost
from tenon.runtime.timeline.timeline import Timeline, report_steps

STREAM = Track("llvm", "device 0")


def launch(kernel: str) -> LaunchStep:
    return LaunchStep(kernel, (1, 1, 1), (1, 1, 1), (0,))


def plan_of(*steps: tuple[Step, StepCost | None]) -> ProgramPlan:
    return ProgramPlan(
        Signature("f", (), (), ()),
        (),
        tuple(step for step, _ in steps),
        (),
        np.zeros(0, np.uint8),
        0,
        costs=tuple(cost for _, cost in steps),
    )


def spans_of(plan: ProgramPlan, *runs: tuple[int, ...]) -> tuple[Span, ...]:
    """Returns what runs in which each step takes so many ns report."""
    timeline = Timeline(start_ns=0)
    for number, durations in enumerate(runs):
        times: list[StepTime] = []
        for duration in durations:
            begin = times[-1].end_ns if times else 0
            times.append(StepTime(begin, begin + duration))
        report_steps(timeline, STREAM, plan.steps, times, 1_000_000 * number)
    return timeline.spans


def test_a_kernel_is_the_sum_of_its_launches_and_the_median_of_its_runs():
    plan = plan_of(
        (launch("a"), StepCost(100, 10, 10)),
        (launch("b"), StepCost(50, 100, 100)),
        (launch("a"), StepCost(300, 10, 10)),
    )
    spans = spans_of(plan, (100, 50, 100), (110, 70, 130), (1000, 60, 1000))
    statistics = kernel_statistics(plan, spans)
    first, second = statistics.kernels
    assert (first.name, first.launches, first.nanoseconds) == ("@a", 2, 240)
    assert (second.name, second.launches, second.nanoseconds) == ("@b", 1, 60)
    assert first.gflops == pytest.approx(400 / 240)
    assert first.gbps == pytest.approx(40 / 240)
    assert statistics.n_runs == 3
    assert statistics.total.nanoseconds == 310
    assert statistics.total.cost == StepCost(450, 120, 120)


def test_copies_are_the_last_row_and_syncs_none():
    plan = plan_of(
        (CopyStep(0, 1, 64), StepCost(0, 64, 64)),
        (SyncStep(), None),
        (launch("a"), StepCost(10, 0, 0)),
        (CopyStep(1, 2, 64), StepCost(0, 64, 64)),
    )
    statistics = kernel_statistics(plan, spans_of(plan, (32, 5, 10, 32)))
    assert [(row.name, row.launches, row.nanoseconds) for row in statistics.kernels] == [
        ("@a", 1, 10),
        ("copies", 2, 64),
    ]
    assert statistics.kernels[1].gbps == pytest.approx(4)
    assert statistics.total.launches == 3


def test_rates_of_what_was_not_analyzed_or_took_no_time_are_not_known():
    plan = plan_of((launch("a"), None), (launch("b"), StepCost(1, 1, 1)))
    unknown, instant = kernel_statistics(plan, spans_of(plan, (10, 0))).kernels
    assert (unknown.gflops, unknown.gbps) == (None, None)
    assert (instant.gflops, instant.gbps) == (None, None)


def test_spans_of_other_work_do_not_count():
    plan = plan_of((launch("a"), None))
    other = Span("x to device", Category.TRANSFER, STREAM, 0, 99, {"nbytes": 4})
    assert kernel_statistics(plan, [other, *spans_of(plan, (10,))]).total.nanoseconds == 10


def test_a_program_without_steps_takes_no_time():
    plan = plan_of()
    statistics = kernel_statistics(plan, ())
    assert (statistics.kernels, statistics.total.nanoseconds, statistics.n_runs) == ((), 0.0, 0)
    assert str(statistics).splitlines()[1].split() == ["total", "0", "0.000", "100.0%", "-", "-"]


def test_a_run_that_was_cut_off_is_a_bug():
    plan = plan_of((launch("a"), None), (launch("b"), None))
    with pytest.raises(AssertionError, match="a run that was not timed to its end"):
        kernel_statistics(plan, spans_of(plan, (10, 10))[:1])


def test_statistics_are_a_table():
    plan = plan_of((launch("matmul"), StepCost(8000, 2000, 2000)), (launch("tanh"), StepCost(1000, 500, 500)))
    assert str(kernel_statistics(plan, spans_of(plan, (4000, 1000)))) == (
        "kernel   launches  time us   share  GFLOP/s  GB/s\n"
        "@matmul         1    4.000   80.0%     2.00  1.00\n"
        "@tanh           1    1.000   20.0%     1.00  1.00\n"
        "total           2    5.000  100.0%     1.80  1.00\n"
    )


ROOFLINE = Roofline(
    "a device",
    1,
    {"f32": 10.0, "f64": 5.0},
    (MemoryLevel("L1", 3000, 100, 100, 100), MemoryLevel("memory", None, 10, 10, 10)),
)


def test_a_roofline_gives_shares_and_bounds():
    plan = plan_of(
        (launch("matmul"), StepCost(8000, 1000, 1000)),
        (launch("tanh"), StepCost(1000, 4000, 4000, "f64")),
        (CopyStep(0, 1, 1000), StepCost(0, 1000, 1000)),
    )
    statistics = kernel_statistics(plan, spans_of(plan, (1600, 4000, 100)), ROOFLINE)
    matmul, tanh, copies = statistics.kernels
    assert (matmul.least_nanoseconds, matmul.bound) == (800, "compute f32")
    assert (tanh.least_nanoseconds, tanh.bound) == (800, "memory memory")
    assert (copies.least_nanoseconds, copies.bound) == (20, "memory L1")
    assert [row.roof_share for row in statistics.kernels] == pytest.approx([0.5, 0.2, 0.2])
    assert (statistics.total.least_nanoseconds, statistics.total.bound) == (1620, "compute")
    assert str(statistics).splitlines()[:2] == [
        "kernel   launches  time us   share  GFLOP/s   GB/s   roof  bound",
        "@matmul         1    1.600   28.1%     5.00   1.25  50.0%  compute f32",
    ]
    assert str(statistics).endswith(f"\n{ROOFLINE}\n")


def test_what_was_not_analyzed_has_no_share():
    plan = plan_of((launch("a"), None), (launch("b"), StepCost(1, 1, 1)))
    unknown, instant = kernel_statistics(plan, spans_of(plan, (10, 0)), ROOFLINE).kernels
    assert (unknown.roof_share, unknown.bound) == (None, None)
    assert (instant.roof_share, instant.bound) == (None, "compute f32")


def test_statistics_are_json():
    plan = plan_of((launch("a"), StepCost(100, 10, 10)), (launch("b"), None))
    found = json.loads(kernel_statistics(plan, spans_of(plan, (20, 5)), ROOFLINE).to_json())
    assert list(found) == ["runs", "kernels", "total", "roofline"]
    first, second = found["kernels"]
    assert first == {
        "name": "@a",
        "launches": 1,
        "nanoseconds": 20.0,
        "cost": {"flops": 100, "read_nbytes": 10, "written_nbytes": 10, "element": "f32"},
        "least_nanoseconds": 10.0,
        "bound": "compute f32",
        "gflops": 5.0,
        "gbps": 1.0,
        "roof_share": 0.5,
    }
    assert second["cost"] is None and second["roof_share"] is None
    assert found["roofline"]["levels"][0]["name"] == "L1"


PROGRAM = """
func.func @f(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  %y = graph.exp %x : tensor<4x8xf64>
  func.return %y : tensor<4x8xf64>
}
"""


def test_an_executable_times_its_kernels():
    with tenon.compile(PROGRAM) as executable:
        statistics = executable.statistics(np.zeros((4, 8)), runs=3, roofline=ROOFLINE)
    (kernel,) = statistics.kernels
    assert (kernel.name, kernel.launches, statistics.n_runs) == ("@f_0", 1, 3)
    assert kernel.cost is not None and kernel.cost.element == "f64"
    assert (kernel.bound, statistics.roofline) == ("compute f64", ROOFLINE)


def test_statistics_can_do_without_a_roofline():
    with tenon.compile(PROGRAM) as executable:
        statistics = executable.statistics(np.zeros((4, 8)), roofline=False)
    assert (statistics.n_runs, statistics.roofline, statistics.total.roof_share) == (10, None, None)


def test_a_program_with_named_dims_is_timed_for_the_sizes_that_are_given():
    text = PROGRAM.replace("4x8xf64", "?x8xf64, #graph.dims<n, 8>").replace(
        "func.func", "graph.dim @n min 1 max 9\nfunc.func"
    )
    with tenon.compile(text) as executable:
        statistics = executable.statistics(np.zeros((3, 8)), runs=2, roofline=False)
    assert [row.name for row in statistics.kernels] == ["@f_0"]


def test_wrong_numbers_of_runs_and_interpreted_programs_are_told():
    with tenon.compile(PROGRAM) as executable, pytest.raises(TenonError) as error:
        executable.statistics(np.zeros((4, 8)), runs=0)
    assert str(error.value) == "f: statistics of 0 runs, expected 1 or more"
    with tenon.compile(PROGRAM) as executable:
        for wrong, text in (
            ({"runs": "x"}, "f: runs of statistics: expected an integer, found str"),
            ({"roofline": 3}, "f: roofline of statistics: expected a roofline, True or False, found int"),
        ):
            with pytest.raises(TenonError) as error:
                executable.statistics(np.zeros((4, 8)), **wrong)  # pyright: ignore
            assert str(error.value) == text
    with tenon.compile(PROGRAM, backend="reference") as executable, pytest.raises(TenonError) as error:
        executable.statistics(np.zeros((4, 8)))
    assert str(error.value) == "f: the reference interpreter has no kernels to time"
