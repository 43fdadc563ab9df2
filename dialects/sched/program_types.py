"""The types that a program's buffers have."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import IndexType, MemRefType, TensorType
from xdsl.ir import Attribute

from ..dim_attributes import DimsAttr
from ..element_types import element_type_of, storage_type


@cache
def buffer_type(tensor: Attribute) -> MemRefType:
    """Returns the type of the buffer that holds a tensor: same shape and dims, storage element type."""
    element_type = element_type_of(tensor)
    assert isinstance(tensor, TensorType), f"no buffer for {tensor}"
    encoding = tensor.encoding
    if isinstance(encoding, DimsAttr):
        return MemRefType(storage_type(element_type), tensor.shape, encoding)
    return MemRefType(storage_type(element_type), tensor.shape)


def argument_type(type: Attribute) -> Attribute:
    """Returns the type of a program's argument: a tensor's buffer; an `index` is a static symbol as it is."""
    return type if isinstance(type, IndexType) else buffer_type(type)
