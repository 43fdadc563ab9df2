"""Hosted nodes on every platform: the host's copy and the devices' follow each other, when somebody reads."""

import gc

import numpy as np
import pytest
import tenon
from tenon.errors import ContextError, MemoryModeError, RoutineError, TenonError
from tenon.runtime.nodes.padding import Padding
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.platforms.routine import Routine
from tenon.runtime.timeline.spans import Category
from tenon.runtime.timeline.timeline import record_timeline

from .open_platforms import COUNT, code_of, device, node_of, numbers, platform

__all__ = ["device", "platform"]

HOSTED = """
graph.tnode @x : tensor<4xf32> mode hosted
graph.tnode @y : tensor<4xf32> mode hosted
func.func @double() {
  %x = graph.read @x : tensor<4xf32>
  %y = graph.add %x, %x : tensor<4xf32>
  graph.write @y, %y : tensor<4xf32>
  func.return
}
"""

COUNT_HOSTED = """
graph.tnode @w : tensor<4xf32> mode hosted
func.func @count() {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  graph.write add @w, %one : tensor<4xf32>
  func.return
}
"""


def double_on(device: Device) -> tuple[Routine, tenon.TensorNode, tenon.TensorNode]:
    """Returns y = 2 x on a device, linked in an empty context, and x and y."""
    code = device.platform.compile(HOSTED)
    return device.make_context().link(code), code.nodes["x"], code.nodes["y"]


def transfers_while(run: Routine) -> list[str]:
    """Returns what is copied when a routine runs."""
    with record_timeline() as timeline:
        run.run().sync()
    return [span.name for span in timeline.spans if span.category is Category.TRANSFER]


