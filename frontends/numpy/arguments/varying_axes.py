"""Parts of axes whose extents, or whose own bounds, are known at each call only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ....dialects.dims.expressions import Extent
from ...tracing.extents import bounds_text, greatest, is_at_least, least, quotient_up, refuse, text_of


class VaryingAxis:
    """An axis of an array in a trace, for errors of `who`."""

    def __init__(self, who: str, axis: int, shape: tuple[Extent, ...]) -> None:
        self._who, self._axis, self._shape = who, axis, shape
        self.extent = shape[axis]

    def offset(self, index: Extent) -> Extent:
        """
        Returns where an element is; a negative index counts from the end.

        Raises:
            IndexError: it is out of bounds for every extent.
            TracingError: it may be out of bounds.
        """
        found = self.extent + index if self._is_negative(index) else index
        if is_at_least(found, self.extent) or is_at_least(-1, found):
            raise IndexError(
                f"{self._who}: index {index} is out of bounds for axis {self._axis} with size "
                f"{text_of(self.extent)} (shape {self._shape})"
            )
        if not (is_at_least(found, 0) and is_at_least(self.extent - 1, found)):
            self._refuse(f"index {index} may reach out of it", index)
        return found

    def part(self, start: Extent | None, stop: Extent | None, step: int) -> tuple[Extent, Extent, int]:
        """
        Returns the offset, the size and the step of a slice, whose ends are moved into the axis as Python
        does. Equal sizes are written alike, so that `x[1:] - x[:-1]` has a shape.

        Raises:
            TracingError: an end may be negative, or not.
        """
        if step < 0:
            return self._backwards(start, stop, step)
        extent = self.extent
        begin = 0 if start is None else start
        from_end = self._is_negative(begin)
        offset = greatest(extent + begin, 0) if from_end else least(begin, extent)
        length: Extent
        if stop is None:
            length = least(-begin, extent) if from_end else greatest(extent - begin, 0)
        elif self._is_negative(stop):
            length = greatest(least(-begin, extent) + stop if from_end else extent + stop - begin, 0)
        elif from_end:
            length = greatest(least(stop, extent) - offset, 0)
        else:
            length = greatest(least(stop, extent) - begin, 0)
        return offset, quotient_up(length, step), step

    def _backwards(self, start: Extent | None, stop: Extent | None, step: int) -> tuple[Extent, Extent, int]:
        last = self.extent - 1
        offset = last if start is None else self._before(start)
        length = greatest(offset - (-1 if stop is None else self._before(stop)), 0)
        return offset, quotient_up(length, -step), step

    def _before(self, index: Extent) -> Extent:
        """Returns where a slice that goes backwards begins or ends: at -1 where it is before all elements."""
        if self._is_negative(index):
            return greatest(self.extent + index, -1)
        return least(index, self.extent - 1)

    def _is_negative(self, index: Extent) -> bool:
        if is_at_least(index, 0):
            return False
        if not is_at_least(-1, index):
            self._refuse(f"index {index} may count from its front or from its end", index)
        return True

    def _refuse(self, what: str, index: Extent) -> NoReturn:
        subject, unknown = (
            (f"index {index} of ", index) if isinstance(self.extent, int) else ("", self.extent)
        )
        refuse(
            f"{self._who}: {subject}axis {self._axis} of shape {self._shape} is known at each call only "
            f"({bounds_text(unknown)}), and {what}",
            "a tenon.Dim with other bounds, or tenon.scan along the axis",
        )


def check_not_empty(who: str, shape: tuple[Extent, ...], axes: Sequence[int]) -> None:
    """Raises TracingError where an axis to choose from may have no elements."""
    for axis in axes:
        if not isinstance(shape[axis], int) and not is_at_least(shape[axis], 1):
            refuse(
                f"{who}: axis {axis} of shape {shape} may have no elements to choose from "
                f"({text_of(shape[axis])})",
                "a tenon.Dim with another minimum, or one more element by tenon.numpy.concat",
            )
