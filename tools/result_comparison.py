"""Says how far two results of one program lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..runtime.signature import shape_text

Array = npt.NDArray[Any]

RELATIVE_TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""
How far results may lie apart, by dtype, in units of the larger of the expected value and the mean of them all:
`graph` leaves the order of a float reduction open. Other dtypes agree exactly.
"""


@dataclass(frozen=True)
class Comparison:
    """Whether two arrays agree, and in words how well."""

    agrees: bool
    text: str


def compare(found: Array, expected: Array) -> Comparison:
    """Compares two arrays of one dtype; a NaN agrees with every NaN."""
    assert found.dtype == expected.dtype, f"{found.dtype} and {expected.dtype}"
    if found.shape != expected.shape:
        return Comparison(False, f"shape {shape_text(found.shape)}, expected {shape_text(expected.shape)}")
    if found.tobytes() == expected.tobytes():
        return Comparison(True, "same bits")
    tolerance = RELATIVE_TOLERANCE.get(found.dtype.name)
    if tolerance is None:
        differs = found != expected
        return Comparison(False, f"{_counted(differs)} differ, {_worst(found, expected, differs)}")
    actual, wanted = found.astype(np.float64), expected.astype(np.float64)
    same = (actual == wanted) | (np.isnan(actual) & np.isnan(wanted))
    if same.all():
        return Comparison(True, "equal, but for the bits of NaN or the signs of zeros")
    finite = np.abs(wanted[np.isfinite(wanted)])
    scale = np.maximum(np.abs(wanted), finite.mean() if finite.size else 0.0)
    with np.errstate(all="ignore"):
        error = np.where(same, 0.0, np.abs(actual - wanted) / scale)
    error = np.where(np.isnan(error), np.inf, error)
    agrees = bool((error <= tolerance).all())
    words = "differ within" if agrees else "differ beyond"
    return Comparison(
        agrees, f"{_counted(error > 0)} {words} a relative {tolerance:g}, {_worst(found, expected, error)}"
    )


def _counted(differs: npt.NDArray[Any]) -> str:
    return f"{int(np.count_nonzero(differs))} of {differs.size} elements"


def _worst(found: Array, expected: Array, error: npt.NDArray[Any]) -> str:
    index = np.unravel_index(int(np.argmax(error)), error.shape)
    place = ", ".join(str(int(i)) for i in index)
    return f"most at [{place}]: {found[index]}, expected {expected[index]}"
