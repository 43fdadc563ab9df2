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
copy. A constant is copied when compiling.

The tile of such a contraction is chosen here and nowhere else: `tile` says to those who schedule it which
dims it has and how many of each. Rows that are more than one dim are left open.

An operand is copied where it is used often enough to pay for it: often, and larger than what the first
caches hold; or where it is not contiguous along the columns. `LEAST_...` say what that is.

Requires: nothing; a contraction that has a `tile` is left alone. Ensures: results are those before, sums of
floats up to their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
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
from ....dialects.memory_modes import ModeKind
from ....dialects.tile_sizes import TileSize
from ....semantics.numpy_types import Array, dense_of
from ...machine.target import L1_NBYTES, L2_NBYTES, VECTOR_NBYTES, check_positive, usual_registers
from ...machine.tile_shape import MOST_ROWS, most_rows, rows_beside, tile_shape
from ..builder import GraphBuilder
from .constant_views import constant_array
from .contract_views import stride_along, through_views

LEAST_ITERATIONS = 1 << 15
"""A smaller contraction is not worth another kernel."""

LEAST_USES = 96
LEAST_USES_OF_TRANSPOSED = 16
"""How often each element of a copy must be used; less often where its columns are not contiguous."""

LEAST_USES_OF_TRANSPOSED_ROWS = 128
"""The same of the side that the rows come from, which is left alone unless it is contiguous along them."""

