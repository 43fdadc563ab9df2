"""Modules of the user's that register ops of their own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from ..errors import TenonError


def load_dialects(names: Sequence[str]) -> None:
    """
    Imports modules, as `import` does: from the installed packages and PYTHONPATH.

    Raises TenonError for a module that is not there.
    """
    for name in names:
        try:
            import_module(name)
        except ImportError as error:
            raise TenonError(f"--load-dialect: cannot import '{name}' ({error})") from error
