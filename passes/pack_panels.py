"""
Copies an operand of a contraction into panels, as wide as a register tile has columns.

    %c = graph.contract %a, %b maps [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]
        : tensor<512x512xf32>, tensor<512x1024xf32> -> tensor<512x1024xf32>

-->

    %r = graph.reshape %b : tensor<512x1024xf32> -> tensor<512x32x32xf32>
    %b_panels = graph.permute %r [1, 0, 2] {memory_mode = ...} : tensor<512x32x32xf32>
    %p = graph.permute %b_panels [1, 0, 2] : tensor<32x512x32xf32>
    %v = graph.reshape %p : tensor<512x32x32xf32> -> tensor<512x1024xf32>
    %c = graph.contract %a, %v maps [...] : ...

What a tile reads of the operand then lies in one row, one step of the depth after the other. Columns that
fill no panel are filled up with zeros, which nothing reads. What computes the operand is computed in the
copy. A constant is copied when compiling.

An operand is copied where it is used often enough to pay for it: often, and larger than what the first
caches hold; or where it is not contiguous along the columns. `LEAST_...` say what that is.

Requires: nothing. Ensures: results are those before, sums of floats up to their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import graph
from ..dialects.buffer_size import row_major_strides
from ..dialects.element_types import NBYTES, compute_type, is_float
from ..dialects.graph import Combination, LinearIndex, MemoryModeAttr, ReduceKind, iteration_extents
from ..dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ..dialects.memory_modes import ModeKind
from ..semantics.numpy_types import dense_of
from .util.constant_views import constant_array
from .util.contract_views import through_views
from .util.graph_builder import GraphBuilder
from .util.tile_shape import tile_shape

LEAST_ITERATIONS = 1 << 15
"""A smaller contraction is not worth another kernel."""

LEAST_USES = 48
"""How often each element of a copy must be used."""

LEAST_USES_OF_TRANSPOSED = 16
"""How often where the operand is not contiguous along the columns."""

LEAST_NBYTES = 3 << 18
"""An operand with fewer bytes is read as fast where it lies, if it is contiguous along the columns."""

LEAST_NBYTES_OF_CONSTANT = 1 << 15


@dataclass(frozen=True)
class PackPanelsPass(ModulePass):
    """Copies operands of contractions into panels as wide as a register tile."""

    name = "pack-panels"
    vector_nbytes: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.vector_nbytes < 1:
            raise PassFailedException(f"{self.name}: vector-nbytes {self.vector_nbytes} must be 1 or more")
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            packing = _packing(contraction, self.vector_nbytes)
            if packing is not None:
                _rewrite(contraction, packing)


@dataclass(frozen=True, slots=True)
class _Packing:
    """
    An operand to be packed: its number, its dims in the order of the panels (those of the batch, those of the
    depth, the columns), the extents of all dims, and the width of a panel.
    """

    number: int
    batch: tuple[int, ...]
    depth: tuple[int, ...]
    columns: int
    extents: tuple[int, ...]
    width: int

    @property
    def panels(self) -> int:
        return -(-self.extents[self.columns] // self.width)


def _packing(op: graph.ContractOp, vector_nbytes: int) -> _Packing | None:
    """Returns which operand is to be packed, and how; None where none is."""
    extents = tuple(extent for extent in iteration_extents(op) if isinstance(extent, int))
    type = tensor_type_of(op.result, op.name).element_type
    if (
        "packed" in op.attributes
        or len(op.inputs) != 2
        or len(extents) != op.result_map.num_dims
        or op.accumulate.data is not ReduceKind.ADD
        or op.combine.data is not Combination.MUL
        or not is_float(type)
        or prod(extents) < LEAST_ITERATIONS
    ):
        return None
    columns = next((dim for dim in reversed(op.result_dims) if extents[dim] > 1), None)
    used = [set(map.used_dims()) for map in op.operand_maps]
    if columns is None or (columns in used[0]) == (columns in used[1]):
        return None
    number = int(columns in used[1])
    dims = _plain_dims(op.operand_maps[number])
    if dims is None or len(op.operand_maps[number].results) < 2:
        return None
    batch = tuple(dim for dim in op.result_dims if dim in dims and dim != columns)
    depth = tuple(dim for dim in range(len(extents)) if dim in dims and dim not in op.result_dims)
    uses = prod(extents[dim] for dim in op.result_dims if dim not in dims)
    if not depth:
        return None
    _, width = tile_shape(uses, extents[columns], vector_nbytes, NBYTES[compute_type(type)])
    packing = _Packing(number, batch, depth, columns, extents, width)
    return packing if width < extents[columns] and _pays(op, packing, dims, uses) else None


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


def _pays(op: graph.ContractOp, packing: _Packing, dims: Sequence[int], uses: int) -> bool:
    value = op.inputs[packing.number]
    nbytes = prod(packing.extents[dim] for dim in dims)
    nbytes *= NBYTES[tensor_type_of(value, op.name).element_type]
    if constant_array(value) is not None:
        return nbytes >= LEAST_NBYTES_OF_CONSTANT
    source, indices = through_views(value, [LinearIndex(((dim, 1),), 0) for dim in dims])
    shape = shape_of(tensor_type_of(source, op.name))
    if any(not isinstance(extent, int) or extent < 0 for extent in shape):
        return False
    stride = sum(
        dict(index.factors).get(packing.columns, 0) * step
        for index, step in zip(indices, row_major_strides(shape), strict=True)
    )
    if stride == 1:
        return uses >= LEAST_USES and nbytes >= LEAST_NBYTES
    return uses >= LEAST_USES_OF_TRANSPOSED


def _rewrite(op: graph.ContractOp, packing: _Packing) -> None:
    builder = GraphBuilder(op)
    dims = _plain_dims(op.operand_maps[packing.number])
    assert dims is not None, f"{op.name}: an operand without plain indices"
    order = [*packing.batch, *packing.depth, packing.columns]
    permutation = [dims.index(dim) for dim in order]
    packed = _packed(builder, op, packing, permutation)
    n_batch, n_depth = len(packing.batch), len(packing.depth)
    back = [*range(n_batch), *range(n_batch + 1, n_batch + 1 + n_depth), n_batch, n_batch + 1 + n_depth]
    element_type = builder.element_type(packed)
    outer = [packing.extents[dim] for dim in order[:-1]]
    view = builder.add(graph.PermuteOp(packed, back))
    padded = packing.panels * packing.width
    view = builder.add(graph.ReshapeOp(view, tensor_of(element_type, (*outer, padded))))
    shape = [packing.extents[dim] for dim in order]
    if shape[-1] != padded:
        view = builder.add(graph.SliceOp(view, [0] * len(shape), shape, [1] * len(shape)))
    inputs, maps = list(op.inputs), [attribute.data for attribute in op.maps.data]
    inputs[packing.number] = view
    taken = tuple(AffineExpr.dimension(dim) for dim in order)
    maps[packing.number] = AffineMap(len(packing.extents), 0, taken)
    new = graph.ContractOp(
        inputs, maps, tensor_type_of(op.result, op.name), bounds=packing.extents, fastmath=op.fastmath
    )
    new.attributes.update(op.attributes)
    op.result.replace_all_uses_with(builder.add(new, op.result.name_hint))
    op.detach()
    op.erase()


def _packed(
    builder: GraphBuilder, op: graph.ContractOp, packing: _Packing, permutation: Sequence[int]
) -> SSAValue:
    """Returns the operand in panels."""
    value = op.inputs[packing.number]
    hint = None if value.name_hint is None else f"{value.name_hint}_panels"
    more = packing.panels * packing.width - packing.extents[packing.columns]
    split = [packing.extents[dim] for dim in (*packing.batch, *packing.depth)]
    split += [packing.panels, packing.width]
    n_batch, n_depth = len(packing.batch), len(packing.depth)
    order = [*range(n_batch), n_batch + n_depth, *range(n_batch, n_batch + n_depth), n_batch + n_depth + 1]
    element_type = builder.element_type(value)
    array = constant_array(value)
    if array is not None:
        array = np.transpose(array, permutation)
        array = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, more)]).reshape(split)
        array = np.ascontiguousarray(np.transpose(array, order))
        return builder.add(graph.ConstantOp(dense_of(array, tensor_of(element_type, array.shape))), hint)
    if list(permutation) != sorted(permutation):
        value = builder.add(graph.PermuteOp(value, permutation))
    if more:
        low = [0] * len(permutation)
        zero = builder.scalar(0.0, element_type)
        value = builder.add(graph.PadOp(value, zero, low, [*low[1:], more]))
    value = builder.add(graph.ReshapeOp(value, tensor_of(element_type, tuple(split))))
    panels = graph.PermuteOp(value, order)
    panels.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "in panels as wide as a tile")
    return builder.add(panels, hint)
