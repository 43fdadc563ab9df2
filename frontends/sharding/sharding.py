"""`tenon.sharding`: which part of an array each rank of a mesh has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from ...dialects.sharding import Mesh as Grid
from ...dialects.sharding import Sharding as Split
from ...errors import TenonError
from .boxes import Box, extents
from .mesh import Mesh

_Asked = tuple[tuple[int, ...], int]
"""The shape of an array, and a rank."""
_Part = tuple[Box, tuple[int, ...]]
"""The box that a rank has, and its shape."""

_MOST_PARTS = 1024
"""How many parts of arrays a sharding remembers."""

AxisSpec = str | Sequence[str] | None
"""What a dim is split along: an axis of the mesh, several, or none."""


@dataclass(frozen=True)
class Sharding:
    """
    How an array lies on a mesh: along which axes each dim is split, the first one first; dims beyond `spec`
    are whole. Ranks that differ only along other axes have the same part. Made by `sharding`.
    """

    mesh: Mesh
    spec: tuple[tuple[str, ...], ...]
    _parts: dict[_Asked, _Part] = field(
        default_factory=dict[_Asked, _Part], init=False, repr=False, compare=False
    )
    """Parts that were asked for: each result of each call asks for its own."""
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.mesh, self.spec)))

    def __hash__(self) -> int:
        return self._hash

    def split(self, rank: int) -> Split:
        """Returns this of an array of so many dims, as it stands in programs."""
        names = (*self.spec, *[()] * (rank - len(self.spec)))
        return Split(tuple(tuple(map(self.mesh.axis_names.index, each)) for each in names))

    def check(self, shape: Sequence[int], who: str, what: str = "the array") -> None:
        """
        Raises TenonError where an array has too few dims, or too few elements for all ranks to have some.
        """
        reason = self.split(len(shape)).wrong(self.mesh.grid, shape, what)
        if reason is not None:
            raise TenonError(f"{who}: {self.mesh.speaker}{reason}")

    def box(self, shape: Sequence[int], rank: int | None = None) -> Box:
        """Returns the part of an array that a rank has, by default this one."""
        return self._part(shape, rank)[0]

    def local_shape(self, shape: Sequence[int], rank: int | None = None) -> tuple[int, ...]:
        """Returns the shape of what a rank has of an array, by default this one."""
        return self._part(shape, rank)[1]

    def _part(self, shape: Sequence[int], rank: int | None) -> _Part:
        key = tuple(shape), self.mesh.rank if rank is None else rank
        found = self._parts.get(key)
        if found is None:
            if len(self._parts) >= _MOST_PARTS:
                self._parts.clear()
            bounds = self.split(len(shape)).local_box(self.mesh.grid, *key)
            box = tuple(slice(cast(int, start), cast(int, stop)) for start, stop in bounds)
            found = self._parts[key] = box, extents(box)
        return found

    def counts(self, rank: int) -> tuple[int, ...]:
        """Returns into how many parts each of so many dims is split."""
        return tuple(self.mesh.grid.count(axes) for axes in self.split(rank).split)

    @property
    def is_whole(self) -> bool:
        """Whether every rank has all."""
        return not any(self.spec)

    def __repr__(self) -> str:
        parts = [repr(names[0] if len(names) == 1 else names or None) for names in self.spec]
        return f"sharding({', '.join([repr(self.mesh), *parts])})"


def sharding_of(mesh: Mesh, split: Split | None, grid: Grid) -> Sharding:
    """
    Returns how an array lies on a mesh, of how a program says it whose grid has the same axes, but for those
    of one rank; None is whole.
    """
    axes_of_dims = () if split is None else split.on(grid).split
    return sharding(mesh, *[tuple(grid.axis_names[axis] for axis in axes) for axes in axes_of_dims])


class PartitionSpec:
    """
    What splits each dim of an array, without the mesh: what `shard_map` takes. `PartitionSpec("x", None)` is
    as in `tenon.sharding(mesh, "x", None)`.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: AxisSpec) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"PartitionSpec({', '.join(map(repr, self.parts))})"


def sharding(mesh: Mesh, /, *spec: AxisSpec) -> Sharding:
    """
    Returns how an array lies on a mesh: for each dim the axis that splits it, several, or None; dims that are
    not named are whole. An extent that its axes do not divide is split so that the first parts have one more.

        tenon.sharding(mesh, "x", None)           # rows over x
        tenon.sharding(mesh, None, ("x", "y"))    # columns over x and y

    Raises:
        TypeError: the mesh is none, or an axis is no name.
        ValueError: the mesh has no such axis, or it splits twice.
    """
    if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"sharding: {mesh!r} is not a mesh")
    dims: list[tuple[str, ...]] = []
    used: list[str] = []
    for part in spec:
        is_several = isinstance(part, tuple | list)
        names: tuple[str, ...] = () if part is None else tuple(part) if is_several else (cast(str, part),)
        for name in names:
            if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"sharding: {name!r} is no name of an axis")
            mesh.axis(name, "sharding")
            if name in used:
                raise ValueError(f"sharding: axis {name!r} splits twice")
            used.append(name)
        # An axis of one rank splits nothing.
        dims.append(tuple(name for name in names if mesh.shape[mesh.axis_names.index(name)] > 1))
    while dims and not dims[-1]:
        dims.pop()
    return Sharding(mesh, tuple(dims))
