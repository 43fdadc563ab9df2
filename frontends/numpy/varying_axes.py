"""Parts of axes whose extents are known at each call only: what can be said of all their extents at once."""

from __future__ import annotations

from typing import NoReturn

from ...dialects.dim_expr import Extent, bounded, is_at_least
from ...dialects.graph.dim import dims_of, dims_text
from ..trace import Trace, current_trace


class VaryingAxis:
    """An axis of an array in a trace, for errors of `who`."""

    def __init__(self, who: str, axis: int, shape: tuple[Extent, ...]) -> None:
        trace = current_trace()
        assert trace is not None, f"{who}: a named dim outside of a trace"
        self._trace: Trace = trace
        self._dims = dims_of(trace.module)
        self._who, self._axis, self._shape = who, axis, shape
        self.extent = shape[axis]

    def offset(self, index: int) -> Extent:
        """
        Returns where an element is; a negative index counts from the end.

        Raises:
            TracingError: it may be out of bounds.
        """
        found = self.extent + index if index < 0 else index
        if not self._is_within(found, self.extent - 1):
            self._refuse(f"index {index}")
        return found

    def part(self, entry: slice) -> tuple[Extent, Extent, int]:
        """
        Returns the offset, the size and the step of a slice of integers.

        Raises:
            TracingError: which elements it has depends on the extent in more ways than one.
        """
        step = 1 if entry.step is None else entry.step
        if step < 0:
            if (entry.start, entry.stop, entry.step) != (None, None, -1):
                self._refuse(f"the slice {_text(entry)}")
            return self.extent - 1, self.extent, step
        start = 0 if entry.start is None else self._end(entry, entry.start)
        stop = self.extent if entry.stop is None else self._end(entry, entry.stop)
        if not self._is_at_least(stop, start):
            self._refuse(f"the slice {_text(entry)}")
        return start, (stop - start + (step - 1)) // step, step

    def _end(self, entry: slice, index: int) -> Extent:
        found = self.extent + index if index < 0 else index
        if not self._is_within(found, self.extent):
            self._refuse(f"the slice {_text(entry)}")
        return found

    def _is_within(self, value: Extent, last: Extent) -> bool:
        return self._is_at_least(value, 0) and self._is_at_least(last, value)

    def _is_at_least(self, value: Extent, limit: Extent) -> bool:
        return is_at_least(bounded(value, self._dims), bounded(limit, self._dims))

    def _refuse(self, what: str) -> NoReturn:
        raise self._trace.error(
            f"{self._who}: axis {self._axis} of shape {self._shape} is known at each call only "
            f"({dims_text(self.extent, self._dims)}), and {what} may reach out of it "
            "(hint: a tenon.Dim with other bounds, or tenon.scan along the axis)"
        )


def _text(entry: slice) -> str:
    parts = ["" if part is None else str(part) for part in (entry.start, entry.stop)]
    return ":".join(parts if entry.step is None else [*parts, str(entry.step)])
