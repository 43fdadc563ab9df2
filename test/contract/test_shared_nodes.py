"""What streams share: one buffer for all contexts of a device."""

import numpy as np
import pytest
from tenon.backends.interface import HostMapped
from tenon.dialects.memory_modes import Sharing
from tenon.errors import ContextError, MemoryModeError
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform

from .open_platforms import COUNT, code_of, device, node_of, numbers, platform

__all__ = ["device", "platform"]

SHARED = ["on_device(shared_cross_streams)", "hosted(changed_on_devices(shared_cross_streams))"]
SHARED += ["hosted(volatile)", "hosted(constant)"]

OWN = ["on_device", "on_device(per_stream)", "hosted", "hosted(changed_on_devices(per_stream))"]


@pytest.mark.parametrize("mode", SHARED)
def test_contexts_of_a_device_share_the_buffer(device: Device, mode: str):
    node = node_of(100, mode=mode)
    first = device.make_context().init_from_host(node, numbers(100))
    second = device.make_context().make_child([node])
    assert first.buffers[node] is second.buffers[node]
    assert device.used_memory == 448
    np.testing.assert_array_equal(second.to_host(node), numbers(100))
    first.finalize()
    np.testing.assert_array_equal(second.to_host(node), numbers(100))
    second.finalize()
    assert device.used_memory == 0


@pytest.mark.parametrize("mode", OWN)
def test_what_is_not_shared_is_each_contexts_own(device: Device, mode: str):
    node = node_of(4, mode=mode)
    first = device.make_context().init_from_host(node, numbers(4))
    second = device.make_context().init_from_host(node, numbers(4, start=10))
    assert first.buffers[node].location != second.buffers[node].location
    assert first.to_host(node).tolist() == [0, 1, 2, 3]
    assert second.device_to_device(node, first) is not None


@pytest.mark.parametrize("mode", SHARED)
def test_there_is_nothing_to_copy_between_contexts_of_a_device(device: Device, mode: str):
    node = node_of(4, mode=mode)
    first = device.make_context().init_from_host(node, numbers(4))
    second = device.make_context().make_child([node])
    assert second.device_to_device(node, first) is None
    third = device.make_context().init_from_device(node, first)
    assert third.to_host(node).tolist() == [0, 1, 2, 3]


def test_each_device_has_a_buffer_of_its_own(platform: Platform):
    node = node_of(4, mode="on_device(shared_cross_streams)")
    first, second = (each.make_context() for each in platform.devices)
    first = first.init_from_host(node, numbers(4))
    second = second.init_from_host(node, numbers(4, start=10))
    assert first.to_host(node).tolist() == [0, 1, 2, 3]
    copy = second.device_to_device(node, first)
    assert copy is not None
    copy.run()
    assert second.to_host(node).tolist() == [0, 1, 2, 3]
    later = platform.get_device(0).make_context().init_from_device(node, second)
    assert later.to_host(node).tolist() == [0, 1, 2, 3]


def test_what_one_context_computes_the_others_have(device: Device):
    code = code_of(device.platform, COUNT.replace("on_device", "on_device(shared_cross_streams)"))
    node = code.nodes["w"]
    first = device.make_context().init_from_host(node, numbers(4))
    routines = [device.make_context().link(code) for _ in range(2)]
    for routine in routines:
        routine.run()
    assert first.to_host(node).tolist() == [2, 3, 4, 5]


def test_what_the_host_changes_is_sent_once(device: Device):
    node = node_of(4, mode="hosted(volatile)")
    node.set_values(numbers(4))
    first = device.make_context().make_child([node])
    second = device.make_context().make_child([node])
    assert first.to_host(node).tolist() == [0, 1, 2, 3]
    version = second.buffers[node].host_version
    assert version == node.host_version
    node.set_values(numbers(4, start=5))
    assert second.to_host(node).tolist() == first.to_host(node).tolist() == [5, 6, 7, 8]


def test_values_of_shared_nodes_reach_the_host(device: Device):
    node = node_of(4, mode="hosted(changed_on_devices(shared_cross_streams))")
    first = device.make_context().init_from_host(node, numbers(4))
    second = device.make_context().make_child([node])
    first.finalize()
    assert node.get_values().tolist() == [0, 1, 2, 3]
    second.finalize()


def test_sharing_is_not_decided_after_a_context_has_memory_of_its_own(device: Device):
    node = node_of(4)
    context = device.make_context().make_child([node])
    with pytest.raises(
        MemoryModeError, match=r"sharing shared_cross_streams \(test\) comes too late: contexts on .*:0 have"
    ):
        node.update_memory_sharing(Sharing.SHARED_CROSS_STREAMS, "test")
    assert str(node.memory_mode) == "on_device"
    context.finalize()
    node.update_memory_sharing(Sharing.SHARED_CROSS_STREAMS, "test")
    assert node.known_shared_cross_streams


def test_a_shared_node_may_live_in_an_array_that_is_the_first(device: Device):
    if not isinstance(device.backend.driver, HostMapped):
        pytest.skip(f"{device.name} does not work in the host's memory")
    node, array = node_of(16, mode="on_device(shared_cross_streams)"), numbers(16)
    first = device.make_context().init_from_host(node, array, copy=False)
    second = device.make_context().make_child([node])
    assert first.buffers[node] is second.buffers[node]
    first.finalize()
    array[0] = 7
    assert second.to_host(node)[0] == 7
    with pytest.raises(
        ContextError, match=r"w: copy=False, but contexts of .* share the node in other memory"
    ):
        device.make_context().init_from_host(node, numbers(16), copy=False)
    second.finalize()
