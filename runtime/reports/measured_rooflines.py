"""The rooflines of devices, measured when first asked for and kept in the cache on disk."""

from __future__ import annotations

import os
from dataclasses import asdict
from hashlib import blake2b
from math import isfinite
from threading import Lock
from typing import Any, cast

from ...backends.cache.frame import Record
from ...backends.cache.place import cache_folder
from ...backends.interface import Backend, workers_of
from .peak_measurement import measure_roofline
from .roofline import MemoryLevel, Roofline

_VERSION = 1
"""Counts changes of what is measured, and of how it is written."""

_LOCK = Lock()
MEASURED: dict[str, Roofline] = {}
"""The limits that this process has measured, or found on disk, by what they are kept under."""


def device_roofline(backend: Backend) -> Roofline:
    """
    Returns the limits of a device for the number of workers that it has now. They are measured once for each
    such number, and kept in the cache on disk, where that is on: `tenon-cache clear` forgets them, should
    they have been measured while the machine was busy.

    Raises:
        DeviceError: the device failed, or has not enough memory.
        KernelCompileError: its compiler rejected a kernel.
        TenonError: the cache's limit is no number.
    """
    key = _key_of(backend)
    with _LOCK:
        found = MEASURED.get(key) or _kept(key)
        if found is None:
            found = measure_roofline(backend)
            _keep(key, found)
        MEASURED[key] = found
        return found


def _key_of(backend: Backend) -> str:
    """Returns what the limits of a device are kept under: all that is known of it, and its processors."""
    what = (_VERSION, backend.name, repr(backend.device), workers_of(backend), os.cpu_count())
    return f"roofline-{blake2b(repr(what).encode(), digest_size=32).hexdigest()}"


def _kept(key: str) -> Roofline | None:
    folder = cache_folder()
    record = None if folder is None else folder.load(key)
    if folder is None or record is None:
        return None
    try:
        return roofline_of(record.data)
    except (KeyError, TypeError, ValueError):
        folder.discard(key)
        return None


def _keep(key: str, roofline: Roofline) -> None:
    folder = cache_folder()
    if folder is not None:
        folder.store(key, Record(asdict(roofline), (), f"roofline of {roofline.device}"))


def roofline_of(data: Any) -> Roofline:
    """
    Returns the roofline that `dataclasses.asdict` made `data` of.

    Raises:
        KeyError, TypeError, ValueError: it is none.
    """
    fields = cast("dict[str, Any]", data)
    levels = [MemoryLevel(**level) for level in fields["levels"]]
    gflops: dict[str, float] = {str(name): _rate(rate) for name, rate in fields["gflops"].items()}
    for level in levels:
        for rate in (level.read_gbps, level.write_gbps, level.copy_gbps):
            _rate(rate)
    if "f32" not in gflops or not levels:
        raise ValueError("a roofline without arithmetic or memory")
    return Roofline(str(fields["device"]), int(fields["n_workers"]), gflops, tuple(levels))


def _rate(value: Any) -> float:
    if not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError(f"{value!r} is no rate")
    return float(value)
