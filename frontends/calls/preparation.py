"""What programs make of frozen arrays: made once for each, and kept once where they make the same."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Lock
from typing import Any, cast
from weakref import ref

import numpy as np

from ..arrays.concrete import NumpyArray

_SAMPLE_NBYTES = 256

_Key = tuple[np.dtype[Any], tuple[int, ...], bytes]


class _Shared:
    """The arrays that programs keep, by what is quickly told of them; nobody else keeps them here."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[_Key, list[ref[NumpyArray]]] = {}

    def shared(self, array: NumpyArray) -> NumpyArray:
        """Returns an array with the same bytes that is kept already, else this one."""
        contents, key = _bytes_of(array), _key_of(array)
        with self._lock:
            alive = [each for each in self._known.get(key, ()) if each() is not None]
            for each in alive:
                other = each()
                if other is not None and np.array_equal(_bytes_of(other), contents):
                    return other
            self._known[key] = [*alive, ref(array, lambda _: self._drop(key))]
        array.flags.writeable = False
        return array

    def forget(self, array: NumpyArray) -> None:
        """Forgets an array that was new, so that another one with its bytes can take its place."""
        key = _key_of(array)
        with self._lock:
            self._known[key] = [each for each in self._known.get(key, ()) if each() is not array]

    def _drop(self, key: _Key) -> None:
        """
        Forgets a key of which no array is left. The lock is not taken: the collector may come here from
        inside of `shared`, and a key that is put there meanwhile has an array.
        """
        known = self._known.get(key)
        if known is not None and all(each() is None for each in known):
            self._known.pop(key, None)

    def forget_lock(self) -> None:
        """In the child of a fork: who holds the lock is not here."""
        self._lock = Lock()


def _bytes_of(array: NumpyArray) -> NumpyArray:
    return array.reshape(-1).view(np.uint8)


def _key_of(array: NumpyArray) -> _Key:
    return array.dtype, array.shape, _bytes_of(array)[:_SAMPLE_NBYTES].tobytes()


SHARED = _Shared()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SHARED.forget_lock)


def prepared(executable: Any, frozen: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
    """Returns what a program makes of frozen arrays, each at the beginning of a line of the cache."""
    out = executable.aligned_results()
    results = executable(*frozen, out=out if len(out) != 1 else out[0])
    made = cast("tuple[NumpyArray, ...]", results if isinstance(results, tuple) else (results,))
    kept = [SHARED.shared(array) for array in made]
    own = [number for number, array in enumerate(made) if kept[number] is array]
    if len(own) == len(made):
        return made
    # What others made before, or what is twice here, lies among the new ones and would stay as long as these.
    moved: dict[int, NumpyArray] = {}
    for number, copy in zip(own, executable.aligned_results(own), strict=True):
        copy[...] = made[number]
        SHARED.forget(made[number])
        moved[id(made[number])] = SHARED.shared(copy)
    return tuple([moved.get(id(array), array) for array in kept])
