"""The check of what a method is given that takes Tenon's own objects."""

from __future__ import annotations

from ...errors import CallError


def check_kind(who: str, value: object, expected: str, *kinds: type) -> None:
    """Raises `CallError` where `value` is none of `kinds`; `expected` names them for people."""
    if not isinstance(value, kinds):
        raise CallError(f"{who}: expected {expected}, found {type(value).__name__}")
