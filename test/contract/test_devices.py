"""What every device of every platform does: names, memory, queue, events, failures."""

import gc
import json
import threading

import numpy as np
import pytest
import tenon
from tenon.backends.interface import HostMapped, HostVisible, PeerCopies, PinnedHost, Queued, Streams
from tenon.backends.registry import DEVICE_NAMES
from tenon.errors import DeviceError, RoutineError, TenonError
from tenon.runtime.memory.slab_pool import SlabStatistics
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.test.gate import Gate

from .open_platforms import (
    COUNT,
    DOUBLE,
    KINDS,
    MULTICORE,
    OF_EACH_BACKEND,
    QUEUED,
    code_of,
    context_with,
    device,
    device_of,
    kind_of,
    node_of,
    numbers,
    open_kind,
    platform,
)

__all__ = ["device", "platform"]


def failing() -> None:
    raise ValueError("no such digit")


def test_devices_are_numbered_and_named(platform: Platform):
    assert platform.num_devices == 2
    assert [platform.get_device(i) for i in range(2)] == [*platform.devices]
    assert [device.ordinal for device in platform.devices] == [0, 1]
    assert [device.name for device in platform.devices] == [f"{platform.name}:0", f"{platform.name}:1"]
    assert all(device.platform is platform for device in platform.devices)
    assert repr(platform.get_device(1)) == f"<Device {platform.name}:1>"
    assert repr(platform) == f"<Platform {platform.name} with 2 devices>"


ABILITIES = (HostMapped, HostVisible, PeerCopies, PinnedHost, Queued, Streams)


@pytest.mark.parametrize("ordinal", [2, -1, 1000])
def test_a_device_that_is_not_there_is_an_error(platform: Platform, ordinal: int):
    with pytest.raises(TenonError, match=rf"{platform.name}: there is no device {ordinal} \(devices: 2\)"):
        platform.get_device(ordinal)


def test_ids_are_unique_in_the_process(platform: Platform):
    other = open_kind(kind_of(platform))
    ids = [device.id for device in (*platform.devices, *other.devices)]
    assert len(set(ids)) == 4
    other.close()


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_as_many_logical_devices_as_asked_for(kind: str):
    for count in (1, 3, None):
        opened = open_kind(kind, count)
        assert opened.num_devices == count or (count is None and opened.num_devices >= 1)
        opened.close()


@pytest.mark.parametrize("option", ["num_devices", "pool_limit"])
def test_options_that_must_be_positive_are_checked(option: str):
    with pytest.raises(TenonError, match=f"open_platform: {option} is 0, expected 1 or more"):
        tenon.open_platform(**{option: 0})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in QUEUED])
def test_schedulers_are_checked(kind: str):
    name = device_of(KINDS[kind][0]).name
    with pytest.raises(TenonError, match=f"{name}: scheduler 'fast' is not one of sync, multicore"):
        tenon.open_platform(name, scheduler="fast")


def test_backends_are_checked():
    names = ", ".join(DEVICE_NAMES)
    with pytest.raises(TenonError, match=f"backend 'cuda' is not one of {names}"):
        tenon.open_platform("cuda")


@pytest.mark.parametrize("kind", QUEUED)
def test_devices_with_a_queue_take_no_scheduler(kind: str):
    with pytest.raises(
        TenonError, match=f"{kind}: the devices have queues of their own and take no scheduler"
    ):
        tenon.open_platform(kind, scheduler="multicore")


def test_static_properties_do_not_change(device: Device):
    before = device.static_properties
    context = context_with(device, w=(node_of(4), numbers(4)))
    assert device.static_properties == before
    assert (before["name"], before["id"], before["ordinal"]) == (device.name, device.id, 0)
    assert before["backend"] == device.platform.name
    assert before["scheduler"] == (device.platform.scheduler or "queue")
    assert before["processor"]
    assert before["kind"] in ("cpu", "gpu") and before["group_multiple"] >= 1 and before["n_units"] >= 1
    assert before["max_items"] >= max(before["max_block"])
    assert before["pool_limit"] == device.pool_limit <= min(1 << 32, before["max_buffer_nbytes"])
    assert json.loads(json.dumps(before)) == {**before, "max_block": [*before["max_block"]]}
    assert context


def test_static_properties_of_a_platform_are_those_of_its_devices(platform: Platform):
    properties = platform.static_properties
    assert properties["name"] == platform.name
    assert properties["devices"] == [device.static_properties for device in platform.devices]


def test_only_devices_with_abilities_claim_them(device: Device):
    driver = device.backend.driver
    found = {ability.__name__ for ability in ABILITIES if isinstance(driver, ability)}
    assert {*device.static_properties["abilities"]} == found


