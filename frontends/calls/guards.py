"""
What a function reads from outside of its arguments: its globals, its closure, and attributes and constant
items of those. A program is only right as long as these are what they were when it was traced.

They are found in the function's code, and in that of the Python functions that it calls by such names, or has
in lists there. Where code takes a whole list, dict, set or object, what is in it counts. What is reached in
other ways (a name that is computed, an attribute of a result) is not seen.
"""

from __future__ import annotations

import builtins
import operator
import warnings
from array import array as PlainArray
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache, partial
from itertools import islice
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from ..arrays.concrete import ConcreteArray, as_concrete, is_frozen
from ..sharding.sharded_array import ShardedArray
from .code_reads import Chain, Step, chains_of, text_of

_OUTSIDE = ("builtins", "functools", "itertools", "math", "numpy", "operator", "tenon", "typing")
"""Packages whose functions do not change."""

_MOST_ITEMS, _MOST_DEPTH, _MOST_FUNCTIONS = 2048, 4, 256

_OF_TYPES = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")
"""Attributes of arrays that say nothing of values."""

_VIEWS = ("T", "mT")
"""Attributes of arrays that are views, which programs read as they read the array."""

_WITHOUT_VALUES = ("getattr", "hasattr", "id", "isinstance", "len", "type")
"""Python's functions of which no result depends on the values of an array."""

_MOST_NBYTES = 1 << 20
"""How large an array in a container or an object may be for changes of elements that are read from it."""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


class _Same:
    """Equal to another one for the very same object, which it keeps alive."""

    __slots__ = ("value",)

    def __init__(self, value: object):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False, slots=True)
class Watch:
    """A place that a function reads. `text` is how its code says it."""

    text: str
    root: Callable[[], Any]
    steps: tuple[Step, ...]
    is_by_identity: bool = False
    """Whether an array of numpy there must be the same one: a view of it is taken."""
    has_values: bool = False
    """Whether values of an array of numpy there are read by numpy or by Python, unseen by the trace."""
    reader: object = None
    """The function, or its code, that reads it and no other does, where that is to run on the host."""

    def up_to_array(self, name: str) -> Watch | None:
        """
        Returns the watch of the array, if there is one, that the steps lead through; `name` is the root's.
        """
        for count in range(len(self.steps)):
            watch = Watch(
                text_of(name, self.steps[:count]), self.root, self.steps[:count], reader=self.reader
            )
            value = watch.read()
            if isinstance(value, Array | np.ndarray):
                return watch if isinstance(value, Array) else watch.for_steps(self.steps[count:])
        return None

    def for_steps(self, steps: tuple[Step, ...]) -> Watch:
        """Returns the watch of an array of numpy of which these steps are read."""
        names = tuple([step if kind == "attribute" else None for kind, step in steps])
        if names[0] in _OF_TYPES:
            return self
        is_view = len(names) == 1 and names[0] in _VIEWS
        return replace(self, is_by_identity=is_view, has_values=not is_view)

    def read(self) -> Any:
        """Returns what is there now, `MISSING` for nothing, or where a property of the user's fails."""
        try:
            value = self.root()
            for kind, name in self.steps:
                value = getattr(value, name) if kind == "attribute" else value[name]
        except Exception:  # The function may never come here: what fails here is no error of its call.
            return MISSING
        return value

    def through_method(self, value: Any) -> Watch:
        """
        Returns the watch of the whole container of which `value` is a method that reads it, as `items`, else
        itself.
        """
        if not self.steps or not isinstance(value, BuiltinMethodType):
            return self
        whole = replace(self, steps=self.steps[:-1])
        owner = whole.read()
        return whole if isinstance(owner, _CONTAINERS) and value.__self__ is owner else self

    def is_in_package(self) -> bool:
        """Returns whether the steps go through a module of a package that does not change."""
        for count in range(len(self.steps) + 1):
            value = replace(self, steps=self.steps[:count]).read()
            if isinstance(value, ModuleType) and _is_package_outside(value.__name__):
                return True
        return False


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """A place with what was there: a fingerprint of it, and the values it is made of, kept alive."""

    watch: Watch
    fingerprint: Any
    kept: Any
    is_array: bool
    is_atomic: bool
    """Whether the same object cannot have become another one, as a list can."""
    has_values: bool = False
    """Whether the trace read the values of the array, which are part of the fingerprint then."""
    code: CodeType | None = None
    """What a function runs, which those who reload a module replace."""

    def holds(self) -> bool:
        """Returns whether there is now what programs cannot tell from what was there."""
        value = self.watch.read()
        if value is self.kept and self.is_atomic:
            return self.code is None or value.__code__ is self.code
        if self.has_values:
            return fingerprint_of_values(value) == self.fingerprint
        return fingerprint(value, self.is_array) == self.fingerprint

    def with_values(self) -> Guard:
        """Returns the guard of an array's values, and not of its dtype and shape alone."""
        is_immutable = isinstance(self.kept, Array)
        return replace(
            self, fingerprint=fingerprint_of_values(self.kept), is_atomic=is_immutable, has_values=True
        )

    def __str__(self) -> str:
        return f"'{self.watch.text}'"


