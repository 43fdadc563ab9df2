"""
Rules that compute in the narrowest element type that gives the same bits.

Arithmetic of f16 and bf16 is defined as that of f32, rounded once, and so are these rules for them. For f32
inside of f64 they rest on double rounding being innocuous for +, -, *, / and sqrt where the wider format has
at least 2p + 2 bits (Figueroa, "When is double rounding innocuous?", 1995): 53 >= 2 * 24 + 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ....dialects import graph
from ....dialects.element_types import NBYTES, element_type_of, is_float, is_narrow_float, width_of
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....semantics.numpy_types import array_of, dense_of, dtype_of
from .identities import EXACT

_INNOCUOUS = (graph.AddOp, graph.SubOp, graph.MulOp, graph.DivOp, graph.SqrtOp)
"""Ops on f64 that give the f32 result when rounded to f32, for operands that are f32."""

_EXACT_OPS = (graph.NegOp, graph.AbsOp, graph.ReluOp, graph.MaxOp, graph.MinOp)
"""Ops whose result is one of the operands, or its negative."""

_LOW_BITS = (
    graph.AddOp,
    graph.SubOp,
    graph.MulOp,
    graph.NegOp,
    graph.AndOp,
    graph.OrOp,
    graph.XorOp,
    graph.NotOp,
)
"""Ops on integers whose low bits depend on the low bits of the operands only."""


def _may_narrow(op: Operation, narrow: Attribute, wide: Attribute) -> bool:
    """Returns whether `cast<narrow>(op<wide>)` of values of `narrow` is `op<narrow>` of them."""
    if not is_float(narrow):
        return isinstance(op, _LOW_BITS) or (
            isinstance(op, graph.MaxOp | graph.MinOp) and _holds(wide, narrow)
        )
    if isinstance(op, _EXACT_OPS):
        return True
    if is_narrow_float(narrow) and str(wide) == "f32":
        return op.name != "graph.nextafter"
    return isinstance(op, _INNOCUOUS) and (str(narrow), str(wide)) in (
        ("f32", "f64"),
        ("f16", "f64"),
        ("bf16", "f64"),
    )


def _holds(wide: Attribute, narrow: Attribute) -> bool:
    return (str(narrow), str(wide)) in EXACT


def _narrowed(value: SSAValue, narrow: Attribute) -> SSAValue | graph.ConstantOp | None:
    """Returns the value of the narrow type that `value` is cast from, or a constant equal to it, or None."""
    owner = value.owner
    if isinstance(owner, graph.CastOp):
        return owner.source if element_type_of(owner.source.type) == narrow else None
    if isinstance(owner, graph.ConstantOp) and owner.value.is_splat():
        element = array_of(owner.value).reshape(-1)[:1]
        with np.errstate(all="ignore"):
            smaller = element.astype(dtype_of(narrow))
        if smaller.astype(element.dtype).tobytes() != element.tobytes():
            return None
        type = tensor_of(narrow, shape_of(tensor_type_of(value, owner.name)))
        return graph.ConstantOp(dense_of(smaller, type))
    return None


def _narrow_operands(op: Operation, narrow: Attribute) -> tuple[list[Operation], list[SSAValue]] | None:
    """Returns new constants, and the operands of `op` in the narrow type, if one at least is cast from it."""
    constants: list[Operation] = []
    operands: list[SSAValue] = []
    for operand in op.operands:
        found = _narrowed(operand, narrow)
        if found is None:
            return None
        if isinstance(found, graph.ConstantOp):
            constants.append(found)
            found = found.result
        operands.append(found)
    return (constants, operands) if len(constants) < len(operands) else None


class NarrowArithmetic(RewritePattern):
    """`cast<n>(f<w>(cast<w>(x : n), cast<w>(y : n))) --> f<n>(x, y)` where the bits are the same"""

    ROOTS: ClassVar = (graph.CastOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.source.owner
        if not isinstance(inner, graph.UnaryOp | graph.BinaryOp) or inner.attributes:
            return
        narrow, wide = element_type_of(op.result.type), element_type_of(op.source.type)
        if narrow not in inner.ELEMENTS.types or not _is_wider(wide, narrow):
            return
        if not _may_narrow(inner, narrow, wide):
            return
        found = _narrow_operands(inner, narrow)
        if found is not None:
            constants, operands = found
            new = inner.create(operands=operands, result_types=(op.result.type,), properties=inner.properties)
            rewriter.replace(op, (*constants, new))


class NarrowComparison(RewritePattern):
    """`f<w>(cast<w>(x : n), cast<w>(y : n)) --> f<n>(x, y)` for comparisons, where w holds every n exactly"""

    ROOTS: ClassVar = (graph.CompareOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.CompareOp):
            return
        for operand in op.operands:
            if not isinstance(operand.owner, graph.CastOp):
                continue
            narrow, wide = element_type_of(operand.owner.source.type), element_type_of(operand.type)
            if (str(narrow), str(wide)) not in EXACT or narrow not in op.ELEMENTS.types:
                continue
            found = _narrow_operands(op, narrow)
            if found is not None:
                constants, (lhs, rhs) = found
                rewriter.replace(op, (*constants, type(op)(lhs, rhs)))
                return


def retyped(op: Operation, operands: Sequence[SSAValue], element_type: Attribute) -> Operation:
    """Returns an op as it is, but with other operands and another element type of its result."""
    type = tensor_of(element_type, shape_of(tensor_type_of(op.results[0], op.name)))
    return op.create(
        operands=operands, result_types=(type,), properties=op.properties, attributes=op.attributes
    )


def views_of(value: SSAValue) -> tuple[list[graph.MovementOp], SSAValue]:
    """Returns the views of one value that another one is, the first one last, and that value."""
    views: list[graph.MovementOp] = []
    while isinstance(value.owner, graph.MovementOp) and len(value.owner.operands) == 1:
        views.append(value.owner)
        value = value.owner.operands[0]
    return views, value


def viewed(value: SSAValue, views: Sequence[graph.MovementOp], rewriter: PatternRewriter) -> SSAValue:
    """Returns the same views, the first one last, of a value of another element type."""
    for view in reversed(views):
        new = retyped(view, (value,), element_type_of(value.type))
        new.results[0].name_hint = view.results[0].name_hint
        rewriter.insert(new)
        value = new.results[0]
    return value


class MultiplyNarrow(RewritePattern):
    """
    `contract<w>(view(cast<w>(x : n)), y) --> contract<w>(view(x), y)`, which casts its operands itself
    """

    ROOTS: ClassVar = (graph.ContractOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ContractOp, rewriter: PatternRewriter, /) -> None:
        wide = element_type_of(op.result.type)
        if len(op.inputs) != 2:
            return
        for number, operand in enumerate(op.inputs):
            views, value = views_of(operand)
            cast = value.owner
            if not isinstance(cast, graph.CastOp) or element_type_of(cast.result.type) != wide:
                continue
            if NBYTES[element_type_of(cast.source.type)] >= NBYTES[wide]:
                continue
            op.operands[number] = viewed(cast.source, views, rewriter)
            rewriter.notify_op_modified(op)
            return


def _is_wider(wide: Attribute, narrow: Attribute) -> bool:
    if is_float(narrow):
        return _holds(wide, narrow)
    return not is_float(wide) and width_of(narrow) < width_of(wide)


PATTERNS: tuple[type[RewritePattern], ...] = (NarrowArithmetic, NarrowComparison, MultiplyNarrow)
"""The rules, each with its equation as its docstring."""
