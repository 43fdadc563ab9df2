"""Values that are computed when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar

from ...errors import TenonError

OwnerT = TypeVar("OwnerT")
T = TypeVar("T")


class Lazy(Generic[OwnerT, T]):
    """
    A value, or how to compute it from its owner, which it does not refer to. Any thread may force it: its
    owner's lock is held while it is computed, so that it is computed once. A computation that raises is done
    again the next time.
    """

    __slots__ = ("_compute", "_is_computing", "_name", "_value")

    def __init__(self, name: str, compute: Callable[[OwnerT], T]) -> None:
        """`name` says what it is, for errors."""
        self._name = name
        self._compute: Callable[[OwnerT], T] | None = compute
        self._is_computing = False
        self._value: T

    @property
    def is_forced(self) -> bool:
        return self._compute is None

    def force(self, owner: OwnerT, lock: RLock) -> T:
        """
        Returns the value.

        Raises:
            TenonError: computing it needs it.
        """
        if self._compute is None:
            return self._value
        with lock:
            # Another thread may have computed it while this one waited.
            compute = self._compute
            if compute is None:
                return self._value
            if self._is_computing:
                raise TenonError(f"{self._name} depends on itself")
            self._is_computing = True
            try:
                self._value = compute(owner)
            finally:
                self._is_computing = False
            self._compute = None
            return self._value
