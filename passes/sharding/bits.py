"""What is added where all members of a group but one have zeros: integers, so that no bit changes."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ...dialects.element_types import NBYTES, is_float, ui8, ui16, ui32, ui64
from ...dialects.graph import ReduceKind

_OF_NBYTES = {1: ui8, 2: ui16, 4: ui32, 8: ui64}


def as_numbers(element_type: Attribute) -> Attribute:
    """Returns the integers that have the bits of an element type; itself if it is one of them."""
    return _OF_NBYTES[NBYTES[element_type]] if is_float(element_type) else element_type


def chosen_by(element_type: Attribute) -> ReduceKind:
    """Returns what gives the element that is not zero, or zero where all are."""
    return ReduceKind.OR if element_type == i1 else ReduceKind.ADD
