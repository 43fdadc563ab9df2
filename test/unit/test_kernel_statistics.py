import numpy as np
import pytest
from tenon.backends.interface import CopyStep, LaunchStep, Step, StepTime, SyncStep
from tenon.runtime.kernel_statistics import kernel_statistics
from tenon.runtime.program_plan import ProgramPlan
from tenon.runtime.signature import Signature
from tenon.runtime.step_cost import StepCost
from tenon.runtime.timeline import Category, Span, Timeline, Track, report_steps

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