def guards_of(function: Callable[..., Any], static: Mapping[str, Any]) -> list[Guard]:
    """
    Returns what a function reads from outside, as it is now; `static` are its static arguments by name. A
    place with an array is guarded by the array's dtype, shape and sharding where no other place has the same
    array.
    """
    watches: dict[str, Watch] = {}
    _Search(watches).find(function, static)
    values = [watch.read() for watch in watches.values()]
    numbers = list(map(id, values))
    guards: list[Guard] = []
    for watch, value in zip(watches.values(), values, strict=True):
        is_array = issubclass(value.__class__, Array | np.ndarray) and numbers.count(id(value)) == 1
        is_array = is_array and not watch.is_by_identity and not watch.has_values
        is_atomic = not isinstance(value, _CONTAINERS) and not _has_contents(value)
        code = value.__code__ if isinstance(value, FunctionType) else None
        guard = Guard(watch, fingerprint(value, is_array), value, is_array, is_atomic, code=code)
        if not is_array and not watch.is_by_identity and _is_too_large(value, [_MOST_ITEMS], _MOST_DEPTH):
            _warn_of_size(watch.text)
        has_values = watch.has_values and isinstance(value, np.ndarray)
        guards.append(guard.with_values() if has_values else guard)
    known = set(numbers)
    for watch, value in zip(watches.values(), values, strict=True):
        for array in _arrays_in(value, _MOST_DEPTH):
            if id(array) not in known:
                known.add(id(array))
                guards.append(_guard_of_item(f"an array in {watch.text}", array))
    return guards


def _guard_of_item(text: str, array: Any) -> Guard:
    """Returns the guard of an array that a guard of what it is in holds in its place."""
    return Guard(Watch(text, lambda: array, ()), fingerprint(array, True), array, True, True)


def _arrays_in(value: Any, depth: int) -> Iterator[Any]:
    """Returns the arrays of numpy in a container or an object whose elements may be read one by one."""
    if not depth:
        return
    for item in islice(_items_in(value), _MOST_ITEMS):
        if isinstance(item, np.ndarray):
            if item.nbytes <= _MOST_NBYTES:
                yield item
        else:
            yield from _arrays_in(item, depth - 1)


def _items_in(value: Any) -> Iterator[Any]:
    """Returns the items of a container, or the attributes of an object."""
    items: Any = cast("tuple[Any, ...]", ())
    if isinstance(value, _MAPPINGS):
        items = cast("Mapping[Any, Any]", value).values()
    elif isinstance(value, _CONTAINERS):
        items = cast(Any, value)
    elif isinstance(value, partial):
        found = cast("partial[Any]", value)
        items = (found.args, found.keywords)
    elif _has_contents(value):
        items = _attributes_of(value).values()
    return iter(cast("Iterable[Any]", items))


