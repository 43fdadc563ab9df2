"""The package `onnx`, which is imported when a model is first read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...errors import MissingExtraError


def onnx_package(module: str = "onnx") -> Any:
    """
    Returns a module of the package `onnx`.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in ("onnx", "google"):
            raise
        message = "from_onnx: the package onnx is not installed (hint: pip install 'tenon[onnx]')"
        raise MissingExtraError(message) from None
