"""
Rules that move views through the elementwise ops of `graph`: views towards what they view, where one meets
another there; broadcasts towards the results, so that less is computed.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.dims.expressions import is_at_least, product
from ....dialects.element_types import element_type_of, is_narrow_float
from ....dialects.graph import ReduceKind
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from .splats import splat

_VIEWS = (graph.ReshapeOp, graph.PermuteOp, graph.FlipOp, graph.SliceOp)


def _type_of(value: SSAValue) -> TensorType[Any]:
    return tensor_type_of(value, "graph")


def _applied_to(op: graph.ElementwiseOp, operands: list[SSAValue]) -> Operation:
    """Returns `op` on other operands, all of one shape."""
    element = element_type_of(op.results[0].type)
    result_type = tensor_of(element, shape_of(_type_of(operands[0])))
    return op.create(operands=operands, result_types=(result_type,), properties=op.properties)


class ViewOperands(RewritePattern):
    """
    `v(f(v'(x), c, ...)) --> f(v(v'(x)), v(c), ...)` where v and v' are both permutations, or both reshapes,
    flips or slices, c are splats, and f(...) is read once: the two views become one
    """

    ROOTS: ClassVar = _VIEWS

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, _VIEWS):
            return
        inner = op.source.owner
        if not isinstance(inner, graph.ElementwiseOp) or inner.attributes or not inner.operands:
            return
        if not op.source.has_one_use():
            return
        is_view = [type(operand.owner) is type(op) for operand in inner.operands]
        is_splat = [splat(operand) is not None for operand in inner.operands]
        if not any(is_view) or not all(a or b for a, b in zip(is_view, is_splat, strict=True)):
            return
        views = {operand: self._viewed(op, operand) for operand in inner.operands}
        applied = _applied_to(inner, [views[operand].results[0] for operand in inner.operands])
        rewriter.replace(op, (*views.values(), applied))

    def _viewed(self, op: Operation, source: SSAValue) -> Operation:
        match op:
            case graph.ReshapeOp():
                type = tensor_of(element_type_of(source.type), shape_of(_type_of(op.result)))
                return graph.ReshapeOp(source, type)
            case graph.PermuteOp():
                return graph.PermuteOp(source, op.permutation)
            case graph.FlipOp():
                return graph.FlipOp(source, op.axes)
            case graph.SliceOp():
                return graph.SliceOp(source, op.offsets, op.sizes, op.strides)
            case _:
                raise AssertionError(f"{op.name} is no view")


class BroadcastLast(RewritePattern):
    """
    `f(broadcast(x), broadcast(y), c, ...) --> broadcast(f(x, y, c, ...))` where x and y have one shape, and c
    are splats: f is computed once for each element of x
    """

    ROOTS: ClassVar = (graph.ElementwiseOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ElementwiseOp) or op.attributes or not op.operands:
            return
        sources: list[SSAValue | None] = []
        shape = None
        for operand in op.operands:
            owner = operand.owner
            if isinstance(owner, graph.BroadcastOp):
                found = shape_of(_type_of(owner.source))
                if shape not in (None, found) or not _type_of(owner.source).has_static_shape():
                    return
                shape = found
                sources.append(owner.source)
            elif splat(operand) is not None:
                sources.append(None)
            else:
                return
        result = _type_of(op.results[0])
        if shape is None or is_at_least(product(shape), product(shape_of(result))):
            return
        new: list[Operation] = []
        operands: list[SSAValue] = []
        for operand, source in zip(op.operands, sources, strict=True):
            if source is None:
                number = splat(operand)
                assert number is not None, "a splat has a value"
                smaller = tensor_of(element_type_of(operand.type), shape)
                constant = graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(smaller, [number]))
                new.append(constant)
                source = constant.result
            operands.append(source)
        applied = op.create(
            operands=operands,
            result_types=(tensor_of(result.element_type, shape),),
            properties=op.properties,
        )
        rewriter.replace(op, (*new, applied, graph.BroadcastOp(applied.results[0], result)))


class ComposeReduce(RewritePattern):
    """
    `reduce(reduce(x, a), b) --> reduce(x, a and b)` of one kind. The order of a sum is not part of the
    program; but sums and products of narrow floats, which are rounded once each, stay two
    """

    ROOTS: ClassVar = (graph.ReduceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not isinstance(inner, graph.ReduceOp) or inner.kind != op.kind or inner.attributes:
            return
        if not op.source.has_one_use() or inner.properties.get("fastmath") != op.properties.get("fastmath"):
            return
        if op.kind.data in (ReduceKind.ADD, ReduceKind.MUL) and is_narrow_float(
            element_type_of(op.source.type)
        ):
            return
        first, second = inner.axes.data, op.axes.data
        rank = len(shape_of(_type_of(inner.source)))
        left = list(range(rank)) if inner.keep is not None else [a for a in range(rank) if a not in first]
        axes = sorted({*first, *(left[axis] for axis in second)})
        both = graph.ReduceOp(op.kind, inner.source, axes, fastmath=op.fastmath)
        if both.result.type == op.result.type:
            rewriter.replace(op, both)
            return
        rewriter.replace(op, (both, graph.ReshapeOp(both.result, _type_of(op.result))))


PATTERNS: tuple[type[RewritePattern], ...] = (ViewOperands, BroadcastLast, ComposeReduce)
"""The rules, each with its equation as its docstring."""
