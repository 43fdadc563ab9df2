"""What tells static values apart: those that a program was compiled for from others that equal them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np

from .array import Array


def static_key(value: Any, who: str) -> Any:
    """
    Returns what two static values have in common only where they are of the same types and equal; 0.0 and
    -0.0 are two values, and NaN is one.

    Raises:
        TypeError: the value is not hashable.
    """
    kind: Any = value.__class__
    if kind is int or kind is str or kind is bool or value is None:
        return kind, value
    if kind is float:
        return kind, value.hex()
    if kind is tuple:
        return (kind, *[static_key(item, who) for item in value])
    if kind is frozenset:
        return kind, frozenset([static_key(item, who) for item in value])
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if kind is slice:
        return kind, *[static_key(part, who) for part in (value.start, value.stop, value.step)]
    if issubclass(kind, np.generic):
        return kind, value.dtype, value.tobytes()
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            f"{who} is {shown(value)}, which is not hashable, as a static value must be {_hint(value)}"
        ) from None
    # What such a value is made of may be equal, and not the same for a program: 1, 1.0 and True.
    if isinstance(value, tuple):
        return (kind, value, *[static_key(item, who) for item in cast("tuple[Any, ...]", value)])
    if is_dataclass(value) and kind.__hash__ is not object.__hash__:
        hashed = [each.name for each in fields(value) if (each.compare if each.hash is None else each.hash)]
        return (kind, value, *[static_key(getattr(value, name), who) for name in hashed])
    return kind, value


def _hint(value: Any) -> str:
    if isinstance(value, list):
        return "(hint: a tuple)"
    if isinstance(value, dict | set):
        return "(hint: a tuple of items, or a frozen dataclass)"
    if isinstance(value, Array | np.ndarray):
        return "(hint: an array is no static argument; int(x) or x.tolist() of one with values)"
    return "(hint: give its class __hash__ and __eq__)"


def shown(value: Any) -> str:
    """Returns a value and its type as errors show them."""
    kind = cast("type[Any]", type(value)).__name__
    text = repr(value)
    return f"a {kind}" if len(text) > 60 or text.startswith("<") else f"{text}, of type {kind}"
