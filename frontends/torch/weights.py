"""
Parameters and buffers of models: what programs make of them is kept until they change.

A change is seen by torch's count of the changes of a tensor, which all of its views share, and by where the
tensor's memory is. What is written through `tensor.data` or an array of numpy that shows the memory is not
counted; to see what replaces many elements so, some of them are compared at each call. For tensors that other
processes may write to, and those that torch counts no changes of, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import gcd
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..calls.preparation import prepared
from .library import torch_library
from .tensors import values_of

Values = np.ndarray[Any, Any]

SAMPLES = 16
"""How many elements of each tensor are compared."""


class _Samples:
    """
    Some elements of each of several arrays, and what they were. At each call those of all arrays are read at
    once, from an array of all the memory that they lie in.
    """

    def __init__(self, arrays: Sequence[Values]) -> None:
        self._arrays = arrays
        """They keep their memory, of which nothing else is read."""
        read = [each for each in arrays if each.size]
        begins = [each.ctypes.data for each in read]
        # A number for each element, or several where arrays of smaller ones are among them.
        unit = gcd(
            8, *begins, *(each.itemsize for each in read), *(step for each in read for step in each.strides)
        )
        offsets = [_offsets(each)[:, None] + np.arange(0, each.itemsize, unit) for each in read]
        begin = min((first + int(each.min()) for first, each in zip(begins, offsets, strict=True)), default=0)
        places = [first - begin + each for first, each in zip(begins, offsets, strict=True)]
        self._places = np.concatenate([np.empty(0, np.int64), *(each.reshape(-1) // unit for each in places)])
        self._memory = _memory(begin, unit, int(self._places.max(initial=-1)) + 1)
        self._known = self._now()

    def _now(self) -> bytes:
        return self._memory.take(self._places).tobytes()

    def is_same(self) -> bool:
        """Returns whether all elements are what they were."""
        return self._now() == self._known


def _offsets(values: Values) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Returns how many bytes behind the first element those lie that are compared, in any order of memory."""
    numbers = np.arange(0, values.size, max(values.size // SAMPLES, 1))
    places = np.unravel_index(numbers, values.shape or (1,))
    steps = zip(places, values.strides or (0,), strict=True)
    return sum((place * step for place, step in steps), np.zeros(len(numbers), np.int64))


def _memory(begin: int, unit: int, count: int) -> Values:
    """Returns `count` numbers of so many bytes that lie at an address; not all of it need be there."""
    found = {"data": (begin, True), "shape": (count,), "typestr": f"|u{unit}", "version": 3}
    return np.asarray(SimpleNamespace(__array_interface__=found))


class _Made(NamedTuple):
    """What was made of tensors, and by what a change of them since then is seen."""

    versions: list[int | None]
    samples: _Samples
    arrays: tuple[Values, ...]


class _Held:
    """Tensors with their elements, where these lie, and what was made of them."""

    def __init__(self, weights: Weights, tensors: Sequence[Any]) -> None:
        self.values = [values_of(each, order) for each, order in zip(tensors, weights.orders, strict=True)]
        # Nobody else gets this memory as long as there are arrays of it.
        self._places = [_place(*pair) for pair in zip(tensors, self.values, strict=True)]
        drop = weights.dropper(_key(tensors))
        self._tensors = [ref(each, drop) for each in tensors]
        self._made: _Made | None = None

    def shows(self, tensors: Sequence[Any]) -> bool:
        """
        Returns whether the tensors that it was made of are in the same memory. Those that their ids find are
        the same ones: it is forgotten before another object can have such an id.
        """
        return list(map(_place_now(), tensors)) == self._places

    def made(self, executable: Any, tensors: Sequence[Any]) -> tuple[Values, ...]:
        """Returns what a program makes of the tensors."""
        made = self._made
        if made is None or not _is_unchanged(made, tensors):
            # The versions before the elements are read: what changes meanwhile is seen at the next call.
            versions = [_version(each) for each in tensors]
            samples = _Samples(self.values)
            made = self._made = _Made(versions, samples, prepared(executable, self.values))
        return made.arrays


def _is_unchanged(made: _Made, tensors: Sequence[Any]) -> bool:
    """Returns whether no change is seen. Called for each tensor at each call: all are asked at once."""
    if None in made.versions or list(map(_version_now, tensors)) != made.versions:
        return False
    return made.samples.is_same()


_version_now = attrgetter("_version")


@cache
def _place_now() -> Callable[[Any], int]:
    """Returns what tells where a tensor's memory is."""
    return torch_library().Tensor.data_ptr


class Weights:
    """
    What one program makes of tensors that seldom change, for each module that it is called for. Threads may
    call it at once. Tensors are held weakly.
    """

    def __init__(self, orders: Sequence[tuple[int, ...] | None], executable: Any) -> None:
        self.orders = orders
        """The order of the axes of each tensor in memory."""
        self._executable = executable
        """What makes it, None where nothing is made."""
        self.kept: dict[tuple[int, ...], _Held] = {}
        """What there is, by the ids of the tensors that it is of."""

    def __len__(self) -> int:
        """How many tensors there are."""
        return len(self.orders)

    def held(self, tensors: Sequence[Any]) -> tuple[Sequence[Values], Sequence[Values]]:
        """Returns the elements of tensors, where they lie, and what is made of them."""
        if not self.orders:
            return (), ()
        key = _key(tensors)
        held = self.kept.get(key)
        if held is None or not held.shows(tensors):
            held = self.kept[key] = _Held(self, tensors)
        return held.values, () if self._executable is None else held.made(self._executable, tensors)

    def dropper(self, key: tuple[int, ...]) -> Callable[[Any], None]:
        """Returns what forgets the tensors of a key when one of them is gone."""
        itself = ref(self)

        def drop(_: Any) -> None:
            known = itself()
            if known is not None:
                known.kept.pop(key, None)

        return drop


def _key(tensors: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(id, tensors))


def _place(tensor: Any, values: Values) -> int | None:
    """Returns where a tensor's memory is, None where the array is a copy, which does not stay what it is."""
    place = tensor.data_ptr()
    return place if values.ctypes.data == place or not values.size else None


def _version(tensor: Any) -> int | None:
    """Returns how often torch says that a tensor was changed, None where it does not say."""
    if tensor.is_inference() or tensor.is_shared():
        return None
    return tensor._version
