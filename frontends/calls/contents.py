"""What values hold that may change while they stay the same object: items, and attributes of the user's."""

from __future__ import annotations

from array import array as PlainArray
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import islice
from types import FunctionType, MappingProxyType, MemberDescriptorType, ModuleType
from typing import Any, cast

import numpy as np

from ..arrays.array import Array

_OUTSIDE = ("_pytest", "builtins", "functools", "itertools", "math", "numpy", "operator", "tenon", "typing")
"""Packages whose functions do not change. pytest's are what it writes for `assert` in the files of tests."""

MOST_ITEMS, MOST_DEPTH, MOST_CLASSES = 2048, 4, 1024
"""How many items are looked at, how deep, and of how many classes it is kept how to look at their objects."""

MAPPINGS = (dict, MappingProxyType)
CONTAINERS = (list, tuple, set, frozenset, deque, bytearray, PlainArray, *MAPPINGS)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def items_in(value: Any) -> Iterator[Any]:
    """Returns the items of a container, or the attributes of an object."""
    items: Any = cast("tuple[Any, ...]", ())
    if isinstance(value, MAPPINGS):
        items = cast("Mapping[Any, Any]", value).values()
    elif isinstance(value, CONTAINERS):
        items = cast(Any, value)
    elif isinstance(value, partial):
        found = cast("partial[Any]", value)
        items = (found.args, found.keywords)
    elif has_contents(value):
        items = _attributes_of(value).values()
    return iter(cast("Iterable[Any]", items))


def arrays_in(value: Any, most_nbytes: int, depth: int = MOST_DEPTH) -> Iterator[Any]:
    """Returns the arrays of numpy in a container or an object that have at most this many bytes."""
    if not depth:
        return
    for item in islice(items_in(value), MOST_ITEMS):
        if isinstance(item, np.ndarray):
            if item.nbytes <= most_nbytes:
                yield item
        else:
            yield from arrays_in(item, most_nbytes, depth - 1)


def has_too_many_items(value: Any) -> bool:
    """Returns whether a value has items that may be changed without being seen: more than are looked at."""
    return _is_too_large(value, [MOST_ITEMS], MOST_DEPTH)


def _is_too_large(value: Any, left: list[int], depth: int) -> bool:
    """`left` are looked at, as fingerprints do."""
    left[0] -= 1
    items = list(items_in(value)) if depth else []
    if not items:
        return False
    looked_at = items[: MOST_ITEMS if left[0] > 0 else 0]
    rest = items[len(looked_at) :]
    if rest and (
        not isinstance(value, tuple | frozenset) or any(any(True for _ in items_in(each)) for each in rest)
    ):
        return True
    return any(_is_too_large(item, left, depth - 1) for item in looked_at)


def has_contents(value: Any) -> bool:
    """Returns whether a value is an object of the user's, with attributes that may change."""
    kind: Any = value.__class__
    if issubclass(kind, type):
        return not is_package_outside(value.__module__)
    return kind is partial or (
        is_of_user(kind) and kind is type(value) and (names_of(kind) != () or hasattr(value, "__dict__"))
    )


def _attributes_of(value: Any) -> dict[str, Any]:
    """Returns the attributes of an object: its own, and those of its class that are no methods."""
    own = getattr(value, "__dict__", None)
    names = names_of(value.__class__)
    found = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    if not names:
        return found
    others = {name: getattr(value, name, MISSING) for name in names if name not in found}
    return {**found, **others}


@lru_cache(MOST_CLASSES)
def names_of(kind: type[Any]) -> tuple[str, ...]:
    """Returns the slots of a class, and what it holds itself beside methods."""
    slots: list[str] = []
    for base in kind.__mro__:
        if not is_package_outside(base.__module__):
            slots += [name for name, member in vars(base).items() if isinstance(member, MemberDescriptorType)]
    return tuple(dict.fromkeys((*slots, *class_attributes(kind))))


def class_attributes(kind: type[Any]) -> dict[str, Any]:
    """Returns what a class, and those it is made of, hold beside methods and what Python puts there."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if not is_package_outside(base.__module__):
            for name, value in vars(base).items():
                # What has `__get__` is a method, a property or a slot: what runs is followed elsewhere.
                if not (name.startswith(("__", "_abc_")) or hasattr(cast(Any, type(value)), "__get__")):
                    found[name] = value
    return found


def is_of_user(kind: type[Any]) -> bool:
    """Returns whether a class is one whose objects have attributes that a user may change."""
    if issubclass(kind, Array | np.ndarray | type | FunctionType | ModuleType):
        return False
    return not is_package_outside(kind.__module__)


def is_outside(value: Any) -> bool:
    """Returns whether a value is a module, or a function or class of a package that does not change."""
    if isinstance(value, ModuleType):
        return True
    if not (isinstance(value, type) or callable(value)) or isinstance(value, Array):
        return False
    module = getattr(value, "__module__", None)
    return is_package_outside(str(type(value).__module__ if module is None else module))


def is_package_outside(name: str) -> bool:
    """Returns whether a module, by its name, is of a package that does not change."""
    package = name.split(".")[0]
    return package in _OUTSIDE and not name.startswith(("tenon.test", "tenon.benchmarks", "tenon.examples"))
