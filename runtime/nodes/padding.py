"""Margins of host arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TenonError


@dataclass(frozen=True, slots=True)
class AxisPadding:
    """How many elements lie before and after the data of one axis."""

    left: int
    right: int

    @property
    def total(self) -> int:
        return self.left + self.right


@dataclass(frozen=True, slots=True)
class Padding:
    """
    The margins of all axes, and the value that they are filled with.

    Raises:
        TenonError: a margin is negative.
    """

    axes: tuple[AxisPadding, ...]
    value: float = 0.0

    def __post_init__(self) -> None:
        for axis, margins in enumerate(self.axes):
            if margins.left < 0 or margins.right < 0:
                raise TenonError(
                    f"padding: the margins of axis {axis} are {margins.left} and {margins.right}, "
                    "expected 0 or more"
                )

    @staticmethod
    def of(*margins: tuple[int, int], value: float = 0.0) -> Padding:
        """Returns the padding with one pair (left, right) per axis, as `numpy.pad` takes them."""
        return Padding(tuple(AxisPadding(left, right) for left, right in margins), value)

    def padded(self, dims: Sequence[int]) -> tuple[int, ...]:
        """
        Returns the extents with the margins.

        Raises:
            TenonError: `dims` has another rank.
        """
        self._check_rank(dims)
        return tuple(extent + axis.total for extent, axis in zip(dims, self.axes, strict=True))

    def unpadded(self, dims: Sequence[int]) -> tuple[int, ...]:
        """
        Returns the extents without the margins.

        Raises:
            TenonError: `dims` has another rank, or an extent is less than its margins.
        """
        self._check_rank(dims)
        for axis, (extent, margins) in enumerate(zip(dims, self.axes, strict=True)):
            if extent < margins.total:
                raise TenonError(
                    f"padding: axis {axis} of {list(dims)} has no room for margins of "
                    f"{margins.left} and {margins.right}"
                )
        return tuple(extent - axis.total for extent, axis in zip(dims, self.axes, strict=True))

    def interior(self, dims: Sequence[int]) -> tuple[slice, ...]:
        """Returns where the data lies in an array with the padded extents `dims`. Raises as `unpadded`."""
        starts = (axis.left for axis in self.axes)
        return tuple(
            slice(start, start + extent) for start, extent in zip(starts, self.unpadded(dims), strict=True)
        )

    def _check_rank(self, dims: Sequence[int]) -> None:
        if len(dims) != len(self.axes):
            raise TenonError(f"padding: {len(self.axes)} axes have margins, dims {list(dims)} {len(dims)}")
