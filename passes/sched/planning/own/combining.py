"""Scalar code that combines two elements, and what combining begins with."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from .....dialects.element_types import compute_type, is_float
from .....dialects.graph import ReduceKind
from ....scalar.combine_kinds import COMBINE_OPS, combine_kind
from ....scalar.ops import float_op
from ....scalar.reduction_identity import identity
from ..code import KernelCode


def combine(
    code: KernelCode, kind: str, element_type: Attribute, lhs: SSAValue, rhs: SSAValue, hint: str
) -> SSAValue:
    """Combines two values of the compute type of `element_type` by a `ReduceKind`."""
    op_type = COMBINE_OPS[combine_kind(ReduceKind(kind), element_type)]
    if is_float(element_type):
        return float_op(code.b, op_type, lhs, rhs, hint=hint)
    return code.integer(op_type, lhs, rhs, hint)


def identity_of(code: KernelCode, kind: str, element_type: Attribute) -> SSAValue:
    """Returns what combining no elements gives."""
    type = compute_type(element_type)
    return code.b.constant(identity(combine_kind(ReduceKind(kind), element_type), type), type)


def neutral(code: KernelCode, kind: str, element_type: Attribute) -> SSAValue:
    """Returns what changes no other value: for sums of floats -0.0, as 0.0 would change -0.0."""
    if kind == "add" and is_float(element_type):
        return code.b.constant(-0.0, compute_type(element_type))
    return identity_of(code, kind, element_type)
