"""A copy between two strided places in its simplest form: a box of contiguous runs of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StridedBox:
    """
    One run of `run_nbytes` bytes for each point of `extents`; the point `(i, j, ...)` is
    `i * strides[0] + j * strides[1] + ...` bytes from the start on either side. No extent is 1; an extent of
    0 is the only one.
    """

    extents: tuple[int, ...]
    target_strides: tuple[int, ...]
    source_strides: tuple[int, ...]
    run_nbytes: int


def box_of(
    shape: Sequence[int], itemsize: int, target_strides: Sequence[int], source_strides: Sequence[int]
) -> StridedBox:
    """
    Returns the copy of elements of `itemsize` bytes with as few axes as it can be said in: axes change places
    so that the target is written along its memory, and axes that continue each other on both sides are one.
    """
    if 0 in shape:
        return StridedBox((0,), (0,), (0,), itemsize)
    axes = sorted(
        (axis for axis in zip(shape, target_strides, source_strides, strict=True) if axis[0] != 1),
        key=lambda axis: (abs(axis[1]), abs(axis[2])),
        reverse=True,
    )
    merged: list[tuple[int, int, int]] = []
    for extent, target, source in axes:
        if merged:
            outer, outer_target, outer_source = merged[-1]
            if (outer_target, outer_source) == (extent * target, extent * source):
                merged[-1] = (outer * extent, target, source)
                continue
        merged.append((extent, target, source))
    if merged and merged[-1][1:] == (itemsize, itemsize):
        itemsize *= merged.pop()[0]
    return StridedBox(
        tuple(extent for extent, _, _ in merged),
        tuple(target for _, target, _ in merged),
        tuple(source for _, _, source in merged),
        itemsize,
    )
