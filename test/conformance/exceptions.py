"""The tests of the Array API suite that `tenon.numpy` does not pass, each with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Exempt:
    """Tests that are not run: what they are, the pattern of their ids, and why."""

    tests: str
    pattern: str
    reason: str

    def matches(self, test_id: str) -> bool:
        """Returns whether the pattern is found in the id of a test."""
        return re.search(self.pattern, test_id) is not None


EXEMPT = (
    Exempt(
        "special cases of complex numbers",
        r"test_special_cases\.py::.*imag\(x_i\)|test_linalg\.py::test_vecdot_conj$",
        "there are no complex dtypes",
    ),
    Exempt("`fft`", r"test_fft\.py::|\[fft-|\[fft\.", "there is no fft extension"),
    Exempt(
        "`test_setitem`, `test_setitem_masking`, `test_asarray_arrays`",
        r"test_array_object\.py::test_setitem|test_creation_functions\.py::test_asarray_arrays$",
        "arrays are immutable: `x.at[index].set(value)` makes a copy",
    ),
    Exempt(
        "special cases of `floor_divide`: an infinity by a number, a number by an infinity of the other sign",
        r"floor_?div(ide)?_*\((x1_i is .infinity and isfinite\(x2_i\)|isfinite\(x1_i\).*infinity\) -> -0)",
        "as numpy: `inf // 1` is nan, `-1 // inf` is -1",
    ),
)
