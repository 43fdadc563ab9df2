"""
Methods of data classes that are compiled when they are first looked up.

Up to Python 3.13 `dataclasses` writes the methods of a class as text, and compiles them when it makes the
class: five to eight, of which most are never called. Importing xDSL and Tenon and a first compile
make 480 such classes, a third of all the time that they take. Here `__init__`, `__repr__` and the others of
xDSL's and Tenon's classes wait until they are looked up; then they are what `dataclasses` would have made.
Classes of other packages are left alone.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any

_PACKAGES = ("xdsl.", f"{__package__}.")

_Function = Callable[..., Any]


class LateMethod:
    """What stands for a method in its class, until it is looked up there."""

    __slots__ = ("__name__", "_function", "_make")

    def __init__(self, name: str, make: Callable[[], _Function]) -> None:
        self.__name__ = name
        self._make = make
        self._function: _Function | None = None

    def function(self) -> _Function:
        """Returns the method, made at the first call."""
        if self._function is None:
            self._function = self._make()
        return self._function

    def __get__(self, instance: object, owner: type) -> Any:
        function: Any = self.function()
        for each in owner.__mro__:
            if vars(each).get(self.__name__) is self:
                function.__qualname__ = f"{each.__qualname__}.{self.__name__}"
                setattr(each, self.__name__, function)
        return function.__get__(instance, owner)

    def __call__(self, *arguments: Any) -> Any:
        """Calls the method, of which something else keeps what stands for it."""
        return self.function()(*arguments)


def _is_late(globals: Mapping[str, Any] | None) -> bool:
    """Returns whether a class, whose module has these globals, has late methods."""
    return str((globals or {}).get("__name__")).startswith(_PACKAGES)


def _creating(create: _Function) -> _Function:
    """Returns what gives a late method, where `create` compiles one; of Python 3.11 and 3.12."""

    @wraps(create)
    def create_late(name: str, *what: Any, globals: Mapping[str, Any] | None = None, **how: Any) -> Any:
        make = partial(create, name, *what, globals=globals, **how)
        return LateMethod(name, make) if _is_late(globals) else make()

    return create_late


def _adding(add: _Function) -> _Function:
    """Returns what gives a class late methods, where `add` compiles all of them; of Python 3.13."""

    @wraps(add)
    def add_late(self: Any, cls: type) -> None:
        there = vars(cls).keys() & self.overwrite_errors
        if there or not _is_late(self.globals):
            add(self, cls)
            return
        for name, text in zip(self.names, self.src, strict=True):
            if name not in vars(cls) or name in self.unconditional_adds:
                setattr(cls, name, LateMethod(name, partial(_compiled, self, name, text)))

    return add_late


def _compiled(builder: Any, name: str, text: str) -> _Function:
    """Returns one of the methods that a builder would compile together."""
    found: dict[str, Any] = {}
    text = f"def make({','.join(builder.locals)}):\n{text}\n return {name}"
    # The annotations are values there, as in `dataclasses`, which are no text as they are here.
    exec(compile(text, "<string>", "exec", dont_inherit=True), builder.globals, found)
    return found["make"](**builder.locals)


def _install() -> None:
    """Has `dataclasses` do so, in the versions of Python whose way of making methods is known."""
    if sys.version_info < (3, 13):
        setattr(dataclasses, "_create_fn", _creating(vars(dataclasses)["_create_fn"]))  # noqa: B010
    elif sys.version_info < (3, 14):
        builder: Any = vars(dataclasses)["_FuncBuilder"]
        builder.add_fns_to_class = _adding(builder.add_fns_to_class)


_install()
