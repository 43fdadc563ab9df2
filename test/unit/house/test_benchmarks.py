"""The benchmarks: what counts as quiet, what is timed, what is an error, what the report says."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tenon.benchmarks import contest as contest_module
from tenon.benchmarks.__main__ import write_report
from tenon.benchmarks.cold_compile import CACHED, table_of
from tenon.benchmarks.contest import DisagreementError, check_answer, contest
from tenon.benchmarks.document import filled
from tenon.benchmarks.environment import ENVIRONMENTS, WAYS, install_libraries, make_environment
from tenon.benchmarks.findings import Finding, findings_of, geometric_mean, read_reports
from tenon.benchmarks.gate import Gate
from tenon.benchmarks.harness import Times, time_interleaved
from tenon.benchmarks.limits import Limits
from tenon.benchmarks.narrow import check, narrow_text, workloads
from tenon.benchmarks.peers import numpy_peer, tenon_peer
from tenon.benchmarks.peers.interface import PEER_NAMES, Peer, find_peers
from tenon.benchmarks.sections import contest_text, details_text
from tenon.benchmarks.tables import contest_table, missed_text, seconds_text
from tenon.benchmarks.workloads import WORKLOADS, Workload


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> Callable[[], None]:
        def spend() -> None:
            self.now += seconds

        return spend

    def pause(self, seconds: float) -> None:
        self.now += seconds


def gate_with(rates: Sequence[float], clock: Clock) -> Gate:
    """Returns a gate whose probe gives these rates, the first to warm up, and the last one for ever."""
    left = list(rates)
    return Gate(lambda: left.pop(0) if len(left) > 1 else left[0], clock=clock, pause=clock.pause, warm_up=1)


def test_a_gate_opens_at_once_when_all_probes_are_fast():
    clock = Clock()
    gate = gate_with([100.0], clock)
    assert gate.wait() and gate.was_quiet() and clock.now == 0


def test_one_slow_probe_closes_no_gate_but_two_do():
    clock = Clock()
    gate = gate_with([100, 100, 10, 100], clock)
    assert gate.was_quiet()
    gate = gate_with([100, 10, 10, 100], clock)
    assert not gate.was_quiet()


def test_a_gate_waits_until_the_machine_is_quiet():
    clock = Clock()
    gate = gate_with([100.0, *[50.0] * 12, 100.0], clock)
    assert gate.wait()
    assert clock.now == pytest.approx(0.04)


def test_a_gate_gives_up_when_its_patience_ends():
    clock = Clock()
    assert not gate_with([100.0, 50.0], clock).wait()
    assert clock.now == pytest.approx(0.3, abs=0.021)


def test_the_threshold_of_a_gate_is_a_share_of_the_best_rate_that_was_seen():
    clock = Clock()
    gate = gate_with([100.0, *[85.0] * 3, *[200.0] * 3, 85.0], clock)
    assert gate.was_quiet()
    assert gate.was_quiet() and gate.best_rate == 200
    assert not gate.was_quiet()


def test_times_are_those_of_one_call():
    clock = Clock()
    times = time_interleaved({"a": clock.work(0.001), "b": clock.work(0.002)}, 5, clock=clock)
    assert times["a"].minimum == pytest.approx(0.001) and times["b"].median == pytest.approx(0.002)
    assert times["a"].quiet_rounds == 5


class ScriptedGate:
    """A gate that was never or always quiet, or only before."""

    def __init__(self, before: bool, after: bool) -> None:
        self.before, self.after, self.asked = before, after, 0

    def wait(self) -> bool:
        self.asked += 1
        return self.before

    def was_quiet(self) -> bool:
        return self.after


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
def test_a_disturbed_block_is_tried_again_and_counts_where_none_was_quiet(before: bool, after: bool):
    clock, gate = Clock(), ScriptedGate(before, after)
    times = time_interleaved({"a": clock.work(0.001)}, 4, gate=cast(Gate, gate), clock=clock)
    assert gate.asked == 4 * 3
    assert times["a"].quiet_rounds == 0 and times["a"].median == pytest.approx(0.001)


def test_disturbed_blocks_do_not_count_beside_quiet_ones():
    clock = Clock()
    gate = ScriptedGate(True, False)
    seconds = [0.005]

    def call() -> None:
        clock.now += seconds[0]

    class Improving(ScriptedGate):
        def was_quiet(self) -> bool:
            if self.asked == 2:
                seconds[0] = 0.001
            return self.asked > 2

    gate = Improving(True, False)
    times = time_interleaved({"a": call}, 2, gate=cast(Gate, gate), clock=clock)
    assert times["a"].mean == pytest.approx(0.001) and times["a"].quiet_rounds == 2


def test_contenders_far_behind_have_few_rounds():
    clock, gate = Clock(), ScriptedGate(True, True)
    contenders = {"fast": clock.work(0.001), "near": clock.work(0.004), "far": clock.work(0.0041)}
    times = time_interleaved(contenders, 9, gate=cast(Gate, gate), clock=clock)
    assert [times[name].quiet_rounds for name in contenders] == [9, 9, 3]


def test_rounds_end_when_the_time_is_over_but_for_the_first_ones():
    clock, gate = Clock(), ScriptedGate(True, True)
    times = time_interleaved({"a": clock.work(1)}, 9, gate=cast(Gate, gate), most_seconds=0, clock=clock)
    assert times["a"].quiet_rounds == 3


def test_an_answer_within_the_tolerance_passes_and_the_next_one_does_not():
    right = np.array([1.0, -100.0])
    check_answer("work", "peer", np.array([1.0, -99.99], np.float32), right)
    with pytest.raises(DisagreementError, match=r"work: peer is off by up to 0\.0[23]\S* \(largest 100\)"):
        check_answer("work", "peer", np.array([1.03, -100.0], np.float32), right)


def test_an_answer_of_nan_is_an_error():
    with pytest.raises(DisagreementError, match=r"work: peer is off by up to nan"):
        check_answer("work", "peer", np.array([nan], np.float32), np.array([1.0]))


@pytest.mark.parametrize("answer", [np.zeros(3), np.zeros(4, np.float32)])
def test_an_answer_of_another_dtype_or_shape_is_an_error(answer: Any):
    with pytest.raises(
        DisagreementError, match=r"work: peer gives float(64\[3\]|32\[4\]), expected float32\[3\]"
    ):
        check_answer("work", "peer", answer, np.zeros(3))


SMALL = Workload("small sum", "blocks", "reduce_sum", {"x": (3, 4)}, (3,), 1.0, parameters={"axis": 1})


def peer_of(make: Callable[..., Mapping[str, Callable[[], Any]]]) -> Peer:
    return cast(Peer, SimpleNamespace(VERSION="1", FAILURES=(OverflowError,), contenders=make))


def test_a_peer_that_cannot_do_the_work_is_noted_and_the_others_are_timed():
    def fail(*arguments: Any) -> Any:
        raise OverflowError("too much\nof it")

    outcome = contest(SMALL, {"numpy": numpy_peer, "other": peer_of(fail)}, 1, 1, 1e-4, None)
    assert list(outcome.times) == ["numpy"]
    assert outcome.failures == {"other": "OverflowError: too much"}


def test_a_peer_that_disagrees_is_an_error():
    def wrong(*arguments: Any) -> Any:
        return {"other, wrong": lambda: np.zeros(3, np.float32)}

    with pytest.raises(DisagreementError, match=r"small sum: other, wrong is off by up to"):
        contest(SMALL, {"numpy": numpy_peer, "other": peer_of(wrong)}, 1, 1, 1e-4, None)


def test_other_errors_of_a_peer_are_not_passed_over():
    def broken(*arguments: Any) -> Any:
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        contest(SMALL, {"other": peer_of(broken)}, 1, 1, 1e-4, None)


def test_peers_that_are_not_installed_are_told_with_the_reason():
    installed, missing = find_peers(("numpy", "no_such_library"))
    assert list(installed) == ["numpy"]
    assert "no_such_library_peer" in missing["no_such_library"]


def test_there_is_a_file_for_each_peer():
    folder = Path(contest_module.__file__).parent / "peers"
    files = {path.name.removesuffix("_peer.py") for path in folder.glob("*_peer.py")}
    assert files == {*PEER_NAMES, "tenon", "opencl"}


def test_names_of_workloads_are_unique_and_numpy_and_tenon_know_every_kind():
    names = [workload.name for workload in WORKLOADS]
    assert len(names) == len(set(names))
    kinds = {workload.kind for workload in WORKLOADS}
    assert kinds == set(numpy_peer.KERNELS) == set(tenon_peer.KERNELS)


SMALLER = {
    2048: 48,
    4096: 40,
    1024: 32,
    512: 24,
    50257: 57,
    3072: 48,
    768: 24,
    257: 17,
    1000: 20,
    999: 19,
    1001: 21,
}


def smaller(workload: Workload) -> Workload:
    """Returns the same work on less."""

    def fewer(shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(SMALLER.get(extent, extent if extent < 100 else 16) for extent in shape)

    shapes = {name: fewer(shape) for name, shape in workload.shapes.items()}
    parameters = {**workload.parameters}
    if parameters.get("groups", 1) > 1:
        parameters["groups"] = 16
    return replace(workload, shapes=shapes, result_shape=fewer(workload.result_shape), parameters=parameters)


@pytest.mark.parametrize(
    "workload", [smaller(each) for each in WORKLOADS], ids=lambda workload: workload.name
)
def test_tenon_and_numpy_agree_on_smaller_work(workload: Workload):
    arguments = workload.arguments()
    right = numpy_peer.expected(workload, arguments)
    for peer in (numpy_peer, tenon_peer):
        for name, call in peer.contenders(workload, arguments, 1).items():
            check_answer(workload.name, name, call(), right)


def test_arguments_begin_at_cache_lines_and_are_the_same_each_time():
    first, second = SMALL.arguments(), SMALL.arguments()
    assert first["x"].ctypes.data % 64 == 0
    assert np.array_equal(first["x"], second["x"])


LIMITS = Limits(1, 1e9, {64: 4e9, 1 << 20: 1e9})


def test_a_limit_is_the_arithmetic_or_the_traffic_whichever_takes_longer():
    assert LIMITS.bytes_per_second(100) == 4e9 and LIMITS.bytes_per_second(1 << 30) == 1e9
    assert LIMITS.least_seconds(1000, 64) == pytest.approx(1e-6)
    assert LIMITS.least_seconds(1, 1 << 20) == pytest.approx((1 << 20) / 1e9)


def report_of(**outcomes: Mapping[str, float]) -> dict[str, Any]:
    """Returns a report with these least times, by the name of a workload with _ for spaces."""
    return {
        "machine": {"processor": "a processor", "python": "3"},
        "threads": 1,
        "versions": {"numpy": "2"},
        "missing": {"iree": "no module"},
        "limits": {
            "threads": 1,
            "flops_per_second": 1e11,
            "copied_bytes_per_second": {"1024": 1e10, "1048576": 1e10},
        },
        "outcomes": {
            name.replace("_", " "): {
                "times": {
                    who: {"minimum": least, "median": 2 * least, "mean": 2 * least, "quiet_rounds": 3}
                    for who, least in times.items()
                },
                "failures": {},
                "error": "" if times else "off by 1",
            }
            for name, times in outcomes.items()
        },
    }


def finding(tenon: float, peer: float, **changes: Any) -> Finding:
    work = replace(WORKLOADS[0], **changes)
    times = {"tenon": tenon, "numpy": peer, "jax": 2 * peer}
    return Finding(work, times, times, 0.5, None)


def test_a_ratio_is_the_best_peers_time_over_ours():
    found = finding(2.0, 3.0)
    assert (found.best_peer, found.ratio) == ("numpy", 1.5)
    others = {"tenon": 2.0, "tenon, opencl": 1.0}
    alone = replace(found, times=others, medians=others)
    assert (alone.best_peer, alone.ratio, alone.median_ratio) == (None, None, None) and alone.is_met


@pytest.mark.parametrize(("peer", "is_met"), [(1.0, True), (0.996, True), (0.994, False)])
def test_a_goal_is_met_to_two_places(peer: float, is_met: bool):
    assert finding(1.0, peer, goal=1.0).is_met is is_met


def test_a_share_that_is_asked_for_must_be_reached_too():
    assert not replace(finding(1.0, 2.0), share_goal=0.9).is_met
    assert replace(finding(1.0, 2.0), share_goal=0.5).is_met


def test_squares_from_256_up_have_a_goal_for_their_share():
    report = report_of(matmul_64={"tenon": 1e-5}, matmul_256={"tenon": 1e-3}, matmul_257={"tenon": 1e-3})
    assert [each.share_goal for each in findings_of(report)] == [None, 0.9, None]


def test_missed_goals_are_listed_the_worst_first_and_marked_in_the_table():
    report = report_of(
        matmul_64={"tenon": 2e-5, "numpy": 1e-5},
        matmul_128={"tenon": 4e-5, "numpy": 1e-5},
        matmul_257={"tenon": 1e-5, "numpy": 1e-5},
    )
    found = findings_of(report)
    assert contest_table(found).count("**missed**") == 2
    lines = missed_text(found).splitlines()
    assert lines[0] == "2 of 3 goals are missed, the worst first:"
    assert lines[2].startswith("- matmul 128: 0.25 times as fast as the best peer (numpy), goal 1.00")
    assert lines[3].startswith("- matmul 64: 0.50 times")
    assert missed_text(found[2:]) == "No goal is missed.\n"


def test_the_report_says_who_was_left_out_and_what_was_wrong():
    text = contest_text(report_of(matmul_64={"tenon": 1e-5, "numpy": 2e-5}, matmul_128={}))
    assert "Left out: iree (no module)." in text
    assert "| matmul 64 | 10.0 us | 20.0 us |" in details_text(
        report_of(matmul_64={"tenon": 1e-5, "numpy": 2e-5})
    )
    assert "**Wrong**: off by 1" in text
    assert "| matmul 64 | 10.0 us |" in text and "| numpy | 20.0 us | 2.00 |" in text


def test_means_are_geometric():
    assert geometric_mean([0.5, 2.0, 8.0]) == pytest.approx(2.0)


def test_parts_of_a_contest_are_read_as_one(tmp_path: Path):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    paths[0].write_text(json.dumps(report_of(matmul_64={"tenon": 1.0})))
    paths[1].write_text(json.dumps(report_of(matmul_128={"tenon": 1.0})))
    assert [each.workload.name for each in findings_of(read_reports(paths))] == ["matmul 64", "matmul 128"]
    paths[1].write_text(json.dumps({**report_of(), "threads": 2}))
    with pytest.raises(ValueError, match=r"b\.json: 2 threads, the others have 1"):
        read_reports(paths)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (0.1234, "123 ms"), (4.5e-6, "4.50 us"), (2e-7, "200 ns")],
)
def test_times_have_three_digits(seconds: float, text: str):
    assert seconds_text(seconds) == text


def test_compile_times_over_their_goals_are_told():
    name = "gelu 4096x1024"
    rows = table_of({"tenon": {name: 0.05}, "jax": {name: 0.04}, CACHED: {name: 0.003}})
    assert rows[1][-1] == "**missed**: over 40 ms, over jax, cached over 2 ms"
    rows = table_of({"tenon": {name: 0.04}, "jax": {}, CACHED: {name: 0.002}})
    assert rows[1][-1] == "met"


def test_a_report_is_written_of_the_parts_that_are_there(tmp_path: Path):
    pytest.importorskip("matplotlib")
    report = report_of(matmul_64={"tenon": 1e-5, "numpy": 2e-5}, matmul_128={"tenon": 4e-5, "numpy": 2e-5})
    (tmp_path / "one_thread.json").write_text(json.dumps(report))
    (tmp_path / "threads.json").write_text(json.dumps({"tanh": 2.5}))
    write_report(tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "## One thread" in text and "## Two threads" not in text
    assert "| tanh | 2.50 | **missed** |" in text
    assert (tmp_path / "one_thread.png").stat().st_size > 1000


def test_what_cannot_be_installed_is_tried_in_all_ways_and_told():
    tried: list[Sequence[str]] = []

    def install(packages: Sequence[str]) -> str:
        tried.append(packages)
        return "" if packages[0] in ("jax", "torch==2.13.0") and len(packages) == 1 else "no such package"

    problems = install_libraries(ENVIRONMENTS["bench"].libraries, install)
    assert problems["jax"] == "" and problems["torch"] == "" and problems["numba"] == "no such package"
    assert sum(each[0].startswith("torch") for each in tried) == len(WAYS["torch"]) == 3


def test_an_environment_has_only_libraries_that_can_be_installed():
    names = {name for environment in ENVIRONMENTS.values() for name in environment.libraries}
    assert names == set(WAYS)


def test_what_was_tried_is_not_tried_again(tmp_path: Path):
    tried = {name: "" for name in ENVIRONMENTS["frameworks"].libraries} | {"jax": "no such package"}
    (tmp_path / "peers.json").write_text(json.dumps(tried))
    assert make_environment(tmp_path, ENVIRONMENTS["frameworks"]) == tried


def test_narrow_products_are_right_and_wrong_ones_an_error():
    rows = workloads(64, 32)
    assert len(rows) == 6
    for name, (contenders, expected) in rows.items():
        check(name, contenders["tenon"](), expected)
    with pytest.raises(ValueError, match=r"^mine: is off by 1 of the greatest element$"):
        check("mine", np.zeros((2, 2)), np.ones((2, 2)))


def test_narrow_products_are_compared_with_those_of_the_same_types():
    text = narrow_text({"a": {"tenon": 2.0, "tenon f32": 1.0, "torch": 3.0}, "b": {"tenon": 1.0}})
    assert "| a | 2 | 1 | 3 | 1.50 |" in text and "| b | 1 |  |  |  |" in text


def test_times_without_a_gate_have_no_limit():
    clock = Clock()
    times = time_interleaved({"a": clock.work(0.1)}, 20, most_seconds=inf, clock=clock)
    assert times["a"] == Times(*[pytest.approx(0.1)] * 3, quiet_rounds=20)


def test_a_document_gets_the_parts_in_their_places():
    text = "a\n<!-- begin calls -->\nold\n<!-- end calls -->\nb\n"
    new = filled(text, {"calls": "new\\1\n"})
    assert new == "a\n<!-- begin calls -->\n\nnew\\1\n\n<!-- end calls -->\nb\n"
    assert filled(new, {"calls": "new\\1"}) == new
    with pytest.raises(ValueError, match="document: 0 places for threads, expected 1"):
        filled(text, {"threads": "x"})


def test_two_threads_have_no_goals():
    report = report_of(matmul_64={"tenon": 2e-5, "numpy": 1e-5})
    assert "missed" in contest_text(report) and "goal" in contest_text(report)
    report["limits"]["threads"] = 2
    assert "missed" not in contest_text(report) and "goal" not in contest_text(report)
