"""Where what a function reads from outside begins: a variable, a cell, parts of an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import CellType
from typing import Any, Protocol, cast

Test = tuple[Any, Any, Any]
"""An owner, a key and a value that it has for that, as `CallProgram.same_objects` takes them."""


class Root(Protocol):
    """A place outside of a function's arguments, which is read anew at each call."""

    def __call__(self) -> Any: ...

    def tests(self) -> tuple[Test, ...] | None:
        """Returns what finds the object that is there now, None for a place that nothing but a call finds."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Variable:
    """A global variable, by its module's variables and its name."""

    variables: dict[str, Any]
    name: str

    def __call__(self) -> Any:
        return self.variables[self.name]

    def tests(self) -> tuple[Test, ...] | None:
        is_plain = type(self.variables) is dict
        return ((self.variables, self.name, self()),) if is_plain else None


@dataclass(frozen=True, eq=False, slots=True)
class Closed:
    """A variable of a function around the one that reads it."""

    cell: CellType

    def __call__(self) -> Any:
        return self.cell.cell_contents

    def tests(self) -> tuple[Test, ...] | None:
        return ((self.cell, "cell_contents", self()),)


@dataclass(frozen=True, eq=False, slots=True)
class Held:
    """A value that cannot become another one."""

    value: Any

    def __call__(self) -> Any:
        return self.value

    def tests(self) -> tuple[Test, ...] | None:
        return ()


@dataclass(frozen=True, eq=False, slots=True)
class Parts:
    """A tuple of attributes of an object, which is made anew each time."""

    owner: object
    names: tuple[str, ...]

    def __call__(self) -> tuple[Any, ...]:
        return tuple([getattr(self.owner, name) for name in self.names])

    def tests(self) -> tuple[Test, ...] | None:
        return tuple([(self.owner, name, getattr(self.owner, name)) for name in self.names])


@dataclass(frozen=True, eq=False, slots=True)
class Computed:
    """What a function gives."""

    function: Callable[[], Any]

    def __call__(self) -> Any:
        return self.function()

    def tests(self) -> tuple[Test, ...] | None:
        return None


def tests_of_step(value: Any, kind: str, name: Any, found: Any) -> tuple[Test, ...] | None:
    """
    Returns what finds an attribute or an item of a value again, where it is `found`; None where that is read
    in another way than what these tests look at.
    """
    of = cast(Any, type(value))
    if kind == "attribute":
        return None if of in (dict, list) else ((value, name, found),)
    if of is tuple:
        return ()
    if of is dict and type(name) is str:
        return ((value, name, found),)
    return ((value, None, tuple(value)),) if of is list else None
