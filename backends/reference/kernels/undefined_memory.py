"""What memory holds that nothing was written to: a result that depends on it is no result of the program."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import DTypeLike

from ....semantics.numpy_types import Array

_BYTE: ContextVar[int | None] = ContextVar("byte", default=None)


@contextmanager
def undefined_bytes(byte: int) -> Generator[None]:
    """Lets memory that nothing was written to be full of a byte, not of what the interpreter has there."""
    token = _BYTE.set(byte)
    try:
        yield
    finally:
        _BYTE.reset(token)


def as_undefined(array: Array) -> Array:
    """Returns new memory, as the interpreter has made it or full of what `undefined_bytes` says."""
    byte = _BYTE.get()
    return array if byte is None else filled(array.shape, array.dtype, byte)


def filled(shape: tuple[int, ...], dtype: DTypeLike, byte: int) -> Array:
    """Returns an array all of whose bytes are `byte`."""
    dtype = np.dtype(dtype)
    return np.full((*shape, dtype.itemsize), byte, np.uint8).view(dtype).reshape(shape)
