"""`tenon.Mesh`: the ranks of a world, in a grid whose axes have names."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...dialects.collective import Collective
from ...dialects.sharding import Mesh as Grid
from ...errors import TenonError
from ...semantics.world import Request, World


class Mesh:
    """
    A grid of the ranks of a world: rank r lies at the coordinates of r in row-major order. Meshes of the same
    ranks, shape and axis names are the same.

        mesh = tenon.Mesh((2, 2), ("x", "y"))    # mpiexec -n 4 python program.py
        half = tenon.Mesh((2,), ("x",), ranks=[0, 1])

    With `ranks` it is of these only, numbered in the order in which they are given; all of them make it,
    others may. `is_here` says whether this rank is one of them; where it is not, whatever needs its part is
    an error.

    Without `world` it is the world that `mpiexec` started, or a single rank where none did.

    Raises:
        TypeError: the shape is none, a name is no string, or a rank no integer.
        ValueError: an extent is less than 1, or the names are not as many, or not different, as the ranks.
        TenonError: the world, or `ranks`, has another number of ranks, or the world lacks one of them.
        RankError: one of the ranks has ended, or does not come within the limit.
        MissingExtraError: there are several ranks, and mpi4py is not installed.
        DeviceError: MPI cannot be used.
    """

    __slots__ = ("_place", "axis_names", "grid", "is_here", "shape", "world")

    is_here: bool
    """Whether this rank is one of its ranks."""
    world: World
    """Its ranks."""

    grid: Grid
    """What stands in programs."""

    def __init__(
        self,
        shape: Sequence[int],
        axis_names: Sequence[str],
        *,
        ranks: Sequence[int] | None = None,
        world: World | None = None,
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
        among = tuple(range(world.size)) if ranks is None else _checked(tuple(ranks), world)
        if len(among) != self.size:
            known = f"the world has {world.size}" if ranks is None else f"{len(among)} are given"
            fewer = f", or ranks=range({self.size})" if self.size < world.size else ""
            raise TenonError(
                f"Mesh: rank {world.rank}: a mesh of shape {extents} has {self.size} ranks, and {known} "
                f"(hint: mpiexec -n {self.size}{fewer})"
            )
        self._place = id(world), among
        self.is_here = world.rank in among
        if ranks is None:
            self.world = world
        else:
            self.world = world.part(among) if self.is_here else _Elsewhere(world.rank, among)

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
        return self.shape, self.axis_names, self._place

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}={n}" for name, n in zip(self.axis_names, self.shape, strict=True))
        return f"Mesh({axes})"


def _checked(ranks: tuple[int, ...], world: World) -> tuple[int, ...]:
    for rank in ranks:
        if type(rank) is not int:
            raise TypeError(f"Mesh: a rank is {rank!r}, expected an integer")
        if not 0 <= rank < world.size:
            raise TenonError(f"Mesh: rank {world.rank}: there is no rank {rank} (the world has {world.size})")
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"Mesh: ranks {list(ranks)} are not different")
    return ranks


class _Elsewhere:
    """The world of a mesh that this rank has no part in: asked for anything it raises TenonError."""

    def __init__(self, rank: int, ranks: tuple[int, ...]) -> None:
        self.size = len(ranks)
        self._error = (
            f"rank {rank} has no part in a mesh of ranks {', '.join(map(str, ranks))} (hint: if mesh.is_here)"
        )

    @property
    def rank(self) -> int:
        raise TenonError(self._error)

    def begin(self, collective: Collective, operand: Any, result: Any) -> Request:
        raise TenonError(self._error)

    def begin_check(self, digest: bytes, what: str) -> Request:
        raise TenonError(self._error)

    def part(self, ranks: tuple[int, ...]) -> World:
        raise TenonError(self._error)
