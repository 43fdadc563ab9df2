"""Scalar code that says which of two elements comes first."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from .....dialects.element_types import is_float, is_unsigned
from ....scalar.ops import cmpf
from ....scalar.rules import from_storage
from ..code import KernelCode


def key(code: KernelCode, stored: SSAValue, element_type: Attribute) -> SSAValue:
    """Returns a stored element in a type that `comes_before` compares; booleans stay bytes of 0 and 1."""
    return stored if element_type == i1 else from_storage(code.b, stored, element_type)


def comes_before(
    code: KernelCode, lhs: SSAValue, rhs: SSAValue, element_type: Attribute, descending: bool
) -> SSAValue:
    """Returns whether `lhs` comes before `rhs`: in neither order does NaN, nor an equal element."""
    b = code.b
    if not is_float(element_type):
        sign = "u" if is_unsigned(element_type) else "s"
        return code.compare(f"{sign}{'gt' if descending else 'lt'}", lhs, rhs)
    is_ordered = cmpf(b, "ogt" if descending else "olt", lhs, rhs)
    before_nan = b.op(arith.AndIOp, cmpf(b, "uno", rhs, rhs), cmpf(b, "ord", lhs, lhs))
    return b.op(arith.OrIOp, is_ordered, before_nan)
