"""Several streams of one device: in order each, at the same time, and never in each other's way."""

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Streams
from tenon.backends.registry import DEVICE_NAMES, REFERENCE
from tenon.errors import CallError, ContextError, DeviceError, DeviceLostError, RoutineError
from tenon.runtime.platforms.code import Code
from tenon.runtime.platforms.device import Device, Stream
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.streams.runner import SyncRunner
from tenon.runtime.timeline.spans import Category, Span, Track
from tenon.test.gate import Gate

from .faulty_driver import inject_faults
from .open_platforms import COUNT, DOUBLE, KINDS, MERGE, node_of, numbers, open_kind
from .stream_platforms import device, filled, open_with_streams

__all__ = ["device"]

CALL = """
graph.tnode @w : tensor<4xf32> mode on_device
func.func @call() {
  %w = graph.read @w : tensor<4xf32>
  %y = graph.callback @f(%w) : (tensor<4xf32>) -> tensor<4xf32>
  graph.write @w, %y : tensor<4xf32>
  func.return
}
"""
"""w = f(w), with f on the host"""

_CODES: dict[tuple[Platform, str], Code] = {}


def code_of(device: Device, text: str) -> Code:
    """Returns what a program compiles to for a device, compiled once for all tests."""
    key = (device.platform, text)
    if key not in _CODES:
        _CODES[key] = device.platform.compile(text)
    return _CODES[key]


def two_streams(device: Device) -> tuple[Stream, Stream]:
    return device.new_stream(), device.new_stream()


def fail() -> None:
    raise ValueError("no such digit")


# Which there are


def test_streams_are_numbered_and_named(device: Device):
    one, two = two_streams(device)
    assert (one.device, two.device, device.device) == (device,) * 3
    assert device.streams == (device, one, two)
    assert (device.number, two.number - one.number) == (0, 1)
    assert [each.name for each in (one, two)] == [f"{device.name}.{each.number}" for each in (one, two)]
    assert repr(two) == f"<Stream {two.name}>"
    assert device.debug_info()["n_streams"] == 3
    assert "Streams" in device.static_properties["abilities"]
    assert one.new_stream().device is device


def test_each_device_numbers_its_own(device: Device):
    other = device.platform.get_device(1)
    before = other.new_stream().number
    device.new_stream()
    assert other.new_stream().number == before + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_whose_work_runs_at_once_is_its_only_stream(kind: str):
    with open_kind(kind, 1) as platform:
        device = platform.get_device(0)
        if platform.scheduler == "sync":
            assert device.new_stream() is device
            assert device.streams == (device,)
        else:
            can = isinstance(device.backend.driver, Streams)
            assert (device.new_stream() is not device) == can


class Own(SyncRunner):
    """A scheduler of the caller's."""


def test_with_a_scheduler_of_the_callers_a_device_is_its_only_stream():
    with tenon.open_platform(REFERENCE, scheduler=Own) as platform:
        device = platform.get_device(0)
        assert device.new_stream() is device


@pytest.mark.parametrize("name", DEVICE_NAMES)
def test_a_device_whose_driver_has_one_queue_is_its_only_stream(name: str):
    platform = open_with_streams(name, 1)
    device = platform.get_device(0)
    kind: Any = type(device.backend.driver)
    single = type(f"Single{kind.__name__}", (kind,), {"__slots__": (), "new_stream": None})
    object.__setattr__(device.backend.driver, "__class__", single)
    assert device.new_stream() is device
    assert "Streams" not in device.static_properties["abilities"]
    platform.close()


def test_a_closed_device_has_no_new_streams(device: Device):
    platform = open_with_streams(device.platform.name, 1)
    closed = platform.get_device(0)
    stream = closed.new_stream()
    code = platform.compile(COUNT)
    context = stream.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    for _ in range(5):
        routine.run()
    platform.close()
    with pytest.raises(DeviceError, match=f"^{closed.name}: the device is closed$"):
        closed.new_stream()
    with pytest.raises(DeviceError, match=rf"^{stream.name}: the device is closed$"):
        routine.run()
    assert stream.is_idle
    assert not [
        thread for thread in threading.enumerate() if thread.name == stream.name and thread.is_alive()
    ]


