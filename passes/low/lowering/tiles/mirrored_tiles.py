"""
Tiles of a symmetric result: those below the diagonal are left out, and what stands above it is stored on both
sides of it.

An element (i, j) is copied to (j, i) where the tile that has (j, i) is left out. So each element is stored by
one tile, in whatever order, and by whatever thread, these run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.traits import Commutative

from .....dialects import sched
from .....dialects.element_types import element_type_of
from .....dialects.graph.symmetric import SYMMETRIC
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Axis, IndexExpr, Leaf, opaque, variable
from ....scalar.builder import INDEX
from ..state import KernelState
from .branches import compare
from .tile_sums import TileReader, TileSum

_EQUALITIES = (0, 1)
"""The predicates of comparisons whose sides may change places: equal, and not equal."""

_COMMUTATIVE = arith.AddfOp, arith.MulfOp
"""Ops whose sides may change places, which xDSL does not say of floats."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """The store of a symmetric result, the axes that are its rows and columns, and the tiles' extents."""

    store: memref.StoreOp
    rows: Axis
    columns: Axis
    tall: int
    wide: int

    def is_needed(
        self, state: KernelState, first_row: IndexExpr, first_column: IndexExpr, size: int
    ) -> SSAValue:
        """Returns whether a tile of `size` columns reaches the diagonal or lies above it."""
        location = self.store.location
        row = state.indices.write(first_row, location)
        end = state.indices.write(first_column + size, location)
        return compare(state, "slt", row, end, self.store, "reaches_diagonal")

    def copy(
        self,
        state: KernelState,
        first_row: IndexExpr,
        rows: int,
        first_column: IndexExpr,
        columns: int,
    ) -> None:
        """Copies the elements of a tile to the other side, as far as no tile computes them there."""
        indices, location, get = state.indices, self.store.location, state.writer.constants.get
        buffer, address = state.buffers[self.store.memref], state.analysis.address(self.store)
        type = element_type_of(buffer.type)
        begin = indices.write(first_row, location)

        def column(number: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            at = first_column + indices.bind(number, columns, self.columns.hint)
            # The tile of (j, i) is left out where its columns end before its rows begin.
            end = _multiple_up_to(state, indices.write(at, location), self.tall, location)
            end = _multiple_up_to(state, end, self.wide, location)
            count = indices.op(arith.SubiOp, end, begin, location)
            count = indices.op(arith.MinSIOp, count, get(rows, INDEX), location)

            def element(row: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
                indices.bindings[self.columns] = at
                indices.bindings[self.rows] = first_row + indices.bind(row, rows, self.rows.hint)
                place = indices.write_for(self.store, address)
                value = state.writer.emit(memref.LoadOp, (buffer, place), type, location, "mirrored")
                mirrored = _exchanged(address, self.rows, self.columns)
                assert mirrored is not None, f"{self.store.name}: not linear in rows and columns"
                place = indices.write_for(self.store, mirrored)
                state.writer.insert(memref.StoreOp.create(operands=(value, buffer, place)), location)
                return []

            state.writer.loop((get(0, INDEX), count, get(1, INDEX)), (), element, location, self.rows.hint)
            return []

        bounds = get(0, INDEX), get(columns, INDEX), get(1, INDEX)
        state.writer.loop(bounds, (), column, location, self.columns.hint)


def _multiple_up_to(state: KernelState, value: SSAValue, size: int, location: LocationAttr) -> SSAValue:
    """Returns the greatest multiple of `size` up to a value."""
    indices = state.indices
    rest = indices.op(arith.RemUIOp, value, state.writer.constants.get(size, INDEX), location)
    return indices.op(arith.SubiOp, value, rest, location)


def mirror_of(
    rows: sched.AxisOp | None, columns: sched.AxisOp, reader: TileReader, sums: Sequence[TileSum]
) -> Mirror | None:
    """
    Returns how the result of a tile is mirrored, None where it is not: it must be one symmetric sum, all of
    it in rows and columns of one matrix, and what is done with it must be the same for element (i, j) as for
    (j, i).
    """
    stores = [op for op in columns.body.block.ops if isinstance(op, memref.StoreOp)]
    if rows is None or len(sums) != 1 or len(stores) != 1 or reader.is_transposed:
        return None
    (sum,), (store,) = sums, stores
    if SYMMETRIC not in sum.op.attributes or sum.accumulates or sum.dims[0].mapping.tile.data:
        return None
    if rows.count is not None or columns.count is not None or rows.extent != columns.extent:
        return None
    analysis = reader.analysis
    row, column = analysis.axis(rows), analysis.axis(columns)
    address = analysis.address(store)
    if address.stride(column) != 1 or address.stride(row) != columns.extent:
        return None
    if not _Exchange(sum, row, column, analysis).gives(store.value, store.value):
        return None
    return Mirror(store, row, column, rows.mapping.tile.data, columns.mapping.tile.data)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """What is computed of a sum, with rows and columns in one another's place."""

    sum: TileSum
    rows: Axis
    columns: Axis
    analysis: IndexAnalysis
    known: dict[tuple[SSAValue, SSAValue], bool] = field(
        default_factory=dict["tuple[SSAValue, SSAValue]", "bool"]
    )
    """What was found out of two values, which others may be made of several times."""

    def gives(self, value: SSAValue, other: SSAValue) -> bool:
        """Returns whether `value` of element (i, j) is `other` of element (j, i)."""
        found = self.known.get((value, other))
        if found is None:
            found = self.known[value, other] = self._gives(value, other)
        return found

    def _gives(self, value: SSAValue, other: SSAValue) -> bool:
        op, another, analysis = value.owner, other.owner, self.analysis
        if isinstance(value.type, IndexType):
            return self._are_exchanged(analysis.expr(value), analysis.expr(other))
        if value is other is self.sum.op.result:
            return True
        if not isinstance(op, Operation):
            return value is other and {self.rows, self.columns}.isdisjoint(analysis.dependences(value))
        if not isinstance(another, Operation) or op.regions:
            return False
        if (op.name, op.properties, value.type) != (another.name, another.properties, other.type):
            return False
        if isinstance(op, memref.LoadOp) and isinstance(another, memref.LoadOp):
            # What the kernel stores to is not the same before and after.
            is_stored = any(isinstance(use.operation, memref.StoreOp) for use in op.memref.uses)
            is_one = op.memref is another.memref and not is_stored
            return is_one and self._are_exchanged(analysis.address(op), analysis.address(another))
        if len(op.operands) == len(another.operands) and all(map(self.gives, op.operands, another.operands)):
            return True
        return _is_commutative(op) and all(map(self.gives, op.operands, reversed(another.operands)))

    def _are_exchanged(self, expr: IndexExpr, other: IndexExpr) -> bool:
        return _exchanged(expr, self.rows, self.columns) == other


def _is_commutative(op: Operation) -> bool:
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data in _EQUALITIES
    return op.has_trait(Commutative) or isinstance(op, _COMMUTATIVE)


def _exchanged(expr: IndexExpr, rows: Axis, columns: Axis) -> IndexExpr | None:
    """Returns an expression with rows and columns in one another's place, None where that is not known."""
    other, unknown = {rows: columns, columns: rows}, False

    def replacement(leaf: Leaf) -> IndexExpr:
        nonlocal unknown
        if isinstance(leaf, Axis):
            return variable(other.get(leaf, leaf))
        unknown = unknown or not other.keys().isdisjoint(leaf.along)
        return opaque(leaf.value, leaf.along)

    exchanged = expr.substitute(replacement)
    return None if unknown else exchanged
