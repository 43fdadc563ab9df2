"""What a timeline shows of each platform's streams."""

from collections.abc import Iterable

import numpy as np
import tenon
from tenon.backends.interface import Queued
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.timeline.spans import Category, Span, Track

from .open_platforms import COUNT, DOUBLE, code_of, context_with, numbers, platform

__all__ = ["platform"]


def names(spans: Iterable[Span], category: Category, track: Track | None = None) -> list[str]:
    return [
        span.name for span in spans if span.category is category and (track is None or span.track == track)
    ]


def test_compiling_for_a_platform_is_on_the_hosts_track(platform: Platform):
    with tenon.record_timeline() as timeline:
        platform.compile(DOUBLE)
    compiles = names(timeline.spans, Category.COMPILE)
    assert compiles[0] == "parse"
    assert compiles.index("canonicalize-graph") < compiles.index("render") < compiles.index("compile")
    assert {span.track.process for span in timeline.spans} == {"host"}


def test_a_run_has_its_transfers_kernels_and_waits_on_its_tracks(platform: Platform):
    code = code_of(platform, DOUBLE)
    device = platform.get_device(0)
    track = Track(platform.name, device.name)
    with tenon.record_timeline() as timeline:
        context = context_with(device, x=(code.nodes["x"], numbers(4)))
        routine = context.link(code)
        routine.run().sync()
        y = routine.context.to_host(code.nodes["y"])
    np.testing.assert_array_equal(y, 2 * numbers(4))
    assert len(names(timeline.spans, Category.TRANSFER, track)) == 2
    assert names(timeline.spans, Category.KERNEL, track) == ["@double_0"]
    (run,) = (span for span in timeline.spans if span.name == "double")
    (kernel,) = (span for span in timeline.spans if span.category is Category.KERNEL)
    assert run.category is Category.ROUTINE
    assert run.begin_ns <= kernel.begin_ns <= kernel.end_ns <= run.end_ns
    assert kernel.args["nbytes"] == 32
    assert f"wait for {device.name}" in names(timeline.spans, Category.WAIT)
    assert any(span.args.get("nbytes") for span in timeline.spans if span.category is Category.ALLOCATE)


def test_work_is_on_the_track_of_its_device(platform: Platform):
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    with tenon.record_timeline() as timeline:
        routines = [context_with(device, w=(w, numbers(4))).link(code) for device in platform.devices]
        for routine in routines:
            routine.run()
        for routine in routines:
            routine.context.to_host(w)
    for device in platform.devices:
        kernels = names(timeline.spans, Category.KERNEL, Track(platform.name, device.name))
        assert kernels == [f"@{routines[0].name}_0"]


def test_a_recording_changes_no_result(platform: Platform):
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    context = context_with(platform.get_device(0), w=(w, numbers(4)))
    routine = context.link(code)
    routine.run()
    with tenon.record_timeline():
        routine.run()
        routine.run()
    routine.run()
    np.testing.assert_array_equal(routine.context.to_host(w), numbers(4) + 4)


def test_an_arrow_says_which_device_was_waited_for(platform: Platform):
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    first, second = platform.devices
    with tenon.record_timeline() as timeline:
        routine = context_with(first, w=(w, numbers(4))).link(code)
        routine.run()
        context = second.make_context().init_from_device(w, routine.context)
        np.testing.assert_array_equal(context.to_host(w), numbers(4) + 1)
    tracks = Track(platform.name, first.name), Track(platform.name, second.name)
    waits = names(timeline.spans, Category.WAIT, tracks[1])
    assert len(timeline.flows) == len(waits)
    assert {(flow.source, flow.target) for flow in timeline.flows} <= {tracks}
    assert set(waits) <= {f"wait for {first.name}"}
    assert timeline.flows or isinstance(second.backend.driver, Queued), "a device without a queue waits"
