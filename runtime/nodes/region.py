"""A part of a tensor node's memory, named as numpy names parts of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any, cast

import numpy as np

from ...backends.interface import BufferLoc, StridedLoc
from ...dialects.buffer_size import row_major_strides
from ...errors import CallError
from ...semantics.numpy_types import strided_view
from ..plan.signature import Array, ArrayType, checked_array, shape_text
from .padding import Padding
from .tensor_node import TensorNode

IndexPart = int | slice | EllipsisType
Index = IndexPart | tuple[IndexPart, ...]
"""What numpy's basic indexing takes: integers, slices, an ellipsis, or a tuple of them."""

_PARTS: tuple[type[Any], ...] = (int, np.integer, slice, EllipsisType)


@dataclass(frozen=True)
class Region:
    """Elements of a node: where the first lies and how far apart they are, both in bytes."""

    type: ArrayType
    offset: int
    strides: tuple[int, ...]
    is_contiguous: bool
    is_whole: bool
    nbytes: int

    def at(self, location: BufferLoc) -> BufferLoc:
        """Returns the place of the first element of a node that lies at `location`."""
        return BufferLoc(location.pool_id, location.offset + self.offset)

    def strided(self, location: BufferLoc) -> StridedLoc:
        """Returns the places of the elements of a node that lies at `location`."""
        return StridedLoc(self.at(location), self.type.shape, self.strides, self.type.dtype.itemsize)

    def check(self, array: object, who: str) -> Array:
        """
        Returns `array` as a plain numpy array.

        Raises:
            CallError: it is none, or its dtype, byte order or shape is not the region's.
        """
        return checked_array(array, self.type, who)

    def check_target(self, array: object, who: str) -> Array:
        """As `check`, for an array to write into. Raises `CallError` also where it is read-only or a copy."""
        if not isinstance(array, np.ndarray):
            raise CallError(f"{who}: expected a numpy array, found {type(array).__name__}")
        plain = checked_array(cast(object, array), self.type, who)
        if not plain.flags.writeable:
            raise CallError(f"{who}: the array is not writeable")
        return plain


def region_of(node: TensorNode, index: Index | None, who: str) -> Region:
    """
    Returns the elements of `node` that `index` selects; None selects all but the padding.

    Raises:
        CallError: the index does not fit the node, or is not a basic one.
    """
    if index is None:
        return _interior(node.dtype, node.dims, node.padding)
    parts = index if isinstance(index, tuple) else (index,)
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, _PARTS):
            raise CallError(f"{who}: index {index!r} is not made of integers and slices")
    one, inner = _template(node.dtype, node.dims, node.padding)
    try:
        # The ellipsis makes even a single element an array.
        selected = inner[parts if Ellipsis in parts else (*parts, ...)]
    except (IndexError, TypeError, ValueError) as error:
        raise CallError(f"{who}: index {index!r} of shape {shape_text(inner.shape)}: {error}") from None
    return _region(one, selected, node.dims)


@lru_cache(maxsize=256)
def _interior(dtype: np.dtype[Any], dims: tuple[int, ...], padding: Padding | None) -> Region:
    return _region(*_template(dtype, dims, padding), dims)


def _template(dtype: np.dtype[Any], dims: tuple[int, ...], padding: Padding | None) -> tuple[Array, Array]:
    """
    Returns a single element, and an array of the extents without padding that has nothing but this element:
    indexing it costs no memory.
    """
    one = np.empty((), dtype)
    strides = [stride * dtype.itemsize for stride in row_major_strides(dims)]
    template = strided_view(one, dims, strides, writeable=False)
    return one, template[(*_without_padding(dims, padding), ...)]


def _region(one: Array, selected: Array, dims: tuple[int, ...]) -> Region:
    """Returns the places of the elements `selected` of a template that begins at `one`."""
    is_contiguous = all(
        extent == 1 or mine == dense * selected.dtype.itemsize
        for extent, mine, dense in zip(
            selected.shape, selected.strides, row_major_strides(selected.shape), strict=True
        )
    )
    return Region(
        ArrayType(selected.dtype, selected.shape),
        _address(selected) - _address(one) if selected.size else 0,
        tuple(selected.strides),
        is_contiguous or not selected.size,
        selected.shape == dims,
        selected.nbytes,
    )


def whole_region(node: TensorNode) -> Region:
    """Returns all elements of `node`, its padding too."""
    return _interior(node.dtype, node.dims, None)


def without_padding(node: TensorNode) -> tuple[slice, ...]:
    """Returns the part of the node's memory that is not padding."""
    return _without_padding(node.dims, node.padding)


def _without_padding(dims: tuple[int, ...], padding: Padding | None) -> tuple[slice, ...]:
    return (slice(None),) * len(dims) if padding is None else padding.interior(dims)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]
