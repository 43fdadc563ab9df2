"""How a tensor is split over a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FlatSymbolRefAttr,
    SymbolRefAttr,
    i16,
    i32,
    i64,
)
from xdsl.dialects.shard import ShardAxesArrayAttr, ShardingOp, ShardingType
from xdsl.ir import Attribute

from ...errors import TenonError
from ..dims.expressions import Extent
from ..modules.parsing import location_text
from .blocks import Interval, blocks
from .mesh import Mesh

_TYPE = ShardingType()


@dataclass(frozen=True)
class Sharding:
    """
    For each dim of a tensor the axes of the mesh that split it: the first one splits the dim, each next one
    the parts. A dim without axes is whole on every rank; ranks that differ in other axes only have the same.
    """

    split: tuple[tuple[int, ...], ...]

    @staticmethod
    def whole(rank: int) -> Sharding:
        """Returns that of a tensor which every rank has all of."""
        return Sharding(((),) * rank)

    @staticmethod
    def of(attribute: ShardAxesArrayAttr) -> Sharding:
        """Returns what an attribute says, `#shard<axisarray[[0], []]>` say."""
        return Sharding(tuple(tuple(int(axis) for axis in axes.get_values()) for axes in attribute.axes.data))

    @staticmethod
    def of_op(op: ShardingOp, mesh: Mesh) -> Sharding:
        """
        Returns what a `shard.sharding` says.

        Raises TenonError, with the place, for a grid that is not the module's, and for halos or offsets of
        its own: programs of ranks have equal blocks, and partition-graph finds the halos.
        """
        where = location_text(op.location)
        name = op.grid.root_reference.data
        if name != mesh.name:
            raise TenonError(f"{op.name}: the grid is @{mesh.name}, not @{name}", location=where)
        if len(op.static_halo_sizes) or len(op.static_sharded_dims_offsets) or op.operands:
            raise TenonError(
                f"{op.name}: halo_sizes and sharded_dims_offsets cannot be given (halos are found)",
                location=where,
            )
        return Sharding.of(op.split_axes)

    @property
    def attribute(self) -> ShardAxesArrayAttr:
        return ShardAxesArrayAttr(ArrayAttr([DenseArrayBase.from_list(i16, axes) for axes in self.split]))

    def op(self, mesh: Mesh) -> ShardingOp:
        """Returns a `shard.sharding` that says this."""
        grid: FlatSymbolRefAttr = SymbolRefAttr(mesh.name)
        properties: dict[str, Attribute] = {"grid": grid, "split_axes": self.attribute}
        for name in ("static_sharded_dims_offsets", "static_halo_sizes"):
            properties[name] = DenseArrayBase.from_list(i64, ())
        properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, (0, 0))
        return ShardingOp.create(result_types=(_TYPE,), properties=properties)

    @property
    def axes(self) -> tuple[int, ...]:
        """All axes that split a dim, in the order of the dims."""
        return tuple(axis for axes in self.split for axis in axes)

    @property
    def is_whole(self) -> bool:
        return not any(self.split)

    def on(self, mesh: Mesh) -> Sharding:
        """Returns the same without the axes of extent 1, which split nothing."""
        return Sharding(tuple(tuple(axis for axis in axes if mesh.shape[axis] > 1) for axes in self.split))

    def local_box(self, mesh: Mesh, shape: Sequence[Extent], rank: int) -> tuple[tuple[Extent, Extent], ...]:
        """Returns where in a tensor of `shape` the part of a rank lies: an interval for each dim."""
        return tuple(
            self._interval(mesh, extent, axes, rank) for extent, axes in zip(shape, self.split, strict=True)
        )

    @staticmethod
    def _interval(
        mesh: Mesh, extent: Extent, axes: tuple[int, ...], rank: int
    ) -> tuple[Extent, Extent] | Interval:
        if not axes:
            return 0, extent
        assert isinstance(extent, int), f"a dim of {extent} is split"
        return blocks(extent, mesh.parts(axes))[mesh.member(axes, rank)]

    def local_shape(self, mesh: Mesh, shape: Sequence[Extent], rank: int) -> tuple[Extent, ...]:
        """Returns the shape of the part that a rank has of a tensor of `shape`."""
        box = self.local_box(mesh, shape, rank)
        return tuple(
            end if not axes else end - begin for (begin, end), axes in zip(box, self.split, strict=True)
        )

    def text(self, mesh: Mesh) -> str:
        """Returns it as diagnostics write it: `[x, -]`."""
        return (
            f"[{', '.join('/'.join(mesh.axis_names[axis] for axis in axes) or '-' for axes in self.split)}]"
        )

    def wrong(self, mesh: Mesh, shape: Sequence[Extent], what: str) -> str | None:
        """Returns why a tensor of `shape`, called `what`, cannot be split so; None if it can."""
        if len(self.split) != len(shape):
            return f"{what} has rank {len(shape)}, its sharding {len(self.split)} dims"
        axes = self.axes
        for position, axis in enumerate(axes):
            if not 0 <= axis < len(mesh.shape):
                return f"{what} is split over axis {axis} of a mesh of rank {len(mesh.shape)}"
            if axis in axes[:position]:
                return f"{what} is split over axis {mesh.axis_names[axis]} twice"
        return next(iter(self._narrow_dims(mesh, shape, what)), None)

    def _narrow_dims(self, mesh: Mesh, shape: Sequence[Extent], what: str) -> Iterable[str]:
        for dim, (extent, axes) in enumerate(zip(shape, self.split, strict=True)):
            if not axes:
                continue
            if not isinstance(extent, int) or extent == DYNAMIC_INDEX:
                yield f"dim {dim} of {what} is known at run time only and cannot be split"
            elif extent < mesh.count(axes):
                yield (
                    f"dim {dim} of {what} has extent {extent}, which {mesh.count(axes)} parts of axes "
                    f"{mesh.axes_text(axes)} do not share"
                )

    def checked(self, mesh: Mesh, shape: Sequence[Extent], what: str, where: str | None = None) -> Sharding:
        """Returns this without axes that split nothing. Raises TenonError where `wrong` finds a reason."""
        if (reason := self.wrong(mesh, shape, what)) is not None:
            raise TenonError(reason, location=where)
        return self.on(mesh)
