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
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.graph import Combination, MemoryModeAttr, ReduceKind, iteration_extents
from ....dialects.graph.types import shape_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ..builder import GraphBuilder
from .split_dims import Given, can_be_split, plain_dim, split_dim

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
                number, axis, dim = found
                builder = GraphBuilder(contraction)
                numbers = Given(_unpacked(builder, contraction.inputs[number]), axis)
                split_dim(builder, contraction, dim, 2, {number: numbers})


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
        dim, used = plain_dim(map.results[axis]), map.used_dims()
        if dim is None or not can_be_split(op, dim):
            continue
        if prod(extents[each] for each in op.result_dims if each not in used) > MOST_ROWS:
            continue
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