def _is_too_large(value: Any, left: list[int], depth: int) -> bool:
    """
    Returns whether a value has items that may be changed without being seen: too many of them, where `left`
    are looked at, as fingerprints do.
    """
    left[0] -= 1
    items = list(_items_in(value)) if depth else []
    if not items:
        return False
    looked_at = items[: _MOST_ITEMS if left[0] > 0 else 0]
    rest = items[len(looked_at) :]
    if rest and (
        not isinstance(value, tuple | frozenset) or any(any(True for _ in _items_in(each)) for each in rest)
    ):
        return True
    return any(_is_too_large(item, left, depth - 1) for item in looked_at)


class UnseenChangesWarning(UserWarning):
    """What a jitted function reads has too many items to look at all of them at each call."""


def _warn_of_size(text: str) -> None:
    warnings.warn(
        f"tenon: '{text}' holds more than {_MOST_ITEMS} items: changes of the others are not seen by the "
        "jitted function that reads it (hint: give it as an argument, or read from an array)",
        UnseenChangesWarning,
        stacklevel=2,
    )


def fingerprint(value: Any, is_array: bool = False) -> Any:
    """Returns what is equal for values that a program cannot tell apart."""
    if is_array and isinstance(value, Array):
        return (value.aval, value.sharding) if isinstance(value, ShardedArray) else value.aval
    if is_array and isinstance(value, np.ndarray):
        array = cast(Any, value)
        try:
            return as_concrete(array).aval
        except TypeError:
            return _Same(array)  # Of a dtype that no program has: the function may read it all the same.
    return _fingerprint(value, [_MOST_ITEMS], _MOST_DEPTH)


def fingerprint_of_values(value: Any) -> Any:
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


