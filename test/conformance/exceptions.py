"""The tests of the Array API suite that `tenon.numpy` does not pass, each with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

NOT_FACTORED = (
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
)
"""Functions of the linear algebra extension that need a factorisation."""

_FACTORED = "|".join(NOT_FACTORED)


@dataclass(frozen=True)
class Exempt:
    """Tests whose ids match a pattern, and why they are not run."""

    pattern: str
    reason: str

    def matches(self, test_id: str) -> bool:
        """Returns whether the pattern is found in the id of a test."""
        return re.search(self.pattern, test_id) is not None


EXEMPT = (
    Exempt(r"test_special_cases\.py::.*imag\(x_i\)", "there are no complex dtypes"),
    Exempt(r"test_linalg\.py::test_vecdot_conj$", "there are no complex dtypes"),
    Exempt(r"test_fft\.py::|\[fft-|\[fft\.", "there is no fft extension"),
    Exempt(
        rf"\[linalg[-.]({_FACTORED})\]|test_linalg\.py::test_({_FACTORED})$",
        "functions of linalg that need a factorisation are not there",
    ),
    Exempt(
        r"test_array_object\.py::test_setitem|test_creation_functions\.py::test_asarray_arrays$",
        "arrays are immutable: x.at[index].set(value) makes a copy",
    ),
    Exempt(
        r"test_special_cases\.py::.*floor_?div(ide)?.*(infinity)",
        "infinities are divided as numpy does: inf // 1 is nan, -1 // inf is -1",
    ),
)
