"""
What is left when something fails, on every platform: a typed error that names what was in flight, all memory
accounted for, and a device that works on or is marked as lost.
"""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Queued
from tenon.errors import (
    DeviceError,
    DeviceLostError,
    KernelCompileError,
    OutOfMemoryError,
    RoutineError,
)
from tenon.runtime.memory.slab_pool import SlabStatistics
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.test.gate import Gate

from .faulty_driver import Faults, inject_faults
from .open_platforms import (
    COUNT,
    DOUBLE,
    KINDS,
    MERGE,
    MULTICORE,
    QUEUED,
    context_with,
    hide_memory_from_host,
    node_of,
    numbers,
    open_kind,
)

CHAIN = """
graph.tnode @x : tensor<4xf32> mode on_device
graph.tnode @y : tensor<4xf32> mode on_device
graph.tnode @table : tensor<4xf32> mode hosted(constant) = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @chain() {
  %x = graph.read @x : tensor<4xf32>
  %table = graph.read @table : tensor<4xf32>
  %weights = graph.constant dense<[4.0, 3.0, 2.0, 1.0]> : tensor<4xf32>
  %a = graph.mul %x, %weights : tensor<4xf32>
  %sum = graph.reduce add %a axes [0] keep : tensor<4xf32> -> tensor<1xf32>
  %all = graph.broadcast %sum : tensor<1xf32> -> tensor<4xf32>
  %b = graph.add %all, %table : tensor<4xf32>
  graph.write @y, %b : tensor<4xf32>
  func.return
}
"""
"""Needs memory for nodes, a shared constant, the program's constants and temporaries."""


@dataclass(frozen=True)
class Faulty:
    """A platform of two devices that fail when a test says so."""

    platform: Platform
    faults: tuple[Faults, Faults]

    @property
    def device(self) -> Device:
        return self.platform.get_device(0)

    @property
    def fault(self) -> Faults:
        return self.faults[0]


@pytest.fixture(params=KINDS)
def faulty(request: pytest.FixtureRequest) -> Iterator[Faulty]:
    """At the end nothing fails any more, and nothing may be left."""
    platform = open_kind(request.param)
    first, second = (inject_faults(device.backend) for device in platform.devices)
    made = Faulty(platform, (first, second))
    yield made
    for faults in made.faults:
        faults.clear()
    for device in platform.devices:
        if not device.is_lost:
            device.await_idle()
            device.merge_buffer.free()
    gc.collect()
    for device in platform.devices:
        if not device.is_lost:
            assert (device.used_memory, device.memory_statistics().n_slabs) == (0, 0)
    platform.close()


def held(device: Device) -> tuple[int, int, int]:
    statistics: SlabStatistics = device.memory_statistics()
    return statistics.n_slabs, statistics.nbytes, statistics.payload_nbytes


def double_on(device: Device) -> tuple[Any, tenon.TensorNode, tenon.TensorNode]:
    """Returns y = 2 x on a device, and x and y."""
    code = device.platform.compile(DOUBLE)
    x, y = code.nodes["x"], code.nodes["y"]
    return context_with(device, x=(x, numbers(4))).link(code), x, y


# Allocations

ALLOCATING: dict[str, Callable[[Context, tenon.TensorNode], object]] = {
    "make_child": lambda context, node: context.make_child([node]),
    "init_from_host": lambda context, node: context.init_from_host(node, numbers(4)),
    "init_zeros": lambda context, node: context.init_zeros(node),
}


@pytest.mark.parametrize("how", ALLOCATING)
def test_a_failed_allocation_leaves_nothing(faulty: Faulty, how: str):
    device = faulty.device
    context = context_with(device, w=(node_of(4), numbers(4)))
    before = held(device)
    faulty.fault.plan("alloc_pool", OutOfMemoryError("no more"))
    node = node_of(4)
    with pytest.raises(OutOfMemoryError, match="no more"):
        ALLOCATING[how](context, node)
    assert held(device) == before
    assert context.children == ()
    child = ALLOCATING[how](context, node)
    assert isinstance(child, Context) and node in child


