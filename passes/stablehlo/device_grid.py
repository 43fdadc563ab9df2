"""
The devices of a program as one grid of ranks.

A module of `graph` has one `shard.grid`. What `sdy` says of meshes, of parts of their axes, and what
collectives list as groups of devices are all strides: an axis of 4 of which the parts of 2 are named, or a
mesh of 4 beside one of 2 x 2, make a grid of 2 x 2. Devices are numbered row-major over each mesh, and so are
the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...dialects import stablehlo
from ...dialects.grids import group_of
from ...dialects.modules.parsing import location_text
from ...dialects.sharding import Mesh, Sharding
from ...dialects.stablehlo import sdy
from ...dialects.stablehlo.sdy_attributes import AxisPart, MeshAxes, TensorSplit
from ...errors import TenonError

LARGEST = 1 << 16
"""The most devices of a mesh, whose numbers groups list."""


@dataclass(frozen=True)
class DeviceGrid:
    """The meshes of a module by their names, and the grid that all of their axes are axes of."""

    meshes: dict[str, MeshAxes]
    mesh: Mesh

    @staticmethod
    def of(module: ModuleOp) -> DeviceGrid | None:
        """
        Returns the grid of a module, None where it has no mesh.

        Raises TenonError, with the place, for meshes that are not of the same devices in the same order.
        """
        ops = [op for op in module.ops if isinstance(op, sdy.MeshOp)]
        meshes = {op.sym_name.data: op.mesh.data for op in ops}
        spread = [op for op in ops if op.mesh.data.axes]
        if not spread:
            return None
        size = spread[0].mesh.data.size
        for op in spread:
            found, where = op.mesh.data, location_text(op.location)
            if found.has_other_devices:
                raise TenonError(
                    f"{op.name}: @{op.sym_name.data} has its devices in another order "
                    f"({list(found.device_ids)})",
                    location=where,
                )
            if found.size != size or size > LARGEST:
                raise TenonError(
                    f"{op.name}: @{op.sym_name.data} has {found.size} devices, expected "
                    f"{LARGEST} or fewer, and as many as @{spread[0].sym_name.data}",
                    location=where,
                )
        first = spread[0]
        cuts = {1, size}
        names: dict[tuple[int, int], str] = {}
        for op in spread:
            wanted = {
                each for _, stride, extent in _places(op.mesh.data) for each in (stride, stride * extent)
            }
            if not _is_chain(cuts | wanted):
                raise TenonError(
                    f"{op.name}: @{op.sym_name.data} and @{first.sym_name.data} have no axes in common",
                    location=location_text(op.location),
                )
            cuts |= wanted
            for name, stride, extent in _places(op.mesh.data):
                names.setdefault((stride, extent), name)
        for wanted in _cuts_of_ops(module, meshes, size):
            # What does not fit is an error where it is converted.
            if _is_chain(cuts | wanted):
                cuts |= wanted
        return DeviceGrid(meshes, _mesh_of(cuts, names, meshes[first.sym_name.data], first.sym_name.data))

    @property
    def size(self) -> int:
        """How many devices there are."""
        return self.mesh.size

    def axes_of(self, who: str, mesh: str | MeshAxes, parts: Iterable[AxisPart]) -> tuple[int, ...]:
        """
        Returns the axes of the grid that some axes of a mesh are, or parts of them.

        Raises VerifyException, which begins with `who`, for a mesh or an axis that is not there.
        """
        axes = self.meshes.get(mesh) if isinstance(mesh, str) else mesh
        if axes is None:
            raise VerifyException(f"{who}: there is no sdy.mesh @{mesh}")
        found: list[int] = []
        for part in parts:
            spans = self._between(*span_of(who, axes, part))
            if spans is None:
                raise VerifyException(f"{who}: axis {part.name} is not along axes of @{self.mesh.name}")
            found += spans
        return tuple(found)

    def sharding(self, who: str, split: TensorSplit) -> Sharding:
        """
        Returns how a tensor is split. What is said to be open is split as it is written.

        Raises VerifyException as `axes_of`, and for a sum that is not combined yet.
        """
        if split.unreduced:
            raise VerifyException(f"{who}: unreduced tensors are not supported")
        return Sharding(tuple(self.axes_of(who, split.mesh, dim.axes) for dim in split.dims))

    def axes_of_groups(self, groups: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
        """Returns the axes along which all groups lie, in the order of members; None where there are none."""
        digits = digits_of(groups[0]) if groups else None
        if digits is None or sorted(each for group in groups for each in group) != [*range(self.size)]:
            return None
        found: list[int] = []
        for stride, extent in digits:
            axes = self._between(stride, extent)
            if axes is None:
                return None
            found += axes
        if len(set(found)) != len(found):
            return None
        is_along = all(tuple(group) == group_of(self.mesh.shape, tuple(found), group[0]) for group in groups)
        return tuple(found) if is_along else None

    def stride(self, axis: int) -> int:
        """Returns how far neighbours along an axis are from one another."""
        return _strides(self.mesh.shape)[axis]

    def _between(self, stride: int, extent: int) -> list[int] | None:
        """Returns the axes with strides from `stride` on that are `extent` together."""
        strides = _strides(self.mesh.shape)
        axes = [
            axis
            for axis, each in enumerate(strides)
            if stride <= each < stride * extent and self.mesh.shape[axis] > 1
        ]
        together = 1
        for axis in axes:
            together *= self.mesh.shape[axis]
        begins = not axes or strides[axes[-1]] == stride
        return axes if begins and together == extent else None


def span_of(who: str, mesh: MeshAxes, part: AxisPart) -> tuple[int, int]:
    """
    Returns the stride of an axis of a mesh, or of a part of it, and its extent.

    Raises VerifyException, which begins with `who`, where there is no such axis or part.
    """
    for name, stride, extent in _places(mesh):
        if name == part.name:
            if part.size is None or part.before is None:
                return stride, extent
            if extent % (part.before * part.size):
                raise VerifyException(f"{who}: axis {name} of extent {extent} has no such part ({part})")
            return stride * (extent // (part.before * part.size)), part.size
    raise VerifyException(f"{who}: the mesh has no axis {part.name}")


def _places(mesh: MeshAxes) -> list[tuple[str, int, int]]:
    """Returns the name, the stride and the extent of each axis of a mesh."""
    found: list[tuple[str, int, int]] = []
    stride = mesh.size
    for name, extent in mesh.axes:
        stride //= extent
        found.append((name, stride, extent))
    return found


def _is_chain(cuts: Iterable[int]) -> bool:
    """Returns whether of some strides each divides the next."""
    return not any(after % before for before, after in pairwise(sorted(cuts)))


def _strides(shape: Sequence[int]) -> list[int]:
    strides: list[int] = []
    stride = 1
    for extent in reversed(shape):
        strides.append(stride)
        stride *= extent
    return strides[::-1]


def _mesh_of(cuts: set[int], names: dict[tuple[int, int], str], first: MeshAxes, name: str) -> Mesh:
    """Returns the grid that has these strides. Axes of extent 1 of the first mesh are left out."""
    shape: list[int] = []
    axis_names: list[str] = []
    for before, after in reversed(list(pairwise(sorted(cuts)))):
        shape.append(after // before)
        axis_names.append(names.get((before, after // before), f"stride{before}"))
    if not shape:
        shape, axis_names = [1], [first.axes[0][0]]
    if len(set(axis_names)) != len(axis_names):
        axis_names = [f"axis{axis}" for axis in range(len(shape))]
    return Mesh(name, tuple(shape), tuple(axis_names))


def _cuts_of_ops(module: ModuleOp, meshes: dict[str, MeshAxes], size: int) -> Iterable[set[int]]:
    """Yields the strides that ops and functions ask for: of parts of axes, and of groups of devices."""
    for op in module.walk():
        for split in _splits_said(op):
            mesh = meshes.get(split.mesh) if isinstance(split.mesh, str) else split.mesh
            for part in [each for dim in split.dims for each in dim.axes if each.size is not None]:
                try:
                    stride, extent = span_of(op.name, mesh or MeshAxes(()), part)
                except VerifyException:
                    continue
                yield {stride, stride * extent}
        if isinstance(op, stablehlo.GroupsOp):
            groups = op.rows("replica_groups")
            if groups and len(groups) * len(groups[0]) <= size:
                for stride, extent in digits_of(groups[0]) or ():
                    yield {stride, stride * extent}


def _splits_said(op: Operation) -> Iterable[TensorSplit]:
    for value in (*op.properties.values(), *op.attributes.values()):
        if isinstance(value, sdy.ShardingAttr):
            yield value.data
        elif isinstance(value, sdy.ShardingPerValueAttr):
            yield from (each.data for each in value.data)
        else:
            yield from shardings_in(value)


def shardings_in(attributes: object) -> Iterable[TensorSplit]:
    """Yields what the attributes of arguments, or of results, say of how they are split."""
    if isinstance(attributes, ArrayAttr):
        for each in cast("ArrayAttr[Attribute]", attributes):
            if isinstance(each, DictionaryAttr):
                said = each.data.get(SHARDING)
                if isinstance(said, sdy.ShardingAttr):
                    yield said.data


SHARDING = "sdy.sharding"
"""The attribute of an argument, or of a result, that says how it is split."""


def digits_of(group: Sequence[int]) -> list[tuple[int, int]] | None:
    """
    Returns the strides and extents that the members of a group count with, the slowest first; None where they
    do not count so. The first member is that of the lowest number.
    """
    members = list(group)
    if not members or members[0] != min(members):
        return None
    found: list[tuple[int, int]] = []
    while len(members) > 1:
        stride, run = members[1] - members[0], 1
        if stride < 1:
            return None
        while run < len(members) and members[run] - members[0] == run * stride:
            run += 1
        if len(members) % run:
            return None
        for begin in range(0, len(members), run):
            if [each - members[begin] for each in members[begin : begin + run]] != [
                stride * number for number in range(run)
            ]:
                return None
        found.append((stride, run))
        members = members[::run]
    return found[::-1]