def test_a_stream_that_nobody_refers_to_ends(device: Device):
    stream = device.new_stream()
    context = stream.make_context().init_zeros(node := node_of(4))
    name, pool_id = stream.name, stream.merge_buffer.location.pool_id
    context.to_host(node)
    del stream, context
    device.synchronize()
    gc.collect()
    assert device.streams == (device,)
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(10)
    assert name not in {thread.name for thread in threading.enumerate()}
    assert device.new_stream().merge_buffer.location.pool_id == pool_id


# Contexts on them


def test_a_context_is_on_the_stream_that_it_was_made_on(device: Device):
    stream = device.new_stream()
    root = stream.make_context()
    child = root.make_child([node_of(4)])
    assert (root.stream, child.stream, child.device) == (stream, stream, device)
    assert child.init_zeros(node_of(4)).stream is stream
    assert device.make_context().stream is device
    assert repr(root) == f"<Context on {stream.name} ()>"


def test_a_child_may_be_on_another_stream(device: Device):
    stream = device.new_stream()
    node = node_of(4)
    parent = filled(device.make_context(), w=(node, numbers(4)))
    child = parent.make_child(stream=stream)
    assert (child.stream, child.parent) == (stream, parent)
    assert child.buffers[node] is parent.buffers[node]
    assert child.make_child().stream is stream
    assert child.make_child(stream=device).stream is device
    assert child.to_host(node).tolist() == [0, 1, 2, 3]


def test_a_child_is_on_no_stream_of_another_device(device: Device):
    other = device.platform.get_device(1)
    context = device.make_context()
    message = rf"^make_child: {other.name}\.\d+ is no stream of {device.name}$"
    with pytest.raises(ContextError, match=message):
        context.make_child(stream=other.new_stream())
    with pytest.raises(ContextError, match=rf"^make_child: {other.name} is no stream of {device.name}$"):
        context.make_child(stream=other)
    with pytest.raises(CallError, match="make_child: stream: expected a stream of the device, found str"):
        context.make_child(stream=device.name)  # pyright: ignore[reportArgumentType]


def test_a_routine_runs_on_the_stream_of_its_context(device: Device):
    code = code_of(device, COUNT)
    stream = device.new_stream()
    routine = filled(stream.make_context(), w=(code.nodes["w"], numbers(4))).link(code)
    event = routine.run()
    assert event.runner is stream.runner
    assert routine.context.stream is stream
    assert repr(routine) == f"<Routine {code.name} on {stream.name} (w) -> (w)>"
    assert routine.context.to_host(code.nodes["w"]).tolist() == [1, 2, 3, 4]


# At the same time


def test_two_streams_overlap_in_the_timeline(device: Device):
    """Each calls the host, which goes on when both have: alone neither would end."""
    met = threading.Barrier(2)

    def meet(w: np.ndarray) -> np.ndarray:
        met.wait(30)
        return w + 1

    code = device.platform.compile(CALL, callbacks={"f": meet})
    w, streams = code.nodes["w"], two_streams(device)
    routines = [filled(stream.make_context(), w=(w, numbers(4))).link(code) for stream in streams]
    with tenon.record_timeline() as timeline:
        for routine in routines:
            routine.run()
        device.await_idle()

    def span_of(stream: Stream, category: Category) -> Span:
        track = Track(device.platform.name, stream.name)
        (found,) = [each for each in timeline.spans if (each.track, each.category) == (track, category)]
        return found

    # The steps are timed by a device's clock, which nobody has set to the host's.
    one, two = (span_of(stream, Category.ROUTINE) for stream in streams)
    assert max(one.begin_ns, two.begin_ns) < min(one.end_ns, two.end_ns)
    assert [span_of(stream, Category.HOST).name for stream in streams] == ["callback @f"] * 2
    for routine in routines:
        assert routine.context.to_host(w).tolist() == [1, 2, 3, 4]


