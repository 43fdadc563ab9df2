"""The types that a program's buffers have."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import IndexType, MemRefType, TensorType
from xdsl.ir import Attribute

from ..buffer_size import memref_of
from ..element_types import element_type_of, storage_type
from ..graph.types import shape_of

__all__ = ["argument_type", "buffer_type"]


@lru_cache(1024)
def buffer_type(tensor: Attribute) -> MemRefType:
    """Returns the type of the buffer that holds a tensor: same shape and dims, storage element type."""
    element_type = element_type_of(tensor)
    assert isinstance(tensor, TensorType), f"no buffer for {tensor}"
    return memref_of(storage_type(element_type), shape_of(cast("TensorType[Any]", tensor)))


def argument_type(type: Attribute) -> Attribute:
    """Returns the type of a program's argument: a tensor's buffer; an `index` is a static symbol as it is."""
    return type if isinstance(type, IndexType) else buffer_type(type)
