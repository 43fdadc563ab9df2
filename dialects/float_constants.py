"""Floats that are constants in kernels."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa


def constant_float(value: SSAValue) -> float | None:
    """Returns the number that a float is, or a vector of floats in all lanes; None if it is no constant."""
    constant = value.owner
    if not isinstance(constant, arith.ConstantOp):
        return None
    number = constant.value
    if isinstance(number, FloatAttr):
        return number.value.data
    if isa(number, DenseIntOrFPElementsAttr[AnyFloat]) and number.is_splat():
        return number.get_values()[0]
    return None
