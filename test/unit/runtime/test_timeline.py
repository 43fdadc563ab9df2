import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tenon
from tenon.backends.steps import CopyStep, LaunchStep, StepTime, SyncStep
from tenon.errors import TenonError
from tenon.runtime.timeline.spans import Category, Track
from tenon.runtime.timeline.step_cost import StepCost
from tenon.runtime.timeline.timeline import Timeline, active, host_track, record_timeline, report_steps, span

STREAM = Track("llvm", "device 0")
OTHER = Track("opencl", "device 1")

DOUBLE = """\
func.func @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def events(timeline: Timeline, phase: str) -> list[dict[str, Any]]:
    """Returns the events of one phase of the saved trace."""
    return [event for event in json.loads(timeline.to_json())["traceEvents"] if event["ph"] == phase]


def names(timeline: Timeline) -> dict[int, str]:
    """Returns the names of the rows by their numbers."""
    return {
        event["tid"]: event["args"]["name"]
        for event in events(timeline, "M")
        if event["name"] == "thread_name"
    }


def test_nothing_is_recorded_outside_a_recording():
    with span("before", Category.COMPILE), record_timeline() as timeline:
        assert active() is timeline
    assert active() is None
    with span("after", Category.COMPILE):
        pass
    assert timeline.spans == ()


def test_a_recording_ends_where_it_fails():
    with pytest.raises(ZeroDivisionError), record_timeline():
        raise ZeroDivisionError
    assert active() is None


def test_two_recordings_at_a_time_are_an_error():
    with record_timeline() as timeline:
        with (
            pytest.raises(TenonError, match="record_timeline: a timeline is being recorded already"),
            record_timeline(),
        ):
            pass
        assert active() is timeline


def test_a_span_is_what_was_done_inside_on_the_callers_track():
    unrecorded = span("unrecorded", Category.WAIT)
    outer, inner = partial(span, "outer", Category.ROUTINE, n=3), partial(span, "inner", Category.WAIT)
    with record_timeline() as timeline, unrecorded, outer(), inner():
        pass
    inside, outside = timeline.spans
    assert (inside.name, outside.name) == ("inner", "outer")
    assert inside.track == outside.track == host_track() == Track("host", threading.current_thread().name)
    assert timeline.start_ns <= outside.begin_ns <= inside.begin_ns <= inside.end_ns <= outside.end_ns
    assert outside.args == {"n": 3}


def test_a_span_that_fails_is_reported_too():
    with record_timeline() as timeline, pytest.raises(ZeroDivisionError), span("fails", Category.WAIT):
        raise ZeroDivisionError
    assert [each.name for each in timeline.spans] == ["fails"]


def test_work_queued_before_the_end_may_be_reported_after_it():
    with record_timeline() as timeline:
        late = timeline.span("late", Category.KERNEL, STREAM)
        late.__enter__()
    late.__exit__(None, None, None)
    assert [each.name for each in timeline.spans] == ["late"]


def test_a_span_that_ends_before_it_begins_is_a_bug():
    with pytest.raises(AssertionError, match="span 'k' ends 3 ns before it begins"):
        Timeline().add("k", Category.KERNEL, STREAM, 10, 7)


def test_many_threads_report_to_one_timeline():
    def work() -> None:
        for _ in range(200):
            with span("work", Category.KERNEL):
                pass

    with record_timeline() as timeline:
        threads = [threading.Thread(target=work, name=f"worker {n}") for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(timeline.spans) == 1600
    assert set(names(timeline).values()) == {f"worker {n}" for n in range(8)}
    assert len(events(timeline, "X")) == 1600


def test_the_trace_has_microseconds_since_the_recording_began():
    timeline = Timeline(start_ns=1_000_000)
    timeline.add("k", Category.KERNEL, STREAM, 1_002_500, 1_003_750, nbytes=64)
    (event,) = events(timeline, "X")
    assert (event["ts"], event["dur"]) == (2.5, 1.25)
    assert (event["name"], event["cat"], event["args"]) == ("k", "kernel", {"nbytes": 64})


def test_each_platform_is_a_process_and_each_stream_a_thread_of_the_trace():
    timeline = Timeline(start_ns=0)
    timeline.add("k", Category.KERNEL, STREAM, 0, 1)
    timeline.add("k", Category.KERNEL, Track("llvm", "device 1"), 0, 1)
    timeline.add("k", Category.KERNEL, OTHER, 0, 1)
    timeline.add("wait", Category.WAIT, Track("host", "main"), 0, 1)
    processes = {
        event["pid"]: event["args"]["name"]
        for event in events(timeline, "M")
        if event["name"] == "process_name"
    }
    assert processes == {1: "host", 2: "llvm", 3: "opencl"}
    assert names(timeline) == {1: "device 0", 2: "device 1", 3: "device 1", 4: "main"}
    rows = [(event["pid"], event["tid"]) for event in events(timeline, "X")]
    assert rows == [(2, 1), (2, 2), (3, 3), (1, 4)]


def test_a_timeline_without_host_work_has_no_host():
    timeline = Timeline(start_ns=0)
    timeline.add("k", Category.KERNEL, STREAM, 0, 1)
    assert [event["args"] for event in events(timeline, "M") if event["name"] == "process_name"] == [
        {"name": "llvm"}
    ]


def test_spans_that_cross_get_rows_of_their_own():
    timeline = Timeline(start_ns=0)
    timeline.add("whole", Category.ROUTINE, STREAM, 0, 100)
    timeline.add("first", Category.KERNEL, STREAM, 0, 60)
    timeline.add("crossing", Category.KERNEL, STREAM, 50, 90)
    timeline.add("next", Category.KERNEL, STREAM, 60, 80)
    rows = {event["name"]: event["tid"] for event in events(timeline, "X")}
    assert rows == {"whole": 1, "first": 1, "crossing": 2, "next": 1}
    assert names(timeline) == {1: "device 0", 2: "device 0 (2)"}


def test_an_arrow_joins_the_rows_of_its_ends():
    timeline = Timeline(start_ns=0)
    timeline.add("a", Category.KERNEL, STREAM, 0, 1000)
    timeline.add("b", Category.KERNEL, STREAM, 500, 2000)
    timeline.add("c", Category.TRANSFER, OTHER, 3000, 4000)
    timeline.add_flow("wait", STREAM, 1500, OTHER, 3000)
    ((start,), (finish,)) = events(timeline, "s"), events(timeline, "f")
    rows = {event["name"]: event["tid"] for event in events(timeline, "X")}
    assert (start["tid"], start["ts"]) == (rows["b"], 1.5)
    assert (finish["tid"], finish["ts"], finish["bp"]) == (rows["c"], 3.0, "e")
    assert start["id"] == finish["id"]
    assert len(timeline.flows) == 1


def test_an_arrow_between_spans_joins_what_ended_before_to_what_begins_after():
    timeline = Timeline(start_ns=0)
    timeline.add("early", Category.KERNEL, STREAM, 0, 1000)
    timeline.add("last", Category.KERNEL, STREAM, 1000, 2000)
    timeline.add("later", Category.KERNEL, STREAM, 9000, 9500)
    timeline.add("wait", Category.WAIT, OTHER, 0, 2500)
    timeline.add("whole", Category.ROUTINE, OTHER, 4000, 6000)
    timeline.add("next", Category.KERNEL, OTHER, 4000, 5000)
    timeline.add_flow("wait", STREAM, 3000, OTHER, 3000)
    ((start,), (finish,)) = events(timeline, "s"), events(timeline, "f")
    assert (start["tid"], start["ts"]) == (1, 1.999)
    assert (finish["tid"], finish["ts"]) == (2, 4.0)


def test_an_arrow_to_where_nothing_runs_has_a_row():
    timeline = Timeline(start_ns=0)
    timeline.add_flow("wait", STREAM, 0, OTHER, 1)
    assert names(timeline) == {1: "device 0", 2: "device 1"}


def test_a_timed_run_gives_one_span_for_each_step():
    timeline = Timeline(start_ns=0)
    steps = (LaunchStep("f", (2, 1, 1), (4, 1, 1), (0, 1)), SyncStep(), CopyStep(0, 1, 64))
    times = [StepTime(10, 20), StepTime(20, 20), StepTime(20, 50)]
    report_steps(timeline, STREAM, steps, times, 1000, [StepCost(8, 16, 32), None, None])
    kernel, sync, copy = timeline.spans
    assert (kernel.name, kernel.category) == ("@f", Category.KERNEL)
    assert (kernel.begin_ns, kernel.end_ns) == (1010, 1020)
    assert kernel.args == {"step": 0, "grid": [2, 1, 1], "block": [4, 1, 1], "flops": 8, "nbytes": 48}
    assert (sync.name, sync.category) == ("sync", Category.WAIT)
    assert (copy.name, copy.category, copy.args) == ("copy", Category.TRANSFER, {"step": 2, "nbytes": 64})


def test_a_timeline_is_saved_as_json(tmp_path: Path):
    timeline = Timeline(start_ns=0)
    timeline.add("k", Category.KERNEL, STREAM, 0, 1)
    timeline.save(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == timeline.to_json()
    with pytest.raises(TenonError, match=r"cannot write .*nowhere/trace\.json: no such file"):
        timeline.save(tmp_path / "nowhere" / "trace.json")


def test_compiling_is_on_the_timeline():
    with tenon.record_timeline() as timeline:
        tenon.compile(DOUBLE).close()
    compiles = [each.name for each in timeline.spans if each.category is Category.COMPILE]
    assert compiles[0] == "parse"
    assert compiles.index("canonicalize-graph") < compiles.index("plan-memory") < compiles.index("render")
    assert compiles[-2:] == ["compile", "load"]


def test_a_pass_that_fails_is_on_the_timeline():
    with tenon.record_timeline() as timeline, pytest.raises(TenonError, match="verify-stage"):
        tenon.compile(DOUBLE, pipeline="verify-stage{absent=func}")
    assert timeline.spans[-1].name == "verify-stage"
