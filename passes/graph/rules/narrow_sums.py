"""
A rule for sums of narrow integers, which NumPy computes in 64 bits.

Sums of so few elements that none can be too large for fewer bits have as many more lanes. Least times on a
Zen 4 of 1000x1000 in 64 bits and by this rule, us: numbers that are not 0 of each column 367 and 55, of each
row 49 and 22; sums of columns of u8 43 and 23, with code for AVX2 266 and 65.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import i16, i32
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_float, width_of
from ....dialects.graph import ReduceKind
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from .precision import retyped, viewed, views_of
from .ranges import holds, most_extents, range_of_type


class SumNarrow(RewritePattern):
    """
    `reduce add<w>(view(cast<w>(x : n))) --> cast<w>(reduce add<t>(view(cast<t>(x))))` for integers, where t
    is i16 or i32, narrower than w, and holds the sum of as many elements of n
    """

    ROOTS: ClassVar = (graph.ReduceOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter, /) -> None:
        wide = element_type_of(op.result.type)
        views, value = views_of(op.source)
        cast = value.owner
        if op.kind.data is not ReduceKind.ADD or is_float(wide) or not isinstance(cast, graph.CastOp):
            return
        elements = range_of_type(element_type_of(cast.source.type))
        extents = most_extents(op.source, op.name)
        if elements is None or extents is None or not holds(wide, elements):
            return
        count = max(prod(extents[axis] for axis in op.axes.data), 1)
        sums = elements[0] * count, elements[1] * count
        for narrow in (i16, i32):
            if width_of(narrow) < width_of(wide) and holds(narrow, sums):
                break
        else:
            return
        source = graph.CastOp(cast.source, tensor_of(narrow, shape_of(tensor_type_of(value, op.name))))
        rewriter.insert(source)
        total = retyped(op, (viewed(source.result, views, rewriter),), narrow)
        cast_back = graph.CastOp(total.results[0], tensor_type_of(op.result, op.name))
        rewriter.replace(op, (total, cast_back))


PATTERNS: tuple[type[RewritePattern], ...] = (SumNarrow,)
"""The rules, each with its equation as its docstring."""
