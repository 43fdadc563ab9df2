"""What is given to the runtime in place of what it takes."""

from collections.abc import Callable
from typing import Any

import pytest
import tenon
from tenon.errors import CallError, ContextError, DeviceError, TenonError
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform

from .open_platforms import COUNT, KINDS, MERGE, code_of, context_with, node_of, numbers, open_kind, platform

__all__ = ["platform"]

MISUSES: dict[str, Callable[[Any], object]] = {
    "init_zeros: expected a tensor node, found str": lambda context: context.init_zeros("w"),
    "init_from_host: expected a tensor node, found str": (
        lambda context: context.init_from_host("w", numbers(4))
    ),
    "to_host: expected a tensor node, found str": lambda context: context.to_host("w", numbers(4)),
    "make_child: expected tensor nodes, found str": lambda context: context.make_child(["w"]),
    "link: expected code of Platform.compile, found NoneType": lambda context: context.link(None),
    "device_to_device: expected a tensor node, found str": (
        lambda context: context.device_to_device("w", context)
    ),
    "device_to_device: expected a context, found Device": (
        lambda context: context.device_to_device(node_of(4), context.device)
    ),
    "compile: nodes: expected tensor nodes, found str": (
        lambda context: context.device.platform.compile(COUNT, nodes=["w"])
    ),
    "compile: expected a module or its text, found bytes": (
        lambda context: context.device.platform.compile(b"module")
    ),
    "get_device: expected an integer, found str": lambda context: context.device.platform.get_device("0"),
}


@pytest.mark.parametrize("message", MISUSES)
def test_another_kind_of_thing_is_an_error_that_says_what_is_expected(platform: Platform, message: str):
    context = platform.get_device(0).make_context()
    with pytest.raises(CallError) as caught:
        MISUSES[message](context)
    assert str(caught.value) == message


@pytest.mark.parametrize("what", ["num_devices", "pool_limit"])
def test_numbers_of_a_platform_are_integers(what: str):
    with pytest.raises(CallError, match=f"open_platform: {what}: expected an integer, found str"):
        tenon.open_platform(**{what: "2"})  # pyright: ignore[reportArgumentType]


def test_another_node_of_the_same_name_is_told_apart(platform: Platform):
    device = platform.get_device(0)
    mine, other = node_of(4), node_of(4)
    context = context_with(device, w=(mine, numbers(4)))
    hint = rf"another node {mine.ident} of that name is, this one is {other.ident}; hint: compile\("
    with pytest.raises(ContextError, match=hint):
        context.to_host(other)
    code = code_of(platform, COUNT)
    with pytest.raises(ContextError, match=r"was never written .* of that name is, this one is"):
        context.link(code).run()
    source = context_with(platform.get_device(1), w=(mine, numbers(4)))
    merged = context.device_to_device(mine, source, into_merge_buffer=True)
    assert merged is not None
    with pytest.raises(ContextError, match=r"reads w from the merge buffer, .* of that name is, this one is"):
        merged.context.link(code_of(platform, MERGE))


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_platform_takes_no_more_work(kind: str):
    with open_kind(kind) as opened:
        device: Device = opened.get_device(0)
        code = code_of(opened, COUNT)
        w = code.nodes["w"]
        context = device.make_context().init_zeros(w)
        routine = context.link(code)
        routine.run()
        assert routine.context.to_host(w).tolist() == [1] * 4
    for use in (routine.run, lambda: context.to_host(w), lambda: context.init_zeros(node_of(4))):
        with pytest.raises(DeviceError, match=f"{device.name}: the device is closed"):
            use()
    context.finalize()
    assert device.used_memory == 0
    opened.close()


@pytest.mark.parametrize("kind", KINDS)
def test_failures_after_the_third_are_counted(kind: str):
    with open_kind(kind) as opened:
        runner = opened.get_device(0).runner

        def fail() -> None:
            raise ValueError("no")

        for number in range(7):
            runner.submit(f"work {number}", fail)
        with pytest.raises(TenonError) as caught:
            runner.all_work().sync()
    assert str(caught.value) == "work 0: ValueError: no"
    assert caught.value.__notes__ == [
        "also failed: work 1: ValueError: no",
        "also failed: work 2: ValueError: no",
        "also failed: work 3: ValueError: no",
        "and 3 more",
    ]
