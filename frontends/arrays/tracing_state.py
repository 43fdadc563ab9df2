"""Whether anything is traced, and what arrays whose values are read tell of that."""

from __future__ import annotations

import threading
from typing import Protocol

ENTERED = [0]
"""How many traces are entered in all threads: while there are none nobody looks further."""


class ReadsValues(Protocol):
    """What is told of arrays: a trace, whose program is for these values only."""

    @property
    def values_read(self) -> set[int]: ...


class _Stack(threading.local):
    def __init__(self) -> None:
        self.traces: list[ReadsValues] = []


STACK = _Stack()
"""The traces that are written by each thread, the innermost last."""


def note_values_read(array: object) -> None:
    """Notes that the function which is traced, if one is, depends on the values of an array."""
    if ENTERED[0] and (traces := STACK.traces):
        traces[-1].values_read.add(id(array))