def test_of_several_pools_all_or_none_are_kept(faulty: Faulty):
    device = faulty.device
    nodes = [
        node_of(4, label="plain"),
        node_of(4, label="host", mode="hosted"),
        node_of(4, label="table", mode="hosted(constant)"),
        node_of(8, label="other", mode="hosted(constant)"),
    ]
    context = device.make_context()
    for n_before in range(4):
        faulty.fault.plan("alloc_pool", OutOfMemoryError("no more"), after=n_before)
        with pytest.raises(OutOfMemoryError, match="no more"):
            context.make_child(nodes)
        gc.collect()
        assert held(device) == (0, 0, 0)
        assert device.debug_info()["n_shared"] == 0
    assert context.make_child(nodes).nodes == tuple(nodes)


@pytest.mark.parametrize("call", ["alloc_pool", "bind", "copy_to_device"])
def test_whatever_fails_while_linking_leaves_nothing(faulty: Faulty, call: str):
    device = faulty.device
    code = faulty.platform.compile(CHAIN)
    x, y = code.nodes["x"], code.nodes["y"]
    context = context_with(device, x=(x, numbers(4)))
    before = held(device)
    n_failed = 0
    while True:
        faulty.fault.plan(call, DeviceError("broken"), after=n_failed)
        try:
            routine = context.link(code)
            device.await_idle()
            break
        except DeviceError as error:
            assert "broken" in error.message
            n_failed += 1
        routine = None
        faulty.fault.clear()
        device.await_idle()
        gc.collect()
        assert held(device) == before
        assert context.children == ()
    faulty.fault.clear()
    assert n_failed >= 1
    routine.run()
    assert routine.context.to_host(y).tolist() == [11, 12, 13, 14]


def test_a_batch_that_fails_to_link_leaves_nothing(faulty: Faulty):
    device = faulty.device
    batch = faulty.platform.compile_batch([DOUBLE, CHAIN, COUNT])
    assert batch[0] is not None
    context = context_with(device, x=(batch[0].nodes["x"], numbers(4)))
    before = held(device)
    for n_before in range(3):
        faulty.fault.plan("bind", DeviceError("broken"), after=n_before)
        with pytest.raises(DeviceError, match="broken"):
            context.link_batch(batch)
        device.await_idle()
        gc.collect()
        assert held(device) == before
        assert context.children == ()
    after, routines = context.link_batch(batch)
    assert len(after) == 4 and None not in routines


def test_a_constant_whose_filling_failed_is_filled_again(faulty: Faulty):
    device = faulty.device
    table = node_of(4, label="table", mode="hosted(constant)")
    context = device.make_context().make_child([table])
    faulty.fault.plan("copy_to_device", DeviceError("the bus is busy"))
    with pytest.raises(RoutineError, match="from_host table: the bus is busy"):
        context.from_host(table, numbers(4))
    context.from_host(table, numbers(4))
    assert context.to_host(table).tolist() == [0, 1, 2, 3]


def test_a_merge_buffer_that_cannot_grow_is_empty(faulty: Faulty):
    first, second = faulty.platform.devices
    code = faulty.platform.compile(MERGE)
    w, large = code.nodes["w"], node_of(1000, label="large")
    source = context_with(first, w=(w, numbers(4)), large=(large, numbers(1000)))
    target = second.make_context().init_zeros(w)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    transfer.run()
    before = held(second)
    faulty.faults[1].plan("alloc_pool", OutOfMemoryError("no more"))
    larger = target.device_to_device(large, source, into_merge_buffer=True)
    assert larger is not None
    with pytest.raises(OutOfMemoryError, match="no more"):
        larger.run()
    assert held(second) == (before[0] - 1, before[1] - 64, before[2] - 64)
    assert second.merge_buffer.node is None
    with pytest.raises(tenon.ContextError, match="the merge buffer holds nothing, expected w"):
        routine.run()
    transfer.run()
    routine.run()
    assert target.to_host(w).tolist() == [0, 1, 2, 3]


def test_memory_is_allocated_once_it_was_freed(faulty: Faulty):
    device = faulty.device
    context = context_with(device, w=(node_of(4), numbers(4)))
    faulty.fault.plan("alloc_pool", OutOfMemoryError("no more"), times=2)
    for _ in range(2):
        with pytest.raises(OutOfMemoryError, match="no more"):
            context.init_zeros(node_of(4))
    context.finalize()
    assert device.make_context().init_zeros(node_of(4))


# Compiles


