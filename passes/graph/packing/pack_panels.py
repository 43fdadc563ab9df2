"""
Copies an operand of a contraction into panels, as wide as a register tile has columns.

    %c = graph.contract %a, %b maps [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]
        : tensor<512x512xf32>, tensor<512x1024xf32> -> tensor<512x1024xf32>

-->

    %r = graph.reshape %b : tensor<512x1024xf32> -> tensor<512x32x32xf32>
    %b_panels = graph.permute %r [1, 0, 2] {memory_mode = ...} : tensor<512x32x32xf32>
    %p = graph.permute %b_panels [1, 0, 2] : tensor<32x512x32xf32>
    %v = graph.reshape %p : tensor<512x32x32xf32> -> tensor<512x1024xf32>
    %c = graph.contract %a, %v maps [...] tile [d0 = 6, d1 = 32 in panels] : ...

What a tile reads of the operand then lies in one row, one step of the depth after the other. Columns that
fill no panel are filled up with zeros, which nothing reads. What computes the operand is computed in the
copy. A constant is copied when compiling, and what is made of frozen arguments once.

The tile of such a contraction is chosen here and nowhere else: `tile` says to those who schedule it which
dims it has and how many of each. Rows that are more than one dim, or vary in number, are left open.

An operand is copied where it is used often enough to pay for it: often, and larger than what the first
caches hold; or where it is not contiguous along the columns. `LEAST_...` say what that is. What does not
change in a loop is used in each iteration: hoist-loop-invariants moves the copy out. In a branch, which may
not be taken, what is frozen is as anything else.

Extents may be made of named dims. How often an operand is used is then what it is at least: few rows would
not pay for the copy. An operand that has these dims itself is small where they are, and counts as used as
often as it may be. Where the number of columns varies, a copy has all of them in one row.

Requires: nothing; a contraction that has a `tile` is left alone. Ensures: results are those before, sums of
floats up to their order.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import (
    Extent,
    bounded,
    lower_bound,
    product,
    symbols_of,
    upper_bound,
)
from ....dialects.element_types import NBYTES, compute_type, is_float
from ....dialects.graph import (
    Combination,
    LinearIndex,
    MemoryModeAttr,
    ReduceKind,
    TileAttr,
    TileDim,
    iteration_extents,
)
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....dialects.low.tile import SUM_TYPES
from ....dialects.memory_modes import ModeKind
from ....dialects.tile_sizes import TileSize
from ....semantics.numpy_types import Array, dense_of
from ...indices.access import planned_dims
from ...machine.target import L1_NBYTES, L2_NBYTES, VECTOR_NBYTES, check_positive, usual_registers
from ...machine.tile_shape import MOST_ROWS, most_rows, rows_beside, tile_shape
from ..builder import GraphBuilder
from .constant_views import constant_array
from .contract_views import stride_along, through_views
from .frozen_values import frozen_values, is_frozen
from .loop_invariants import n_iterations
from .split_dims import plain_dim

LEAST_ITERATIONS = 1 << 15
"""A smaller contraction is not worth another kernel."""

LEAST_USES = 96
LEAST_USES_OF_TRANSPOSED = 16
"""How often each element of a copy must be used; less often where its columns are not contiguous."""

# 512 columns, 512 deep, of one to twelve rows: the copy is made up for after 32 to 48 uses.
LEAST_USES_OF_TRANSPOSED_IN_LOOPS = 64
"""The same where iterations of a loop use what is copied once before it."""

LEAST_ROWS_IN_LOOPS = 4
"""Fewer rows take as long as reading the columns does, where these are larger than the second cache."""

LEAST_USES_OF_TRANSPOSED_ROWS = 128
"""The same of the side that the rows come from, which is left alone unless it is contiguous along them."""

LARGE_SHARE = 4
"""What takes more than one part in so many of the second cache is not read as fast where it lies."""

LEAST_USES_OF_HELD = 192
"""How often each element of a copy must be used where the second cache has room for all, and some more."""

PACKED_ROWS = 8
"""How many rows a panel of rows has at most."""

LEAST_NBYTES_OF_CONSTANT = 1 << 15


@dataclass(frozen=True)
class PackPanelsPass(ModulePass):
    """Copies operands of contractions into panels as wide as a register tile."""

    name = "pack-panels"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes")
        frozen = set(frozen_values(op.ops))
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            packings, tile = self._packings(contraction, frozen)
            if packings:
                _rewrite(contraction, packings, tile)

    def _packings(
        self, op: graph.ContractOp, frozen: Container[SSAValue]
    ) -> tuple[list[_Packing], TileAttr | None]:
        """Returns which operands are to be packed, and how, and the tile that they are for."""
        extents = iteration_extents(op)
        type = tensor_type_of(op.result, op.name).element_type
        if (
            op.tile is not None
            or len(op.inputs) != 2
            or DYNAMIC_INDEX in extents
            or op.accumulate.data is not ReduceKind.ADD
            or op.combine.data is not Combination.MUL
            or compute_type(type) not in SUM_TYPES
            # What is unpacked in registers lies as dense as it can.
            or any(isinstance(value.owner, graph.NibbleOp) for value in op.inputs)
        ):
            return [], None
        dims = planned_dims(op)
        most = [upper_bound(bounded(extent, dims)) for extent in extents]
        if prod(most) < LEAST_ITERATIONS:
            return [], None
        columns = next((dim for dim in reversed(op.result_dims) if most[dim] > 1), None)
        used = [set(map.used_dims()) for map in op.operand_maps]
        if columns is None or (columns in used[0]) == (columns in used[1]):
            return [], None
        number = int(columns in used[1])
        rows = [dim for dim in op.result_dims if dim not in used[number] and most[dim] > 1]
        height = prod(most[dim] for dim in rows)
        nbytes, tallest = NBYTES[compute_type(type)], MOST_ROWS
        row = _stride(op, 1 - number, rows[0]) if len(rows) == 1 else None
        if isinstance(row, int) and row > 0:
            # Rows that are contiguous are copied too.
            each = NBYTES[tensor_type_of(op.inputs[1 - number], op.name).element_type]
            tallest = PACKED_ROWS if row == 1 else most_rows(row * each, self.l1_nbytes)
        lanes = max(1, self.vector_nbytes // nbytes)
        registers = self.vector_registers or usual_registers(self.vector_nbytes)
        width = most[columns]
        tall, wide = tile_shape(height, width, lanes, registers, tallest)
        found = [_packing(op, number, columns, wide, extents)]
        # Columns that are one panel have no copy; rows of frozen weights then may have one nevertheless.
        is_tiled = found[0] is not None or is_frozen(op, op.inputs[1 - number], frozen)
        # Narrow integers are multiplied several at a time, which are neighbours in a row.
        if len(rows) == 1 and is_tiled and isinstance(extents[rows[0]], int) and is_float(type):
            found.append(_packing(op, 1 - number, rows[0], tall, extents))
        packed = [
            packing
            for packing, of_columns in zip(found, (True, False), strict=False)
            if packing is not None and self._pays(op, packing, of_columns, frozen)
        ]
        if not isinstance(extents[columns], int):
            return packed, None
        in_panels = [packing.number for packing in packed]
        of_columns = TileDim(columns, TileSize(wide, number in in_panels))
        if len(rows) != 1 or not isinstance(extents[rows[0]], int):
            return packed, TileAttr.of(of_columns)
        if row == 1 and 1 - number not in in_panels:
            # They are read where they lie, as many of them as there are registers for.
            tall = rows_beside(wide, height, width, lanes, registers)
        return packed, TileAttr.of(of_columns, TileDim(rows[0], TileSize(tall, 1 - number in in_panels)))

    def _pays(
        self, op: graph.ContractOp, packing: _Packing, of_columns: bool, frozen: Container[SSAValue]
    ) -> bool:
        """
        Returns whether a copy is used often enough. What takes a small part of the second cache is read as
        fast where it lies, if it is contiguous along the columns.
        """
        value, dims = op.inputs[packing.number], planned_dims(op)

        def most(some: Sequence[int]) -> int:
            return prod(upper_bound(bounded(packing.extents[dim], dims)) for dim in some)

        type = tensor_type_of(value, op.name)
        nbytes = most((*packing.depth, packing.lane)) * NBYTES[type.element_type]
        if is_frozen(op, value, frozen) or constant_array(value) is not None:
            return packing.width is not None and most(packing.batch) * nbytes >= LEAST_NBYTES_OF_CONSTANT
        stride = _stride(op, packing.number, packing.lane)
        if stride is None or (packing.width is None and stride == 1):
            return False
        is_large = nbytes > self.l2_nbytes // LARGE_SHARE
        least_uses = LEAST_USES if nbytes >= self.l2_nbytes * 3 // 4 else LEAST_USES_OF_HELD
        times = product(packing.extents[dim] for dim in op.result_dims if dim not in packing.order)
        varies_with_it = set(symbols_of([times])) <= set(symbols_of(shape_of(type)))
        once = (upper_bound if varies_with_it else lower_bound)(bounded(times, dims))
        if not of_columns:
            return stride == 1 and once >= LEAST_USES_OF_TRANSPOSED_ROWS and is_large
        is_computed = nbytes <= self.l2_nbytes or once >= LEAST_ROWS_IN_LOOPS
        uses = once * n_iterations(op, value) if is_computed else once
        if stride == 1:
            return uses >= least_uses and is_large
        return once >= LEAST_USES_OF_TRANSPOSED or uses >= LEAST_USES_OF_TRANSPOSED_IN_LOOPS


@dataclass(frozen=True, slots=True)
class _Packing:
    """
    An operand to be packed: its number, its dims in the order of the panels (those of the batch, those of the
    depth, the rows or columns of the tile), the extents of all dims, and the width of a panel, None where all
    columns are one.
    """

    number: int
    batch: tuple[int, ...]
    depth: tuple[int, ...]
    lane: int
    extents: tuple[Extent, ...]
    width: int | None

    @property
    def order(self) -> tuple[int, ...]:
        return (*self.batch, *self.depth, self.lane)

    @property
    def shape(self) -> list[Extent]:
        return [self.extents[dim] for dim in self.order]


def _packing(
    op: graph.ContractOp, number: int, lane: int, width: int, extents: tuple[Extent, ...]
) -> _Packing | None:
    """Returns how an operand is packed, if it is indexed with dims and nothing else."""
    dims = _plain_dims(op.operand_maps[number])
    count = extents[lane]
    if dims is None or len(dims) < 2 or lane not in dims or (isinstance(count, int) and width >= count):
        return None
    batch = tuple(dim for dim in op.result_dims if dim in dims and dim != lane)
    depth = tuple(dim for dim in range(len(extents)) if dim in dims and dim not in op.result_dims)
    of_panel = width if isinstance(count, int) else None
    return _Packing(number, batch, depth, lane, extents, of_panel) if depth else None


def _plain_dims(map: AffineMap) -> list[int] | None:
    """Returns the dims that an operand is indexed with, if each index is one of them, and another one."""
    dims: list[int] = []
    for expr in map.results:
        dim = plain_dim(expr)
        if dim is None or dim in dims:
            return None
        dims.append(dim)
    return dims


def _stride(op: graph.ContractOp, number: int, dim: int) -> Extent | None:
    """Returns how far apart in memory an operand's elements are along a dim; None where that is not known."""
    dims = _plain_dims(op.operand_maps[number])
    if dims is None:
        return None
    source, indices = through_views(op.inputs[number], [LinearIndex(((each, 1),), 0) for each in dims])
    shape = shape_of(tensor_type_of(source, op.name))
    if DYNAMIC_INDEX in shape:
        return None
    return stride_along(dim, indices, shape)


