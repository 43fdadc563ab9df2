"""What a timeline is made of: tracks, pieces of work on them, and arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

HOST = "host"
"""The process, in a timeline, of the threads that call Tenon."""


class Category(StrEnum):
    """What kind of work a span is."""

    COMPILE = "compile"
    ALLOCATE = "allocate"
    TRANSFER = "transfer"
    KERNEL = "kernel"
    ROUTINE = "routine"
    WAIT = "wait"
    CONTROL = "control"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class Track:
    """A row: `thread` is a device's stream or a host thread, `process` a device's platform or the host."""

    process: str
    thread: str


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work. Times are `time.perf_counter_ns()`."""

    name: str
    category: Category
    track: Track
    begin_ns: int
    end_ns: int
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow from a moment on one track to a later moment on another: what waits for what."""

    name: str
    source: Track
    source_ns: int
    target: Track
    target_ns: int