def test_a_stream_goes_on_while_another_is_held(device: Device):
    code = code_of(device, COUNT)
    one, two = two_streams(device)
    contexts = [filled(stream.make_context(), w=(code.nodes["w"], numbers(4))) for stream in (one, two)]
    routines = [context.link(code) for context in contexts]
    gate = Gate()
    held = one.runner.submit("held", gate)
    assert gate.begun.wait(10)
    behind = routines[0].run()
    routines[1].run().sync()
    assert contexts[1].to_host(code.nodes["w"]).tolist() == [1, 2, 3, 4]
    assert not held.is_done and not behind.is_done
    assert (one.is_idle, two.is_idle, device.is_idle) == (False, True, False)
    gate.open.set()
    device.await_idle()
    assert held.is_done and behind.is_done and device.is_idle


def test_the_work_of_one_stream_runs_in_order(device: Device):
    stream, order = device.new_stream(), list[int]()
    for number in range(100):
        stream.runner.submit("note", lambda number=number: order.append(number))
    stream.await_idle()
    assert order == [*range(100)]


def test_the_device_is_a_stream_too(device: Device):
    """What it runs itself is neither before nor behind the work of the others."""
    code = code_of(device, COUNT)
    stream, gate = device.new_stream(), Gate()
    routine = filled(device.make_context(), w=(code.nodes["w"], numbers(4))).link(code)
    stream.runner.submit("held", gate)
    routine.run().sync()
    assert not stream.is_idle
    gate.open.set()


# What is synchronised by itself


@pytest.mark.parametrize("mode", ["on_device", "on_device(shared_cross_streams)", "hosted"])
def test_readers_on_another_stream_wait_for_the_writer(device: Device, mode: str):
    code = code_of(device, COUNT.replace("mode on_device", f"mode {mode}"))
    w, (one, two) = code.nodes["w"], two_streams(device)
    writer = filled(one.make_context(), w=(w, numbers(4))).link(code)
    reader = writer.context.make_child(stream=two)
    gate, out = Gate(), np.zeros(4, np.float32)
    one.runner.submit("held", gate)
    writer.run()
    event = reader.queue_to_host(w, out)
    time.sleep(0.02)
    assert not event.is_done and out.tolist() == [0] * 4
    gate.open.set()
    event.sync()
    assert out.tolist() == [1, 2, 3, 4]


def test_writers_on_another_stream_wait_for_readers(device: Device):
    double, count = code_of(device, DOUBLE), code_of(device, COUNT)
    x, y, w = double.nodes["x"], double.nodes["y"], count.nodes["w"]
    counting = device.platform.compile(COUNT.replace("@w", "@x"), nodes=[x])
    assert w is not x
    one, two = two_streams(device)
    reader = filled(one.make_context(), x=(x, numbers(4))).link(double)
    writer = reader.context.make_child(stream=two).link(counting)
    gate = Gate()
    one.runner.submit("held", gate)
    reader.run()
    event = writer.run()
    time.sleep(0.02)
    assert not event.is_done
    gate.open.set()
    assert reader.context.to_host(y).tolist() == [0, 2, 4, 6]
    assert writer.context.to_host(x).tolist() == [1, 2, 3, 4]


def test_writers_take_turns(device: Device):
    code = code_of(device, COUNT)
    w = code.nodes["w"]
    root = filled(device.make_context(), w=(w, numbers(4)))
    routines = [root.link(code)]
    routines += [root.make_child(stream=stream).link(code) for stream in two_streams(device)]
    for number in range(99):
        routines[number % 3].run()
    assert routines[1].context.to_host(w).tolist() == [99, 100, 101, 102]


