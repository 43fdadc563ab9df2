"""Rules that compute `graph` ops on constants, with the meaning that the reference interpreter gives them."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....dialects import graph
from ....dialects.graph.types import tensor_type_of
from ....dialects.grids import coordinates_of
from ....semantics.numpy_types import array_of, dense_of, dtype_of
from ....semantics.tensor_ops import evaluate

FOLD_ELEMENTS_LIMIT = 1024
"""The most elements, of an operand or of the result, that are computed when compiling."""

SPLAT_ELEMENTS_LIMIT = 1 << 14
"""
The most elements of a splat that a view of a smaller one is folded to. A constant holds them all, and passes
that compare constants look at each: megabytes of them take longer than all else. `splat` sees through a
broadcast.
"""


def _constants(op: Operation) -> list[DenseIntOrFPElementsAttr] | None:
    values = [operand.owner.value for operand in op.operands if isinstance(operand.owner, graph.ConstantOp)]
    return values if len(values) == len(op.operands) else None


def _static_type(op: Operation) -> TensorType[Any] | None:
    type = tensor_type_of(op.results[0], op.name)
    return type if type.has_static_shape() else None


class FoldSplat(RewritePattern):
    """
    `op(splat c1, splat c2, ...) --> splat op(c1, c2, ...)` for elementwise ops; a view of a splat is a
    splat, unless it has more than `SPLAT_ELEMENTS_LIMIT` elements
    """

    ROOTS: ClassVar = (graph.ElementwiseOp, graph.MovementOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ElementwiseOp | graph.MovementOp) or not op.operands:
            return
        values, type = _constants(op), _static_type(op)
        if values is None or type is None or not all(value.is_splat() for value in values):
            return
        if isinstance(op, graph.ElementwiseOp):
            elements = [array_of(value).reshape(-1)[:1] for value in values]
            if any(element.size == 0 for element in elements):
                return
            with np.errstate(all="ignore"):
                result = evaluate(op, elements)
            rewriter.replace(op, graph.ConstantOp(dense_of(result.reshape(-1)[:1], type)))
        elif len({element.tobytes() for element in (array_of(v).reshape(-1)[:1] for v in values)}) == 1:
            if prod(type.get_shape()) > max(SPLAT_ELEMENTS_LIMIT, *(prod(v.get_shape()) for v in values)):
                return
            first = array_of(values[0]).reshape(-1)[:1]
            rewriter.replace(op, graph.ConstantOp(dense_of(first, type)))


class FoldConstants(RewritePattern):
    """`op(c1, c2, ...) --> c` where no tensor has more than `FOLD_ELEMENTS_LIMIT` elements"""

    ROOTS: ClassVar = (graph.GraphOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.GraphOp) or isinstance(op, graph.ConstantOp) or not op.operands:
            return
        values, type = _constants(op), _static_type(op)
        if values is None or type is None:
            return
        counts = [prod(value.get_shape()) for value in values] + [prod(type.get_shape())]
        if max(counts) > FOLD_ELEMENTS_LIMIT:
            return
        with np.errstate(all="ignore"):
            result = evaluate(op, [array_of(value) for value in values])
        rewriter.replace(op, graph.ConstantOp(dense_of(result, type)))


class FoldAxisIndex(RewritePattern):
    """`axis_index --> c` in the program of one rank"""

    ROOTS: ClassVar = (graph.AxisIndexOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.AxisIndexOp) or (rank := graph.rank_around(op)) is None:
            return
        place = coordinates_of(graph.grid_extents(op, op.grid_name), rank)[op.axis.data]
        type = tensor_type_of(op.result, op.name)
        rewriter.replace(op, graph.ConstantOp(dense_of(np.array(place, dtype_of(type)), type)))


PATTERNS: tuple[type[RewritePattern], ...] = (FoldSplat, FoldConstants, FoldAxisIndex)
"""The rules, each with its equation as its docstring."""
