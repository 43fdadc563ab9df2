"""`tenon.Mesh`: the ranks of a world, or devices of this process, in a grid whose axes have names."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ...dialects.collective import Collective
from ...dialects.sharding import Mesh as Grid
from ...errors import TenonError
from ...semantics.world import Request, World

if TYPE_CHECKING:
    from ...compiler.device_mesh import Device, DeviceRanks


class Mesh:
    """
    A grid of the ranks of a world, or of devices of this process: rank r lies at the coordinates of r in
    row-major order. Meshes of the same ranks, shape and axis names are the same.

        mesh = tenon.Mesh((2, 2), ("x", "y"))    # mpiexec -n 4 python program.py
        half = tenon.Mesh((2,), ("x",), ranks=[0, 1])

    With `ranks` it is of these only, numbered in the order in which they are given; all of them make it,
    others may. `is_here` says whether this rank is one of them; where it is not, whatever needs its part is
    an error.

    Without `world` it is the world that `mpiexec` started, or a single rank where none did.

    With `devices`, those of a platform or a list of such, each is a rank, and one process has the parts of
    all: it needs no MPI. The devices are of one backend and processor.

        mesh = tenon.Mesh((2,), ("x",), devices=tenon.open_platform("llvm", num_devices=2))

    Raises:
        TypeError: the shape is none, a name is no string, a rank no integer, or a device none; or there are
            devices, and ranks or a world besides.
        ValueError: an extent is less than 1, or the names are not as many, or not different, as the ranks.
        TenonError: the world, `ranks` or `devices` has another number of ranks, the world lacks one of them,
            or a device is there twice, or of another kind than the first.
        RankError: one of the ranks has ended, or does not come within the limit, or gives all `ranks` in
            another order.
        MissingExtraError: there are several ranks, and mpi4py is not installed.
        DeviceError: MPI cannot be used.
    """

    __slots__ = ("_place", "axis_names", "grid", "group", "is_here", "shape", "world")

    is_here: bool
    """Whether this rank is one of its ranks; of devices, always."""
    world: World
    """Its ranks."""
    group: DeviceRanks | None
    """What runs programs on its devices; None where it is of ranks."""

    grid: Grid
    """What stands in programs."""

    def __init__(
        self,
        shape: Sequence[int],
        axis_names: Sequence[str],
        *,
        ranks: Sequence[int] | None = None,
        world: World | None = None,
        devices: Any = None,
    ) -> None:
        if not isinstance(shape, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"Mesh: the shape is {shape!r}, expected a tuple of integers")
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
        self.group = None
        if devices is not None:
            if ranks is not None or world is not None:
                raise TypeError("Mesh: devices of this process exclude ranks and a world")
            self._take_devices(devices)
            return
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
        if ranks is not None and len(among) == world.size:
            world.begin_check(repr(among).encode(), "mesh of all ranks").wait()
        self._place = id(world), among
        self.is_here = world.rank in among
        if ranks is None:
            self.world = world
        else:
            self.world = world.part(among) if self.is_here else _elsewhere(world.rank, among)

    def _take_devices(self, devices: Any) -> None:
        # Late: it needs what runs programs.
        from ...compiler.device_mesh import device_ranks

        self.group = group = device_ranks(devices)
        if group.size != self.size:
            raise TenonError(
                f"Mesh: a mesh of shape {self.shape} has {self.size} devices, and {group.size} are given "
                f"(hint: tenon.open_platform({group.devices[0].backend.name!r}, num_devices={self.size}))"
            )
        self._place = id(group), tuple(range(self.size))
        self.is_here = True
        self.world = _NoRank(self.size, _ON_DEVICES)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Its devices; none where it is of ranks."""
        return () if self.group is None else self.group.devices

    @property
    def here(self) -> tuple[int, ...]:
        """The ranks whose parts of arrays this process has: its own, or those of all devices."""
        return (self.rank,) if self.group is None else tuple(range(self.size))

    def is_with(self, other: Mesh) -> bool:
        """Returns whether another mesh, maybe of another shape, is of the same ranks in the same order."""
        return self.world is other.world if self.group is None else self.group is other.group

    @property
    def size_text(self) -> str:
        """How many ranks, or devices, errors say there are."""
        return f"{self.size} {'ranks' if self.group is None else 'devices'}"

    @property
    def speaker(self) -> str:
        """What errors begin with that one of several ranks prints."""
        return f"rank {self.rank}: " if self.group is None else ""

    @property
    def size(self) -> int:
        """How many ranks it has."""
        return prod(self.shape)

    @property
    def rank(self) -> int:
        """The number of this rank. Raises TenonError of devices, which are all here."""
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


_ON_DEVICES = "the parts on all devices of a mesh are here, there is none of this rank (hint: x.parts)"


def _elsewhere(rank: int, ranks: tuple[int, ...]) -> _NoRank:
    among = ", ".join(map(str, ranks))
    return _NoRank(len(ranks), f"rank {rank} has no part in a mesh of ranks {among} (hint: if mesh.is_here)")


class _NoRank:
    """The world of a mesh where this process is no rank: asked for anything it raises TenonError."""

    def __init__(self, size: int, error: str) -> None:
        self.size = size
        self._error = error

    @property
    def rank(self) -> int:
        raise TenonError(self._error)

    def begin(self, collective: Collective, operand: Any, result: Any) -> Request:
        raise TenonError(self._error)

    def begin_check(self, digest: bytes, what: str) -> Request:
        raise TenonError(self._error)

    def part(self, ranks: tuple[int, ...]) -> World:
        raise TenonError(self._error)
