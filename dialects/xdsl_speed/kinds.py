"""Asking whether an object is of a class, or a class made of another."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable, Iterator
from functools import wraps
from typing import Any, cast

from xdsl.ir import Attribute, Dialect, Operation, Region
from xdsl.ir.core import IRWithUses


def _is_made_of(cls: type, kind: type) -> bool:
    """
    Says which classes are made of one, by their bases. Of each that it meets first, `abc` would ask all that
    are made of this one, down to the last. Nobody registers other classes as ops or attributes.
    """
    return cls in kind.__mro__


class _Definition(ABCMeta):
    """
    The type of what dialects have. `abc` takes two to three times as long to say that something is no such
    op, which passes ask some 400,000 times in the compile of a net: 5 % of its time.

    Classes that others are made of keep their type: a class cannot be made of them and of one whose type is
    another, as a protocol's is.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


def _define(kinds: Iterable[type]) -> None:
    for kind in kinds:
        if type(kind) is ABCMeta:
            cast(Any, kind).__class__ = _Definition


def _all_made_of(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _all_made_of(each)


def _defining(initialize: Any) -> Any:
    """Returns a method that makes a dialect, and what it has definitions."""

    @wraps(initialize)
    def make(self: Dialect, *args: Any, **arguments: Any) -> None:
        initialize(self, *args, **arguments)
        _define(self.operations)
        _define(self.attributes)

    return make


def apply() -> None:
    """Installs it."""
    for kind in (Attribute, IRWithUses, Operation, Region):
        cast(Any, kind).__subclasshook__ = classmethod(_is_made_of)
    # Builtin's are there already.
    _define([kind for base in (Attribute, Operation) for kind in _all_made_of(base) if "name" in vars(kind)])
    dialect = cast(Any, Dialect)
    dialect.__init__ = _defining(dialect.__init__)
