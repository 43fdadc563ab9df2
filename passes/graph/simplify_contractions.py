"""
Writes contractions over as few dims as they have, in the order in which their operands and results lie in
memory.

    %p = graph.permute %x [0, 3, 1, 2] : tensor<1x8x8x16xf32>
    %c = graph.contract %p, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>,
        affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>]
        bounds [1, 32, 8, 8, 16, 1, 1] : tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32> -> tensor<1x32x8x8xf32>
    %y = graph.permute %c [0, 2, 3, 1] : tensor<1x32x8x8xf32>

-->

    %x_1 = graph.reshape %x : tensor<1x8x8x16xf32> -> tensor<64x16xf32>
    %w_1 = graph.reshape %w : tensor<32x16x1x1xf32> -> tensor<32x16xf32>
    %c = graph.contract %x_1, %w_1 maps [affine_map<(p, o, c) -> (p, c)>, affine_map<(p, o, c) -> (o, c)>,
        affine_map<(p, o, c) -> (p, o)>] bounds [64, 32, 16]
        : tensor<64x16xf32>, tensor<32x16xf32> -> tensor<64x32xf32>
    ...

* Permutations of an operand, and reshapes that add or drop extents of 1, are part of the maps.
* Dims of extent 1 go. Two dims that are next to one another wherever they are, with nothing between, are one:
  a convolution with a window of 1 is a product of matrices.
* The result's dims have the order in which what is made of it is stored, where one chain of elementwise ops
  and views makes that.
* What windows are folded over has the order of the extents, so that the loop inside is long, and else that in
  which the other operand lies in memory; that one comes first where more of the dims are one so.

Extents may be made of named dims: two dims are one where the product of their extents is that of the axes.

Requires: nothing. Contractions with extents that have no name, or of nothing, stay as they are, and so do
those with a `tile`, whose dims are settled.
Ensures: results are those before, sums of floats up to their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...dialects import graph
from ...dialects.dims.expressions import Extent, exact_quotient, product, row_major, upper_bound, without_ones
from ...dialects.graph import LinearIndex, iteration_extents
from ...dialects.graph.types import shape_of, tensor_of, tensor_type_of
from .builder import GraphBuilder
from .stored_order import stored_order


@dataclass(frozen=True)
class SimplifyContractionsPass(ModulePass):
    """Writes contractions over as few dims as they have, in the order of memory."""

    name = "simplify-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            if contraction.tile is not None:
                continue
            extents = iteration_extents(contraction)
            if _are_known(extents) and product(extents) not in (0, 1):
                _Simplifier(contraction, extents).simplify()


def _are_known(extents: Sequence[Extent]) -> bool:
    """Returns whether all extents are numbers or made of named dims."""
    return DYNAMIC_INDEX not in extents


@dataclass(slots=True)
class _Operand:
    """An operand: a value, the shape that it is reshaped to, and the index along each axis of that."""

    value: SSAValue
    shape: list[Extent]
    indices: list[dict[int, int]]
    """The factor of each dim."""
    constants: list[int]

    def stride(self, dim: int) -> int:
        """Returns how many elements apart neighbours along an iteration dim are, at most."""
        steps = zip(self.indices, row_major(self.shape), strict=True)
        return sum(index.get(dim, 0) * upper_bound(step) for index, step in steps)

    def is_windowed(self) -> bool:
        """Returns whether two dims move along one axis."""
        return any(len(index) > 1 for index in self.indices)


class _Simplifier:
    def __init__(self, op: graph.ContractOp, extents: Sequence[Extent]):
        self.op = op
        self.extents = dict(enumerate(extents))
        self.result = list(op.result_dims)
        self.folded = [dim for dim in self.extents if dim not in self.result]
        self.operands = [_viewed(value, map) for value, map in zip(op.inputs, op.operand_maps, strict=True)]

    def simplify(self) -> None:
        order = stored_order(self.op.result)
        if order is not None:
            self.result = [self.op.result_dims[axis] for axis in order]
        self._drop_ones()
        self._order_folded()
        self._merge()
        if self._is_other():
            self._rewrite()

    def _drop_ones(self) -> None:
        for dim in [dim for dim, extent in self.extents.items() if extent == 1]:
            del self.extents[dim]
            for operand in self.operands:
                for index in operand.indices:
                    index.pop(dim, None)
        self.result = [dim for dim in self.result if dim in self.extents]
        self.folded = [dim for dim in self.folded if dim in self.extents]
        for operand in self.operands:
            kept = [axis for axis, extent in enumerate(operand.shape) if extent != 1]
            operand.shape = [operand.shape[axis] for axis in kept]
            operand.indices = [operand.indices[axis] for axis in kept]
            operand.constants = [operand.constants[axis] for axis in kept]

    def _order_folded(self) -> None:
        weights = [operand for operand in self.operands if not operand.is_windowed()]
        (operand,) = weights if len(weights) == 1 else self.operands[:1]
        if len(self.operands) != len(weights):
            self.folded.sort(key=lambda dim: -abs(operand.stride(dim)))
            as_it_lies = list(self.folded)
            self.folded.sort(key=lambda dim: upper_bound(self.extents[dim]))
            if self._joints(as_it_lies) > self._joints(self.folded):
                self.folded = as_it_lies

    def _joints(self, dims: Sequence[int]) -> int:
        """Returns how many dims of such an order go on where the next one ends."""
        return sum(
            all(self._goes_on(operand, outer, inner) for operand in self.operands)
            for outer, inner in pairwise(dims)
        )

    def _merge(self) -> None:
        for dims in (self.result, self.folded):
            position = 0
            while position + 1 < len(dims):
                if all(self._goes_on(operand, *dims[position : position + 2]) for operand in self.operands):
                    outer, inner = dims[position], dims.pop(position + 1)
                    for operand in self.operands:
                        _merge_axes(operand, outer, inner)
                    self.extents[outer] *= self.extents.pop(inner)
                else:
                    position += 1

    def _goes_on(self, operand: _Operand, outer: int, inner: int) -> bool:
        """Returns whether an operand is read at neighbours where `inner` ends and `outer` is one further."""
        at = [axis for axis, index in enumerate(operand.indices) if inner in index]
        around = [axis for axis, index in enumerate(operand.indices) if outer in index]
        if not at and not around:
            return True
        if len(at) != 1 or len(around) != 1 or operand.indices[around[0]][outer] != 1:
            return False
        (axis,) = at
        is_alone = len(operand.indices[axis - 1]) == 1 and operand.constants[axis - 1] == 0
        return (
            around[0] == axis - 1
            and operand.indices[axis] == {inner: 1}
            and operand.constants[axis] == 0
            and operand.shape[axis] == self.extents[inner]
            # The factors of other dims are multiplied with the extent, and are numbers.
            and (is_alone or isinstance(operand.shape[axis], int))
        )

    def _is_other(self) -> bool:
        """Returns whether the contraction is another one than it was."""
        op = self.op
        return (
            len(self.extents) != op.result_map.num_dims
            or self.result != list(op.result_dims)
            or self.folded != sorted(self.folded)
            or not all(map(_is_read_so, self.operands, op.inputs, op.operand_maps))
        )

    def _rewrite(self) -> None:
        op, builder = self.op, GraphBuilder(self.op)
        dims = [*self.result, *self.folded]
        place = {dim: number for number, dim in enumerate(dims)}
        inputs = [self._read_only(builder, operand) for operand in self.operands]
        maps = [_map(operand, place) for operand in self.operands]
        maps.append(AffineMap(len(dims), 0, tuple(map(AffineExpr.dimension, range(len(self.result))))))
        type = tensor_type_of(op.result, op.name)
        bounds = [self.extents[dim] for dim in dims]
        new = graph.ContractOp(
            inputs,
            maps,
            tensor_of(type.element_type, tuple(bounds[: len(self.result)])),
            bounds=bounds,
            accumulate=op.accumulate,
            combine=op.combine,
            fastmath=op.fastmath,
        )
        new.attributes.update(op.attributes)
        result = builder.add(new, op.result.name_hint)
        op.result.replace_all_uses_with(self._as_before(builder, result, type))
        op.detach()
        op.erase()

    def _read_only(self, builder: GraphBuilder, operand: _Operand) -> SSAValue:
        """
        Returns an operand of its shape. An axis whose index is one dim is cut to the elements that the dim
        reaches: a dim by itself is all of an axis, a window is a part.
        """
        value = _reshaped(builder, operand)
        sizes = [
            self.extents[next(iter(index))] if constant == 0 and list(index.values()) == [1] else extent
            for index, constant, extent in zip(operand.indices, operand.constants, operand.shape, strict=True)
        ]
        if sizes == operand.shape:
            return value
        ones, zeros = [1] * len(sizes), [0] * len(sizes)
        return builder.add(graph.SliceOp(value, zeros, sizes, ones), value.name_hint)

    def _as_before(self, builder: GraphBuilder, result: SSAValue, type: TensorType) -> SSAValue:
        """Returns the result with the axes that it had: those of merged dims, of 1, and in their order."""
        order = stored_order(self.op.result)
        axes = list(range(type.get_num_dims())) if order is None else order
        shape = [shape_of(type)[axis] for axis in axes]
        unmerged = tensor_of(type.element_type, tuple(shape))
        if result.type != unmerged:
            result = builder.add(graph.ReshapeOp(result, unmerged))
        back = [axes.index(axis) for axis in range(len(axes))]
        if back != sorted(back):
            result = builder.add(graph.PermuteOp(result, back))
        return result


def _is_read_so(operand: _Operand, value: SSAValue, map: AffineMap) -> bool:
    """Returns whether a contraction reads an operand so that reads `value` by a map."""
    if value is operand.value:
        return True
    if not isinstance(value.owner, graph.ReshapeOp) or value.owner.source is not operand.value:
        return False
    indices = [LinearIndex.of(expr) for expr in map.results]
    return (
        _shape(value) == operand.shape
        and [dict(index.factors) for index in indices] == operand.indices
        and [index.constant for index in indices] == operand.constants
    )


def _viewed(value: SSAValue, map: AffineMap) -> _Operand:
    """Looks through permutations, and through reshapes that add or drop extents of 1."""
    indices = [LinearIndex.of(expr) for expr in map.results]
    while True:
        op = value.owner
        if isinstance(op, graph.PermuteOp) and "memory_mode" not in op.attributes:
            moved = list(indices)
            for to, axis in enumerate(op.permutation.data):
                moved[axis] = indices[to]
            indices = moved
        elif isinstance(op, graph.ReshapeOp) and "memory_mode" not in op.attributes:
            joined = _through_reshape(op, indices)
            if joined is None:
                break
            indices = joined
        else:
            break
        value = op.operands[0]
    return _Operand(value, _shape(value), [dict(i.factors) for i in indices], [i.constant for i in indices])


def _through_reshape(op: graph.ReshapeOp, indices: Sequence[LinearIndex]) -> list[LinearIndex] | None:
    """
    Returns the indices of what is reshaped, or None: where two of its axes become one, and where an axis
    becomes two of something that is contiguous anyway.
    """
    source, result = _shape(op.source), _shape(op.result)
    if not _are_known((*source, *result)) or product(source) == 0:
        return None
    is_split = without_ones(source) != without_ones(result)
    if is_split and not isinstance(op.source.owner, graph.PermuteOp):
        return None
    rest = [(extent, index) for extent, index in zip(result, indices, strict=True) if extent != 1]
    found: list[LinearIndex] = []
    for extent in source:
        factors: dict[int, int] = {}
        constant = 0
        left: Extent = extent
        while left != 1:
            size, index = rest.pop(0)
            inside = exact_quotient(left, size)
            if inside is None:
                return None
            left = inside
            if not isinstance(left, int):
                # The factors of a map are numbers.
                return None
            constant += index.constant * left
            for dim, factor in index.factors:
                factors[dim] = factors.get(dim, 0) + factor * left
        found.append(LinearIndex(tuple(sorted(factors.items())), constant))
    return found


def _shape(value: SSAValue) -> list[Extent]:
    return list(shape_of(tensor_type_of(value, graph.ContractOp.name)))


def _merge_axes(operand: _Operand, outer: int, inner: int) -> None:
    """Makes one axis of the one that `inner` is and of the one before it, and one dim of the two."""
    axis = next((axis for axis, index in enumerate(operand.indices) if inner in index), None)
    if axis is None:
        return
    extent = operand.shape.pop(axis)
    del operand.indices[axis], operand.constants[axis]
    operand.shape[axis - 1] *= extent
    if isinstance(extent, int):
        operand.constants[axis - 1] *= extent
        around = operand.indices[axis - 1]
        operand.indices[axis - 1] = {dim: 1 if dim == outer else n * extent for dim, n in around.items()}


def _reshaped(builder: GraphBuilder, operand: _Operand) -> SSAValue:
    type = tensor_type_of(operand.value, graph.ContractOp.name)
    if list(shape_of(type)) == operand.shape:
        return operand.value
    reshaped = tensor_of(type.element_type, tuple(operand.shape))
    return builder.add(graph.ReshapeOp(operand.value, reshaped), operand.value.name_hint)


def _map(operand: _Operand, place: dict[int, int]) -> AffineMap:
    indices = zip(operand.indices, operand.constants, strict=True)
    results = (LinearIndex((*index.items(),), constant).moved(place).expr for index, constant in indices)
    return AffineMap(len(place), 0, tuple(results))