def test_threads_schedule_on_streams_of_their_own(device: Device):
    code = code_of(device, COUNT)
    w = code.nodes["w"]
    root = filled(device.make_context(), w=(w, numbers(4)))
    children = [root, *(root.make_child(stream=stream) for stream in two_streams(device))]
    routines = [child.link(code) for child in children for _ in range(2)]

    def work(number: int) -> bool:
        for _ in range(25):
            routines[number].run()
        return all(np.unique(root.to_host(w) - numbers(4)).size == 1 for _ in range(5))

    with ThreadPoolExecutor(len(routines)) as pool:
        assert all(pool.map(work, range(len(routines))))
    assert root.to_host(w).tolist() == [150, 151, 152, 153]


def test_a_shared_node_is_one_on_all_streams(device: Device):
    code = code_of(device, COUNT.replace("on_device", "on_device(shared_cross_streams)"))
    w, (one, two) = code.nodes["w"], two_streams(device)
    first = filled(one.make_context(), w=(w, numbers(4)))
    second = two.make_context().make_child([w])
    assert first.buffers[w] is second.buffers[w]
    assert second.device_to_device(w, first) is None
    routines = [context.link(code) for context in (first, second)]
    gate = Gate()
    one.runner.submit("held", gate)
    for number in range(10):
        routines[number % 2].run()
    gate.open.set()
    assert second.to_host(w).tolist() == [10, 11, 12, 13]


def test_constants_are_one_for_all_streams(device: Device):
    text = """
    graph.tnode @c : tensor<64xf32> mode on_device
    func.func @table() {
      %t = graph.constant dense<[CONSTANT]> : tensor<64xf32>
      graph.write @c, %t : tensor<64xf32>
      func.return
    }
    """.replace("CONSTANT", ", ".join(f"{number}.5" for number in range(64)))
    code, streams = code_of(device, text), two_streams(device)
    routines = [stream.make_context().link(code) for stream in streams]
    for routine in routines:
        routine.run()
    for routine in routines:
        np.testing.assert_array_equal(routine.context.to_host(code.nodes["c"]), numbers(64) + 0.5)


def test_a_copy_between_streams_waits_for_both(device: Device):
    code = code_of(device, COUNT)
    w, (one, two) = code.nodes["w"], two_streams(device)
    source = filled(one.make_context(), w=(w, numbers(4))).link(code)
    target = filled(two.make_context(), w=(w, numbers(4, start=10))).link(code)
    copy = target.context.device_to_device(w, source.context)
    assert copy is not None
    assert copy.name == f"w from {one.name} to {two.name}"
    gate = Gate()
    one.runner.submit("held", gate)
    source.run()
    target.run()
    event = copy.run()
    assert event.runner is two.runner
    source.run()  # after the copy
    target.run()
    time.sleep(0.02)
    assert not event.is_done
    gate.open.set()
    assert target.context.to_host(w).tolist() == [2, 3, 4, 5]
    assert source.context.to_host(w).tolist() == [2, 3, 4, 5]


def test_init_from_device_copies_between_streams(device: Device):
    node, (one, two) = node_of(4), two_streams(device)
    source = filled(one.make_context(), w=(node, numbers(4)))
    copy = two.make_context().init_from_device(node, source)
    assert copy.stream is two
    assert copy.buffers[node] is not source.buffers[node]
    assert copy.to_host(node).tolist() == [0, 1, 2, 3]


def test_each_stream_has_a_merge_buffer(device: Device):
    code = code_of(device, MERGE)
    w, streams = code.nodes["w"], two_streams(device)
    sources = [filled(device.make_context(), w=(w, numbers(4, start=10 * n))) for n in (1, 2)]
    targets = [filled(stream.make_context(), w=(w, numbers(4))) for stream in streams]
    copies = [
        target.device_to_device(w, source, into_merge_buffer=True)
        for target, source in zip(targets, sources, strict=True)
    ]
    for copy in copies:
        assert copy is not None
        copy.run()
    assert [stream.merge_buffer.node for stream in (device, *streams)] == [None, w, w]
    for copy in reversed(copies):
        assert copy is not None
        copy.context.link(code).run()
    assert [target.to_host(w).tolist() for target in targets] == [[10, 12, 14, 16], [20, 22, 24, 26]]


