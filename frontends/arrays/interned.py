"""Tables of objects of which there is one for each key, so that they are compared by identity."""

from __future__ import annotations

import os
from threading import Lock
from typing import Generic, TypeVar
from weakref import ref

_KeyT = TypeVar("_KeyT")
_ValueT = TypeVar("_ValueT")

LEAST_SWEPT = 1024
"""Tables of fewer entries are not swept."""

_adding = Lock()
"""Held while anything is added to any table."""


class Interned(Generic[_KeyT, _ValueT]):
    """
    One object for each key, as long as anybody has it. Any thread may use it.

    What is gone is swept out whenever the table has twice the entries that the last sweep left.
    """

    def __init__(self) -> None:
        self._found: dict[_KeyT, ref[_ValueT]] = {}
        self._most = LEAST_SWEPT

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: _KeyT) -> _ValueT | None:
        found = self._found.get(key)
        return None if found is None else found()

    def add(self, key: _KeyT, value: _ValueT) -> _ValueT:
        """Returns the object of `key`: `value`, unless another thread was faster."""
        with _adding:
            known = self.get(key)
            if known is not None:
                return known
            if len(self._found) >= self._most:
                # A table of its own: others may be reading the old one.
                self._found = {each: found for each, found in self._found.items() if found() is not None}
                self._most = max(LEAST_SWEPT, 2 * len(self._found))
            self._found[key] = ref(value)
            return value


def _forget_lock() -> None:
    """In the child of a fork: who holds the lock of the parent's is not here."""
    global _adding
    _adding = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_lock)
