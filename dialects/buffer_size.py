"""How many bytes a buffer takes."""

from __future__ import annotations

from functools import cache
from typing import cast

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from ..errors import TenonError
from .element_types import NBYTES


@cache
def nbytes_of(type: Attribute) -> int:
    """
    Returns the bytes of the elements of a memref.

    Raises:
        TenonError: an extent is known only at run time.
    """
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    buffer = cast(MemRefType[Attribute], type)
    if not buffer.has_static_shape():
        raise TenonError(f"the size of {buffer} is known only at run time")
    return NBYTES[buffer.element_type] * buffer.element_count()