@pytest.mark.parametrize("kind", OF_EACH_BACKEND)
def test_large_offsets_lift_the_limit_of_pools(kind: str):
    opened = open_kind(kind, 1, large_offsets=True)
    most = opened.get_device(0).static_properties["max_buffer_nbytes"]
    assert opened.get_device(0).pool_limit == min(most, 1 << 62)
    opened.close()
    limited = open_kind(kind, 1, pool_limit=4096)
    assert limited.get_device(0).static_properties["pool_limit"] == 4096
    limited.close()


def test_debug_info_says_what_is_so_now(device: Device):
    node = node_of(4, label="weights")
    assert device.debug_info() | {"peak_nbytes": 0} == {
        "name": device.name,
        "is_lost": False,
        "is_idle": True,
        "n_streams": 1,
        "n_pools": 0,
        "used_nbytes": 0,
        "peak_nbytes": 0,
        "fragmentation": 0,
        "merge_buffer_node": None,
        "n_shared": 0,
    }
    context = context_with(device, w=(node, numbers(4)))
    transfer = context.device_to_device(node, context, into_merge_buffer=True)
    assert transfer is not None
    transfer.run().sync()
    info = device.debug_info()
    assert (info["n_pools"], info["used_nbytes"], info["fragmentation"]) == (2, 128, (48 + 0) / 128)
    assert info["merge_buffer_node"] == "weights"
    assert json.loads(json.dumps(info)) == info
    assert set(device.platform.global_debug_info()) >= {"process", "n_devices"}


def test_used_memory_is_exact(device: Device):
    assert device.used_memory == 0
    first = context_with(device, w=(node_of(25), numbers(25)))
    assert device.used_memory == 128
    second = first.make_child([node_of(1), node_of(64, 3)])
    assert device.used_memory == 128 + 64 + 768
    statistics = device.memory_statistics()
    assert statistics == SlabStatistics(2, 960, statistics.peak_nbytes, 100 + 4 + 768)
    assert statistics.peak_nbytes >= 960
    assert statistics.fragmentation == pytest.approx(1 - 872 / 960)
    assert platform_used(device.platform) == 960
    second.finalize()
    assert device.used_memory == 128
    first.finalize()
    assert device.used_memory == 0
    assert device.memory_statistics().peak_nbytes == statistics.peak_nbytes


def platform_used(platform: Platform) -> int:
    return sum(device.used_memory for device in platform.devices)


def test_synchronising_gives_memory_back_whose_owners_are_gone(device: Device):
    code = code_of(device.platform, COUNT)
    context = device.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    for _ in range(10):
        routine.run()
    del context, routine
    device.synchronize()
    assert device.used_memory == 0


def test_memory_that_queued_work_uses_is_not_freed(device: Device):
    code = code_of(device.platform, DOUBLE)
    context = context_with(device, x=(code.nodes["x"], numbers(4)))
    out = np.zeros(4, np.float32)
    routine = context.link(code)
    del context
    routine.run()
    event = routine.context.queue_to_host(code.nodes["y"], out)
    del routine
    event.sync()
    assert out.tolist() == [0, 2, 4, 6]


def test_a_device_is_its_own_first_stream(device: Device):
    assert device.device is device
    assert (device.number, device.streams) == (0, (device,))
    assert device.new_stream().device is device
    assert device.make_context().stream is device


def test_a_new_context_is_empty_and_has_no_parent(device: Device):
    context = device.make_context()
    assert (context.device, context.parent, context.nodes, context.delta) == (device, None, (), ())
    assert context.children == ()
    assert len(context) == 0
    assert context.merge_buffer_node is None
    assert context.optimize_context is None


@pytest.mark.parametrize("dtype", ["f4", "i1", "u8", "?"])
def test_host_memory_for_transfers_is_an_array(device: Device, dtype: str):
    array = device.empty_host((3, 5), dtype)
    assert (array.shape, array.dtype) == ((3, 5), np.dtype(dtype))
    array[...] = 1
    assert array.flags.writeable and array.flags.c_contiguous
    assert device.empty_host((0, 7), dtype).shape == (0, 7)
    assert device.empty_host((), dtype).shape == ()


def test_a_device_without_work_is_idle(device: Device):
    assert device.is_idle
    device.await_idle()
    event = device.all_work()
    assert event.is_done
    event.sync()
    assert not device.is_lost


def test_events_are_done_when_their_work_is(device: Device):
    code = code_of(device.platform, COUNT)
    context = device.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    events = [routine.run() for _ in range(20)]
    events[10].sync()
    assert all(event.is_done for event in events[:11])
    device.all_work().sync()
    assert all(event.is_done for event in events)
    assert device.is_idle
    assert context.to_host(code.nodes["w"]).tolist() == [20] * 4


