"""
Copies operands of contractions so that vectors of them lie in memory as vectors.

    %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
        affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>

-->

    %b_packed = graph.contract %b maps [affine_map<(k, n) -> (n, k)>, affine_map<(k, n) -> (k, n)>]
        bounds [64, 64] {memory_mode = #graph.memory_mode<materialized, "...">}
        : tensor<64x64xf32> -> tensor<64x64xf32>
    %c = graph.contract %a, %b_packed maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>

The last dim of the result becomes a vector. Where an operand is neither the same nor contiguous along it (a
transposed matrix, an image whose columns a convolution steps over), the copy has that dim last, and those
that are added to it as dims of their own. Views between the operand and its source are looked through.

An operand is copied if each element of the copy is used often enough to be worth it, and if all operands are
contiguous then; extents that are not numbers leave the contraction as it is.

Where several axes of a permuted operand were made one that no stride leads along, the heads of attention that
become columns again, the permutation is a copy: neither vectors nor register tiles take such an index.

Requires: nothing; what a contraction has a `tile` for lies as that says, and is left alone but for such axes.
Ensures: results are those before, sums of floats up to their order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.graph import LinearIndex, MemoryModeAttr, ReduceKind, TileDim, iteration_extents
from ....dialects.graph.types import tensor_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ..builder import GraphBuilder
from .contract_views import stride_along, through_views, uneven_permutation

LEAST_ITERATIONS = 1 << 15
"""A smaller contraction is not worth another kernel."""

LEAST_USES = 16
"""How often each element of a copy must be used: it costs a load and a store that are no vectors."""

LEAST_LANES = 4
"""A dim with fewer iterations is not made a vector."""


@dataclass(frozen=True)
class PackOperandsPass(ModulePass):
    """Copies operands of contractions that are not contiguous along the last dim of the result."""

    name = "pack-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            _copy_uneven(contraction)
            _pack(contraction)


@dataclass(frozen=True, slots=True)
class _Operand:
    """What an operand is a view of, and at which indices a contraction reads that."""

    value: SSAValue
    shape: tuple[int, ...]
    indices: tuple[LinearIndex, ...]

    def stride(self, dim: int) -> Extent:
        """Returns how many elements apart neighbours along an iteration dim are."""
        return stride_along(dim, self.indices, self.shape)


def _copy_uneven(op: graph.ContractOp) -> None:
    """Has operands that no stride leads along copied in the order in which they are read."""
    extents = [extent for extent in iteration_extents(op) if isinstance(extent, int)]
    if len(extents) != op.result_map.num_dims or len(op.inputs) != 2 or prod(extents) < LEAST_ITERATIONS:
        return
    tile: tuple[TileDim, ...] = () if op.tile is None else op.tile.data
    in_panels = {each.dim for each in tile if each.size.in_panels}
    for number, (value, map) in enumerate(zip(op.inputs, op.operand_maps, strict=True)):
        permute, type = uneven_permutation(value), tensor_type_of(value, op.name)
        if (
            permute is None
            or not in_panels.isdisjoint(map.used_dims())
            or prod(extents) < LEAST_USES * prod(type.get_shape())
        ):
            continue
        builder = GraphBuilder(op)
        copy = graph.PermuteOp(permute.source, permute.permutation.data)
        copy.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "in the order it is read in")
        op.operands[number] = builder.add(
            graph.ReshapeOp(builder.add(copy, permute.result.name_hint), type), value.name_hint
        )


def _pack(op: graph.ContractOp) -> None:
    if op.tile is not None:
        return
    extents = [extent for extent in iteration_extents(op) if isinstance(extent, int)]
    if len(extents) != op.result_map.num_dims or min(extents, default=0) < 1:
        return
    lanes = next((dim for dim in reversed(op.result_dims) if extents[dim] > 1), None)
    if lanes is None or extents[lanes] < LEAST_LANES or prod(extents) < LEAST_ITERATIONS:
        return
    packed: dict[int, tuple[_Operand, tuple[int, ...]]] = {}
    for number, value in enumerate(op.inputs):
        operand = _viewed(value, op.operand_maps[number])
        if operand is None:
            return
        if operand.stride(lanes) in (0, 1):
            continue
        inner = _dims_beside(operand, lanes)
        outer = [
            n for n, index in zip(operand.shape, operand.indices, strict=True) if lanes not in _dims(index)
        ]
        elements = prod(outer) * prod(extents[dim] for dim in (*inner, lanes))
        if prod(extents) < LEAST_USES * elements:
            return
        packed[number] = operand, inner
    if packed and _uses_all_dims(op, packed):
        _rewrite(op, packed, extents, lanes)


def _uses_all_dims(op: graph.ContractOp, packed: Mapping[int, tuple[_Operand, tuple[int, ...]]]) -> bool:
    """Returns whether each dim indexes an operand even where what it repeats is looked through."""
    used: set[int] = set()
    for number, map in enumerate(op.operand_maps):
        if number in packed:
            used.update(dim for index in packed[number][0].indices for dim in _dims(index))
        else:
            used.update(map.used_dims())
    return len(used) == op.result_map.num_dims


def _viewed(value: SSAValue, map: AffineMap) -> _Operand | None:
    source, found = through_views(value, [LinearIndex.of(expr) for expr in map.results])
    type = tensor_type_of(source, graph.ContractOp.name)
    return _Operand(source, type.get_shape(), tuple(found)) if type.has_static_shape() else None


def _dims(index: LinearIndex) -> tuple[int, ...]:
    return tuple(dim for dim, _ in index.factors)


def _dims_beside(operand: _Operand, lanes: int) -> tuple[int, ...]:
    """Returns the other dims in the indices that the dim `lanes` is part of."""
    found: dict[int, None] = {}
    for index in operand.indices:
        if lanes in _dims(index):
            found.update(dict.fromkeys(dim for dim in _dims(index) if dim != lanes))
    return tuple(sorted(found))


def _rewrite(
    op: graph.ContractOp,
    packed: dict[int, tuple[_Operand, tuple[int, ...]]],
    extents: Sequence[int],
    lanes: int,
) -> None:
    builder = GraphBuilder(op)
    inputs, maps = list(op.inputs), [attribute.data for attribute in op.maps.data]
    for number, (operand, inner) in packed.items():
        inputs[number] = _copy(builder, operand, inner, extents, lanes, op.inputs[number].name_hint)
        kept = [index.expr for index in operand.indices if lanes not in _dims(index)]
        taken = [AffineExpr.dimension(dim) for dim in (*inner, lanes)]
        maps[number] = AffineMap(len(extents), 0, (*kept, *taken))
    new = graph.ContractOp(
        inputs,
        maps,
        tensor_type_of(op.result, op.name),
        bounds=extents,
        accumulate=op.accumulate,
        combine=op.combine,
        fastmath=op.fastmath,
    )
    new.attributes.update(op.attributes)
    result = builder.add(new, op.result.name_hint)
    op.result.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _copy(
    builder: GraphBuilder,
    operand: _Operand,
    inner: tuple[int, ...],
    extents: Sequence[int],
    lanes: int,
    hint: str | None,
) -> SSAValue:
    """Returns `operand` with its axes without `lanes` first, then the dims `inner`, then `lanes`."""
    own = [axis for axis, index in enumerate(operand.indices) if lanes not in _dims(index)]
    shape = [operand.shape[axis] for axis in own] + [extents[dim] for dim in (*inner, lanes)]
    place = {dim: len(own) + position for position, dim in enumerate((*inner, lanes))}
    indices: list[AffineExpr] = []
    for axis, index in enumerate(operand.indices):
        if axis in own:
            indices.append(AffineExpr.dimension(own.index(axis)))
        else:
            indices.append(index.moved(place).expr)
    element_type = tensor_type_of(operand.value, graph.ContractOp.name).element_type
    copy = graph.ContractOp(
        [operand.value],
        [AffineMap(len(shape), 0, tuple(indices)), AffineMap.identity(len(shape))],
        tensor_of(element_type, tuple(shape)),
        bounds=shape,
        accumulate=ReduceKind.OR if element_type == i1 else ReduceKind.ADD,
    )
    copy.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "packed, to be read in vectors")
    return builder.add(copy, None if hint is None else f"{hint}_packed")
