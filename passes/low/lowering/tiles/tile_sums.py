"""
What a tile adds up: the sums of products in it, and how their sides go from row to row and column to column.
Whatever is no such sum is refused, naming the axis, with the reason.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import Extent
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Axis, IndexExpr, Leaf, opaque, variable
from ....indices.products import dims_of, is_unsigned, loaded, loaded_nibble, widened
from ....indices.ranges import Ranges, masked_load
from ..illegal_mapping import refuse_mapping
from .left_out import LeftOut, left_out


@dataclass(frozen=True, slots=True)
class TileOperand:
    """What one side of the products reads: where its tile begins, and how far a row and each depth step."""

    load: memref.LoadOp
    is_unsigned: bool
    is_of_nibbles: bool
    address: IndexExpr
    row: Extent
    column: Extent
    depths: tuple[Extent, ...]
    ranges: Ranges
    """Where indices are outside of these, 0 is multiplied and not what is loaded."""


@dataclass(frozen=True, slots=True)
class TileSum:
    """One reduction of a tile, its dims outermost first, and what stores it alone."""

    op: sched.ReduceOp
    dims: tuple[sched.ReduceOp, ...]
    lhs: TileOperand
    rhs: TileOperand
    store: memref.StoreOp | None
    accumulates: bool
    left_out: LeftOut | None


@dataclass(frozen=True, slots=True)
class TiledAxis:
    """An axis as the number of a tile, of some size, and the place in it."""

    axis: Axis
    number: Axis
    lane: Axis
    tile: int


class TileReader:
    """
    Reads what is in a tile. All that it does raises PassFailedException, naming the axis, where that is no
    sum of products. `in_groups` are the axes that work-groups share.
    """

    def __init__(
        self,
        analysis: IndexAnalysis,
        rows: sched.AxisOp | None,
        columns: sched.AxisOp,
        in_groups: Container[Operation],
    ) -> None:
        self.analysis = analysis
        self.rows = rows
        self.columns = columns
        self.in_groups = in_groups
        self.row_axis = None if rows is None else self._in_tiles(rows)
        self.column_axis = self._in_tiles(columns)
        self.is_transposed = rows is not None and rows.mapping.vector.data > 1
        self._check_bodies()

    def sums(self) -> list[TileSum]:
        """Returns the sums in a tile, one at least."""
        reductions = [op for op in self.columns.body.block.ops if isinstance(op, sched.ReduceOp)]
        if not reductions:
            refuse_mapping(self.columns, "nothing in it is a sum of products")
        return [self.sum(op) for op in reductions]

    def _in_tiles(self, op: sched.AxisOp) -> TiledAxis:
        tile, chunk, extent = op.mapping.tile.data, op.mapping.chunk.data, op.extent
        if op in self.in_groups and chunk % tile and not (isinstance(extent, int) and chunk >= extent):
            refuse_mapping(op, f"{chunk} is no multiple of {tile}")
        axis = self.analysis.axis(op)
        return TiledAxis(axis, Axis(1 << 31, axis.hint), Axis(tile, axis.hint), tile)

    def _check_bodies(self) -> None:
        columns = self.columns
        if self.rows is not None:
            for op in self.rows.body.block.ops:
                if op is not columns and (op.regions or isinstance(op, memref.StoreOp | sched.AllocOp)):
                    refuse_mapping(self.rows, f"{op.name} stands beside axis %{columns.index.name_hint}")
        for op in columns.body.block.ops:
            if isinstance(op, sched.AllocOp) or (op.regions and not isinstance(op, sched.ReduceOp)):
                refuse_mapping(columns, f"{op.name} in it, expected sums and what follows them")

    def sum(self, op: sched.ReduceOp) -> TileSum:
        """Returns the sum of products that a reduction is."""
        dims, columns = dims_of(op), self.columns
        for dim in dims:
            if not dim.kind.data.adds_products or dim.mapping.step != 1:
                what = f"{dim.kind.data.value} {dim.mapping.words()}".rstrip()
                refuse_mapping(columns, f"a reduction by {what} in it, expected fma in serial order")
            self._check_count(dim, dims)
            for inner in dim.body.block.ops:
                if isinstance(inner, memref.StoreOp | sched.AllocOp) or (inner.regions and inner not in dims):
                    refuse_mapping(columns, f"{inner.name} in its sum, expected what is multiplied")
        axes = [self.analysis.axis(dim) for dim in dims]
        first, second = (self._operand(value, dims, axes) for value in dims[-1].yielded)
        if self.is_transposed:
            return self._transposed_sum(op, dims, axes, first, second)
        if self._is_column(first) or not self._is_column(second):
            first, second = second, first
        if first.column != 0 or not self._is_column(second):
            refuse_mapping(
                columns,
                f"what is multiplied steps by {first.column} and {second.column} along it, expected 0 and 1",
            )
        if second.row != 0:
            refuse_mapping(columns, f"what is contiguous along it steps by {second.row} from row to row")
        if first.is_of_nibbles:
            refuse_mapping(columns, "four bits of bytes are multiplied that are not contiguous along it")
        store = self._only_store(op)
        accumulates = self._accumulates(op, store)
        left = self._left_out(dims, axes, first, second)
        return TileSum(op, dims, first, second, store, accumulates, left)

    def _check_count(self, dim: sched.ReduceOp, dims: Sequence[sched.ReduceOp]) -> None:
        """Refuses a dim of the depth whose count is not one number for a whole tile."""
        if dim.count is None:
            return
        analysis = self.analysis
        depends = analysis.expr(dim.count).axes()
        inside = [self.columns, *(() if self.rows is None else (self.rows,)), *dims]
        for op in inside:
            if analysis.axis(op) in depends:
                what = f"the count of axis %{dim.index.name_hint} in it depends on axis %{op.index.name_hint}"
                refuse_mapping(self.columns, what)

    def _left_out(
        self, dims: Sequence[sched.ReduceOp], axes: Sequence[Axis], lhs: TileOperand, rhs: TileOperand
    ) -> LeftOut | None:
        """Returns what a sum leaves out, as 0 is multiplied. Rows of a transposed tile are its columns."""
        columns, rows = self.columns, self.rows
        if rhs.ranges:
            refuse_mapping(columns, "what is contiguous along it is 0 outside of ranges of indices")
        if not lhs.ranges:
            return None
        if rhs.is_of_nibbles:
            refuse_mapping(columns, "four bits of bytes are multiplied by what is 0 outside of ranges")
        if dims[0].mapping.tile.data:
            refuse_mapping(columns, "what is 0 outside of ranges is multiplied in blocks of the depth")
        row = None if rows is None or self.row_axis is None else (rows, self.row_axis.axis)
        column = self.column_axis.axis
        if self.is_transposed and row is not None:
            row, column = (columns, column), row[1]
        return left_out(lhs.ranges, dims, axes, columns, row, column)

    def _transposed_sum(
        self,
        op: sched.ReduceOp,
        dims: tuple[sched.ReduceOp, ...],
        axes: Sequence[Axis],
        first: TileOperand,
        second: TileOperand,
    ) -> TileSum:
        """Returns a sum whose vectors are along the rows: `rhs` is what is contiguous there."""
        assert self.rows is not None, "columns alone are transposed"
        if second.row != 1 or second.column != 0:
            first, second = second, first
        if (second.row, second.column, first.row) != (1, 0, 0):
            refuse_mapping(
                self.rows,
                f"it is a vector, and what is multiplied steps by {first.row} and {second.row} along it, and "
                f"by {first.column} and {second.column} along the columns (expected 0 and 1, anything and 0)",
            )
        if first.is_of_nibbles:
            refuse_mapping(self.rows, "four bits of bytes are multiplied that are not contiguous along it")
        store = self._only_store(op)
        if op.init is not None:
            refuse_mapping(self.rows, "it is a vector, and a sum starts from another value than 0")
        return TileSum(op, dims, first, second, store, False, self._left_out(dims, axes, first, second))

    def _is_column(self, operand: TileOperand) -> bool:
        return operand.column == 1 or (self.column_axis.tile == 1 and operand.row == 0)

    def _operand(
        self, value: SSAValue, dims: Sequence[sched.ReduceOp], depths: Sequence[Axis]
    ) -> TileOperand:
        columns, load = self.columns, loaded(value)
        masked = None if load is not None else masked_load(widened(value), self.analysis)
        load = load if masked is None else masked.load
        is_of_nibbles = load is None
        if load is None:
            load = loaded_nibble(value, dims, self.analysis)
        if load is None:
            name = value.owner.name if isinstance(value.owner, Operation) else "an argument"
            refuse_mapping(columns, f"{name} is multiplied, expected what is loaded")
        address = self.analysis.address(load)
        row, column = self.strides(load, address)
        steps: list[Extent] = []
        for axis in depths:
            step = address.stride(axis)
            if step is None:
                refuse_mapping(columns, f"{load.name} is not linear along %{axis.hint}")
            steps.append(step)
        ranges = {} if masked is None else masked.ranges
        return TileOperand(
            load, is_unsigned(value), is_of_nibbles, address, row, column, tuple(steps), ranges
        )

    def strides(self, op: memref.LoadOp | memref.StoreOp, address: IndexExpr) -> tuple[Extent, Extent]:
        """Returns how far an access steps from row to row and from column to column of a tile."""
        tiled = [axis for axis in (self.row_axis, self.column_axis) if axis is not None]

        def replacement(leaf: Leaf) -> IndexExpr:
            for axis in tiled:
                if leaf is axis.axis:
                    return variable(axis.number) * axis.tile + variable(axis.lane)
            if isinstance(leaf, Axis):
                return variable(leaf)
            parts = {axis.axis: (axis.number, axis.lane) for axis in tiled}
            along = tuple(part for axis in leaf.along for part in parts.get(axis, (axis,)))
            return opaque(leaf.value, along)

        split = address.substitute(replacement)
        row = 0 if self.row_axis is None else self._stride(op, split, self.row_axis)
        return row, self._stride(op, split, self.column_axis)

    def _stride(self, op: Operation, address: IndexExpr, axis: TiledAxis) -> Extent:
        stride = address.stride(axis.lane) if axis.tile != 1 else 0
        if stride is None:
            refuse_mapping(self.columns, f"{op.name} is not linear along %{axis.axis.hint} in a tile")
        return stride

    def _only_store(self, op: sched.ReduceOp) -> memref.StoreOp | None:
        """Returns the store of a sum if nothing else is done with it, or in the tile."""
        if not op.result.has_one_use():
            return None
        (use,) = op.result.uses
        store = use.operation
        if not isinstance(store, memref.StoreOp) or store.value is not op.result:
            return None
        _, column = self.strides(store, self.analysis.address(store))
        tiles = self.column_axis.tile == 1 or column == 1
        reads = any(
            isinstance(each, memref.LoadOp) and each.memref is store.memref
            for each in self.columns.walk()
            if op.init is None or each is not op.init.owner
        )
        return store if tiles and not reads else None

    def _accumulates(self, op: sched.ReduceOp, store: memref.StoreOp | None) -> bool:
        """Returns whether a sum goes on from what is stored where it is stored to."""
        if op.init is None:
            return False
        load, analysis = op.init.owner, self.analysis
        if (
            store is None
            or not isinstance(load, memref.LoadOp)
            or load.memref is not store.memref
            or analysis.address(load) != analysis.address(store)
        ):
            refuse_mapping(self.columns, "a sum starts from what is not the element that it is stored to")
        return True
