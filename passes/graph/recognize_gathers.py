"""
Turns sums that pick one element into gathers.

    %n = graph.iota axis 1 : tensor<4x8xi64>
    %at = graph.broadcast %i : tensor<4x1xi64> -> tensor<4x8xi64>
    %hit = graph.eq %n, %at : tensor<4x8xi64>
    %zero = graph.constant dense<0.0> : tensor<4x8xf32>
    %picked = graph.select %hit, %x, %zero : tensor<4x8xf32>
    %y = graph.reduce add %picked axes [1] : tensor<4x8xf32> -> tensor<4xf32>

-->

    %row = graph.iota axis 0 : tensor<4xi64>
    %one = graph.gather %x[%row, %i'] axes [0, 1]
        : tensor<4x8xf32>[tensor<4xi64>, tensor<4xi64>] -> tensor<4xf32>
    %y = graph.select %inside, %one + 0.0, 0.0 : tensor<4xf32>

where `%i'` is `%i` without its dim of extent 1, and `%inside` says that it is from 0 to 7.

A sum of one element and zeros is that element whatever it is, NaN and infinities too, but for -0.0, which 0.0
turns into 0.0: hence the addition. An `or` of booleans or bits is the same without it. A product with 0 and 1
in place of a select is left alone: 0 times an infinity or NaN is NaN, which a gather would lose.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit but for the bits of NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...dialects import graph
from ...dialects.element_types import NBYTES, is_float, is_unsigned
from ...dialects.graph import ReduceKind, tensor_of
from ...dialects.graph.types import INTEGERS, shape_of, tensor_type_of
from .builder import GraphBuilder
from .rules.one_along import is_iota_along, is_same_along


@dataclass(frozen=True)
class RecognizeGathersPass(ModulePass):
    """Turns sums that pick one element into gathers."""

    name = "recognize-gathers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for reduce in [inner for inner in op.walk() if isinstance(inner, graph.ReduceOp)]:
            found = _find(reduce)
            if found is not None:
                _replace(reduce, *found)


def _find(op: graph.ReduceOp) -> tuple[graph.SelectOp, SSAValue] | None:
    """Returns the select that picks one element and the index that it picks, along the reduced axis."""
    picked = op.source.owner
    if op.kind.data not in (ReduceKind.ADD, ReduceKind.OR) or len(op.axes.data) != 1:
        return None
    if not isinstance(picked, graph.SelectOp) or not _is_zero(picked.on_false):
        return None
    hit, (axis,) = picked.condition.owner, op.axes.data
    shape = shape_of(tensor_type_of(op.source, op.name))
    if not isinstance(hit, graph.EqOp) or any(not isinstance(extent, int) or extent < 1 for extent in shape):
        return None
    last = tensor_type_of(op.source, op.name).get_shape()[axis] - 1
    for counted, index in ((hit.lhs, hit.rhs), (hit.rhs, hit.lhs)):
        type = tensor_type_of(index, op.name).element_type
        if (
            type in INTEGERS.types
            and last <= _greatest(type)
            and is_iota_along(counted, axis)
            and is_same_along(index, axis)
        ):
            return picked, index
    return None


def _greatest(type: Attribute) -> int:
    """Returns the greatest number of an integer type: an iota does not wrap up to there."""
    return (1 << (NBYTES[type] * 8 - (0 if is_unsigned(type) else 1))) - 1


def _is_zero(value: SSAValue) -> bool:
    """Returns whether all elements are 0; of floats +0.0, though -0.0 would do."""
    owner = value.owner
    while isinstance(owner, graph.BroadcastOp | graph.ReshapeOp):
        owner = owner.source.owner
    if not isinstance(owner, graph.ConstantOp) or not owner.value.is_splat():
        return False
    return next(iter(owner.value.iter_attrs())).value.data == 0


def _replace(op: graph.ReduceOp, picked: graph.SelectOp, index: SSAValue) -> None:
    b = GraphBuilder(op)
    (axis,) = op.axes.data
    source = tensor_type_of(op.source, op.name)
    shape = source.get_shape()
    rest = tuple(extent for dim, extent in enumerate(shape) if dim != axis)
    index_type = b.element_type(index)
    sizes = [1 if dim == axis else extent for dim, extent in enumerate(shape)]
    along = b.add(graph.SliceOp(index, [0] * len(shape), sizes, [1] * len(shape)))
    at = b.add(graph.ReshapeOp(along, tensor_of(index_type, rest)), index.name_hint)
    others = tensor_of(i64, rest)
    indices = [
        at if dim == axis else b.add(graph.IotaOp(dim - (dim > axis), others)) for dim in range(len(shape))
    ]
    value = b.add(graph.GatherOp(picked.on_true, indices, range(len(shape))))
    zero = b.splat_like(0, value)
    if is_float(source.element_type):
        value = b.add(graph.AddOp(value, zero))
    first = b.add(graph.GeOp(at, b.splat_like(0, at)))
    last = b.add(graph.LeOp(at, b.splat_like(shape[axis] - 1, at)))
    value = b.add(graph.SelectOp(b.add(graph.AndOp(first, last)), value, zero), op.result.name_hint)
    if op.keep is not None:
        result = tensor_type_of(op.result, op.name)
        value = b.add(graph.ReshapeOp(value, result), op.result.name_hint)
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()
