"""Devices of this process that run the programs of all ranks together."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, nullcontext
from contextvars import copy_context
from typing import TypeVar

from ...backends.interface import SharedWorkers
from ...errors import DeviceError, RankError, TenonError
from .device import Device
from .device_world import DeviceWorld, start_session

T = TypeVar("T")


class _Running(threading.local):
    is_part = False


_RUNNING = _Running()
"""Whether this thread runs the part of a device."""


class _Locks:
    """For each device the lock of who runs programs on it and others together."""

    def __init__(self) -> None:
        self._locks: weakref.WeakKeyDictionary[Device, threading.Lock] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, device: Device) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(device, threading.Lock())

    def forget(self) -> None:
        """In the child of a fork: who holds the locks is not here."""
        self._lock = threading.Lock()
        self._locks.clear()


_LOCKS = _Locks()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.forget)


class DeviceRanks:
    """
    The devices of a mesh, each a rank. The first one's part runs in the thread that calls, those of the
    others in threads of their own, which live as long as this. Any thread may use it: calls that share a
    device run one after the other.
    """

    def __init__(self, devices: Sequence[Device]) -> None:
        """
        Raises:
            TenonError: a device is there twice, or they are of several kinds, whose results may differ.
        """
        self.devices = tuple(devices)
        first = self.devices[0]
        names = [device.name for device in self.devices]
        for number, device in enumerate(self.devices):
            if device in self.devices[:number]:
                raise TenonError(
                    f"Mesh: device {device.name} is there twice (hint: tenon.open_platform"
                    f"({device.backend.name!r}, num_devices={len(self.devices)}))"
                )
            mine, its = device.backend, first.backend
            if (mine.name, mine.device) != (its.name, its.device):
                raise TenonError(
                    f"Mesh: {first.name} ({its.device.name}) and {device.name} ({mine.device.name}) are of "
                    "two kinds: what all devices compute alike they may round differently"
                )
        self.worlds = tuple(DeviceWorld(rank, names) for rank in range(len(names)))
        self._threads: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @property
    def size(self) -> int:
        return len(self.devices)

    def run(self, functions: Sequence[Callable[[], T]]) -> list[T]:
        """
        Returns what the functions give, one for each device, which run at the same time and whose collectives
        meet. It blocks until all have returned.

        Raises:
            DeviceError: a device is closed or lost, or a callback of such a run calls it.
            BaseException: what a device's function raises of itself, the first one's that does.
        """
        if _RUNNING.is_part:
            raise DeviceError(
                "the devices of a mesh wait for the callback that uses a mesh of devices "
                "(hint: what such a program calls back may use arrays on no such mesh)"
            )
        with ExitStack() as held:
            for device in sorted(self.devices, key=lambda device: device.id):
                held.enter_context(_LOCKS.of(device))
            for device in self.devices:
                device.runner.check_open()
            return self._run(functions)

    def _run(self, functions: Sequence[Callable[[], T]]) -> list[T]:
        start_session(self.worlds)
        results: dict[int, T] = {}
        errors: dict[int, BaseException] = {}
        shares = [
            driver.share(self.size) if isinstance(driver := device.backend.driver, SharedWorkers) else None
            for device in self.devices
        ]

        def part(rank: int) -> None:
            _RUNNING.is_part = True
            try:
                with shares[rank] or nullcontext():
                    results[rank] = functions[rank]()
            except BaseException as error:
                errors[rank] = error
                self.worlds[rank].end(f"has raised {type(error).__name__}: {error}")
            else:
                self.worlds[rank].end()
            finally:
                _RUNNING.is_part = False

        begun: list[Future[None]] = [
            self._executor().submit(copy_context().run, part, rank) for rank in range(1, self.size)
        ]
        try:
            part(0)
            for each in begun:
                each.result()
        except BaseException:
            # The arrays are theirs until they have returned.
            for world in self.worlds:
                world.end("was interrupted")
            for each in begun:
                each.result()
            raise
        if errors:
            # What a device raised of itself comes before what it brought upon those that waited for it.
            own = [rank for rank in sorted(errors) if not isinstance(errors[rank], RankError)]
            raise errors[own[0] if own else min(errors)]
        return [results[rank] for rank in range(self.size)]

    def _executor(self) -> ThreadPoolExecutor:
        if self._threads is None or self._process != os.getpid():
            # The child of a fork has none of the threads.
            self._process = os.getpid()
            self._threads = ThreadPoolExecutor(self.size - 1, f"mesh of {self.devices[0].name}")
        return self._threads
