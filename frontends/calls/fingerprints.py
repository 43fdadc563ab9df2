"""
Fingerprints of values: equal for those that a program cannot tell apart.

Most values are looked at again and again and have not changed. So a fingerprint notes which objects it came
by, and where it found them: as long as there are the same ones in the same places, it is not written again.
"""

from __future__ import annotations

from array import array as PlainArray
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from itertools import chain, islice, repeat
from operator import is_, methodcaller
from types import FunctionType, MappingProxyType, MethodType
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from ..arrays.concrete import ConcreteArray, as_concrete, is_frozen
from ..sharding.sharded_array import ShardedArray
from .contents import (
    MISSING,
    MOST_CLASSES,
    MOST_DEPTH,
    MOST_ITEMS,
    class_attributes,
    is_of_user,
    is_package_outside,
    names_of,
)
from .roots import Test

_values_of = methodcaller("values")


class _Same:
    """Equal to another one for the very same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def of_array(value: Any) -> Any:
    """Returns what is equal for arrays of the same dtype, shape and sharding; of others, for one object."""
    if isinstance(value, Array):
        return (value.aval, value.sharding) if isinstance(value, ShardedArray) else value.aval
    if isinstance(value, np.ndarray):
        try:
            return as_concrete(cast(Any, value)).aval
        except TypeError:
            pass  # Of a dtype that no program has: the function may read it all the same.
    return _Same(cast(Any, value))


def of_values(value: Any) -> Any:
    """
    Returns what is equal for arrays of the same dtype, shape and values. Frozen ones are equal to themselves:
    they may be large, and nobody changes them.
    """
    if is_frozen(value):
        return _Same(value)
    array: Any = value.values if isinstance(value, ConcreteArray) else value
    if not isinstance(array, np.ndarray):
        return _Same(value)
    array = cast(Any, array)
    if array.dtype.hasobject:
        return _Same(value)
    return type(value), array.dtype, array.shape, array.tobytes()


class Fingerprint:
    """The fingerprint of any value, and which objects it was written from."""

    __slots__ = ("_seen", "_written")

    def __init__(self, value: Any):
        walk = _Walk()
        self._written = _write(value, walk, MOST_DEPTH)
        # Both at once, as another thread may look at them.
        self._seen = (value, walk)

    def matches(self, value: Any) -> bool:
        """Returns whether a value is one that programs cannot tell from what there was."""
        root, walk = self._seen
        if (value is root or _are_same_tuples(value, root)) and walk.finds_the_same():
            return True
        other = Fingerprint(value)
        if other._written != self._written:
            return False
        self._seen = other._seen
        return True

    def tests(self, value: Any) -> tuple[Test, ...] | None:
        """
        Returns what says that it matches a value as long as the same objects are in the same places; None
        where it was not written from this value, or more than that is looked at.
        """
        root, walk = self._seen
        return walk.tests() if value is root or _are_same_tuples(value, root) else None


def _are_same_tuples(one: Any, other: Any) -> bool:
    """Returns whether these are tuples of the same objects, as of a place that makes one each time."""
    return type(one) is type(other) is tuple and len(one) == len(other) and all(map(is_, one, other))


class _Walk:
    """
    The way through a value: how many more items it may look at, and the objects that it came by. Where the
    same ones are found again, a fingerprint would be the same: what is not listed here cannot change.
    """

    __slots__ = (
        "_attributes",
        "_containers",
        "_is_complete",
        "_items",
        "_lengths",
        "_mappings",
        "_names",
        "_owners",
        "_values",
        "left",
    )

    def __init__(self) -> None:
        self.left = MOST_ITEMS
        self._is_complete = True
        self._owners: list[Any] = []
        self._names: list[str] = []
        self._attributes: list[Any] = []
        """What the owners have by these names."""
        self._containers: list[Any] = []
        self._lengths: list[int] = []
        self._items: list[Any] = []
        """The items of all containers, of mappings their keys."""
        self._mappings: list[Any] = []
        self._values: list[Any] = []

    def note_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Notes what an object has by a name, `MISSING` for nothing."""
        self._owners.append(owner)
        self._names.append(name)
        self._attributes.append(value)

    def note_items(self, container: Any) -> None:
        """Notes the items of a container, in their order."""
        kind = container.__class__
        if kind is tuple:
            return
        if len(container) > MOST_ITEMS or getattr(kind, "__iter__", None) not in _ITERATORS:
            # Too many to look at, or made anew each time.
            self._is_complete = False
            return
        items = list(container)
        self._containers.append(container)
        self._lengths.append(len(items))
        self._items += items

    def note_mapping(self, mapping: Any) -> None:
        """Notes the keys and the values of a mapping."""
        kind = mapping.__class__
        if kind.values not in _VALUES or kind.items not in _PAIRS:
            self._is_complete = False
            return
        self.note_items(mapping)
        if self._is_complete:
            self._mappings.append(mapping)
            self._values += list(mapping.values())

    def finds_the_same(self) -> bool:
        """Returns whether the very same objects are there now. Loops of C only, for the sake of each call."""
        return (
            self._is_complete
            and all(map(is_, map(getattr, self._owners, self._names, repeat(MISSING)), self._attributes))
            and list(map(len, self._containers)) == self._lengths
            and all(map(is_, chain.from_iterable(self._containers), self._items))
            and all(map(is_, chain.from_iterable(map(_values_of, self._mappings)), self._values))
        )

    def tests(self) -> tuple[Test, ...] | None:
        """Returns the tests of objects that do what `finds_the_same` does, None where there are none."""
        kinds = {*map(type, self._containers), *map(type, self._mappings)}
        if not self._is_complete or kinds - {dict, list} or any(map(is_, self._attributes, repeat(MISSING))):
            return None
        found: list[Test] = list(zip(self._owners, self._names, self._attributes, strict=True))
        items, values = iter(self._items), iter(self._values)
        for container, length in zip(self._containers, self._lengths, strict=True):
            kept = tuple(islice(items, length))
            if isinstance(container, dict):
                # The mappings are those of the containers that are dicts, in their order.
                kept = tuple(chain.from_iterable(zip(kept, islice(values, length), strict=True)))
            found.append((cast(Any, container), None, kept))
        return tuple(found)