def test_what_the_host_has_is_sent_when_a_routine_reads_it(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    assert not routine.context.is_initialized(x)
    routine.run()
    assert y.get_values().tolist() == [0, 2, 4, 6]
    assert routine.context.to_host(y).tolist() == [0, 2, 4, 6]


def test_what_the_host_changes_is_sent_before_the_next_run(device: Device):
    routine, x, y = double_on(device)
    for i in range(5):
        x.set_values(numbers(4, start=i))
        x.set_value([0], 100 + i)
        routine.run()
        assert y.get_values().tolist() == [200 + 2 * i, 2 * i + 2, 2 * i + 4, 2 * i + 6]


def test_a_change_does_not_reach_runs_that_are_queued(device: Device):
    routine, x, y = double_on(device)
    seen: list[np.ndarray] = []
    for i in range(10):
        x.set_values(np.full(4, i, np.float32))
        routine.run()
        seen.append(np.zeros(4, np.float32))
        routine.context.queue_to_host(y, seen[-1])
    device.await_idle()
    assert [row[0] for row in seen] == [2 * i for i in range(10)]


def test_nothing_is_sent_that_the_device_has(device: Device):
    routine, x, _ = double_on(device)
    x.set_values(numbers(4))
    assert transfers_while(routine) == ["send x"]
    assert transfers_while(routine) == []
    x.set_value([1], 5)
    assert transfers_while(routine) == ["send x"]


def test_nothing_is_fetched_that_the_host_has(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.run().sync()
    with record_timeline() as timeline:
        y.get_values()
        y.get_values()
        y.get_value([1])
    fetches = [span.name for span in timeline.spans if span.category is Category.TRANSFER]
    assert fetches == ["fetch y"]


def test_only_the_last_of_many_results_is_fetched(device: Device):
    code = device.platform.compile(COUNT_HOSTED)
    w = code.nodes["w"]
    routine = device.make_context().init_zeros(w).link(code)
    for _ in range(20):
        routine.run()
    device.await_idle()
    with record_timeline() as timeline:
        assert w.get_values().tolist() == [20] * 4
    fetches = [span.name for span in timeline.spans if span.category is Category.TRANSFER]
    assert fetches == ["fetch w"]


def test_host_and_device_take_turns(device: Device):
    code = device.platform.compile(COUNT_HOSTED)
    w = code.nodes["w"]
    routine = device.make_context().link(code)
    w.set_values(np.zeros(4, np.float32))
    expected = np.zeros(4, np.float32)
    for i in range(6):
        routine.run()
        expected += 1
        assert w.get_value([i % 4]) == expected[i % 4]
        w.set_value([i % 4], 10 * i)
        expected[i % 4] = 10 * i
    routine.run()
    np.testing.assert_array_equal(w.get_values(), expected + 1)


def test_nodes_made_from_arrays_need_no_transfer_by_hand(device: Device):
    x = tenon.TensorNode.from_array(numbers(4, start=1), label="x", code_name="x")
    code = device.platform.compile(HOSTED, nodes=[x])
    routine = device.make_context().link(code)
    routine.run()
    assert code.nodes["y"].get_values().tolist() == [2, 4, 6, 8]


def test_what_neither_host_nor_device_has_is_an_error(device: Device):
    routine, _, y = double_on(device)
    with pytest.raises(ContextError, match=f"double: x was never written on {device.name}"):
        routine.run()
    assert not y.is_initialized


def test_from_host_is_newer_than_the_host_s_copy(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.context.from_host(x, numbers(4, start=10))
    routine.run()
    assert y.get_values().tolist() == [20, 22, 24, 26]
    assert x.get_values().tolist() == [10, 11, 12, 13]


def test_a_part_changed_on_the_device_reaches_the_host(device: Device):
    routine, x, _ = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    routine.context.from_host(x, numbers(2, start=50), index=slice(1, 3))
    assert x.get_values().tolist() == [0, 50, 51, 3]


def test_init_from_host_and_zeros_reach_the_host(device: Device):
    a, b = (node_of(4, label=label, mode="hosted") for label in "ab")
    context = device.make_context().init_from_host(a, numbers(4)).init_zeros(b)
    assert a.get_values().tolist() == [0, 1, 2, 3]
    assert b.get_values().tolist() == [0, 0, 0, 0]
    assert context.to_host(a).tolist() == [0, 1, 2, 3]


def test_to_host_reads_what_the_host_has_just_changed(device: Device):
    routine, x, _ = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    x.set_values(numbers(4, start=30))
    routine.run()
    assert routine.context.to_host(x).tolist() == [30, 31, 32, 33]


def test_several_devices_get_what_the_host_has(platform: Platform):
    code = platform.compile(HOSTED)
    x, y = code.nodes["x"], code.nodes["y"]
    routines = [device.make_context().link(code) for device in platform.devices]
    for i in range(4):
        x.set_values(numbers(4, start=i))
        for routine in routines:
            routine.run()
        for routine in routines:
            assert routine.context.to_host(y).tolist() == [2 * i, 2 * i + 2, 2 * i + 4, 2 * i + 6]
    assert y.get_values().tolist() == [6, 8, 10, 12]


def test_what_one_device_computed_goes_to_another_by_a_copy(platform: Platform):
    code = platform.compile(COUNT_HOSTED)
    w = code.nodes["w"]
    first, second = (device.make_context().init_zeros(w) for device in platform.devices)
    first.link(code).run()
    copy = second.device_to_device(w, first)
    assert copy is not None
    copy.run()
    second.link(code).run()
    assert second.to_host(w).tolist() == [2] * 4
    assert w.get_values().tolist() == [2] * 4


def test_a_device_that_lags_gets_what_another_one_made_of_what_the_host_wrote(platform: Platform):
    code = platform.compile(COUNT_HOSTED)
    w = code.nodes["w"]
    first, second = (device.make_context().init_zeros(w).link(code) for device in platform.devices)
    w.set_values(np.float32([1, 2, 3, 4]))
    first.run().sync()
    second.run().sync()
    assert second.context.to_host(w).tolist() == [3, 4, 5, 6]
    first.run().sync()  # Its own copy does not lag: the host has written nothing since.
    assert first.context.to_host(w).tolist() == [3, 4, 5, 6]


def test_a_copy_sends_what_the_host_has_first(platform: Platform):
    node = node_of(4, mode="hosted")
    source = platform.get_device(0).make_context().init_zeros(node)
    target = platform.get_device(1).make_context().init_zeros(node)
    node.set_values(numbers(4))
    copy = target.device_to_device(node, source)
    assert copy is not None
    copy.run()
    assert target.to_host(node).tolist() == [0, 1, 2, 3]
    assert node.get_values().tolist() == [0, 1, 2, 3]


def test_padded_nodes_keep_their_padding(device: Device):
    text = COUNT_HOSTED.replace("4xf32", "6xf32")
    w = tenon.TensorNode.create(
        "f4", dims=(4,), padding=Padding.of((1, 1), value=9.0), code_name="w", label="w"
    )
    code = device.platform.compile(text, nodes=[w])
    w.set_values(numbers(4))
    code_context = device.make_context().link(code)
    code_context.run()
    assert w.get_values().tolist() == [1, 2, 3, 4]
    assert w.array is not None and w.array.tolist() == [10, 1, 2, 3, 4, 10]


def test_a_failed_computation_is_reported_to_the_host_s_reader(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.run().sync()
    routine.context.buffer_of(y, "test").undefined_by = "double"
    with pytest.raises(RoutineError, match="fetch y: y is undefined since double failed"):
        y.get_values()
    routine.run()
    assert y.get_values().tolist() == [0, 2, 4, 6]


GONE = r"y: the context that has its newest values is gone \(hint: read them before\)"


def test_values_of_a_finalized_context_are_not_fetched(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    context = routine.context
    context.finalize()
    for _ in range(2):
        with pytest.raises(ContextError, match=GONE):
            y.get_values()
    y.set_values(numbers(4))
    assert y.get_values().tolist() == [0, 1, 2, 3]


def test_values_that_were_fetched_outlive_the_context(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    y.do_read()
    routine.context.finalize()
    assert y.get_values().tolist() == [0, 2, 4, 6]


def test_a_node_keeps_no_memory_of_devices(device: Device):
    routine, x, y = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    del routine
    device.synchronize()
    gc.collect()
    assert device.used_memory == 0
    with pytest.raises(ContextError, match=GONE):
        y.get_values()


def test_values_of_a_dropped_routine_are_fetched(device: Device):
    code = device.platform.compile(COUNT_HOSTED)
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    context.link(code).run()
    device.synchronize()
    gc.collect()
    assert w.get_values().tolist() == [1] * 4
    assert context.to_host(w).tolist() == [1] * 4


def test_constants_are_sent_once(device: Device):
    x = tenon.TensorNode.from_array(numbers(4), code_name="x", label="x", memory_mode="hosted(constant)")
    code = device.platform.compile(HOSTED, nodes=[x])
    routines = [device.make_context().link(code) for _ in range(3)]
    assert [transfers_while(routine) for routine in routines] == [["send x"], [], []]
    assert routines[2].context.to_host(code.nodes["y"]).tolist() == [0, 2, 4, 6]


def test_nodes_on_devices_only_have_no_copy_on_the_host(device: Device):
    node = node_of(4)
    context = device.make_context().init_zeros(node)
    assert node.array is None
    assert context.to_host(node).tolist() == [0] * 4


def test_each_context_of_a_device_gets_what_the_host_has(device: Device):
    code = device.platform.compile(HOSTED)
    x, y = code.nodes["x"], code.nodes["y"]
    routines = [device.make_context().link(code) for _ in range(2)]
    for i in range(3):
        x.set_values(numbers(4, start=i))
        for routine in routines:
            routine.run()
            assert routine.context.to_host(y).tolist() == [2 * i, 2 * i + 2, 2 * i + 4, 2 * i + 6]


def test_a_new_context_gets_what_the_host_has(device: Device):
    code = device.platform.compile(HOSTED)
    x, y = code.nodes["x"], code.nodes["y"]
    x.set_values(numbers(4))
    for _ in range(3):
        routine = device.make_context().link(code)
        routine.run()
        assert y.get_values().tolist() == [0, 2, 4, 6]
        routine.context.finalize()


def test_a_part_from_the_host_does_not_undo_what_the_host_set(device: Device):
    routine, x, _ = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    x.set_values(numbers(4, start=100))
    routine.context.from_host(x, numbers(2, start=50), index=slice(1, 3))
    assert x.get_values().tolist() == [100, 50, 51, 103]
    assert routine.context.to_host(x).tolist() == [100, 50, 51, 103]


def test_to_host_gives_what_the_host_has_set(device: Device):
    routine, x, _ = double_on(device)
    x.set_values(numbers(4))
    routine.run()
    x.set_values(numbers(4, start=100))
    assert routine.context.to_host(x).tolist() == [100, 101, 102, 103]


def test_a_device_begins_with_what_the_host_has(platform: Platform):
    node = node_of(4, mode="hosted")
    source = platform.get_device(0).make_context().make_child([node])
    node.set_values(numbers(4))
    target = platform.get_device(1).make_context().init_from_device(node, source)
    assert target.to_host(node).tolist() == [0, 1, 2, 3]


def test_the_host_does_not_change_what_devices_change(device: Device):
    code = code_of(device.platform, COUNT.replace("on_device", "hosted(changed_on_devices)"))
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    context.link(code).run()
    with pytest.raises(
        MemoryModeError, match=r"w: set_values: only devices change it, hosted\(changed_on_dev"
    ):
        w.set_values(numbers(4))
    assert w.get_values().tolist() == [1, 1, 1, 1]
    context.from_host(w, numbers(4))
    assert w.get_values().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("mode", ["hosted(volatile)", "hosted(constant)"])
def test_programs_do_not_change_what_the_host_changes(device: Device, mode: str):
    with pytest.raises(TenonError, match=r"graph.write: node @w is hosted\(\w+\), so it is not written"):
        device.platform.compile(COUNT.replace("on_device", mode))
