"""
What a function reads from outside of its arguments: its globals, its closure, and attributes and constant
items of those. A program is only right as long as these are what they were when it was traced.

They are found in the function's code, and in that of the Python functions that it calls by such names, or has
in lists there, but for those of other packages that are installed, and of Python's own library. Where code
takes a whole list, dict, set or object, what is in it counts. What is reached in other ways (a name that is
computed, an attribute of a result) is not seen.
"""

from __future__ import annotations

import builtins
import operator
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import BuiltinMethodType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from ..arrays.array import Array
from .code_reads import Chain, Step, chains_of, text_of
from .contents import (
    CONTAINERS,
    MAPPINGS,
    MISSING,
    MOST_DEPTH,
    MOST_ITEMS,
    arrays_in,
    has_contents,
    has_too_many_items,
    is_outside,
    is_package_outside,
)
from .fingerprints import Fingerprint, of_array, of_values
from .installed import installed_package
from .roots import Closed, Computed, Held, Parts, Root, Test, Variable, tests_of_step

_MOST_FUNCTIONS = 256

_OF_TYPES = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")
"""Attributes of arrays that say nothing of values."""

_VIEWS = ("T", "mT")
"""Attributes of arrays that are views, which programs read as they read the array."""

_WITHOUT_VALUES = ("getattr", "hasattr", "id", "isinstance", "len", "type")
"""Python's functions of which no result depends on the values of an array."""

_MOST_NBYTES = 1 << 20
"""How large an array in a container or an object may be for changes of elements that are read from it."""


@dataclass(frozen=True, eq=False, slots=True)
class Watch:
    """A place that a function reads. `text` is how its code says it."""

    text: str
    root: Root
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

    def tests(self) -> tuple[Test, ...] | None:
        """Returns what finds the object that is there now, None where its place is no such one."""
        try:
            tests, value = self.root.tests(), self.root()
            for kind, name in self.steps:
                found = getattr(value, name) if kind == "attribute" else value[name]
                step = tests_of_step(value, kind, name, found)
                tests = None if tests is None or step is None else (*tests, *step)
                value = found
        except Exception:  # As in `read`.
            return None
        return tests

    def through_method(self, value: Any) -> Watch:
        """
        Returns the watch of the whole container of which `value` is a method that reads it, as `items`, else
        itself.
        """
        if not self.steps or not isinstance(value, BuiltinMethodType):
            return self
        whole = replace(self, steps=self.steps[:-1])
        owner = whole.read()
        return whole if isinstance(owner, CONTAINERS) and value.__self__ is owner else self

    def is_in_package(self) -> bool:
        """Returns whether the steps go through a module of a package that does not change."""
        for count in range(len(self.steps) + 1):
            value = replace(self, steps=self.steps[:count]).read()
            if isinstance(value, ModuleType) and is_package_outside(value.__name__):
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
    is_item: bool = False
    """Whether it is of an array in what another guard is of, which sees to it that the array stays there."""

    @property
    def always_holds(self) -> bool:
        """Returns whether there is nothing to look at."""
        return self.is_item and not self.has_values

    def holds(self) -> bool:
        """Returns whether there is now what programs cannot tell from what was there."""
        value = self.watch.read()
        if value is self.kept and self.is_atomic:
            return self.code is None or value.__code__ is self.code
        if self.has_values:
            return of_values(value) == self.fingerprint
        if self.is_array:
            return of_array(value) == self.fingerprint
        return self.fingerprint.matches(value)

    def tests(self) -> tuple[Test, ...] | None:
        """
        Returns what says that it holds as long as the same objects are in the same places, None where that is
        not all that it takes.
        """
        value, found = self.watch.read(), self.watch.tests()
        if found is None:
            return None
        if value is self.kept and self.is_atomic:
            return found if self.code is None else (*found, (value, "__code__", self.code))
        if self.has_values or self.is_array:
            return None
        inside = self.fingerprint.tests(value)
        return None if inside is None else (*found, *inside)

    def with_values(self) -> Guard:
        """Returns the guard of an array's values, and not of its dtype and shape alone."""
        is_immutable = isinstance(self.kept, Array)
        return replace(self, fingerprint=of_values(self.kept), is_atomic=is_immutable, has_values=True)

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
        is_atomic = not isinstance(value, CONTAINERS) and not has_contents(value)
        code = value.__code__ if isinstance(value, FunctionType) else None
        guard = Guard(
            watch, of_array(value) if is_array else Fingerprint(value), value, is_array, is_atomic, code=code
        )
        if not is_array and not watch.is_by_identity and has_too_many_items(value):
            _warn_of_size(watch.text)
        has_values = watch.has_values and isinstance(value, np.ndarray)
        guards.append(guard.with_values() if has_values else guard)
    known = set(numbers)
    for watch, value in zip(watches.values(), values, strict=True):
        for array in arrays_in(value, _MOST_NBYTES):
            if id(array) not in known:
                known.add(id(array))
                guards.append(_guard_of_item(f"an array in {watch.text}", array))
    return guards


