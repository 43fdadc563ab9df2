"""
Lets products of few rows read numbers of four bits as the bytes that they lie in.

    %n = graph.nibble %bytes, %number : tensor<1024x2x512xi8>
    %w = graph.reshape %n : tensor<1024x2x512xi8> -> tensor<2048x512xi8>
    %c = graph.contract %x, %w maps [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]
        : tensor<8x2048xf32>, tensor<2048x512xi8> -> tensor<8x512xf32>

-->

    %n = graph.nibble %bytes, %number {memory_mode = ...} : tensor<1024x2x512xi8>
    %x_1 = graph.reshape %x : tensor<8x2048xf32> -> tensor<8x1024x2xf32>
    %c = graph.contract %x_1, %n maps [(m, n, k, h) -> (m, k, h), (m, n, k, h) -> (k, h, n),
        (m, n, k, h) -> (m, n)] : tensor<8x1024x2xf32>, tensor<1024x2x512xi8> -> tensor<8x512xf32>

A dim of the depth for the bytes, and one for the two numbers of each, are what a register tile takes: it
loads a byte once, and unpacks it in registers. Of many rows each would unpack it again: the numbers are
unpacked once, into memory.

Requires: nothing; extents that are no numbers leave a contraction as it is. Ensures: sums are added up in the
order of before, and results are the same to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.graph import Combination, MemoryModeAttr, ReduceKind, iteration_extents
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ..builder import GraphBuilder

MOST_ROWS = 16
"""The most rows for which numbers are unpacked where they are multiplied."""


@dataclass(frozen=True)
class MultiplyNibblesPass(ModulePass):
    """Lets products of few rows read numbers of four bits as the bytes that they lie in."""

    name = "multiply-nibbles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            found = _split_of(contraction)
            if found is not None:
                _split(contraction, *found)


def _split_of(op: graph.ContractOp) -> tuple[int, int, int] | None:
    """Returns an operand that is made of nibbles, its axis and the dim that runs through both of a byte."""
    if (
        op.tile is not None
        or len(op.inputs) != 2
        or op.accumulate.data is not ReduceKind.ADD
        or op.combine.data is not Combination.MUL
    ):
        return None
    extents = [extent for extent in iteration_extents(op) if isinstance(extent, int) and extent > 0]
    if len(extents) != op.result_map.num_dims:
        return None
    for number, (value, map) in enumerate(zip(op.inputs, op.operand_maps, strict=True)):
        axis = _axis_of_pairs(value)
        if axis is None:
            continue
        dim, used = _plain_dim(map.results[axis]), map.used_dims()
        if dim is None or dim in op.result_dims or extents[dim] != _shape(value)[axis]:
            continue
        if prod(extents[each] for each in op.result_dims if each not in used) > MOST_ROWS:
            continue
        if all(
            _is_alone(each, dim, _shape(operand), extents)
            for operand, each in zip(op.inputs, op.operand_maps, strict=True)
        ):
            return number, axis, dim
    return None


def _axis_of_pairs(value: SSAValue) -> int | None:
    """Returns the axis of a value along which the two numbers of a byte are neighbours, if it has one."""
    reshape = value.owner
    if not isinstance(reshape, graph.ReshapeOp) or not isinstance(reshape.source.owner, graph.NibbleOp):
        return None
    shape, pairs = _shape(value), _shape(reshape.source)
    for axis, extent in enumerate(shape):
        if isinstance(extent, int) and pairs == (
            *shape[:axis],
            extent // 2,
            2,
            *shape[axis + 1 :],
        ):
            return axis
    return None


def _is_alone(map: AffineMap, dim: int, shape: tuple[object, ...], extents: list[int]) -> bool:
    """Returns whether a dim is in no index, or all of one: such an axis can be split as the dim is."""
    at = [axis for axis, expr in enumerate(map.results) if dim in expr.used_dims()]
    if not at:
        return True
    return len(at) == 1 and _plain_dim(map.results[at[0]]) == dim and shape[at[0]] == extents[dim]


def _plain_dim(expr: AffineExpr) -> int | None:
    index = graph.linear_index(expr)
    return None if index is None else index.plain_dim


def _split(op: graph.ContractOp, number: int, axis: int, dim: int) -> None:
    """Makes two dims of one, and lets an operand be read before it was reshaped."""
    builder, type = GraphBuilder(op), tensor_type_of(op.result, op.name)
    extents = list(iteration_extents(op))
    place = [each + (each > dim) for each in range(len(extents))]
    moved = [AffineExpr.dimension(each) for each in place]
    extents[dim : dim + 1] = [extents[dim] // 2, 2]
    inputs, maps = list[SSAValue](), list[AffineMap]()
    operands = zip((*op.inputs, None), (*op.operand_maps, op.result_map), strict=True)
    for position, (value, map) in enumerate(operands):
        indices = list[AffineExpr]()
        shape = list[object]()
        for at, expr in enumerate(map.results):
            if dim in expr.used_dims():
                indices += [AffineExpr.dimension(dim), AffineExpr.dimension(dim + 1)]
                shape += extents[dim : dim + 2]
            else:
                indices.append(expr.replace_dims_and_symbols(moved, []))
                shape += [] if value is None else [_shape(value)[at]]
        maps.append(AffineMap(len(extents), 0, tuple(indices)))
        if value is None:
            continue
        # The same value may be the other side too, which is read elsewhere.
        if position == number:
            value = _unpacked(builder, value)
        elif tuple(shape) != _shape(value):
            element = tensor_type_of(value, op.name).element_type
            value = builder.add(graph.ReshapeOp(value, tensor_of(element, tuple(shape))), value.name_hint)
        inputs.append(value)
    new = graph.ContractOp(
        inputs, maps, type, bounds=extents, accumulate=op.accumulate, combine=op.combine, fastmath=op.fastmath
    )
    new.attributes.update(op.attributes)
    op.result.replace_all_uses_with(builder.add(new, op.result.name_hint))
    op.detach()
    op.erase()


def _unpacked(builder: GraphBuilder, value: SSAValue) -> SSAValue:
    """Returns the numbers that a value is a view of, as an op of its own: others may read them elsewhere."""
    reshape = value.owner
    assert isinstance(reshape, graph.ReshapeOp), "checked"
    nibble = reshape.source.owner
    assert isinstance(nibble, graph.NibbleOp), "checked"
    new = graph.NibbleOp(nibble.lhs, nibble.rhs)
    new.attributes["memory_mode"] = MemoryModeAttr(ModeKind.VIRTUAL, "unpacked where it is multiplied")
    return builder.add(new, reshape.source.name_hint)


def _shape(value: SSAValue) -> tuple[object, ...]:
    """Returns the extents of a value."""
    return tuple(shape_of(tensor_type_of(value, graph.ContractOp.name)))