def test_a_failed_compile_leaves_the_platform_usable(faulty: Faulty):
    error = KernelCompileError("kernel rejected", "line 3: what is this")
    faulty.fault.plan("compile", error)
    with pytest.raises(KernelCompileError, match=r"kernel rejected\nline 3: what is this") as caught:
        faulty.platform.compile(DOUBLE)
    assert caught.value.log == "line 3: what is this"
    routine, _, y = double_on(faulty.device)
    routine.run()
    assert routine.context.to_host(y).tolist() == [0, 2, 4, 6]


def test_a_failed_batch_compiles_nothing(faulty: Faulty):
    faulty.fault.plan("compile", KernelCompileError("kernel rejected", ""))
    with pytest.raises(KernelCompileError, match=r"^kernel rejected$"):
        faulty.platform.compile_batch([DOUBLE, COUNT])
    first, second = faulty.platform.compile_batch([DOUBLE, COUNT])
    assert first is not None and second is not None


# Kernels

RAISED = [
    (DeviceError, "@double: the kernel is broken", "double: @double: the kernel is broken"),
    (OutOfMemoryError, "no more", "double: no more"),
    (ZeroDivisionError, "1 / 0", "double: ZeroDivisionError: 1 / 0"),
]


@pytest.mark.parametrize(("kind", "message", "text"), RAISED)
def test_a_kernel_that_fails_is_named_and_the_device_works_on(
    faulty: Faulty, kind: type[Exception], message: str, text: str
):
    routine, _, y = double_on(faulty.device)
    error = kind(message)
    faulty.fault.plan("run", error)
    event = routine.run()
    with pytest.raises(RoutineError, match=f"^{text}$") as caught:
        event.sync()
    assert caught.value.routine == "double"
    assert caught.value.__cause__ is error
    assert not faulty.device.is_lost
    with pytest.raises(RoutineError, match="to_host y: y is undefined since double failed"):
        routine.context.to_host(y)
    routine.run()
    assert routine.context.to_host(y).tolist() == [0, 2, 4, 6]


def test_what_follows_a_failure_does_not_compute_with_it(faulty: Faulty):
    code = faulty.platform.compile(COUNT)
    w = code.nodes["w"]
    context = faulty.device.make_context().init_zeros(w)
    routine = context.link(code)
    faulty.device.await_idle()
    faulty.fault.plan("run", DeviceError("broken"), after=1)
    for _ in range(4):
        routine.run()
    with pytest.raises(RoutineError, match=r"^count: broken") as caught:
        faulty.device.await_idle()
    assert caught.value.__notes__ == ["also failed: count: w is undefined since count failed"] * 2
    context.from_host(w, numbers(4))
    routine.run()
    assert context.to_host(w).tolist() == [1, 2, 3, 4]


def test_a_failure_follows_its_values_to_other_devices(faulty: Faulty):
    first, second = faulty.platform.devices
    routine, _, y = double_on(first)
    target = second.make_context().init_zeros(y)
    copy = target.device_to_device(y, routine.context)
    assert copy is not None
    faulty.fault.plan("run", DeviceError("broken"))
    routine.run()
    copy.run()
    with pytest.raises(RoutineError, match=r"y from .* to .*: y is undefined since double failed"):
        target.to_host(y)
    with pytest.raises(RoutineError, match="double: broken"):
        first.await_idle()
    routine.run()
    copy.run()
    assert target.to_host(y).tolist() == [0, 2, 4, 6]


def test_a_failed_routine_leaves_no_memory_behind(faulty: Faulty):
    routine, _, _ = double_on(faulty.device)
    faulty.fault.plan("run", DeviceError("broken"))
    routine.run()
    routine.context.parent.finalize()  # pyright: ignore[reportOptionalMemberAccess]
    assert faulty.device.used_memory == 0
    with pytest.raises(RoutineError, match="double: broken"):
        faulty.device.await_idle()


# Copies


@pytest.mark.parametrize("index", [None, (slice(None), 1)], ids=["whole", "strided"])
def test_a_failed_copy_to_a_device_leaves_the_node_undefined(faulty: Faulty, index: Any):
    node = node_of(4, 5, label="grid")
    values = numbers(4, 5)
    context = context_with(faulty.device, grid=(node, values))
    call = "copy_to_device" if index is None else "copy_strided_to_device"
    faulty.fault.plan(call, DeviceError("the bus is busy"))
    part = values if index is None else values[index]
    with pytest.raises(RoutineError, match=r"^from_host grid: the bus is busy$"):
        context.from_host(node, part, index=index)
    with pytest.raises(RoutineError, match="to_host grid: grid is undefined since from_host grid failed"):
        context.to_host(node)
    context.from_host(node, values + 1)
    np.testing.assert_array_equal(context.to_host(node), values + 1)


