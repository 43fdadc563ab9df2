"""
The scalar and vector ops that `sched` bodies and `low` kernels share, on numpy arrays.

Values are arrays (or numpy scalars) of the dtype of their element type, whatever their shape: an i1 is a bool, an
index an int64. Fast-math flags allow other results than these and are ignored. What the ops leave undefined is an
`InterpreterError` where a machine traps (division by 0, the least integer by -1); a shift by the width or more
takes the amount modulo the width, as most machines do and no pass may rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ...dialects import low
from . import numerics
from .errors import InterpreterError, describe
from .numerics import as_signed, as_unsigned, on_signed, on_unsigned
from .numpy_types import BOOL, Array, array_of, dtype_of, is_narrow

Function = Callable[..., Array]
"""What an op computes: its operands' values to its result's."""

Rule = Callable[[Operation], Function]
"""Looks at an op once and returns what it computes."""


def evaluate(op: Operation, operands: Sequence[Array]) -> Array:
    """
    Returns the value of the result of `op`.

    Raises InterpreterError for an op without a rule, and for what the op leaves undefined.
    """
    return function_of(op)(*operands)


def function_of(op: Operation) -> Function:
    """
    Returns what `op` computes.

    Raises InterpreterError for an op without a rule.
    """
    rule = SCALAR_RULES.get(type(op))
    if rule is None:
        raise InterpreterError(f"reference: no rule for {describe(op)}")
    return rule(op)


def _always(function: Function) -> Rule:
    return lambda op: function


def _constant(op: Operation) -> Function:
    assert isinstance(op, arith.ConstantOp)
    value = array_of(op.value)
    return lambda: value


def _divide(lhs: Array, rhs: Array) -> Array:
    """Division towards zero."""
    quotient, rest = np.floor_divide(lhs, rhs), np.remainder(lhs, rhs)
    return quotient + ((rest != 0) & ((lhs < 0) != (rhs < 0))).astype(lhs.dtype)


def _division(function: Function, signed: bool) -> Rule:
    """Checks the operands where they are active; see `GuardedFunction`."""
    compute = on_signed(function) if signed else on_unsigned(function)

    def rule(op: Operation) -> Function:
        def divide(lhs: Array, rhs: Array) -> Array:
            return compute(lhs, rhs)

        return divide

    return rule


def check_division(op: Operation, lhs: Array, rhs: Array) -> None:
    """Raises InterpreterError if an integer division of these operands would trap."""
    if np.any(rhs == 0):
        raise InterpreterError(f"{describe(op)}: division by zero")
    if isinstance(op, arith.DivSIOp | arith.RemSIOp) and lhs.dtype != BOOL:
        least = np.iinfo(lhs.dtype).min
        if np.any((rhs == -1) & (lhs == least)):
            raise InterpreterError(f"{describe(op)}: {least} / -1 overflows {op.operands[0].type}")