PACKED_ROW_NBYTES = 32

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
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            packings, tile = self._packings(contraction)
            if packings:
                _rewrite(contraction, packings, tile)

    def _packings(self, op: graph.ContractOp) -> tuple[list[_Packing], TileAttr | None]:
        """Returns which operands are to be packed, and how, and the tile that they are for."""
        extents = tuple(extent for extent in iteration_extents(op) if isinstance(extent, int))
        type = tensor_type_of(op.result, op.name).element_type
        if (
            op.tile is not None
            or len(op.inputs) != 2
            or len(extents) != op.result_map.num_dims
            or op.accumulate.data is not ReduceKind.ADD
            or op.combine.data is not Combination.MUL
            or not is_float(type)
            or prod(extents) < LEAST_ITERATIONS
        ):
            return [], None
        columns = next((dim for dim in reversed(op.result_dims) if extents[dim] > 1), None)
        used = [set(map.used_dims()) for map in op.operand_maps]
        if columns is None or (columns in used[0]) == (columns in used[1]):
            return [], None
        number = int(columns in used[1])
        rows = [dim for dim in op.result_dims if dim not in used[number] and extents[dim] > 1]
        height = extents[rows[0]] if len(rows) == 1 else prod(extents[dim] for dim in rows)
        nbytes, most = NBYTES[compute_type(type)], MOST_ROWS
        row = _stride(op, 1 - number, rows[0]) if len(rows) == 1 else None
        if row is not None and row > 0:
            # Rows that are contiguous are copied too: as many as there are in a vector that every device has.
            each = NBYTES[tensor_type_of(op.inputs[1 - number], op.name).element_type]
            most = PACKED_ROW_NBYTES // nbytes if row == 1 else most_rows(row * each, self.l1_nbytes)
        lanes = max(1, self.vector_nbytes // nbytes)
        registers = self.vector_registers or usual_registers(self.vector_nbytes)
        width = extents[columns]
        tall, wide = tile_shape(height, width, lanes, registers, most)
        found = [_packing(op, number, columns, wide, extents)]
        if len(rows) == 1 and found[0] is not None:
            found.append(_packing(op, 1 - number, rows[0], tall, extents))
        packed = [
            packing
            for packing, of_columns in zip(found, (True, False), strict=False)
            if packing is not None and self._pays(op, packing, of_columns)
        ]
        in_panels = [packing.number for packing in packed]
        of_columns = TileDim(columns, TileSize(wide, number in in_panels))
        if len(rows) != 1:
            return packed, TileAttr.of(of_columns)
        if row == 1 and 1 - number not in in_panels:
            # They are read where they lie, as many of them as there are registers for.
            tall = rows_beside(wide, height, width, lanes, registers)
        return packed, TileAttr.of(of_columns, TileDim(rows[0], TileSize(tall, 1 - number in in_panels)))

    def _pays(self, op: graph.ContractOp, packing: _Packing, of_columns: bool) -> bool:
        """
        Returns whether a copy is used often enough. What leaves room in the second cache is read as fast
        where it lies, if it is contiguous along the columns.
        """
        value, extents = op.inputs[packing.number], packing.extents
        each = NBYTES[tensor_type_of(value, op.name).element_type]
        nbytes = prod(extents[dim] for dim in (*packing.depth, packing.lane)) * each
        if constant_array(value) is not None:
            return prod(extents[dim] for dim in packing.batch) * nbytes >= LEAST_NBYTES_OF_CONSTANT
        stride = _stride(op, packing.number, packing.lane)
        if stride is None:
            return False
        is_large = nbytes >= self.l2_nbytes * 3 // 4
        uses = prod(extents[dim] for dim in op.result_dims if dim not in packing.order)
        if of_columns:
            return uses >= LEAST_USES and is_large if stride == 1 else uses >= LEAST_USES_OF_TRANSPOSED
        return stride == 1 and uses >= LEAST_USES_OF_TRANSPOSED_ROWS and is_large


@dataclass(frozen=True, slots=True)
class _Packing:
    """
    An operand to be packed: its number, its dims in the order of the panels (those of the batch, those of the
    depth, the rows or columns of the tile), the extents of all dims, and the width of a panel.
    """

    number: int
    batch: tuple[int, ...]
    depth: tuple[int, ...]
    lane: int
    extents: tuple[int, ...]
    width: int

    @property
    def order(self) -> tuple[int, ...]:
        return (*self.batch, *self.depth, self.lane)

    @property
    def panels(self) -> int:
        return -(-self.extents[self.lane] // self.width)


def _packing(
    op: graph.ContractOp, number: int, lane: int, width: int, extents: tuple[int, ...]
) -> _Packing | None:
    """Returns how an operand is packed, if it is indexed with dims and nothing else."""
    dims = _plain_dims(op.operand_maps[number])
    if dims is None or len(dims) < 2 or lane not in dims or width >= extents[lane]:
        return None
    batch = tuple(dim for dim in op.result_dims if dim in dims and dim != lane)
    depth = tuple(dim for dim in range(len(extents)) if dim in dims and dim not in op.result_dims)
    return _Packing(number, batch, depth, lane, extents, width) if depth else None


def _plain_dims(map: AffineMap) -> list[int] | None:
    """Returns the dims that an operand is indexed with, if each index is one of them, and another one."""
    dims: list[int] = []
    for expr in map.results:
        index = graph.linear_index(expr)
        dim = None if index is None else index.plain_dim
        if dim is None or dim in dims:
            return None
        dims.append(dim)
    return dims


def _stride(op: graph.ContractOp, number: int, dim: int) -> int | None:
    """Returns how far apart in memory an operand's elements are along a dim; None where that is not known."""
    dims = _plain_dims(op.operand_maps[number])
    if dims is None:
        return None
    source, indices = through_views(op.inputs[number], [LinearIndex(((each, 1),), 0) for each in dims])
    shape = [extent for extent in shape_of(tensor_type_of(source, op.name)) if isinstance(extent, int)]
    if len(shape) != len(indices) or min(shape, default=0) < 0:
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
    n_batch, n_depth = len(packing.batch), len(packing.depth)
    back = [*range(n_batch), *range(n_batch + 1, n_batch + 1 + n_depth), n_batch, n_batch + 1 + n_depth]
    shape = [packing.extents[dim] for dim in packing.order]
    padded = packing.panels * packing.width
    view = builder.add(graph.PermuteOp(packed, back))
    joined = tensor_of(builder.element_type(packed), (*shape[:-1], padded))
    view = builder.add(graph.ReshapeOp(view, joined))
    if shape[-1] == padded:
        return view
    return builder.add(graph.SliceOp(view, [0] * len(shape), shape, [1] * len(shape)))


def _packed(builder: GraphBuilder, op: graph.ContractOp, packing: _Packing) -> SSAValue:
    """Returns an operand in panels."""
    value = op.inputs[packing.number]
    hint = None if value.name_hint is None else f"{value.name_hint}_panels"
    dims = _plain_dims(op.operand_maps[packing.number])
    assert dims is not None, f"{op.name}: an operand without plain indices"
    permutation = [dims.index(dim) for dim in packing.order]
    array = constant_array(value)
    if array is not None:
        return _packed_constant(
            builder, packing, np.transpose(array, permutation), builder.element_type(value), hint
        )
    if permutation != sorted(permutation):
        value = builder.add(graph.PermuteOp(value, permutation))
    shape = [packing.extents[dim] for dim in packing.order]
    whole = shape[-1] // packing.width
    if whole * packing.width == shape[-1]:
        return builder.add(_mark(_in_panels(builder, packing, value, whole)), hint)
    # The last panel, which alone has zeros in it, is a kernel of its own.
    split, starts, ones = whole * packing.width, [0] * len(shape), [1] * len(shape)
    first = builder.add(graph.SliceOp(value, starts, [*shape[:-1], split], ones))
    last = builder.add(graph.SliceOp(value, [*starts[1:], split], [*shape[:-1], shape[-1] - split], ones))
    zero = builder.scalar(0.0, builder.element_type(value))
    last = builder.add(graph.PadOp(last, zero, starts, [*starts[1:], split + packing.width - shape[-1]]))
    parts = [
        builder.add(_in_panels(builder, packing, part, count)) for part, count in ((first, whole), (last, 1))
    ]
    return builder.add(_mark(graph.ConcatOp(parts, len(packing.batch))), hint)


def _in_panels(builder: GraphBuilder, packing: _Packing, value: SSAValue, panels: int) -> graph.PermuteOp:
    """Returns an op that moves whole panels before the depth."""
    outer = [packing.extents[dim] for dim in packing.order[:-1]]
    type = tensor_of(builder.element_type(value), (*outer, panels, packing.width))
    split = builder.add(graph.ReshapeOp(value, type))
    return graph.PermuteOp(split, _panels_first(packing))


def _panels_first(packing: _Packing) -> list[int]:
    n_batch, n_outer = len(packing.batch), len(packing.batch) + len(packing.depth)
    return [*range(n_batch), n_outer, *range(n_batch, n_outer), n_outer + 1]


def _mark(op: graph.PermuteOp | graph.ConcatOp) -> graph.PermuteOp | graph.ConcatOp:
    op.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "in panels as wide as a tile")
    return op


def _packed_constant(
    builder: GraphBuilder, packing: _Packing, array: Array, element_type: Attribute, hint: str | None
) -> SSAValue:
    more = packing.panels * packing.width - array.shape[-1]
    array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)])
    array = array.reshape([*array.shape[:-1], packing.panels, packing.width])
    array = np.ascontiguousarray(np.transpose(array, _panels_first(packing)))
    return builder.add(graph.ConstantOp(dense_of(array, tensor_of(element_type, array.shape))), hint)