def test_all_work_is_the_end_of_what_is_scheduled_by_then(device: Device):
    order: list[str] = []
    device.runner.submit("a", lambda: order.append("a"))
    event = device.all_work()
    event.sync()
    assert order == ["a"]


@pytest.mark.parametrize("kind", MULTICORE)
def test_work_of_a_multicore_device_does_not_block_the_caller(kind: str):
    opened = open_kind(kind)
    first, second = opened.devices
    gate = Gate()
    event = first.runner.submit("held", gate)
    gate.begun.wait(10)
    assert not event.is_done and not first.is_idle
    assert first.debug_info()["is_idle"] is False
    second.runner.submit("other", lambda: None).sync()
    assert second.is_idle
    gate.open.set()
    first.await_idle()
    assert event.is_done and first.is_idle
    opened.close()


@pytest.mark.parametrize("kind", MULTICORE)
def test_each_multicore_device_has_a_thread_that_ends_with_the_platform(kind: str):
    opened = open_kind(kind, 3)
    for each in opened.devices:
        each.runner.submit("a", lambda: None).sync()
    names = {device.name for device in opened.devices}
    threads = [thread for thread in threading.enumerate() if thread.name in names]
    assert len(threads) >= 3
    before = len(threads)
    opened.close()
    alive = [thread for thread in threads if thread.is_alive()]
    assert len(alive) == before - 3


def test_a_device_waits_for_events_of_another(platform: Platform):
    first, second = platform.devices
    order: list[str] = []
    gate = Gate()
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    event = first.runner.submit("first", gate.then(lambda: order.append("first")))
    second.wait_for(event)
    second.runner.submit("second", lambda: order.append("second"))
    second.await_idle()
    assert order == ["first", "second"]
    opener.join()


@pytest.mark.parametrize("other_kind", MULTICORE)
def test_devices_of_different_platforms_wait_for_each_other(platform: Platform, other_kind: str):
    other = open_kind(other_kind)
    order: list[str] = []
    source, target = other.get_device(0), platform.get_device(0)
    gate = Gate()
    event = source.runner.submit("first", gate.then(lambda: order.append("first")))
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    target.wait_for(event)
    target.runner.submit("second", lambda: order.append("second")).sync()
    assert order == ["first", "second"]
    opener.join()
    source.wait_for(target.all_work())
    source.await_idle()
    other.close()


def test_a_device_may_wait_for_its_own_events(device: Device):
    device.wait_for(device.all_work())
    device.await_idle()


@pytest.mark.parametrize("how", ["event", "await_idle", "synchronize", "to_host", "all_work"])
def test_a_failure_reaches_the_next_synchronisation_once_and_names_the_routine(device: Device, how: str):
    node = node_of(4)
    context = context_with(device, w=(node, numbers(4)))
    event = device.runner.submit("train step", failing)
    waits = {
        "event": event.sync,
        "await_idle": device.await_idle,
        "synchronize": device.synchronize,
        "to_host": lambda: context.to_host(node),
        "all_work": lambda: device.all_work().sync(),
    }
    with pytest.raises(RoutineError, match=r"^train step: ValueError: no such digit$") as caught:
        waits[how]()
    assert caught.value.routine == "train step"
    waits[how]()
    assert not device.is_lost
    assert context.to_host(node).tolist() == [0, 1, 2, 3]


def test_work_after_a_failure_runs(device: Device):
    code = code_of(device.platform, COUNT)
    context = device.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    device.runner.submit("broken", failing)
    routine.run()
    with pytest.raises(RoutineError, match="broken: ValueError: no such digit"):
        device.await_idle()
    routine.run()
    assert context.to_host(code.nodes["w"]).tolist() == [2] * 4


def test_a_failure_stays_with_its_device(platform: Platform):
    first, second = platform.devices
    first.runner.submit("broken", failing)
    second.await_idle()
    with pytest.raises(RoutineError, match="broken"):
        first.await_idle()


@pytest.mark.parametrize("kind", MULTICORE)
def test_closed_platforms_finish_their_work_and_keep_the_memory_of_contexts(kind: str):
    opened = open_kind(kind)
    device = opened.get_device(0)
    code = opened.compile(COUNT)
    context = device.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    for _ in range(5):
        routine.run()
    opened.close()
    if isinstance(device.backend.driver, HostVisible):
        assert context.host_view(code.nodes["w"]).tolist() == [5] * 4
    with pytest.raises(DeviceError, match=f"{device.name}: the device is closed"):
        routine.run()
    context.finalize()
    del routine
    gc.collect()
    assert device.used_memory == 0
    opened.close()
