"""Runs a function at every level and on every backend."""

from typing import Any

import numpy as np
import numpy.typing as npt
import tenon

Array = npt.NDArray[Any]

WAYS: tuple[tuple[str, str | None], ...] = (
    ("reference", "graph"),
    ("reference", "sched"),
    ("reference", "low"),
    ("llvm", None),
    ("opencl", None),
)
"""Backends, and for the interpreter the level."""


def run_everywhere(
    text: str, *inputs: Array, ways: tuple[tuple[str, str | None], ...] = WAYS
) -> tuple[Array, ...]:
    """
    Returns the results of the one function of `text`, which must be the same bits (NaN is NaN) at every level
    and on every backend.
    """
    expected: tuple[Array, ...] | None = None
    for backend, level in ways:
        results = tenon.compile(text, backend=backend, level=level)(*inputs)
        found = results if isinstance(results, tuple) else (results,)
        if expected is None:
            expected = found
        for number, (mine, wanted) in enumerate(zip(found, expected, strict=True)):
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            assert are_same(mine, wanted), f"result {number} on {backend} {level}: {mine} is not {wanted}"
    assert expected is not None
    return expected


def are_same(first: Array, second: Array) -> bool:
    """Returns whether two arrays have the same bits, but for those of NaN."""
    is_nan = (first != first) & (second != second)
    return bool(np.all(is_nan | (_bits(first) == _bits(second))))


def _bits(array: Array) -> Array:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