@pytest.mark.parametrize("index", [None, (slice(None), 1)], ids=["whole", "strided"])
def test_a_failed_copy_to_the_host_leaves_the_node(faulty: Faulty, index: Any):
    node = node_of(4, 5, label="grid")
    context = context_with(faulty.device, grid=(node, numbers(4, 5)))
    call = "copy_from_device" if index is None else "copy_strided_from_device"
    faulty.fault.plan(call, DeviceError("the bus is busy"))
    with pytest.raises(RoutineError, match=r"^to_host grid: the bus is busy$"):
        context.to_host(node, index=index)
    np.testing.assert_array_equal(context.to_host(node), numbers(4, 5))


def test_a_failed_first_copy_leaves_nothing(faulty: Faulty):
    root = faulty.device.make_context()
    faulty.fault.plan("copy_to_device", DeviceError("the bus is busy"))
    with pytest.raises(RoutineError, match=r"^init_from_host w: the bus is busy$"):
        root.init_from_host(node_of(4), numbers(4))
    faulty.fault.plan("memset_zero", DeviceError("the bus is busy"))
    with pytest.raises(RoutineError, match=r"^init_zeros w: the bus is busy$"):
        root.init_zeros(node_of(4))
        faulty.device.await_idle()
    gc.collect()
    assert root.children == ()
    assert faulty.device.used_memory == 0


@pytest.mark.parametrize("call", ["copy_from_peer", "copy_to_device", "copy_on_device", "copy_from_device"])
@pytest.mark.parametrize("into_merge_buffer", [False, True])
def test_a_failed_copy_between_devices_is_named(faulty: Faulty, call: str, into_merge_buffer: bool):
    first, second = faulty.platform.devices
    code = faulty.platform.compile(MERGE)
    w = code.nodes["w"]
    source = context_with(first, w=(w, numbers(4)))
    target = second.make_context().init_zeros(w)
    second.await_idle()
    copy = target.device_to_device(w, source, into_merge_buffer=into_merge_buffer)
    assert copy is not None
    for faults in faulty.faults:
        faults.plan(call, DeviceError("the bus is busy"), times=None)
    copy.run()
    failures: list[DeviceError] = []
    for device in faulty.platform.devices:
        try:
            device.await_idle()
        except DeviceError as error:
            failures.append(error)
    for faults in faulty.faults:
        faults.clear()
    if not failures:
        copy.run()
    else:
        assert all(isinstance(error, RoutineError) and error.routine == copy.name for error in failures)
        assert "the bus is busy" in failures[0].message
        if into_merge_buffer:
            copy.context.link(code).run()
            with pytest.raises(RoutineError, match="add_other: the merge buffer is undefined since w from"):
                second.await_idle()
            target.from_host(w, numbers(4))
        else:
            with pytest.raises(RoutineError, match="to_host w: w is undefined since w from"):
                target.to_host(w)
        copy.run()
    if into_merge_buffer:
        target.from_host(w, numbers(4) * 0)
        copy.context.link(code).run()
    assert target.to_host(w).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("source_kind", QUEUED)
@pytest.mark.parametrize("target_kind", [kind for kind in KINDS if kind not in QUEUED])
def test_devices_that_nobody_sees_into_are_copied_through_the_host(source_kind: str, target_kind: str):
    source_platform, target_platform = open_kind(source_kind), open_kind(target_kind)
    hide_memory_from_host(source_platform.get_device(0).backend)
    code = target_platform.compile(MERGE)
    w = code.nodes["w"]
    source = source_platform.get_device(0).make_context().init_zeros(w)
    target = target_platform.get_device(0).make_context().init_zeros(w)
    for into_merge_buffer in (False, True):
        copy = target.device_to_device(w, source, into_merge_buffer=into_merge_buffer)
        assert copy is not None
        assert copy.schedule[0].endswith(", through the host")
        for i in range(10):
            source.from_host(w, numbers(4, start=i))
            copy.run()
        if into_merge_buffer:
            copy.context.link(code).run()
    assert target.to_host(w).tolist() == [18, 20, 22, 24]
    source_platform.close()
    target_platform.close()


