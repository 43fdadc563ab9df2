"""Arrays of numpy as those of jax."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

ToJax = Callable[[Any], Any]

_REFUSALS = (BufferError, TypeError, ValueError, RuntimeError)
"""What is raised of an array that is not taken as it is, of a dtype without DLPack for one."""


def converter_to_jax(jax: Any) -> ToJax:
    """
    Returns the function that makes jax's arrays of numpy's: of the same memory where jax takes it, which is
    where it begins at a cache line, else of a copy. What it gets is jax's from then on.

    `jax.dlpack.from_dlpack` asks for 40 microseconds what dtype and device an array is of, which results of
    a program are known to be; the import that it ends in takes 7. That has no public name, so that it is
    tried here first, and where it does not do what it did the public function is taken.
    """

    def convert(array: Any) -> Any:
        try:
            return jax.dlpack.from_dlpack(array)
        except _REFUSALS:
            return jax.numpy.asarray(array)

    take = _direct_import(jax)
    if take is None:
        return convert

    def convert_fast(array: Any) -> Any:
        try:
            return take(array)
        except _REFUSALS:
            return convert(array)

    return convert_fast


def _direct_import(jax: Any) -> ToJax | None:
    """Returns jax's own import of arrays on its processor, None where it is not as it was."""
    try:
        direct = import_module("jaxlib._jax").dlpack_managed_tensor_to_buffer
        device = jax.local_devices(backend="cpu")[0]
    except (ImportError, AttributeError, RuntimeError, IndexError):
        return None

    def take(array: Any) -> Any:
        return direct(array.__dlpack__(), device, None)

    probe = np.arange(6, dtype=np.float32).reshape(2, 3)
    try:
        found = take(probe)
        is_same = isinstance(found, jax.Array) and found.dtype == probe.dtype and not found.weak_type
        return take if is_same and np.array_equal(np.asarray(found), probe) else None
    except (*_REFUSALS, AttributeError):
        return None
