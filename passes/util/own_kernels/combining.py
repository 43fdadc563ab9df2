"""Scalar code that combines two elements, and what combining begins with."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.element_types import compute_type, is_float, is_unsigned
from ....dialects.sched import CombineKind
from ..kernel_code import KernelCode
from ..reduction_identity import identity
from ..scalar_ops import float_op

_FLOATS: dict[str, tuple[type[Operation], CombineKind]] = {
    "add": (arith.AddfOp, CombineKind.ADDF),
    "mul": (arith.MulfOp, CombineKind.MULF),
    "max": (arith.MaximumfOp, CombineKind.MAXIMUMF),
    "min": (arith.MinimumfOp, CombineKind.MINIMUMF),
}
_SIGNED: dict[str, tuple[type[Operation], CombineKind]] = {
    "add": (arith.AddiOp, CombineKind.ADDI),
    "mul": (arith.MuliOp, CombineKind.MULI),
    "max": (arith.MaxSIOp, CombineKind.MAXSI),
    "min": (arith.MinSIOp, CombineKind.MINSI),
}
_UNSIGNED = {
    **_SIGNED,
    "max": (arith.MaxUIOp, CombineKind.MAXUI),
    "min": (arith.MinUIOp, CombineKind.MINUI),
}


def _rule(kind: str, element_type: Attribute) -> tuple[type[Operation], CombineKind]:
    if is_float(element_type):
        return _FLOATS[kind]
    return (_UNSIGNED if is_unsigned(element_type) else _SIGNED)[kind]


def combine(
    code: KernelCode, kind: str, element_type: Attribute, lhs: SSAValue, rhs: SSAValue, hint: str
) -> SSAValue:
    """Combines two values of the compute type of `element_type` by `add`, `mul`, `max` or `min`."""
    op_type, _ = _rule(kind, element_type)
    if is_float(element_type):
        return float_op(code.b, op_type, lhs, rhs, hint=hint)
    return code.integer(op_type, lhs, rhs, hint)


def identity_of(code: KernelCode, kind: str, element_type: Attribute) -> SSAValue:
    """Returns what combining no elements gives."""
    type = compute_type(element_type)
    return code.b.constant(identity(_rule(kind, element_type)[1], type), type)


def neutral(code: KernelCode, kind: str, element_type: Attribute) -> SSAValue:
    """Returns what changes no other value: for sums of floats -0.0, as 0.0 would change -0.0."""
    if kind == "add" and is_float(element_type):
        return code.b.constant(-0.0, compute_type(element_type))
    return identity_of(code, kind, element_type)