@pytest.mark.parametrize("source_kind", QUEUED)
@pytest.mark.parametrize("target_kind", MULTICORE)
def test_a_failed_fetch_between_platforms_copies_nothing_old(source_kind: str, target_kind: str):
    source_platform, target_platform = open_kind(source_kind), open_kind(target_kind)
    faults = inject_faults(source_platform.get_device(0).backend)
    hide_memory_from_host(source_platform.get_device(0).backend)
    node = node_of(4)
    source = context_with(source_platform.get_device(0), w=(node, numbers(4)))
    target = target_platform.get_device(0).make_context().init_from_device(node, source)
    copy = target.device_to_device(node, source)
    assert copy is not None
    copy.run()
    assert target.to_host(node).tolist() == [0, 1, 2, 3]
    source.from_host(node, numbers(4, start=10))
    faults.plan("copy_from_device", DeviceError("the bus is busy"))
    faults.plan("queue_copy_from_device", DeviceError("the bus is busy"))
    copy.run()
    here, there = source.device.name, target.device.name
    with pytest.raises(
        RoutineError, match=rf"^w from {here} to {there}: what {here} was to send did not arrive"
    ):
        target.to_host(node)
    faults.clear()
    with pytest.raises(RoutineError, match=rf"^w from {here} to {there}: the bus is busy$"):
        source.device.await_idle()
    copy.run()
    assert target.to_host(node).tolist() == [10, 11, 12, 13]
    source_platform.close()
    target_platform.close()


def test_what_could_not_be_sent_is_sent_again(faulty: Faulty):
    code = faulty.platform.compile(DOUBLE.replace("on_device", "hosted"))
    x, y = code.nodes["x"], code.nodes["y"]
    routine = faulty.device.make_context().link(code)
    x.set_values(numbers(4))
    faulty.fault.plan("copy_to_device", DeviceError("the bus is busy"))
    routine.run()
    with pytest.raises(RoutineError, match=r"^send x: the bus is busy") as caught:
        faulty.device.await_idle()
    assert caught.value.__notes__ == ["also failed: double: x is undefined since send x failed"]
    routine.run()
    assert y.get_values().tolist() == [0, 2, 4, 6]


def test_what_could_not_be_fetched_is_fetched_again(faulty: Faulty):
    code = faulty.platform.compile(DOUBLE.replace("on_device", "hosted"))
    x, y = code.nodes["x"], code.nodes["y"]
    routine = faulty.device.make_context().link(code)
    x.set_values(numbers(4))
    routine.run()
    faulty.fault.plan("copy_from_device", DeviceError("the bus is busy"))
    with pytest.raises(RoutineError, match=r"^fetch y: the bus is busy$"):
        y.get_values()
    assert y.get_values().tolist() == [0, 2, 4, 6]


def test_a_queued_copy_that_fails_is_named(faulty: Faulty):
    node = node_of(4)
    context = context_with(faulty.device, w=(node, numbers(4)))
    for call in ("copy_to_device", "queue_copy_to_device"):
        faulty.fault.plan(call, DeviceError("the bus is busy"))
    event = context.queue_from_host(node, numbers(4))
    with pytest.raises(RoutineError, match="from_host w: the bus is busy"):
        event.sync()
    faulty.fault.clear()
    context.queue_from_host(node, numbers(4)).sync()


# Lost devices

ON_LOST: dict[str, Callable[[Any, tenon.TensorNode], object]] = {
    "run": lambda routine, node: routine.run(),
    "from_host": lambda routine, node: routine.context.from_host(node, numbers(4)),
    "to_host": lambda routine, node: routine.context.to_host(node),
    "queue_from_host": lambda routine, node: routine.context.queue_from_host(node, numbers(4)),
    "await_idle": lambda routine, node: routine.device.await_idle(),
    "synchronize": lambda routine, node: routine.device.synchronize(),
    "init_from_host": lambda routine, node: routine.context.init_from_host(node_of(4), numbers(4)),
    "init_zeros": lambda routine, node: routine.context.init_zeros(node_of(4)),
    "all_work": lambda routine, node: routine.device.all_work().sync(),
}


