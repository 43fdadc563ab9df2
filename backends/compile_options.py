"""The options of compilers, of which each has its own."""

from __future__ import annotations

from typing import Any

from ..errors import TenonError
from .interface import CompileOptions


def chosen_options(backend: str, defaults: CompileOptions, given: CompileOptions | None) -> dict[str, Any]:
    """
    Returns the defaults with what is given in their places. Raises `TenonError` where an option is not known,
    or its value is of another type than the default's.
    """
    chosen = dict(defaults)
    for name, value in (given or {}).items():
        if name not in defaults:
            present = ", ".join(defaults) or "none"
            raise TenonError(f"{backend}: there is no compile option '{name}' (options: {present})")
        default: object = defaults[name]
        if not isinstance(value, default.__class__):
            wanted = default.__class__.__name__
            raise TenonError(f"{backend}: compile option '{name}' is {value!r}, expected {wanted}")
        chosen[name] = value
    return chosen
