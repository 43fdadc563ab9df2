"""`tenon.Mesh`: the ranks of a world, in a grid whose axes have names."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...dialects.sharding import Mesh as Grid
from ...errors import TenonError
from ...semantics.world import World


class Mesh:
    """
    A grid of all ranks of a world: rank r lies at the coordinates of r in row-major order. Meshes of the same
    world, shape and axis names are the same.

        mesh = tenon.Mesh((2, 2), ("x", "y"))    # mpiexec -n 4 python program.py

    Without `world` it is the world that `mpiexec` started, or a single rank where none did.

    Raises:
        TypeError: the shape is none, or a name is no string.
        ValueError: an extent is less than 1, or the names are not as many, or not different.
        TenonError: the world has another number of ranks.
        MissingExtraError: there are several ranks, and mpi4py is not installed.
        DeviceError: MPI cannot be used.
    """

    __slots__ = ("axis_names", "grid", "shape", "world")

    grid: Grid
    """What stands in programs."""

    def __init__(
        self, shape: Sequence[int], axis_names: Sequence[str], *, world: World | None = None
    ) -> None:
        extents, names = tuple(shape), tuple([axis_names] if isinstance(axis_names, str) else axis_names)
        for extent in extents:
            if type(extent) is not int:
                raise TypeError(f"Mesh: an extent is {extent!r}, expected an integer")
            if extent < 1:
                raise ValueError(f"Mesh: an extent is {extent}, expected 1 or more (shape {extents})")
        for name in names:
            if type(name) is not str or not name.isidentifier():
                raise TypeError(f"Mesh: an axis is called {name!r}, expected an identifier")
        if len(names) != len(extents) or not extents:
            raise ValueError(f"Mesh: shape {extents} and {len(names)} names of axes, expected one for each")
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh: axis names {list(names)} are not different")
        self.shape = extents
        self.axis_names = names
        self.grid = Grid("mesh", extents, names)
        if world is None:
            # Late: programs of one rank import nothing of this.
            from ...runtime.collectives.worlds import current_world

            world = current_world()
        self.world = world
        if self.world.size != self.size:
            raise TenonError(
                f"Mesh: rank {self.world.rank}: a mesh of shape {extents} has {self.size} ranks, and the "
                f"world has {self.world.size} (hint: mpiexec -n {self.size})"
            )

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return prod(self.shape)

    @property
    def rank(self) -> int:
        """The number of this rank."""
        return self.world.rank

    @property
    def coordinates(self) -> tuple[int, ...]:
        """Where this rank lies on the mesh."""
        return self.grid.coordinates(self.rank)

    def axis(self, name: str, who: str) -> int:
        """Returns the number of the axis of a name. Raises ValueError, for `who`, where there is none."""
        if name not in self.axis_names:
            raise ValueError(f"{who}: the mesh has no axis {name!r}, it has {', '.join(self.axis_names)}")
        return self.axis_names.index(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.axis_names, id(self.world)

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={n}" for name, n in zip(self.axis_names, self.shape, strict=True))
        return f"Mesh({axes})"