def test_a_lost_device_is_marked_and_says_so_to_everybody(faulty: Faulty):
    device = faulty.device
    routine, _, y = double_on(device)
    routine.run()
    routine.context.to_host(y)
    faulty.fault.plan("run", DeviceLostError("the bus is gone"), times=None)
    event = routine.run()
    with pytest.raises(
        DeviceLostError, match=rf"^{device.name} is lost: the bus is gone \(in flight: double"
    ) as caught:
        event.sync()
    assert caught.value.in_flight[0] == "double"
    assert device.is_lost
    assert repr(device) == f"<Device {device.name}, lost>"
    info = device.debug_info()
    assert info["is_lost"] is True
    for use in ON_LOST.values():
        with pytest.raises(DeviceLostError, match=rf"^{device.name} is lost: the bus is gone"):
            use(routine, y)
    assert device.is_idle or isinstance(device.backend.driver, Queued)


def test_the_memory_of_a_lost_device_can_be_let_go(faulty: Faulty):
    device = faulty.device
    routine, _, _ = double_on(device)
    device.await_idle()
    faulty.fault.plan("run", DeviceLostError("the bus is gone"), times=None)
    routine.run()
    context = routine.context.parent
    assert context is not None
    context.finalize()
    assert routine.context.is_finalized
    del routine, context
    gc.collect()
    assert device.used_memory == 0
    faulty.platform.close()


def test_other_devices_outlive_a_lost_one(faulty: Faulty):
    first, second = faulty.platform.devices
    routine, x, y = double_on(first)
    other = context_with(second, x=(x, numbers(4))).link(
        routine_code := faulty.platform.compile(DOUBLE, nodes=[x, y])
    )
    assert routine_code.nodes["y"] is y
    back = other.context.device_to_device(y, routine.context)
    assert back is not None
    faulty.fault.plan("run", DeviceLostError("the bus is gone"), times=None)
    routine.run()
    with pytest.raises(DeviceLostError):
        first.await_idle()
    other.run()
    assert other.context.to_host(y).tolist() == [0, 2, 4, 6]
    assert not second.is_lost
    with pytest.raises(DeviceError, match=rf"{first.name} is lost|y is undefined since double failed"):
        back.run().sync()


@pytest.mark.parametrize("kind", MULTICORE)
def test_what_was_in_flight_on_a_lost_device_is_named(kind: str):
    platform = open_kind(kind)
    device = platform.get_device(0)
    faults = inject_faults(device.backend)
    routine, _, y = double_on(device)
    gate = Gate()
    device.await_idle()
    device.runner.submit("held", gate)
    gate.begun.wait(10)
    faults.plan("run", DeviceLostError("the bus is gone"))
    out = np.zeros(4, np.float32)
    events = [routine.run(), routine.run(), routine.context.queue_to_host(y, out)]
    gate.open.set()
    in_flight = r"\(in flight: double, double, to_host y\)"
    with pytest.raises(DeviceLostError, match=rf"^{device.name} is lost: the bus is gone {in_flight}$"):
        events[2].sync()
    assert all(event.is_done for event in events)
    assert out.tolist() == [0] * 4
    platform.close()


@pytest.mark.parametrize("kind", QUEUED)
def test_a_queue_that_breaks_loses_the_device_and_names_what_was_queued(kind: str):
    platform = open_kind(kind)
    device = platform.get_device(0)
    faults = inject_faults(device.backend)
    routine, _, _ = double_on(device)
    device.await_idle()
    for call in ("wait", "is_done"):
        faults.plan(call, DeviceError("the queue broke"), times=None)
    routine.run()
    with pytest.raises(DeviceLostError, match=rf"{device.name} is lost: the queue broke"):
        device.await_idle()
    assert device.is_lost
    with pytest.raises(DeviceLostError, match=f"{device.name} is lost"):
        routine.run()


def test_a_device_that_is_lost_while_others_wait_for_it_does_not_hold_them(faulty: Faulty):
    first, second = faulty.platform.devices
    faulty.fault.plan("run", DeviceLostError("the bus is gone"), times=None)
    routine, _, _ = double_on(first)
    event = routine.run()
    second.wait_for(event)
    done: list[int] = []
    second.runner.submit("after", lambda: done.append(1))
    second.await_idle()
    assert done == [1]


def test_nothing_hangs_that_waits_for_a_lost_device(faulty: Faulty):
    device = faulty.device
    routine, _, _ = double_on(device)
    device.await_idle()
    faulty.fault.plan("run", DeviceLostError("the bus is gone"), times=None)
    events = []
    for _ in range(5):
        try:
            events.append(routine.run())
        except DeviceLostError:
            break
    for event in events:
        with pytest.raises(DeviceLostError):
            event.sync()
