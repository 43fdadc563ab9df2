"""The memory that the contexts of one device share: constants, and nodes of which streams have one buffer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class SharedBuffers:
    """
    Things by key, each made when first asked for and kept as long as somebody holds it. Any thread may ask.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._held: WeakValueDictionary[Hashable, object] = WeakValueDictionary()

    def get(self, key: Hashable, kind: type[T], make: Callable[[], T]) -> T:
        """Returns what is held for `key`, a `kind`; made, where nothing is."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                held = self._held[key] = make()
            assert isinstance(held, kind), f"{key} is a {type(held).__name__}"
            return held

    def __len__(self) -> int:
        return len(self._held)