def test_on_another_stream_nothing_is_known_of_the_merge_buffer(device: Device):
    code = code_of(device, MERGE)
    w, (one, two) = code.nodes["w"], two_streams(device)
    source = filled(one.make_context(), w=(w, numbers(4)))
    copy = source.device_to_device(w, source, into_merge_buffer=True)
    assert copy is not None
    copy.run()
    assert copy.context.make_child(stream=one).merge_buffer_node is w
    elsewhere = copy.context.make_child(stream=two)
    assert elsewhere.merge_buffer_node is None
    with pytest.raises(
        ContextError, match="reads w from the merge buffer, which in this context holds nothing"
    ):
        elsewhere.link(code)
    told = copy.context.make_child(stream=two, merge_buffer_node=w).link(code)
    with pytest.raises(ContextError, match="the merge buffer holds nothing, expected w"):
        told.run()


def test_a_merge_buffer_grows_when_its_stream_has_done_with_it(device: Device):
    code = code_of(device, MERGE)
    w, stream = code.nodes["w"], device.new_stream()
    large = node_of(1000, label="large")
    source = filled(device.make_context(), w=(w, numbers(4)), large=(large, numbers(1000)))
    target = filled(stream.make_context(), w=(w, numbers(4)))
    small_copy, large_copy = (
        target.device_to_device(node, source, into_merge_buffer=True) for node in (w, large)
    )
    assert small_copy is not None and large_copy is not None
    merge = small_copy.context.link(code)
    for _ in range(3):
        small_copy.run()
        merge.run()
    large_copy.run()
    small_copy.run()
    merge.run()
    assert target.to_host(w).tolist() == [0, 5, 10, 15]


def test_hosted_nodes_are_in_step_on_every_stream(device: Device):
    code = code_of(device, COUNT.replace("mode on_device", "mode hosted"))
    w, (one, two) = code.nodes["w"], two_streams(device)
    w.set_values(numbers(4))
    routine = one.make_context().link(code)
    other = routine.context.make_child(stream=two).link(code)
    routine.run()
    other.run()
    assert w.get_values().tolist() == [2, 3, 4, 5]
    w.set_values(numbers(4, start=20))
    other.run()
    routine.run()
    assert w.get_values().tolist() == [22, 23, 24, 25]


# Waiting


def test_a_stream_waits_for_an_event_of_another(device: Device):
    one, two = two_streams(device)
    order, gate = list[str](), Gate()
    event = one.runner.submit("first", gate.then(lambda: order.append("first")))
    two.wait_for(event)
    two.runner.submit("second", lambda: order.append("second"))
    time.sleep(0.02)
    gate.open.set()
    two.await_idle()
    assert order == ["first", "second"]


def test_waiting_for_a_device_is_waiting_for_all_its_streams(device: Device):
    order, gate = list[str](), Gate()
    streams = two_streams(device)
    streams[0].runner.submit("held", gate.then(lambda: order.append("held")))
    everything, own = device.all_work(), streams[1].all_work()
    own.sync()
    assert own.is_done and not everything.is_done
    assert repr(everything) == f"<JoinedEvent of {device.name}, {streams[0].name}, {streams[1].name}>"
    streams[1].wait_for(everything)
    streams[1].runner.submit("behind", lambda: order.append("behind"))
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    device.synchronize()
    assert order == ["held", "behind"]
    assert everything.is_done and device.is_idle
    opener.join()


