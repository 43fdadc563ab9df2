"""
Which expansion an op of exp gets: all have the bits of `exp`, as far as they are asked for, and those of
fewer results take fewer instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.float_constants import constant_float
from ....dialects.float_layout import LAYOUTS
from ....dialects.low.not_positive import is_of_not_positive
from .exp import exp, exp_of_not_positive, exp_or_tiny

_NBYTES_OF_SCALEF = 64
"""Vectors of so many bytes are those of AVX-512, in which `low.ldexp` is one instruction."""

_GREAT = 2.0**-60
"""Numbers of this size and more are what they were when `exp_or_tiny`'s least result is added to them."""


def expansion_of_exp(op: math.ExpOp) -> Callable[..., Any]:
    """Returns the expansion for what is known of the operand of `op`, and of what its result is used for."""
    if is_of_not_positive(op) or _is_less_a_magnitude(op.operand):
        return exp_of_not_positive
    has_scalef = _nbytes_of(op.result.type) == _NBYTES_OF_SCALEF
    if not has_scalef and all(_adds_great_constant(use.operation) for use in op.result.uses):
        return exp_or_tiny
    return exp


def _nbytes_of(type: Attribute) -> int:
    return (lanes_of(type) or 1) * LAYOUTS[element_type_of(type)].nbits // 8


def _is_less_a_magnitude(value: SSAValue) -> bool:
    """Returns whether a float is -|x|."""
    negation = value.owner
    return isinstance(negation, arith.NegfOp) and isinstance(negation.operand.owner, math.AbsFOp)


def _adds_great_constant(user: Operation) -> bool:
    """Returns whether an op is a sum with a constant of the size of `_GREAT` or more, and nothing else."""
    if not isinstance(user, arith.AddfOp) or user.fastmath.data:
        return False
    constants = [constant_float(operand) for operand in user.operands]
    return any(constant is not None and abs(constant) >= _GREAT for constant in constants)
