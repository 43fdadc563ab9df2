"""What contexts are on every platform: an immutable tree of nodes with memory, used until finalized."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.errors import CallError, ContextError, DeviceError, MemoryModeError, OutOfMemoryError
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.test.gate import Gate

from .open_platforms import (
    COUNT,
    DOUBLE,
    KINDS,
    MERGE,
    MULTICORE,
    check_all_is_free,
    code_of,
    context_with,
    device,
    kind_of,
    node_of,
    numbers,
    open_kind,
    platform,
)

__all__ = ["device", "platform"]


def test_a_child_has_its_parent_s_nodes_and_its_own(device: Device):
    a, b = node_of(4, label="a"), node_of(4, label="b")
    root = device.make_context()
    first = root.init_from_host(a, numbers(4))
    second = first.init_from_host(b, numbers(4))
    assert (root.nodes, first.nodes, second.nodes) == ((), (a,), (a, b))
    assert (root.delta, first.delta, second.delta) == ((), (a,), (b,))
    assert (first.parent, second.parent) == (root, first)
    assert (root.children, first.children, second.children) == ((first,), (second,), ())
    assert [*second] == [a, b] and len(second) == 2
    assert a in first and b not in first and "a" not in first
    assert repr(second) == f"<Context on {device.name} (a, b)>"


def test_children_are_in_the_order_they_were_made(device: Device):
    root = device.make_context()
    children = [root.make_child() for _ in range(5)]
    assert root.children == tuple(children)
    del children[1:4]
    gc.collect()
    assert root.children == tuple(children)


def test_siblings_have_memory_of_their_own(device: Device):
    node = node_of(4)
    root = device.make_context()
    first, second = (root.init_from_host(node, numbers(4, start=i)) for i in (0, 10))
    first.from_host(node, numbers(4, start=100))
    assert second.to_host(node).tolist() == [10, 11, 12, 13]
    assert device.used_memory == 128


def test_a_child_shares_its_parent_s_memory(device: Device):
    a, b = node_of(4, label="a"), node_of(4, label="b")
    parent = context_with(device, a=(a, numbers(4)))
    child = parent.init_zeros(b)
    child.from_host(a, numbers(4, start=5))
    assert parent.to_host(a).tolist() == [5, 6, 7, 8]


def test_making_a_child_leaves_the_parent_as_it_is(device: Device):
    node = node_of(4)
    parent = device.make_context()
    child = parent.init_zeros(node)
    assert node not in parent
    assert parent.nodes == ()
    assert child.nodes == (node,)


def test_nodes_that_are_there_get_no_memory_again(device: Device):
    node = node_of(4)
    parent = context_with(device, w=(node, numbers(4)))
    child = parent.make_child([node, node])
    assert child.delta == ()
    assert device.used_memory == 64


def test_a_node_given_twice_gets_memory_once(device: Device):
    node = node_of(4)
    child = device.make_context().make_child([node, node])
    assert child.delta == (node,)
    assert device.used_memory == 64


def test_what_a_child_is_not_given_is_as_in_its_parent(device: Device):
    node = node_of(4)
    context = context_with(device, w=(node, numbers(4)))
    transfer = context.device_to_device(node, context, into_merge_buffer=True)
    assert transfer is not None
    assert transfer.context.make_child().merge_buffer_node is node
    assert context.merge_buffer_node is None
    other = node_of(4)
    assert transfer.context.make_child(merge_buffer_node=other).merge_buffer_node is other


def test_nodes_without_memory_of_their_own_are_refused(device: Device):
    for mode in ("virtual", "local"):
        with pytest.raises(
            MemoryModeError, match=rf"here: materialized \(memory on {device.name}\) conflicts with {mode}"
        ):
            device.make_context().make_child([node_of(4, label="here", mode=mode)])
    assert device.used_memory == 0


def test_finalizing_frees_the_delta_and_nothing_else(device: Device):
    a, b = node_of(4, label="a"), node_of(100, label="b")
    parent = context_with(device, a=(a, numbers(4)))
    child = parent.init_zeros(b)
    assert device.used_memory == 64 + 448
    child.finalize()
    assert child.is_finalized and not parent.is_finalized
    assert device.used_memory == 64
    assert parent.to_host(a).tolist() == [0, 1, 2, 3]
    assert repr(child) == f"<Context on {device.name} (), finalized>"


def test_finalizing_twice_is_finalizing_once(device: Device):
    context = context_with(device, w=(node_of(4), numbers(4)))
    context.finalize()
    context.finalize()
    assert device.used_memory == 0


def test_finalizing_takes_all_descendants_along(device: Device):
    nodes = [node_of(4) for _ in range(4)]
    root = device.make_context()
    first = root.init_zeros(nodes[0])
    second, third = first.init_zeros(nodes[1]), first.init_zeros(nodes[2])
    fourth = third.init_zeros(nodes[3])
    first.finalize()
    assert all(context.is_finalized for context in (first, second, third, fourth))
    assert not root.is_finalized
    assert device.used_memory == 0


@pytest.mark.parametrize("kind", MULTICORE)
def test_finalizing_waits_for_what_is_scheduled(kind: str):
    opened = open_kind(kind)
    device = opened.get_device(0)
    node, gate = node_of(4), Gate()
    context = context_with(device, w=(node, numbers(4)))
    device.runner.submit("held", gate)
    out = np.zeros(4, np.float32)
    event = context.queue_to_host(node, out)
    gate.open.set()
    context.finalize()
    assert event.is_done
    assert out.tolist() == [0, 1, 2, 3]
    opened.close()


def test_finalizing_waits_for_copies_that_other_devices_make(platform: Platform):
    first, second = platform.devices
    node = node_of(100_000)
    source = context_with(first, w=(node, numbers(100_000)))
    target = second.make_context().init_zeros(node)
    routine = target.device_to_device(node, source)
    assert routine is not None
    routine.run()
    source.finalize()
    assert first.used_memory == 0
    np.testing.assert_array_equal(target.to_host(node), numbers(100_000))


def test_failures_of_the_work_waited_for_are_left_for_the_next_synchronisation(device: Device):
    def fail() -> None:
        raise ValueError("1")

    context = device.make_context().init_zeros(node_of(4))
    device.runner.submit("broken", fail)
    context.finalize()
    with pytest.raises(DeviceError, match="broken: ValueError: 1"):
        device.await_idle()


def test_what_nothing_refers_to_is_freed(device: Device):
    context = context_with(device, w=(node_of(4), numbers(4)))
    child = context.init_zeros(node_of(100))
    del context
    assert device.used_memory == 64 + 448, "the child holds its parent"
    del child
    device.await_idle()
    gc.collect()
    assert device.used_memory == 0


def test_a_routine_holds_its_context(device: Device):
    code = code_of(device.platform, DOUBLE)
    x, y = code.nodes["x"], code.nodes["y"]
    routine = context_with(device, x=(x, numbers(4))).link(code)
    gc.collect()
    routine.run()
    assert routine.context.to_host(y).tolist() == [0, 2, 4, 6]
    assert device.used_memory == 128


def test_dropping_a_context_does_not_finalize_its_parent(device: Device):
    a = node_of(4)
    parent = context_with(device, a=(a, numbers(4)))
    parent.init_zeros(node_of(4))
    device.await_idle()
    gc.collect()
    assert parent.children == ()
    assert parent.to_host(a).tolist() == [0, 1, 2, 3]


USES: dict[str, Callable[[Context, tenon.TensorNode], Any]] = {
    "from_host": lambda context, node: context.from_host(node, numbers(4)),
    "to_host": lambda context, node: context.to_host(node),
    "queue_from_host": lambda context, node: context.queue_from_host(node, numbers(4)),
    "queue_to_host": lambda context, node: context.queue_to_host(node, numbers(4)),
    "host_view": lambda context, node: context.host_view(node),
    "is_initialized": lambda context, node: context.is_initialized(node),
}

GROWING: dict[str, Callable[[Context, tenon.TensorNode], Any]] = {
    "make_child": lambda context, node: context.make_child([node]),
    "init_from_host": lambda context, node: context.init_from_host(node, numbers(4)),
    "init_zeros": lambda context, node: context.init_zeros(node),
    "init_from_device": lambda context, node: context.init_from_device(node, context),
    "device_to_device": lambda context, node: context.device_to_device(node, context),
}


@pytest.mark.parametrize("use", [*USES, *GROWING])
def test_a_finalized_context_is_not_used(device: Device, use: str):
    node = node_of(4)
    context = context_with(device, w=(node, numbers(4)))
    context.finalize()
    with pytest.raises(ContextError, match=f"the context on {device.name} is finalized"):
        {**USES, **GROWING}[use](context, node)
    assert device.used_memory == 0


def test_nothing_is_linked_in_a_finalized_context(device: Device):
    code = code_of(device.platform, DOUBLE)
    context = device.make_context()
    context.finalize()
    with pytest.raises(ContextError, match=f"double: the context on {device.name} is finalized"):
        context.link(code)
    assert device.used_memory == 0


def test_a_routine_of_a_finalized_context_does_not_run(device: Device):
    code = code_of(device.platform, COUNT)
    context = device.make_context().init_zeros(code.nodes["w"])
    routine = context.link(code)
    context.finalize()
    with pytest.raises(ContextError, match=f"count: the context on {device.name} is finalized"):
        routine.run()


def test_transfers_do_not_use_finalized_contexts(platform: Platform):
    node = node_of(4)
    source = context_with(platform.get_device(0), w=(node, numbers(4)))
    target = platform.get_device(1).make_context().init_zeros(node)
    routine = target.device_to_device(node, source)
    assert routine is not None
    source.finalize()
    with pytest.raises(ContextError, match=f"the context on {platform.name}:0 is finalized"):
        routine.run()
    with pytest.raises(
        ContextError, match=f"device_to_device: the context on {platform.name}:0 is finalized"
    ):
        target.device_to_device(node, source)
    assert target.to_host(node).tolist() == [0] * 4


@pytest.mark.parametrize("use", USES)
def test_a_node_that_is_absent_is_named_with_those_that_are_there(device: Device, use: str):
    a, b, absent = (node_of(4, label=label) for label in ("a", "b", "absent"))
    context = context_with(device, a=(a, numbers(4)), b=(b, numbers(4)))
    with pytest.raises(ContextError, match=r": absent is not in the context \(nodes: a, b\)"):
        USES[use](context, absent)
    with pytest.raises(ContextError, match=r": absent is not in the context \(nodes: none\)"):
        USES[use](device.make_context(), absent)


def test_a_node_is_on_the_devices_that_it_was_put_on(platform: Platform):
    node = node_of(4)
    first = context_with(platform.get_device(0), w=(node, numbers(4)))
    with pytest.raises(ContextError, match="from_host: w is not in the context"):
        platform.get_device(1).make_context().from_host(node, numbers(4))
    assert first.is_initialized(node)


@pytest.mark.parametrize("use", ["init_from_host", "init_zeros", "init_from_device"])
def test_nodes_are_initialized_once(device: Device, use: str):
    context = context_with(device, w=(node_of(4), numbers(4)))
    (node,) = context.nodes
    with pytest.raises(ContextError, match=rf"{use}: w is in the context already \(hint: from_host, dev"):
        GROWING[use](context.make_child(), node)
    assert context.to_host(node).tolist() == [0, 1, 2, 3]


def test_code_of_another_platform_is_not_linked(platform: Platform):
    other = open_kind(next(kind for kind in KINDS if KINDS[kind][0] != platform.name))
    code = other.compile(DOUBLE)
    with pytest.raises(
        ContextError,
        match=rf"double: compiled for <Platform {other.name}.*>, linked on <Platform {platform.name}",
    ):
        platform.get_device(0).make_context().link(code)


def test_two_platforms_of_a_kind_are_two_platforms(platform: Platform):
    other = open_kind(kind_of(platform))
    with pytest.raises(ContextError, match="double: compiled for"):
        platform.get_device(0).make_context().link(code_of(other, DOUBLE))
    other.close()


def test_what_was_never_written_is_not_read(device: Device):
    node = node_of(4, label="weights")
    context = device.make_context().make_child([node])
    assert not context.is_initialized(node)
    with pytest.raises(
        ContextError,
        match=rf"to_host: weights was never written on {device.name} "
        r"\(hint: init_from_host, from_host, init_zeros\)",
    ):
        context.to_host(node)
    with pytest.raises(ContextError, match="host_view: weights was never written"):
        context.host_view(node)
    context.from_host(node, numbers(4))
    assert context.is_initialized(node)
    assert context.to_host(node).tolist() == [0, 1, 2, 3]


def test_what_was_never_written_is_not_copied_to_another_device(platform: Platform):
    node = node_of(4)
    source = platform.get_device(0).make_context().make_child([node])
    target = platform.get_device(1).make_context().make_child([node])
    with pytest.raises(ContextError, match=f"init_from_device: w was never written on {platform.name}:0"):
        platform.get_device(1).make_context().init_from_device(node, source)
    routine = target.device_to_device(node, source)
    assert routine is not None
    with pytest.raises(ContextError, match=f"w was never written on {platform.name}:0"):
        routine.run()
    assert not target.is_initialized(node)


def test_the_first_write_is_whole(device: Device):
    node = node_of(4)
    context = device.make_context().make_child([node])
    with pytest.raises(ContextError, match="from_host w, in part: w was never written"):
        context.from_host(node, numbers(2), index=slice(2))
    assert not context.is_initialized(node)


def test_a_routine_whose_inputs_were_never_written_does_not_run(device: Device):
    code = code_of(device.platform, DOUBLE)
    x, y = code.nodes["x"], code.nodes["y"]
    routine = device.make_context().link(code)
    assert not routine.context.is_initialized(x)
    with pytest.raises(ContextError, match=f"double: x was never written on {device.name}"):
        routine.run()
    assert not routine.context.is_initialized(y)
    routine.context.from_host(x, numbers(4))
    routine.run()
    assert routine.context.is_initialized(y)


def test_what_one_device_has_says_nothing_of_another(platform: Platform):
    code = code_of(platform, DOUBLE)
    contexts = [device.make_context().make_child([code.nodes["x"]]) for device in platform.devices]
    contexts[0].from_host(code.nodes["x"], numbers(4))
    contexts[0].link(code).run()
    with pytest.raises(ContextError, match=f"double: x was never written on {platform.name}:1"):
        contexts[1].link(code).run()


def test_constants_of_a_device_have_one_memory(device: Device):
    constant = node_of(100, label="table", mode="hosted(constant)")
    first = device.make_context().init_from_host(constant, numbers(100))
    assert device.used_memory == 448
    assert device.debug_info()["n_shared"] == 1
    second = device.make_context().make_child([constant])
    assert device.used_memory == 448
    assert second.is_initialized(constant)
    np.testing.assert_array_equal(second.to_host(constant), numbers(100))
    first.finalize()
    assert device.used_memory == 448
    np.testing.assert_array_equal(second.to_host(constant), numbers(100))
    second.finalize()
    gc.collect()
    assert device.used_memory == 0
    assert device.debug_info()["n_shared"] == 0


def test_each_device_has_its_own_copy_of_a_constant(platform: Platform):
    constant = node_of(4, mode="hosted(constant)")
    contexts = [device.make_context().init_from_host(constant, numbers(4)) for device in platform.devices]
    assert [device.used_memory for device in platform.devices] == [64, 64]
    assert [context.to_host(constant).tolist() for context in contexts] == [[0, 1, 2, 3]] * 2


def test_constants_do_not_change(device: Device):
    constant = node_of(4, label="table", mode="hosted(constant)")
    context = device.make_context().init_from_host(constant, numbers(4))
    with pytest.raises(ContextError, match="from_host table: the node is constant and has its value"):
        context.from_host(constant, numbers(4, start=7))
    with pytest.raises(ContextError, match="table: the node is constant and has its value"):
        device.make_context().init_from_host(constant, numbers(4, start=7))
    with pytest.raises(ContextError, match="table: the node is constant and has its value"):
        device.make_context().init_zeros(constant)
    assert context.to_host(constant).tolist() == [0, 1, 2, 3]


def test_the_constants_of_a_program_are_there_once(device: Device):
    code = device.platform.compile(COUNT)
    node = code.nodes["w"]
    contexts = [device.make_context().init_zeros(node) for _ in range(3)]
    before = device.used_memory
    routines = [context.link(code) for context in contexts]
    once = device.used_memory - before
    del routines[1:]
    gc.collect()
    assert device.used_memory - before == once
    del routines
    gc.collect()
    assert device.used_memory == before


def test_a_node_above_the_limit_is_named(platform: Platform):
    limited = open_kind(kind_of(platform), pool_limit=256)
    device = limited.get_device(0)
    assert device.pool_limit == 256
    with pytest.raises(
        OutOfMemoryError,
        match=r"embedding: 260 bytes do not fit into a pool of at most 256$",
    ):
        device.make_context().make_child([node_of(4), node_of(65, label="embedding")])
    with pytest.raises(OutOfMemoryError, match="table: 260 bytes do not fit"):
        device.make_context().make_child([node_of(65, label="table", mode="hosted(constant)")])
    assert device.used_memory == 0
    limited.close()


def test_nodes_that_do_not_fit_one_pool_get_several(platform: Platform):
    limited = open_kind(kind_of(platform), pool_limit=256)
    device = limited.get_device(0)
    nodes = [node_of(32, label=f"n{i}") for i in range(5)]
    context = device.make_context().make_child(nodes)
    assert device.memory_statistics().n_slabs == 3
    for i, node in enumerate(nodes):
        context.from_host(node, numbers(32, start=1000 * i))
    for i, node in enumerate(nodes):
        np.testing.assert_array_equal(context.to_host(node), numbers(32, start=1000 * i))
    context.finalize()
    check_all_is_free(limited)
    limited.close()


def test_programs_run_across_pools(platform: Platform):
    limited = open_kind(kind_of(platform), pool_limit=64)
    device = limited.get_device(0)
    code = limited.compile(DOUBLE)
    x, y = code.nodes["x"], code.nodes["y"]
    routine = device.make_context().link(code)
    assert device.memory_statistics().n_slabs == 2
    routine.context.from_host(x, numbers(4))
    routine.run()
    assert routine.context.to_host(y).tolist() == [0, 2, 4, 6]
    del routine
    check_all_is_free(limited)
    limited.close()


def test_the_merge_buffer_of_another_node_is_found_at_link_time(platform: Platform):
    code = code_of(platform, MERGE)
    w, other = code.nodes["w"], node_of(4, label="other")
    context = context_with(platform.get_device(0), w=(w, numbers(4)), other=(other, numbers(4)))
    with pytest.raises(
        ContextError,
        match=r"add_other: reads w from the merge buffer, which in this context holds nothing "
        r"\(hint: link on the context of device_to_device\)",
    ):
        context.link(code)
    transfer = context.device_to_device(other, context, into_merge_buffer=True)
    assert transfer is not None
    with pytest.raises(ContextError, match="which in this context holds other"):
        transfer.context.link(code)


def test_failed_children_leave_nothing(device: Device):
    context = context_with(device, w=(node_of(4), numbers(4)))
    before = device.memory_statistics()
    with pytest.raises(CallError, match=r"init_from_host v: shape \[5\], expected \[4\]"):
        context.init_from_host(node_of(4, label="v"), numbers(5))
    gc.collect()
    after = device.memory_statistics()
    assert (after.n_slabs, after.nbytes) == (before.n_slabs, before.nbytes)
    assert context.children == ()


@pytest.mark.parametrize("use", ["run", "from_host", "to_host", "copy"])
def test_what_is_being_scheduled_is_not_freed(platform: Platform, use: str):
    """Another thread finalizes the context right after it was found usable."""
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    context = context_with(platform.get_device(0), w=(w, numbers(4)))
    target = platform.get_device(1).make_context().init_zeros(w)
    routine, copy = context.link(code), target.device_to_device(w, context)
    assert copy is not None
    out = np.zeros(4, np.float32)
    uses: dict[str, Callable[[], object]] = {
        "run": routine.run,
        "from_host": lambda: context.from_host(w, numbers(4)),
        "to_host": lambda: context.to_host(w, out),
        "copy": copy.run,
    }
    used = routine.context if use == "run" else context
    check, threads = used.check_usable, list[threading.Thread]()

    def check_and_finalize(who: str) -> None:
        check(who)
        if not threads:
            threads.append(threading.Thread(target=context.finalize))
            threads[0].start()
            threads[0].join(0.05)

    used.check_usable = check_and_finalize  # pyright: ignore[reportAttributeAccessIssue]
    try:
        uses[use]()
    except ContextError as error:
        assert "is finalized" in error.message
    threads[0].join(10)
    assert context.is_finalized
    canary = platform.get_device(0).make_context().init_zeros(w)
    for each in platform.devices:
        each.await_idle()
    assert canary.to_host(w).tolist() == [0] * 4
    del used.check_usable