def _rewrite(op: graph.ContractOp, packings: Sequence[_Packing], tile: TileAttr | None) -> None:
    builder = GraphBuilder(op)
    inputs, maps = list(op.inputs), [attribute.data for attribute in op.maps.data]
    for packing in packings:
        inputs[packing.number] = _view(builder, packing, _packed(builder, op, packing))
        taken = tuple(AffineExpr.dimension(dim) for dim in packing.order)
        maps[packing.number] = AffineMap(len(packing.extents), 0, taken)
    extents = packings[0].extents
    type = tensor_type_of(op.result, op.name)
    new = graph.ContractOp(inputs, maps, type, bounds=extents, tile=tile, fastmath=op.fastmath)
    new.attributes.update(op.attributes)
    op.result.replace_all_uses_with(builder.add(new, op.result.name_hint))
    op.detach()
    op.erase()


def _view(builder: GraphBuilder, packing: _Packing, packed: SSAValue) -> SSAValue:
    """Returns what is packed as it was, its dims in the order of the panels."""
    if packing.width is None:
        return packed
    n_batch, n_depth = len(packing.batch), len(packing.depth)
    back = [*range(n_batch), *range(n_batch + 1, n_batch + 1 + n_depth), n_batch, n_batch + 1 + n_depth]
    *outer, columns = packing.shape
    view = builder.add(graph.PermuteOp(packed, back))
    padded = -(-columns // packing.width) * packing.width
    view = builder.add(graph.ReshapeOp(view, tensor_of(builder.element_type(packed), (*outer, padded))))
    if columns == padded:
        return view
    starts, ones = [0] * len(packing.order), [1] * len(packing.order)
    return builder.add(graph.SliceOp(view, starts, packing.shape, ones))


def _packed(builder: GraphBuilder, op: graph.ContractOp, packing: _Packing) -> SSAValue:
    """Returns an operand in panels."""
    value, width = op.inputs[packing.number], packing.width
    hint = None if value.name_hint is None else f"{value.name_hint}_panels"
    dims = _plain_dims(op.operand_maps[packing.number])
    assert dims is not None, f"{op.name}: an operand without plain indices"
    permutation = [dims.index(dim) for dim in packing.order]
    if width is None:
        return builder.add(_mark(graph.PermuteOp(value, permutation), "its columns in a row"), hint)
    array = constant_array(value)
    if array is not None:
        array = np.transpose(array, permutation)
        return _packed_constant(builder, packing, width, array, builder.element_type(value), hint)
    if permutation != sorted(permutation):
        value = builder.add(graph.PermuteOp(value, permutation))
    *outer, columns = packing.shape
    assert isinstance(columns, int), f"{op.name}: {columns} columns in panels of {width}"
    whole = columns // width
    if whole * width == columns:
        return builder.add(_mark(_in_panels(builder, packing, width, value, whole)), hint)
    # The last panel, which alone has zeros in it, is a kernel of its own.
    split, starts, ones = whole * width, [0] * len(packing.order), [1] * len(packing.order)
    first = builder.add(graph.SliceOp(value, starts, [*outer, split], ones))
    last = builder.add(graph.SliceOp(value, [*starts[1:], split], [*outer, columns - split], ones))
    zero = builder.scalar(0, builder.element_type(value))
    last = builder.add(graph.PadOp(last, zero, starts, [*starts[1:], split + width - columns]))
    parts = [
        builder.add(_in_panels(builder, packing, width, part, count))
        for part, count in ((first, whole), (last, 1))
    ]
    return builder.add(_mark(graph.ConcatOp(parts, len(packing.batch))), hint)


def _in_panels(
    builder: GraphBuilder, packing: _Packing, width: int, value: SSAValue, panels: int
) -> graph.PermuteOp:
    """Returns an op that moves whole panels before the depth."""
    type = tensor_of(builder.element_type(value), (*packing.shape[:-1], panels, width))
    split = builder.add(graph.ReshapeOp(value, type))
    return graph.PermuteOp(split, _panels_first(packing))


def _panels_first(packing: _Packing) -> list[int]:
    n_batch, n_outer = len(packing.batch), len(packing.batch) + len(packing.depth)
    return [*range(n_batch), n_outer, *range(n_batch, n_outer), n_outer + 1]


def _mark(
    op: graph.PermuteOp | graph.ConcatOp, why: str = "in panels as wide as a tile"
) -> graph.PermuteOp | graph.ConcatOp:
    op.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, why)
    return op


def _packed_constant(
    builder: GraphBuilder,
    packing: _Packing,
    width: int,
    array: Array,
    element_type: Attribute,
    hint: str | None,
) -> SSAValue:
    array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, -array.shape[-1] % width)])
    array = array.reshape([*array.shape[:-1], -1, width])
    array = np.ascontiguousarray(np.transpose(array, _panels_first(packing)))
    return builder.add(graph.ConstantOp(dense_of(array, tensor_of(element_type, array.shape))), hint)
