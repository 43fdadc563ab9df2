"""What is told once: the ops that are left to torch."""

from __future__ import annotations

import warnings
from threading import Lock

from .coverage import LeftToTorch

_TOLD: set[tuple[str, tuple[str, int, str] | None]] = set()
_LOCK = Lock()


class LeftToTorchWarning(UserWarning):
    """An op of a compiled model runs in torch."""


def tell(left: LeftToTorch) -> None:
    """Warns of an op that is left to torch, once for each place in the user's code."""
    key = (left.op, left.place)
    with _LOCK:
        if key in _TOLD:
            return
        _TOLD.add(key)
    warnings.warn(f"tenon: {left}", LeftToTorchWarning, stacklevel=2)


def forget_told() -> None:
    """Forgets what was told."""
    with _LOCK:
        _TOLD.clear()
