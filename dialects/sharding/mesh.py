"""The grid of ranks that a program runs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, StringAttr, i64
from xdsl.dialects.shard import GridOp
from xdsl.ir import Attribute

from ...errors import TenonError
from ..grids import coordinates_of, member_of
from ..modules.parsing import location_text

AXIS_NAMES = "axis_names"
"""The attribute of `shard.grid` that says what its axes are called."""


@dataclass(frozen=True)
class Mesh:
    """
    A grid of ranks, which are numbered row-major: its name in the module, its extents, and what its axes are
    called.
    """

    name: str
    shape: tuple[int, ...]
    axis_names: tuple[str, ...]

    @staticmethod
    def of(module: ModuleOp) -> Mesh | None:
        """
        Returns the mesh of a module, None where it has none.

        Raises TenonError, with the place, for several grids, for an extent that is not known or not positive,
        and for names that are not one for each axis, all different.
        """
        grids = [op for op in module.body.ops if isinstance(op, GridOp)]
        if not grids:
            return None
        grid = grids[0]
        where = location_text(grid.location)
        if len(grids) > 1:
            names = ", ".join(f"@{each.sym_name.data}" for each in grids)
            raise TenonError(f"{grid.name}: a module has one grid, this one has {names}", location=where)
        name, shape = grid.sym_name.data, tuple(int(extent) for extent in grid.shape.get_values())
        if any(extent < 1 for extent in shape):
            raise TenonError(
                f"{grid.name}: @{name} has an extent that is not known or not positive ({list(shape)})",
                location=where,
            )
        axis_names = _names_of(grid, len(shape))
        if axis_names is None or len(axis_names) != len(shape) or len(set(axis_names)) != len(axis_names):
            raise TenonError(
                f"{grid.name}: {AXIS_NAMES} of @{name} is {grid.attributes[AXIS_NAMES]}, expected an array "
                f"of {len(shape)} different names",
                location=where,
            )
        return Mesh(name, shape, axis_names)

    def op(self) -> GridOp:
        """Returns the `shard.grid` of this mesh."""
        return GridOp.create(
            properties={
                "sym_name": StringAttr(self.name),
                "shape": DenseArrayBase.from_list(i64, self.shape),
            },
            attributes={AXIS_NAMES: ArrayAttr([StringAttr(name) for name in self.axis_names])},
        )

    @cached_property
    def size(self) -> int:
        """How many ranks there are."""
        return prod(self.shape)

    def coordinates(self, rank: int) -> tuple[int, ...]:
        """Returns where a rank lies."""
        return coordinates_of(self.shape, rank)

    def parts(self, axes: Sequence[int]) -> tuple[int, ...]:
        """Returns into how many parts each of some axes splits."""
        return tuple(self.shape[axis] for axis in axes)

    def count(self, axes: Sequence[int]) -> int:
        """Returns how many ranks a group along some axes has."""
        return prod(self.parts(axes))

    def member(self, axes: Sequence[int], rank: int) -> int:
        """Returns the number of a rank in its group along some axes."""
        return member_of(self.shape, axes, rank)

    def axes_text(self, axes: Sequence[int]) -> str:
        """Returns axes as diagnostics write them: `x, y`."""
        return ", ".join(self.axis_names[axis] for axis in axes)


def _names_of(grid: GridOp, rank: int) -> tuple[str, ...] | None:
    """Returns what the axes are called, by default `axis0` and so on; None for no array of names."""
    written = grid.attributes.get(AXIS_NAMES)
    if written is None:
        return tuple(f"axis{axis}" for axis in range(rank))
    if not isinstance(written, ArrayAttr):
        return None
    names = cast("ArrayAttr[Attribute]", written).data
    found = tuple(name.data for name in names if isinstance(name, StringAttr))
    return found if len(found) == len(names) else None
