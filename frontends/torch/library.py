"""torch, which is imported when something of it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ...errors import MissingExtraError


@cache
def torch_library() -> Any:
    """
    Returns the package torch.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("torch")
    except ImportError:
        raise MissingExtraError("torch: torch is not installed; pip install 'tenon[torch]'") from None
