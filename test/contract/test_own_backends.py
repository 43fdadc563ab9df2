"""Platforms of the caller's own backends and schedulers."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import tenon
from tenon.backends.interface import Backend, Queued
from tenon.backends.registry import REFERENCE, get_backend, open_backends
from tenon.errors import CallError, TenonError
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.streams.event import Event
from tenon.runtime.streams.runner import SyncRunner

from .conftest import device, pair
from .open_platforms import COUNT, DOUBLE, context_with, numbers

__all__ = ["device", "pair"]


class Counting(SyncRunner):
    """Runs work at once, and counts it."""

    n_tasks = 0

    def submit(self, *arguments: Any, **named: Any) -> Event:
        self.n_tasks += 1
        return super().submit(*arguments, **named)


def doubled_on(platform: Platform, ordinal: int) -> list[float]:
    code = platform.compile(DOUBLE)
    context = context_with(platform.get_device(ordinal), x=(code.nodes["x"], numbers(4)))
    routine = context.link(code)
    routine.run()
    return routine.context.to_host(code.nodes["y"]).tolist()


def test_a_record_is_a_device(device: Backend):
    with tenon.open_platform(replace(device, name="mine")) as platform:
        assert (platform.name, platform.num_devices) == ("mine", 1)
        assert platform.get_device(0).backend.driver is device.driver
        assert platform.get_device(0).name == "mine:0"
        assert doubled_on(platform, 0) == [0, 2, 4, 6]


def test_records_are_devices(pair: list[Backend]):
    with tenon.open_platform(pair) as platform:
        assert [each.backend for each in platform.devices] == pair
        assert [doubled_on(platform, ordinal) for ordinal in range(2)] == [[0, 2, 4, 6]] * 2


def test_a_scheduler_may_be_the_callers(device: Backend):
    if isinstance(device.driver, Queued):
        with pytest.raises(TenonError, match="the devices have queues of their own and take no scheduler"):
            tenon.open_platform(device, scheduler=Counting)
        return
    with tenon.open_platform(device, scheduler=Counting) as platform:
        runner = platform.get_device(0).runner
        assert isinstance(runner, Counting)
        assert platform.static_properties["scheduler"] == "Counting"
        code = platform.compile(COUNT)
        context = context_with(platform.get_device(0), w=(code.nodes["w"], numbers(4)))
        before = runner.n_tasks
        context.link(code).run()
        assert runner.n_tasks == before + 1
        assert context.to_host(code.nodes["w"]).tolist() == [1, 2, 3, 4]


def test_a_backend_by_name_takes_a_scheduler_too():
    with tenon.open_platform(REFERENCE, scheduler=Counting, num_devices=2) as platform:
        assert all(isinstance(each.runner, Counting) for each in platform.devices)
        assert doubled_on(platform, 1) == [0, 2, 4, 6]


def no_runner(track: Any, lock: Any) -> Any:
    return track


@pytest.mark.parametrize(
    ("open_one", "error", "message"),
    [
        (lambda: tenon.open_platform([]), TenonError, r"open_platform: no Backend record is given"),
        (
            lambda: tenon.open_platform([get_backend(REFERENCE), 3]),  # pyright: ignore[reportArgumentType]
            CallError,
            r"open_platform: expected a backend's name, or Backend records, found int",
        ),
        (
            lambda: tenon.open_platform(get_backend(REFERENCE), num_devices=2),
            TenonError,
            r"open_platform: num_devices is for backends by name: each record is a device",
        ),
        (
            lambda: tenon.open_platform(get_backend(REFERENCE), target="native"),
            TenonError,
            r"open_platform: target is for backends by name: each record is a device",
        ),
        (
            lambda: tenon.open_platform(
                [replace(get_backend(REFERENCE), name="mine"), get_backend(REFERENCE)]
            ),
            TenonError,
            r"open_platform: the records are of different backends: mine, reference",
        ),
        (
            lambda: tenon.open_platform(open_backends(REFERENCE) * 2),
            TenonError,
            r"open_platform: two records share a driver: each device needs one of its own",
        ),
        (
            lambda: tenon.open_platform(REFERENCE, scheduler=no_runner),
            CallError,
            r"open_platform: scheduler: expected a function that makes a Runner, found Track",
        ),
    ],
)
def test_what_is_no_platform_is_refused(
    open_one: Callable[[], Platform], error: type[TenonError], message: str
):
    with pytest.raises(error, match=message):
        open_one()
