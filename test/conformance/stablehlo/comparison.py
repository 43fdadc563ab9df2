"""How openxla's checks compare: bits, a tolerance, or how many floats are in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-4
"""What values may be apart, relative to the expected one, or absolutely near 0."""

MAX_ULPS = 3
"""How many floats apart values are that are close."""


@dataclass(frozen=True)
class Check:
    """One check of a program: its kind, and what it allows."""

    kind: str
    tolerance: float = TOLERANCE
    max_ulps: int = MAX_ULPS

    def difference(self, found: Any, expected: Any) -> str | None:
        """Returns where two arrays differ, None where they do not."""
        found, expected = np.asarray(found), np.asarray(expected)
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return f"{found.dtype}{list(found.shape)} is not {expected.dtype}{list(expected.shape)}"
        good = np.atleast_1d(self._are_good(found, expected))
        if good.all():
            return None
        (place, *_), bad = np.argwhere(~good), int((~good).sum())
        a, b = (np.atleast_1d(each)[tuple(place)] for each in (found, expected))
        return f"{self.kind}: {bad} of {good.size} differ, first {a} and {b} at {[*map(int, place)]}"

    def _are_good(self, found: Any, expected: Any) -> Any:
        same = (found == expected) | ((found != found) & (expected != expected))
        if self.kind == "eq" or found.dtype.kind in "biu":
            return same
        if self.kind == "close":
            return same | (ulps(found, expected) <= self.max_ulps)
        x, y = found.astype(np.float64), expected.astype(np.float64)
        with np.errstate(invalid="ignore"):
            return same | (np.abs(x - y) <= self.tolerance * np.maximum(1, np.abs(y)))


def ulps(x: Any, y: Any) -> Any:
    """Returns how many floats two arrays are apart; very many where one is not finite."""
    apart = np.abs(_places(x) - _places(y))
    return np.where(np.isfinite(x) & np.isfinite(y), apart, float("inf"))


def _places(x: Any) -> Any:
    """Returns the place of each float among all, 0 for 0."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    least = np.longdouble(2) ** (8 * x.dtype.itemsize - 1)
    return np.where(bits < 0, -(bits + least), bits)
