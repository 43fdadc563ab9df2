"""Says how far two results of one program lie apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from xdsl.ir import Attribute

from ...backends.reference.comparison import differences
from ...runtime.plan.signature import shape_text
from ...semantics.numpy_types import element_type_of_dtype

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Comparison:
    """Whether two arrays agree, and in words how well."""

    agrees: bool
    text: str


def compare(found: Array, expected: Array, element_type: Attribute, terms: int) -> Comparison:
    """
    Compares two results that were computed in `element_type`. Floats may differ as much as the order of a sum
    of `terms` terms can make them, for `graph` leaves that order open; integers and booleans may not.
    """
    if found.shape != expected.shape:
        return Comparison(False, f"shape {shape_text(found.shape)}, expected {shape_text(expected.shape)}")
    if found.tobytes() == expected.tobytes():
        return Comparison(True, "same bits")
    if beyond := differences(found, expected, element_type=element_type, terms=terms):
        return Comparison(False, str(beyond))
    if within := differences(found, expected, element_type=element_type, ulps=0):
        count, place = f"{within.count} of {within.total}", ", ".join(map(str, within.index))
        of = "" if element_type_of_dtype(found.dtype) == element_type else f" (computed in {element_type})"
        return Comparison(
            True, f"agree; {count} elements differ, the worst by {within.ulps} ulps at [{place}]{of}"
        )
    return Comparison(True, "equal, but for the bits of NaN or the signs of zeros")