def test_another_device_waits_for_all_streams_of_a_device(device: Device):
    other, order, gate = device.platform.get_device(1), list[str](), Gate()
    stream = device.new_stream()
    stream.runner.submit("held", gate.then(lambda: order.append("held")))
    del stream  # it lives as long as its work
    gc.collect()
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    everything = device.all_work()
    assert len(everything.parts) == 2
    other.wait_for(everything)
    other.runner.submit("behind", lambda: order.append("behind"))
    other.await_idle()
    assert order == ["held", "behind"]
    opener.join()


def test_memory_is_the_devices(device: Device):
    one, two = two_streams(device)
    first = one.make_context().make_child([node_of(16)])
    assert device.used_memory == 64
    second = two.make_context().make_child([node_of(32)])
    assert device.used_memory == 192
    first.finalize()
    second.finalize()
    assert device.used_memory == 0


def test_memory_that_another_stream_uses_is_not_freed(device: Device):
    code = code_of(device, DOUBLE)
    x, y, (one, two) = code.nodes["x"], code.nodes["y"], two_streams(device)
    parent = filled(one.make_context(), x=(x, numbers(4)))
    routine = parent.make_child(stream=two).link(code)
    gate, out = Gate(), np.zeros(4, np.float32)
    two.runner.submit("held", gate)
    routine.run()
    routine.context.queue_to_host(y, out)
    ending = threading.Thread(target=parent.finalize)
    ending.start()
    ending.join(0.05)
    assert ending.is_alive() and device.used_memory > 0
    gate.open.set()
    ending.join(10)
    assert not ending.is_alive()
    assert out.tolist() == [0, 2, 4, 6]
    assert device.used_memory == 0


def test_a_source_is_freed_after_it_was_copied(device: Device):
    node, (one, two) = node_of(4), two_streams(device)
    source = filled(one.make_context(), w=(node, numbers(4)))
    target = two.make_context().init_zeros(node)
    copy, gate = target.device_to_device(node, source), Gate()
    assert copy is not None
    two.runner.submit("held", gate)
    copy.run()
    ending = threading.Thread(target=source.finalize)
    ending.start()
    ending.join(0.05)
    assert ending.is_alive()
    gate.open.set()
    ending.join(10)
    assert target.to_host(node).tolist() == [0, 1, 2, 3]


def test_borrowed_memory_is_freed_after_the_borrowers_stream(device: Device):
    node, (one, two) = node_of(4), two_streams(device)
    lender = filled(one.make_context(), w=(node, numbers(4)))
    borrower = two.make_context(buffers=lender.buffers)
    gate, out = Gate(), np.zeros(4, np.float32)
    two.runner.submit("held", gate)
    borrower.queue_to_host(node, out)
    ending = threading.Thread(target=lender.finalize)
    ending.start()
    ending.join(0.05)
    assert ending.is_alive()
    gate.open.set()
    ending.join(10)
    assert out.tolist() == [0, 1, 2, 3]
    assert borrower.is_finalized


# What fails


def test_a_failure_stays_with_its_stream(device: Device):
    one, two = two_streams(device)
    one.runner.submit("broken", fail)
    two.await_idle()
    with pytest.raises(RoutineError, match=r"^broken: ValueError: no such digit$"):
        one.await_idle()
    device.await_idle()


def test_a_device_tells_of_the_failures_of_its_streams(device: Device):
    one, two = two_streams(device)
    for stream in (one, two):
        stream.runner.submit(f"broken {stream.number}", fail)
    for stream in (one, two):
        with pytest.raises(RoutineError, match=f"^broken {stream.number}: ValueError: no such digit$"):
            device.await_idle()
    device.await_idle()


def test_the_failure_of_a_stream_that_is_gone_is_told(device: Device):
    stream = device.new_stream()
    stream.runner.wait(stream.runner.submit("broken", fail))
    del stream
    gc.collect()
    with pytest.raises(RoutineError, match=r"^broken: ValueError: no such digit$"):
        device.await_idle()


