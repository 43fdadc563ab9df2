"""How the elements of a buffer lie in memory, and how many bytes it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from ..errors import TenonError
from .dims.attributes import DimsAttr, dims_of_space, space_with_dims
from .dims.expressions import DimSymbol, Extent, bounded, product, row_major, upper_bound
from .element_types import NBYTES, STORED_TYPES

ALIGNMENT = 64
"""
Bytes that pools, the buffers within them and the arrays of the host are aligned to: a line of the cache, the
widest vectors, and what any backend asks for to share memory with the host.
"""

PRIVATE_NBYTES_LIMIT = 1 << 18
"""
The most bytes that the allocas of one kernel may take together: a processor has them on the stack of the
thread that runs it.
"""


def in_a_row(sizes: Iterable[int], alignment: int = ALIGNMENT) -> list[int]:
    """
    Returns where buffers of these bytes begin that lie one after the other, each at a multiple of
    `alignment`; last, where the next one would begin.
    """
    offsets = [0]
    for nbytes in sizes:
        offsets.append(offsets[-1] + -(-nbytes // alignment) * alignment)
    return offsets


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides, in elements, of a contiguous array of `shape`, the last dim fastest."""
    return cast("tuple[int, ...]", row_major(shape))


def _memref(type: Attribute) -> MemRefType[Attribute]:
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    return cast("MemRefType[Attribute]", type)


def is_strided(type: Attribute) -> bool:
    """Returns whether a memref has a layout of its own, not the dense one."""
    return isinstance(_memref(type).layout, StridedLayoutAttr)


def memref_of(element_type: Attribute, shape: Sequence[Extent]) -> MemRefType[Attribute]:
    """Returns the type of a dense buffer of these extents."""
    if all(isinstance(extent, int) for extent in shape):
        return MemRefType(element_type, [extent for extent in shape if isinstance(extent, int)])
    dims = DimsAttr.of(shape)
    return MemRefType(element_type, dims.written, memory_space=space_with_dims(dims))


def dims_of_buffer(type: Attribute) -> tuple[Extent, ...] | None:
    """Returns the extents of a memref that is written with named dims, None for another one."""
    dims = dims_of_space(_memref(type).memory_space)
    return None if dims is None else dims.data


def extents_of(type: Attribute) -> tuple[Extent, ...]:
    """Returns the extents of a memref; `DYNAMIC_INDEX` is one that is known at run time only."""
    dims = dims_of_buffer(type)
    return _memref(type).get_shape() if dims is None else dims


@lru_cache(1024)
def strides_of(type: Attribute) -> tuple[Extent, ...]:
    """Returns the strides of a memref in elements: those of its `strided` layout, or row-major ones."""
    layout = _memref(type).layout
    if isinstance(layout, StridedLayoutAttr):
        return tuple(stride.data for stride in layout.strides if isinstance(stride, IntAttr))
    return row_major(extents_of(type))


@lru_cache(1024)
def size_of(type: Attribute) -> Extent:
    """
    Returns the number of elements from the first of a memref to its last, gaps included.

    Raises:
        TenonError: an extent is known only at run time and has no name.
    """
    dims = dims_of_buffer(type)
    if dims is None:
        return span_of(type)
    if DYNAMIC_INDEX in dims:
        raise TenonError(f"the size of {type} is known only at run time")
    return product(dims)


def nbytes_bound(type: Attribute, dims: Mapping[str, DimSymbol]) -> int:
    """
    Returns the most bytes that a memref takes, gaps included, for values of `dims` within their bounds.

    Raises:
        TenonError: an extent is known only at run time and has no name.
    """
    if dims_of_buffer(type) is None:
        return nbytes_of(type)
    return NBYTES[_memref(type).element_type] * upper_bound(bounded(size_of(type), dims))


@lru_cache(1024)
def span_of(type: Attribute) -> int:
    """
    Returns the number of elements from the first of a memref to its last, gaps included.

    Raises:
        TenonError: an extent is known only at run time.
    """
    buffer = _memref(type)
    if not buffer.has_static_shape():
        raise TenonError(f"the size of {buffer} is known only at run time")
    shape = buffer.get_shape()
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, _numbers(type), strict=True))


@lru_cache(1024)
def nbytes_of(type: Attribute) -> int:
    """
    Returns the bytes of a memref, gaps included.

    Raises:
        TenonError: an extent is known only at run time.
    """
    return NBYTES[_memref(type).element_type] * span_of(type)


def known_nbytes(type: Attribute) -> int:
    """Returns the bytes of a memref, gaps included; 0 where they vary with named dims, and of no memref."""
    if not isa(type, MemRefType):
        return 0
    size = size_of(type)
    return NBYTES[type.element_type] * size if isinstance(size, int) else 0


def _numbers(type: Attribute) -> tuple[int, ...]:
    """Returns the strides of a memref whose extents are all numbers."""
    return tuple(stride for stride in strides_of(type) if isinstance(stride, int))


def verify_element(who: str, type: Attribute) -> None:
    """Raises `VerifyException` unless the elements of a memref are of a type that buffers hold."""
    element = _memref(type).element_type
    if element not in STORED_TYPES:
        raise VerifyException(f"{who}: {type} would hold {element}, which no buffer does")


def verify_layout(who: str, type: Attribute) -> None:
    """
    Raises `VerifyException` unless the elements of a memref are of a type that buffers hold, and it is dense,
    with or without named dims, or has a `strided` layout without offset in which no two elements share a
    place.
    """
    buffer = _memref(type)
    verify_element(who, type)
    layout, shape, dims = buffer.layout, buffer.get_shape(), dims_of_space(buffer.memory_space)
    if dims is None and not isinstance(buffer.memory_space, NoneAttr):
        raise VerifyException(f"{who}: {buffer.memory_space} is no memory space of a buffer in {type}")
    if dims is not None and dims.written != shape:
        raise VerifyException(f"{who}: the dims of {type} do not fit its shape")
    if isinstance(layout, NoneAttr):
        return
    if dims is not None:
        raise VerifyException(f"{who}: {type} has a layout, expected a dense buffer where dims have names")
    if not isinstance(layout, StridedLayoutAttr) or layout.get_offset() != 0:
        raise VerifyException(f"{who}: the layout of {type} is not a strided one without offset")
    strides = layout.get_strides()
    if len(strides) != len(shape) or not all(isinstance(s, int) and s > 0 for s in strides):
        raise VerifyException(f"{who}: the layout of {type} does not have a positive stride for each dim")
    reach = 1
    for stride, extent in sorted(zip(_numbers(type), shape, strict=True)):
        if extent > 1 and stride < reach:
            raise VerifyException(
                f"{who}: elements of {type} overlap (stride {stride}, expected {reach} or more)"
            )
        if extent > 1:
            reach = stride * (extent - 1) + reach
