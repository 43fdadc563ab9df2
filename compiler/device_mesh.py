"""The devices that a mesh is of."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any, cast
from weakref import WeakValueDictionary

from ..runtime.platforms.device import Device
from ..runtime.platforms.device_ranks import DeviceRanks
from ..runtime.platforms.platform import Platform

_KNOWN: WeakValueDictionary[tuple[int, ...], DeviceRanks] = WeakValueDictionary()
_LOCK = Lock()


def device_ranks(devices: Any) -> DeviceRanks:
    """
    Returns the ranks that devices are in this order, or those of a platform: the same for the same devices.

    Raises:
        TypeError: they are no list of devices.
        ValueError: there are none.
        TenonError: one is there twice, or they are of several kinds.
    """
    given: Any = devices.devices if isinstance(devices, Platform) else devices
    if not isinstance(given, Iterable):
        raise TypeError(f"Mesh: devices are {given!r}, expected a platform or a list of devices")
    listed = tuple(cast("Iterable[Any]", given))
    for device in listed:
        if not isinstance(device, Device):
            raise TypeError(
                f"Mesh: {device!r} is no device (hint: tenon.open_platform('llvm', num_devices=2).devices)"
            )
    if not listed:
        raise ValueError("Mesh: there are no devices")
    key = tuple(device.id for device in listed)
    with _LOCK:
        found = _KNOWN.get(key)
        if found is None:
            found = _KNOWN[key] = DeviceRanks(listed)
        return found
