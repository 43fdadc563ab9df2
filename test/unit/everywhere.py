"""Runs a function at every level and on every backend."""

from typing import Any

import numpy.typing as npt
import tenon
from tenon.test.bits import are_same

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