_ITERATORS: tuple[Any, ...] = tuple(
    cast(Any, kind).__iter__ for kind in (list, tuple, deque, set, frozenset, dict, MappingProxyType)
)
"""How containers are gone through whose items are objects that they keep."""

_VALUES: tuple[Any, ...] = (cast(Any, dict).values, cast(Any, MappingProxyType).values)
_PAIRS: tuple[Any, ...] = (cast(Any, dict).items, cast(Any, MappingProxyType).items)


Writer = Callable[[Any, _Walk, int], Any]


def _write(value: Any, walk: _Walk, depth: int) -> Any:
    walk.left -= 1
    kind: Any = value.__class__
    known = _WRITERS.get(kind)
    if known is None:
        known = _writer_of(kind)
        if len(_WRITERS) < MOST_CLASSES:
            _WRITERS[kind] = known
    return known(value, walk, depth)


def _of_plain(value: Any, walk: _Walk, depth: int) -> Any:
    return value.__class__, value


def _of_float(value: float, walk: _Walk, depth: int) -> Any:
    return float, value.hex()


def _of_numpy(value: Any, walk: _Walk, depth: int) -> Any:
    return value.__class__, value.dtype, value.tobytes()


def _of_method(value: Any, walk: _Walk, depth: int) -> Any:
    return MethodType, _Same(value.__func__), _Same(value.__self__)


def _first(items: Any) -> list[Any]:
    return list(cast("Iterator[Any]", islice(items, MOST_ITEMS)))


def _rest_of(value: Any) -> Any:
    """Returns what stands for the items that are not looked at: the container, where there are such."""
    return _Same(value) if len(value) > MOST_ITEMS else None


def _of_sequence(value: Any, walk: _Walk, depth: int) -> Any:
    if not depth or walk.left <= 0:
        return _Same(value)
    walk.note_items(value)
    items = [_write(item, walk, depth - 1) for item in _first(value)]
    return value.__class__, len(value), items, _rest_of(value)


