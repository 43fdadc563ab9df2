"""A dialect made of the names that its package has, so that no op or attribute is listed a second time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.ir import Attribute, Dialect, Operation


def dialect_of(name: str, members: Mapping[str, object]) -> Dialect:
    """
    Returns the dialect of the ops and attributes among `members`, the names of a package, in their order.
    An abstract class is none of them: it has no name of its own.
    """
    # `issubclass` of a class that is none asks all subclasses of `Operation`: 50 ms for the three dialects.
    prefix = f"{name}."
    named = [
        member
        for member in members.values()
        if isinstance(member, type) and str(getattr(member, "name", "")).startswith(prefix)
    ]
    return Dialect(
        name,
        [cast(type[Operation], each) for each in named if Operation in each.__mro__],
        [cast(type[Attribute], each) for each in named if Attribute in each.__mro__],
    )