def test_what_failed_work_was_to_write_is_undefined_on_every_stream(device: Device):
    def refuse(w: np.ndarray) -> np.ndarray:
        raise ValueError("no such digit")

    code = device.platform.compile(CALL, callbacks={"f": refuse})
    w, (one, two) = code.nodes["w"], two_streams(device)
    routine = filled(one.make_context(), w=(w, numbers(4))).link(code)
    reader, gate = routine.context.make_child(stream=two), Gate()
    one.runner.submit("held", gate)
    routine.run()
    event = reader.queue_to_host(w, np.zeros(4, np.float32))
    gate.open.set()
    with pytest.raises(RoutineError, match=r"^to_host w: w is undefined since call failed$"):
        event.sync()
    with pytest.raises(RoutineError, match=r"^call: .*no such digit"):
        one.await_idle()


def test_a_callback_may_not_use_another_stream_of_its_device(device: Device):
    """What it asks for might wait for it, by the nodes of both."""
    tried: list[Callable[[], object]] = []

    def use(w: np.ndarray) -> np.ndarray:
        tried[0]()
        return w

    code, count = device.platform.compile(CALL, callbacks={"f": use}), code_of(device, COUNT)
    one, two = two_streams(device)
    routine = filled(one.make_context(), w=(code.nodes["w"], numbers(4))).link(code)
    other = filled(two.make_context(), w=(count.nodes["w"], numbers(4))).link(count)
    for ask in (other.run, device.new_stream, lambda: other.context.to_host(count.nodes["w"])):
        tried[:] = [ask]
        routine.run()
        with pytest.raises(RoutineError, match="the device waits for the callback that uses it"):
            device.await_idle()
        routine.context.from_host(code.nodes["w"], numbers(4))
    tried.clear()


@pytest.mark.parametrize("name", DEVICE_NAMES)
def test_a_device_that_one_stream_loses_is_lost_for_all(name: str):
    platform = open_with_streams(name, 1)
    device = platform.get_device(0)
    code = platform.compile(COUNT)
    w = code.nodes["w"]
    faults = inject_faults(device.backend)
    one, two = two_streams(device)
    routine = filled(one.make_context(), w=(w, numbers(4))).link(code)
    reader = routine.context.make_child(stream=two)
    device.await_idle()
    gate, out = Gate(), np.full(4, -1, np.float32)
    one.runner.submit("held", gate)
    faults.plan("run", DeviceLostError("the bus is gone"), times=None)
    routine.run()
    event = reader.queue_to_host(w, out)  # never of the values before
    gate.open.set()
    for wait in (one.await_idle, event.sync, device.await_idle, two.await_idle):
        with pytest.raises(
            DeviceLostError, match=rf"^{one.name} is lost: the bus is gone \(in flight: count"
        ):
            wait()
    assert out.tolist() == [-1] * 4
    assert (one.is_lost, two.is_lost, device.is_lost) == (True,) * 3
    assert repr(two) == f"<Stream {two.name}, lost>"
    with pytest.raises(DeviceLostError):
        two.wait_for(one.all_work())
    with pytest.raises(DeviceLostError):
        device.new_stream()
    platform.close()


# The timeline


def test_each_stream_has_a_track(device: Device):
    code = code_of(device, COUNT)
    w, streams = code.nodes["w"], (device, *two_streams(device))
    with tenon.record_timeline() as timeline:
        routines = [filled(stream.make_context(), w=(w, numbers(4))).link(code) for stream in streams]
        for routine in routines:
            routine.run()
        for routine in routines:
            routine.context.to_host(w)
    for stream in streams:
        track = Track(device.platform.name, stream.name)
        found = [span.category for span in timeline.spans if span.track == track]
        assert (found.count(Category.KERNEL), found.count(Category.ROUTINE)) == (1, 1)
        assert found.count(Category.TRANSFER) == 2
