"""Boxes: parts of arrays, and what two of them have in common."""

from __future__ import annotations

from ..arrays.concrete import NumpyArray

Box = tuple[slice, ...]
"""A part of an array: a slice of step 1 for each dim."""


def common(left: Box, right: Box) -> Box:
    """Returns what is in both boxes; a box without elements if nothing is."""
    starts = [max(one.start, other.start) for one, other in zip(left, right, strict=True)]
    stops = [min(one.stop, other.stop) for one, other in zip(left, right, strict=True)]
    return tuple(slice(start, max(start, stop)) for start, stop in zip(starts, stops, strict=True))


def extents(box: Box) -> tuple[int, ...]:
    """Returns the shape of a box."""
    return tuple(each.stop - each.start for each in box)


def bounds(box: Box) -> tuple[tuple[int, int], ...]:
    """Returns where a box begins and ends in each dim: what a table can be asked by."""
    return tuple((each.start, each.stop) for each in box)


def overlap(left: Box, right: Box) -> bool:
    """Returns whether two boxes have an element in common."""
    return all(
        max(one.start, other.start) < min(one.stop, other.stop)
        for one, other in zip(left, right, strict=True)
    )


def within(box: Box, around: Box) -> Box:
    """Returns a box of the whole as one of a part."""
    return tuple(
        slice(each.start - outer.start, each.stop - outer.start)
        for each, outer in zip(box, around, strict=True)
    )


def copy_common(target: NumpyArray, target_box: Box, source: NumpyArray, source_box: Box) -> None:
    """Copies what two parts of an array have in common from the one to the other."""
    if overlap(target_box, source_box):
        box = common(target_box, source_box)
        target[within(box, target_box)] = source[within(box, source_box)]
