"""How many bytes a buffer takes."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from ...dialects.element_types import NBYTES


@cache
def nbytes_of(type: Attribute) -> int:
    """
    Returns the bytes of a buffer's elements.

    Raises:
        PassFailedException: an extent is known only at run time.
    """
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    if not type.has_static_shape():
        raise PassFailedException(f"memref: the size of {type} is known only at run time")
    return NBYTES[type.element_type] * type.element_count()