def _of_dict(value: Any, walk: _Walk, depth: int) -> Any:
    if not depth or walk.left <= 0:
        return _Same(value)
    walk.note_mapping(value)
    items = value.items() if len(value) <= MOST_ITEMS else islice(value.items(), MOST_ITEMS)
    return (
        value.__class__,
        len(value),
        [
            (key if type(key) is str else _Same(key), _write(item, walk, depth - 1))
            for key, item in list(items)
        ],
        _rest_of(value),
    )


def _of_set(value: Any, walk: _Walk, depth: int) -> Any:
    if not depth or walk.left <= 0:
        return _Same(value)
    walk.note_items(value)
    items = [_write(item, walk, depth - 1) for item in list(value)[:MOST_ITEMS]]
    return value.__class__, items, _rest_of(value)


def _of_partial(value: Any, walk: _Walk, depth: int) -> Any:
    if not depth or walk.left <= 0:
        return _Same(value)
    parts: list[Any] = []
    for name in ("func", "args", "keywords"):
        part = getattr(value, name)
        walk.note_attribute(value, name, part)
        parts.append(_write(part, walk, depth - 1))
    return _Same(value), parts


def _of_other(value: Any, walk: _Walk, depth: int) -> Any:
    return _Same(value)


def _of_function(value: FunctionType, walk: _Walk, depth: int) -> Any:
    code = value.__code__
    walk.note_attribute(value, "__code__", code)
    return _Same(value), _Same(code)


def _of_class(value: type[Any], walk: _Walk, depth: int) -> Any:
    """As that of an object, with what the class has from others that may change too."""
    if not depth or walk.left <= 0 or is_package_outside(value.__module__):
        return _Same(value)
    walk.note_attribute(value, "__mro__", value.__mro__)
    for base in value.__mro__:
        if not is_package_outside(base.__module__):
            walk.note_mapping(vars(base))
    attributes = [(name, _write(each, walk, depth - 1)) for name, each in class_attributes(value).items()]
    return _Same(value), attributes


_WRITERS: dict[type[Any], Writer] = {
    float: _of_float,
    **dict.fromkeys((int, bool, str, bytes, type(None)), _of_plain),
    MethodType: _of_method,
    **dict.fromkeys((list, tuple, deque, bytearray, PlainArray), _of_sequence),
    **dict.fromkeys((dict, MappingProxyType), _of_dict),
    **dict.fromkeys((set, frozenset), _of_set),
    partial: _of_partial,
    FunctionType: _of_function,
    type: _of_class,
}
"""What writes the fingerprints of the values of classes met so far."""


def _writer_of(kind: type[Any]) -> Writer:
    """Returns what writes the fingerprints of the values of a class that is not Python's."""
    if issubclass(kind, np.generic):
        return _of_numpy
    if issubclass(kind, np.dtype):
        return _of_plain
    if issubclass(kind, type):
        return _of_class
    # A member of an enum is one object for good, whatever its attributes are.
    if issubclass(kind, Enum):
        return _of_other
    items = next((writer for base, writer in _ITEMS.items() if issubclass(kind, base)), None)
    if items is None and not is_of_user(kind):
        return _of_other
    names = names_of(kind)

    def of_object(value: Any, walk: _Walk, depth: int) -> Any:
        if not depth or walk.left <= 0 or type(value) is not kind:
            return _Same(value)
        own = getattr(value, "__dict__", None)
        walk.note_attribute(value, "__class__", kind)
        walk.note_attribute(value, "__dict__", MISSING if own is None else own)
        parts = _of_dict(own, walk, depth - 1) if isinstance(own, dict) else None
        others: list[Any] = []
        for name in names:
            if name not in (own or ()):
                attribute = getattr(value, name, MISSING)
                walk.note_attribute(value, name, attribute)
                others.append(_write(attribute, walk, depth - 1))
        return _Same(value), kind, parts, others, None if items is None else items(value, walk, depth)

    return of_object


_ITEMS: dict[type[Any], Writer] = {
    **dict.fromkeys((list, tuple, deque, bytearray, PlainArray), _of_sequence),
    dict: _of_dict,
    **dict.fromkeys((set, frozenset), _of_set),
}
"""What writes the items of the objects of a class that has them from one of Python's."""