def _fingerprint(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    kind: Any = value.__class__
    known = _WRITERS.get(kind)
    if known is None:
        known = _writer_of(kind)
        if len(_WRITERS) < _MOST_CLASSES:
            _WRITERS[kind] = known
    return known(value, left, depth)


def _of_plain(value: Any, left: list[int], depth: int) -> Any:
    return value.__class__, value


def _of_float(value: float, left: list[int], depth: int) -> Any:
    return float, value.hex()


def _of_numpy(value: Any, left: list[int], depth: int) -> Any:
    return value.__class__, value.dtype, value.tobytes()


def _of_method(value: Any, left: list[int], depth: int) -> Any:
    return MethodType, _Same(value.__func__), _Same(value.__self__)


def _first(items: Any) -> list[Any]:
    return list(cast("Iterator[Any]", islice(items, _MOST_ITEMS)))


def _rest_of(value: Any) -> Any:
    """Returns what stands for the items that are not looked at: the container, where there are such."""
    return _Same(value) if len(value) > _MOST_ITEMS else None


def _of_sequence(value: Any, left: list[int], depth: int) -> Any:
    if not depth or left[0] <= 0:
        return _Same(value)
    items = [_fingerprint(item, left, depth - 1) for item in _first(value)]
    return value.__class__, len(value), items, _rest_of(value)


def _of_dict(value: Any, left: list[int], depth: int) -> Any:
    if not depth or left[0] <= 0:
        return _Same(value)
    items = value.items() if len(value) <= _MOST_ITEMS else islice(value.items(), _MOST_ITEMS)
    return (
        value.__class__,
        len(value),
        [
            (key if type(key) is str else _Same(key), _fingerprint(item, left, depth - 1))
            for key, item in list(items)
        ],
        _rest_of(value),
    )


def _of_set(value: Any, left: list[int], depth: int) -> Any:
    if not depth or left[0] <= 0:
        return _Same(value)
    items = [_fingerprint(item, left, depth - 1) for item in list(value)[:_MOST_ITEMS]]
    return value.__class__, items, _rest_of(value)


def _of_partial(value: Any, left: list[int], depth: int) -> Any:
    if not depth or left[0] <= 0:
        return _Same(value)
    parts = (value.func, value.args, value.keywords)
    return _Same(value), [_fingerprint(part, left, depth - 1) for part in parts]


def _of_other(value: Any, left: list[int], depth: int) -> Any:
    return _Same(value)


def _of_function(value: FunctionType, left: list[int], depth: int) -> Any:
    return _Same(value), _Same(value.__code__)


def _of_class(value: type[Any], left: list[int], depth: int) -> Any:
    """As that of an object, with what the class has from others that may change too."""
    if not depth or left[0] <= 0 or _is_package_outside(value.__module__):
        return _Same(value)
    return _Same(value), _fingerprint(_class_attributes(value), left, depth - 1)


Writer = Callable[[Any, list[int], int], Any]

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

_MOST_CLASSES = 1024


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
    if items is None and not _is_of_user(kind):
        return _of_other
    names = _names_of(kind)

    def of_object(value: Any, left: list[int], depth: int) -> Any:
        if not depth or left[0] <= 0 or type(value) is not kind:
            return _Same(value)
        own = getattr(value, "__dict__", None)
        parts = _of_dict(own, left, depth - 1) if isinstance(own, dict) else None
        if not names and items is None:
            return _Same(value), parts
        others = [
            _fingerprint(getattr(value, name, MISSING), left, depth - 1)
            for name in names
            if name not in (own or ())
        ]
        return _Same(value), parts, others, None if items is None else items(value, left, depth)

    return of_object


_ITEMS: dict[type[Any], Writer] = {
    **dict.fromkeys((list, tuple, deque, bytearray, PlainArray), _of_sequence),
    dict: _of_dict,
    **dict.fromkeys((set, frozenset), _of_set),
}
"""What writes the items of the objects of a class that has them from one of Python's."""


def _has_contents(value: Any) -> bool:
    """Returns whether a value is an object of the user's, with attributes that may change."""
    kind: Any = value.__class__
    if issubclass(kind, type):
        return not _is_package_outside(value.__module__)
    return kind is partial or (
        _is_of_user(kind) and kind is type(value) and (_names_of(kind) != () or hasattr(value, "__dict__"))
    )


def _attributes_of(value: Any) -> dict[str, Any]:
    """Returns the attributes of an object: its own, and those of its class that are no methods."""
    own = getattr(value, "__dict__", None)
    names = _names_of(value.__class__)
    found = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
    if not names:
        return found
    others = {name: getattr(value, name, MISSING) for name in names if name not in found}
    return {**found, **others}


@lru_cache(_MOST_CLASSES)
def _names_of(kind: type[Any]) -> tuple[str, ...]:
    """Returns the slots of a class, and what it holds itself beside methods."""
    slots: list[str] = []
    for base in kind.__mro__:
        if not _is_package_outside(base.__module__):
            slots += [name for name, member in vars(base).items() if isinstance(member, MemberDescriptorType)]
    return tuple(dict.fromkeys((*slots, *_class_attributes(kind))))


def _class_attributes(kind: type[Any]) -> dict[str, Any]:
    """Returns what a class, and those it is made of, hold beside methods and what Python puts there."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if not _is_package_outside(base.__module__):
            for name, value in vars(base).items():
                # What has `__get__` is a method, a property or a slot: what runs is followed elsewhere.
                if not (name.startswith(("__", "_abc_")) or hasattr(cast(Any, type(value)), "__get__")):
                    found[name] = value
    return found


def _is_of_user(kind: type[Any]) -> bool:
    if issubclass(kind, Array | np.ndarray | type | FunctionType | ModuleType):
        return False
    return not _is_package_outside(kind.__module__)


_MAPPINGS = (dict, MappingProxyType)
_CONTAINERS = (list, tuple, set, frozenset, deque, bytearray, PlainArray, *_MAPPINGS)


class _Search:
    """Finds what functions read. What only the host's functions read comes last, and says whose it is."""

    def __init__(self, watches: dict[str, Watch]) -> None:
        self._watches = watches
        self._seen: list[tuple[Any, ...]] = []
        self._followed: set[str] = set()
        """The keys of places whose functions were looked through."""
        self._later: deque[Callable[[], None]] = deque()

    def find(self, function: Any, static: Mapping[str, Any]) -> None:
        """Adds the watches of a function and of those that it calls; `static` are its arguments by name."""
        self._find(function, static, None)
        while self._later:
            self._later.popleft()()

    def _find(self, function: Any, static: Mapping[str, Any], reader: object) -> None:
        """
        Adds the watches of what a function reads. `reader` is the host's function on whose behalf it is read,
        None where the program itself depends on it.
        """
        arguments = dict(static)
        given: list[partial[Any]] = []
        # Only Python functions have code to read: wrappers, bound methods and callable objects lead to one.
        # Whatever else is called is written in C, and has no globals that a user could change.
        while not isinstance(function, FunctionType):
            if isinstance(function, MethodType):
                names = (
                    function.__func__.__code__.co_varnames
                    if isinstance(function.__func__, FunctionType)
                    else ()
                )
                if names:
                    arguments.setdefault(names[0], function.__self__)
                function = function.__func__
            elif isinstance(function, partial):
                given.append(cast("partial[Any]", function))
                function = given[-1].func
            elif _is_function(wrapped := _wrapped_by(function)):
                function = wrapped
            elif isinstance(
                method := getattr(cast("type[Any]", type(function)), "__call__", None),  # noqa: B004
                FunctionType,
            ):
                function = MethodType(method, function)
            else:
                return
        # Functions that call each other would be followed for ever, and a large program for very long.
        bound = {name: value for each in given for name, value in _given(each).items()}
        arguments |= bound
        read = (function, *arguments.values())
        if len(self._seen) >= _MOST_FUNCTIONS or any(_are_same(read, other) for other in self._seen):
            return
        number = len(self._seen)
        self._seen.append(read)
        for place, each in enumerate(given):
            self._watches[f"{number} partial {place}"] = Watch(
                f"what a partial of {function.__name__} holds", partial(_parts_of, each), (), reader=reader
            )
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if function.__defaults__ or function.__kwdefaults__:
            self._watches[f"{number} defaults"] = Watch(
                f"the defaults of {function.__name__}",
                lambda: (function.__defaults__, function.__kwdefaults__),
                (),
                reader=reader,
            )
        for chain in chains_of(function.__code__):
            watch = _watch(chain, function, cells, arguments)
            if watch is None:
                continue
            is_argument = chain.kind in ("argument", "variable") and chain.name not in cells
            is_argument = is_argument and chain.name not in bound
            is_native = partial(_is_native, chain, function, cells, arguments)
            # The reads of the program come first, as the first watch of a place is the one that is kept: a
            # place that the program and a host's function both read must count as the program's.
            if chain.inside is not None and reader is None:
                watch = replace(watch, reader=chain.inside)
                self._later.append(partial(self._note, chain, watch, number, is_argument, is_native))
            else:
                self._note(chain, replace(watch, reader=reader), number, is_argument, is_native)

    def _note(
        self, chain: Chain, watch: Watch, number: int, is_argument: bool, is_native: Callable[[], bool]
    ) -> None:
        """
        Adds the watch of a place, which function `number` reads, and those of functions there. `is_native`
        says whether numpy or Python is called with it.
        """
        watches = self._watches
        array = watch.up_to_array(chain.name)
        if array is not None:
            # An array of Tenon's is read as a whole at each call, whatever the function takes of it.
            _set(watches, f"{number} {array.text}", array)
            if not array.is_by_identity and not array.has_values:
                return
        value = watch.read()
        if isinstance(value, ModuleType):
            return
        if value is MISSING:
            # What the function does without it may change once it is there.
            _set(watches, f"{number} {watch.text}", watch)
            return
        if _is_outside(value):
            if watch.is_in_package():
                return
            whole = watch.through_method(value)
            if whole is not watch:
                watch = replace(whole, text=text_of(chain.name, whole.steps))
                value = watch.read()
        if chain.callee is not None and isinstance(value, np.ndarray) and is_native():
            watch = replace(watch, has_values=True)
        key = f"{number} {watch.text}"
        if not is_argument or chain.steps or (_has_contents(value) and _is_hashed_by_identity(value)):
            _set(watches, key, watch)
        if key in self._followed:
            return
        if chain.is_handed_over and watch.reader is None:
            for each in _functions_in(value, _MOST_DEPTH):
                self._later.append(partial(self._find, each, {}, each))
            return
        self._followed.add(key)
        for each in _functions_in(value, _MOST_DEPTH):
            self._find(each, {}, watch.reader)


def _set(watches: dict[str, Watch], key: str, watch: Watch) -> None:
    """Adds the watch of a place, and where there is one what the new one says of the values there."""
    known = watches.setdefault(key, watch)
    if watch.has_values and not known.has_values:
        watches[key] = replace(known, has_values=True)


def _is_native(
    chain: Chain, function: FunctionType, cells: Mapping[str, Any], arguments: Mapping[str, Any]
) -> bool:
    """Returns whether what is called with a place is a function of numpy's, or one of Python's own."""
    assert chain.callee is not None, "asked for"
    callee = _watch(chain.callee, function, cells, arguments)
    if callee is None:
        return chain.callee.kind == "global" and chain.callee.name not in _WITHOUT_VALUES
    value = callee.read()
    module = getattr(value, "__module__", None)
    return callable(value) and (isinstance(value, np.ufunc) or str(module).split(".")[0] == "numpy")


def _are_same(parts: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(parts) == len(others) and all(map(operator.is_, parts, others))


def _parts_of(each: partial[Any]) -> tuple[Any, Any]:
    return each.args, each.keywords


def _given(each: partial[Any]) -> dict[str, Any]:
    """Returns the arguments that a partial holds of a function in Python, by name."""
    function, names = each.func, cast("tuple[str, ...]", ())
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        names = function.__func__.__code__.co_varnames[1 : function.__func__.__code__.co_argcount]
    elif isinstance(function, FunctionType):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {**dict(zip(names, each.args, strict=False)), **each.keywords}


def _is_function(value: Any) -> bool:
    return isinstance(value, FunctionType | MethodType | partial)


def _is_hashed_by_identity(value: Any) -> bool:
    return type(value).__hash__ is object.__hash__


def _wrapped_by(value: Any) -> Any:
    """Returns the function that a decorator put into an object, None for nothing."""
    variables = getattr(value, "__dict__", None)
    return cast("dict[str, Any]", variables).get("__wrapped__") if isinstance(variables, dict) else None


def _functions_in(value: Any, depth: int) -> Iterator[Any]:
    """Returns what can be called: a function, an object with `__call__`, and such items of containers."""
    if isinstance(value, _CONTAINERS):
        items = cast("Any", value.values() if isinstance(value, _MAPPINGS) else value)
        for item in islice(items, _MOST_ITEMS if depth else 0):
            yield from _functions_in(item, depth - 1)
    elif callable(value) and not isinstance(value, type):
        # What runs is the function that a partial is of.
        function = cast("partial[Any]", value).func if isinstance(value, partial) else value
        if not _is_outside(function):
            yield value


def _watch(
    chain: Chain, function: FunctionType, cells: Mapping[str, Any], arguments: Mapping[str, Any]
) -> Watch | None:
    name, steps = chain.name, chain.steps
    text = chain.text
    if chain.kind == "global":
        variables = function.__globals__
        if name not in variables and hasattr(builtins, name):
            return None
        return Watch(text, lambda: variables[name], steps)
    if chain.kind == "super":
        owner, value = (_watch(each, function, cells, arguments) for each in chain.arguments)
        if owner is None or value is None:
            return None
        return Watch(text, lambda: cast(Any, super(owner.read(), value.read())), steps)
    if name in cells:
        cell = cells[name]
        return Watch(text, lambda: cell.cell_contents, steps)
    if name not in arguments:
        return None
    # Of a function inside this one a variable may be an argument of this one.
    value = arguments[name]
    return Watch(text, lambda: value, steps)


def _is_outside(value: Any) -> bool:
    """Returns whether a value is a module, or a function or class of a package that does not change."""
    if isinstance(value, ModuleType):
        return True
    if not (isinstance(value, type) or callable(value)) or isinstance(value, Array):
        return False
    module = getattr(value, "__module__", None)
    return _is_package_outside(str(type(value).__module__ if module is None else module))


def _is_package_outside(name: str) -> bool:
    package = name.split(".")[0]
    return package in _OUTSIDE and not name.startswith(("tenon.test", "tenon.benchmarks", "tenon.examples"))
