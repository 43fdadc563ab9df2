"""Rules for `graph`'s movement ops: a view of a view is one view, and a view of everything is nothing."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import TensorType
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.graph import ReduceKind
from .splats import constant_like, has_floats


class ComposeReshape(RewritePattern):
    """`reshape(x : t) : t --> x`, `reshape(reshape(x)) --> reshape(x)`"""

    ROOTS: ClassVar = (graph.ReshapeOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if op.source.type == op.result.type:
            rewriter.replace(op, (), (op.source,))
        elif isinstance(inner, graph.ReshapeOp):
            assert isinstance(op.result.type, TensorType)
            rewriter.replace(op, graph.ReshapeOp(inner.source, op.result.type))


class ComposePermute(RewritePattern):
    """`permute(x, [0, 1, ...]) --> x`, `permute(permute(x, p), q) --> permute(x, p[q])`"""

    ROOTS: ClassVar = (graph.PermuteOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PermuteOp, rewriter: PatternRewriter, /) -> None:
        axes = op.permutation.data
        inner = op.source.owner
        if axes == tuple(range(len(axes))):
            rewriter.replace(op, (), (op.source,))
        elif isinstance(inner, graph.PermuteOp):
            composed = [inner.permutation.data[axis] for axis in axes]
            rewriter.replace(op, graph.PermuteOp(inner.source, composed))


class ComposeBroadcast(RewritePattern):
    """`broadcast(x : t) : t --> x`, `broadcast(broadcast(x)) --> broadcast(x)`"""

    ROOTS: ClassVar = (graph.BroadcastOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BroadcastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if op.source.type == op.result.type:
            rewriter.replace(op, (), (op.source,))
        elif isinstance(inner, graph.BroadcastOp):
            assert isinstance(op.result.type, TensorType)
            rewriter.replace(op, graph.BroadcastOp(inner.source, op.result.type))


class ComposeSlice(RewritePattern):
    """`x[:] --> x`, `x[o1 + s1 * i][o2 + s2 * i] --> x[o1 + s1 * o2 + s1 * s2 * i]`"""

    ROOTS: ClassVar = (graph.SliceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if (
            op.source.type == op.result.type and op.result.type.has_static_shape()  # pyright: ignore[reportAttributeAccessIssue]
        ):
            rewriter.replace(op, (), (op.source,))
        elif isinstance(inner, graph.SliceOp):
            steps = zip(inner.offsets.data, inner.strides.data, op.offsets.data, op.sizes.data, strict=True)
            # What has no elements may begin anywhere; the sum could lie outside.
            offsets = [offset + stride * outer if size else 0 for offset, stride, outer, size in steps]
            strides = [a * b for a, b in zip(inner.strides.data, op.strides.data, strict=True)]
            rewriter.replace(op, graph.SliceOp(inner.source, offsets, op.sizes.data, strides))


class ComposeFlip(RewritePattern):
    """`flip(x, []) --> x`, `flip(flip(x, a), b) --> flip(x, the axes in just one of a and b)`"""

    ROOTS: ClassVar = (graph.FlipOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.FlipOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not op.axes.data:
            rewriter.replace(op, (), (op.source,))
        elif isinstance(inner, graph.FlipOp):
            once = sorted(frozenset(op.axes.data) ^ frozenset(inner.axes.data))
            rewriter.replace(op, graph.FlipOp(inner.source, once))


class DropEmptyPad(RewritePattern):
    """`pad(x, v, [0, ...], [0, ...]) --> x`"""

    ROOTS: ClassVar = (graph.PadOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter, /) -> None:
        if not any((*op.low.data, *op.high.data)) and op.source.type == op.result.type:
            rewriter.replace(op, (), (op.source,))


class PermuteLast(RewritePattern):
    """`pad(permute(x, p), v) --> permute(pad(x, v), p)`, which copies rows of memory"""

    ROOTS: ClassVar = (graph.PadOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not isinstance(inner, graph.PermuteOp) or inner.attributes or op.attributes:
            return
        axes = inner.permutation.data
        place = [axes.index(axis) for axis in range(len(axes))]
        low, high = ([widths[axis] for axis in place] for widths in (op.low.data, op.high.data))
        interior = None if op.interior is None else [op.interior.data[axis] for axis in place]
        padded = graph.PadOp(inner.source, op.value, low, high, interior)
        rewriter.replace(op, (padded, graph.PermuteOp(padded.result, axes)))


class DropEmptyPadWith(RewritePattern):
    """`pad_with(x, [0, ...], [0, ...]) --> x`"""

    ROOTS: ClassVar = (graph.PadWithOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadWithOp, rewriter: PatternRewriter, /) -> None:
        if not any((*op.low.data, *op.high.data)):
            rewriter.replace(op, (), (op.source,))


class ComposeConcat(RewritePattern):
    """`concat(x) --> x`, `concat(concat(x, y), z) --> concat(x, y, z)` along one axis"""

    ROOTS: ClassVar = (graph.ConcatOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConcatOp, rewriter: PatternRewriter, /) -> None:
        if len(op.inputs) == 1:
            rewriter.replace(op, (), (op.inputs[0],))
            return
        inputs = [
            value
            for operand in op.inputs
            for value in (
                operand.owner.inputs
                if isinstance(operand.owner, graph.ConcatOp) and operand.owner.axis == op.axis
                else (operand,)
            )
        ]
        if len(inputs) > len(op.inputs):
            rewriter.replace(op, graph.ConcatOp(inputs, op.axis.data))


class DropUnitReduce(RewritePattern):
    """
    `reduce(x, axes) --> reshape(x)` where all axes have an extent of 1, but for sums of floats
    `reduce add(x, axes) --> reshape(x) + 0.0`: they start from 0.0, which turns -0.0 into 0.0
    """

    ROOTS: ClassVar = (graph.ReduceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter, /) -> None:
        source, result = op.source.type, op.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        shape = source.get_shape()
        if not all(shape[axis] == 1 for axis in op.axes.data) or not source.has_static_shape():
            return
        reshaped = graph.ReshapeOp(op.source, result)
        if op.kind.data is ReduceKind.ADD and has_floats(op.source):
            zero = constant_like(op.result, 0.0)
            rewriter.replace(op, (reshaped, zero, graph.AddOp(reshaped.result, zero.result, op.fastmath)))
        else:
            rewriter.replace(op, reshaped)


class ShareReduction(RewritePattern):
    """`reduce(x, axes)` behind `r = reduce(x, axes) keep`, or the other way round, `--> reshape(r)`"""

    ROOTS: ClassVar = (graph.ReduceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter, /) -> None:
        result = op.result.type
        assert isinstance(result, TensorType)
        for use in op.source.uses:
            other = use.operation
            if (
                isinstance(other, graph.ReduceOp)
                and (other.keep is None) != (op.keep is None)
                and other.parent is op.parent
                and (other.kind, other.axes, other.fastmath) == (op.kind, op.axes, op.fastmath)
                and other.is_before_in_block(op)
            ):
                rewriter.replace(op, graph.ReshapeOp(other.result, result))
                return


PATTERNS: tuple[type[RewritePattern], ...] = (
    ComposeReshape,
    ComposePermute,
    ComposeBroadcast,
    ComposeSlice,
    ComposeFlip,
    DropEmptyPad,
    PermuteLast,
    DropEmptyPadWith,
    ComposeConcat,
    DropUnitReduce,
    ShareReduction,
)
"""The rules, each with its equation as its docstring."""