def _guard_of_item(text: str, array: Any) -> Guard:
    """Returns the guard of an array that a guard of what it is in holds in its place."""
    return Guard(Watch(text, Held(array), ()), of_array(array), array, True, True, is_item=True)


class UnseenChangesWarning(UserWarning):
    """What a jitted function reads has too many items to look at all of them at each call."""


def _warn_of_size(text: str) -> None:
    warnings.warn(
        f"tenon: '{text}' holds more than {MOST_ITEMS} items: changes of the others are not seen by the "
        "jitted function that reads it (hint: give it as an argument, or read from an array)",
        UnseenChangesWarning,
        stacklevel=2,
    )


class _Search:
    """Finds what functions read. What only the host's functions read comes last, and says whose it is."""

    def __init__(self, watches: dict[str, Watch]) -> None:
        self._watches = watches
        self._seen: list[tuple[Any, ...]] = []
        self._followed: set[str] = set()
        """The keys of places whose functions were looked through."""
        self._later: deque[Callable[[], None]] = deque()
        self._own: str | None = None
        """The package of the first function, where that is installed."""

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
        package = installed_package(function.__code__.co_filename)
        if not self._seen:
            self._own = package
        elif package not in (None, self._own):
            # Such read much of their own, which nobody changes: `jax.lax.fori_loop` a thousand places.
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
                f"what a partial of {function.__name__} holds",
                Parts(each, ("args", "keywords")),
                (),
                reader=reader,
            )
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if function.__defaults__ or function.__kwdefaults__:
            self._watches[f"{number} defaults"] = Watch(
                f"the defaults of {function.__name__}",
                Parts(function, ("__defaults__", "__kwdefaults__")),
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
        if is_outside(value):
            if watch.is_in_package():
                return
            whole = watch.through_method(value)
            if whole is not watch:
                watch = replace(whole, text=text_of(chain.name, whole.steps))
                value = watch.read()
        if chain.callee is not None and isinstance(value, np.ndarray) and is_native():
            watch = replace(watch, has_values=True)
        key = f"{number} {watch.text}"
        if not is_argument or chain.steps or (has_contents(value) and _is_hashed_by_identity(value)):
            _set(watches, key, watch)
        if key in self._followed:
            return
        if chain.is_handed_over and watch.reader is None:
            for each in _functions_in(value, MOST_DEPTH):
                self._later.append(partial(self._find, each, {}, each))
            return
        self._followed.add(key)
        for each in _functions_in(value, MOST_DEPTH):
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
    if isinstance(value, CONTAINERS):
        items = cast("Any", value.values() if isinstance(value, MAPPINGS) else value)
        for item in islice(items, MOST_ITEMS if depth else 0):
            yield from _functions_in(item, depth - 1)
    elif callable(value) and not isinstance(value, type):
        # What runs is the function that a partial is of.
        function = cast("partial[Any]", value).func if isinstance(value, partial) else value
        if not is_outside(function):
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
        return Watch(text, Variable(variables, name), steps)
    if chain.kind == "super":
        owner, value = (_watch(each, function, cells, arguments) for each in chain.arguments)
        if owner is None or value is None:
            return None
        return Watch(text, Computed(lambda: cast(Any, super(owner.read(), value.read()))), steps)
    if name in cells:
        return Watch(text, Closed(cells[name]), steps)
    if name not in arguments:
        return None
    # Of a function inside this one a variable may be an argument of this one.
    return Watch(text, Held(arguments[name]), steps)
