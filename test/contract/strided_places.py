"""Strided places in a pool, drawn by hypothesis, and what numpy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from tenon.backends.interface import BufferLoc, StridedLoc

POOL_NBYTES = 1 << 14
"""Holds any place that is drawn."""

Shape = tuple[tuple[int, ...], int]

SHAPES: st.SearchStrategy[Shape] = st.tuples(
    st.lists(st.integers(0, 4), max_size=4).map(tuple), st.sampled_from((1, 2, 3, 4, 8, 16))
)
"""Shapes with an itemsize."""


@st.composite
def places(draw: st.DrawFn, shape: tuple[int, ...], itemsize: int, pool_id: int) -> StridedLoc:
    """Draws a place whose elements do not overlap: axes in any order, either way round, with gaps between."""
    order = draw(st.permutations(range(len(shape))))
    strides = [0] * len(shape)
    reach = itemsize
    for axis in order:
        reach += draw(st.sampled_from((0, 0, itemsize, 3)))
        strides[axis] = reach
        reach *= max(shape[axis], 1)
    start = draw(st.integers(0, 40))
    for axis, stride in enumerate(strides):
        if draw(st.booleans()):
            strides[axis] = -stride
            start += (max(shape[axis], 1) - 1) * stride
    return StridedLoc(BufferLoc(pool_id, start), shape, tuple(strides), itemsize)


@st.composite
def host_arrays(draw: st.DrawFn, shape: tuple[int, ...], itemsize: int) -> npt.NDArray[Any]:
    """Draws a host array of any layout, with every byte another as far as they go."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from((1, 1, 2, -1))) for _ in shape]
    wide = [shape[axis] * abs(steps[axis]) for axis in order]
    count = int(np.prod(wide, dtype=np.int64)) * itemsize
    dtype = np.dtype(f"u{itemsize}" if itemsize in (1, 2, 4, 8) else f"V{itemsize}")
    base = (np.arange(count) * 37 % 251).astype(np.uint8).view(dtype).reshape(wide)
    base = base.transpose(np.argsort(order))
    return base[tuple(slice(None, None, step) for step in steps)] if shape else base


def elements(pool: npt.NDArray[np.uint8], place: StridedLoc) -> npt.NDArray[np.uint8]:
    """Returns the elements of a place in a pool's bytes, the bytes of an element along the last axis."""
    offset = place.start.offset if 0 not in place.shape else 0
    shape, strides = (*place.shape, place.itemsize), (*place.strides, 1)
    return np.ndarray(shape, np.uint8, pool.data, offset, strides)


def bytes_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Returns a copy of an array's elements as bytes along one more axis."""
    return np.ascontiguousarray(array).reshape(array.shape).view((np.uint8, (array.itemsize,)))
