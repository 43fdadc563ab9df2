"""Timelines of several ranks as one."""

import json
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import pytest
import tenon
from tenon.errors import RankError
from tenon.runtime.reports.gathered_timeline import clock_offset, gather_timeline, merged
from tenon.runtime.timeline.spans import Category, Track
from tenon.runtime.timeline.timeline import Timeline
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld

HOUR = 3_600_000_000_000


def part(start_ns: int, name: str) -> dict[str, Any]:
    return {
        "process": name,
        "start_ns": start_ns,
        "tracks": [("host", "MainThread"), ("cpu", "stream 0")],
        "spans": [("@f", "kernel", 1, start_ns + 10, start_ns + 30, {"step": 0})],
        "flows": [("waits", 0, start_ns + 5, 1, start_ns + 10)],
    }


def test_each_rank_has_a_group_of_rows():
    timeline = merged({0: part(100, "a"), 2: part(70, "b")})
    assert timeline.start_ns == 70
    assert [(span.track, span.begin_ns, span.end_ns) for span in timeline.spans] == [
        (Track("rank 0", "cpu: stream 0"), 110, 130),
        (Track("rank 2", "cpu: stream 0"), 80, 100),
    ]
    assert timeline.spans[0].category is Category.KERNEL
    assert [(flow.source, flow.target_ns) for flow in timeline.flows] == [
        (Track("rank 0", "host: MainThread"), 110),
        (Track("rank 2", "host: MainThread"), 80),
    ]
    events = json.loads(timeline.to_json())["traceEvents"]
    groups = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert groups == ["rank 0", "rank 2"]


@pytest.mark.parametrize("apart", [0, HOUR, -HOUR])
def test_clocks_that_are_apart_are_set_by_that_of_rank_0(apart: int):
    def offset_of(world: LocalWorld) -> int:
        behind = apart * world.rank
        return clock_offset(world, lambda: perf_counter_ns() - behind)

    offsets = run_ranks([offset_of] * 3)
    assert offsets[0] == 0
    for rank, found in enumerate(offsets):
        # An answer between threads may take long, but no second.
        assert abs(found - apart * rank) < 10**9
    if not apart:
        assert offsets == [0, 0, 0]


def test_threads_of_a_process_record_one_timeline():
    timeline = Timeline()
    timeline.add("@f", Category.KERNEL, Track("cpu", "stream 0"), 1, 2)
    found = tenon.run_ranks(3, lambda: gather_timeline(timeline))
    assert all(each is timeline for each in found)


def test_one_rank_has_its_own():
    timeline = Timeline()
    assert gather_timeline(timeline) is timeline


def test_a_rank_that_ends_is_an_error_on_the_others():
    def gathers(world: LocalWorld) -> None:
        gather_timeline(Timeline(), world)

    functions: list[Callable[[LocalWorld], None]] = [gathers, lambda world: world.end("has ended"), gathers]
    with pytest.raises(RankError, match="rank 1 has ended"):
        run_ranks(functions)
