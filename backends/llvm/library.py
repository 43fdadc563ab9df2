"""llvmlite, imported when it is first needed."""

from importlib import import_module
from typing import Any


def llvmlite_binding() -> Any:
    """Returns the module `llvmlite.binding`, which comes without types."""
    return import_module("llvmlite.binding")
