"""
The scalar and vector ops that `sched` bodies and `low` kernels share, on numpy arrays.

Values are arrays (or numpy scalars) of the dtype of their element type, whatever their shape: an i1 is a
bool, an index an int64. Fast-math flags allow other results than these and are ignored. What the ops leave
undefined is an `InterpreterError` where a machine traps (division by 0, the least integer by -1); a shift by
the width or more takes the amount modulo the width, as most machines do and no pass may rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation

from ....dialects import graph, low
from ....dialects.element_types import lanes_of
from ....semantics import numerics
from ....semantics.errors import InterpreterError, describe
from ....semantics.numerics import as_signed, as_unsigned, on_signed, on_unsigned
from ....semantics.numpy_types import BOOL, Array, array_of, dtype_of

Function = Callable[..., Array]
"""What an op computes: its operands' values to its result's."""

Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

Rule = Callable[[Operation], Function]
"""Looks at an op once and returns what it computes."""


def evaluate(op: Operation, operands: Sequence[Array]) -> Array:
    """
    Returns the value of the result of `op`.

    Raises InterpreterError for an op without a rule, and for a division that traps.
    """
    if type(op) in DIVISIONS:
        check_division(op, *operands)
    return function_of(op)(*operands)


def function_of(op: Operation) -> Function:
    """
    Returns what `op` computes; divisions are for the caller to check (`check_division`).

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


def _remainder(lhs: Array, rhs: Array) -> Array:
    """The remainder of a division towards zero."""
    rest = np.remainder(lhs, rhs)
    return np.where((rest != 0) & ((lhs < 0) != (rhs < 0)), rest - rhs, rest)


DIVISIONS: frozenset[type[Operation]] = frozenset(
    (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)
)
"""The integer divisions, which trap on some operands."""


def check_division(op: Operation, lhs: Array, rhs: Array) -> None:
    """Raises InterpreterError if an integer division of these operands would trap."""
    if np.any(rhs == 0):
        raise InterpreterError(f"{describe(op)}: division by zero")
    if isinstance(op, arith.DivSIOp | arith.RemSIOp) and lhs.dtype != BOOL:
        least = np.iinfo(lhs.dtype).min
        if np.any((rhs == -1) & (lhs == least)):
            raise InterpreterError(f"{describe(op)}: {least} / -1 overflows")


def _shift(function: Function, signed: bool) -> Function:
    def shift(value: Array, amount: Array) -> Array:
        width = 1 if value.dtype == BOOL else value.dtype.itemsize * 8
        value, amount = (as_signed if signed else as_unsigned)(value), as_unsigned(amount)
        shifted = function(value, (amount & amount.dtype.type(width - 1)).astype(value.dtype))
        return shifted & 1 != 0 if width == 1 else shifted

    def compute(value: Array, amount: Array) -> Array:
        return np.asarray(shift(value, amount)).view(value.dtype)

    return compute


def _is_nan(lhs: Array, rhs: Array) -> Array:
    return (lhs != lhs) | (rhs != rhs)


_CMPF: dict[str, Binary] = {
    "false": lambda lhs, rhs: _is_nan(lhs, rhs) & False,
    "oeq": lambda lhs, rhs: lhs == rhs,
    "ogt": lambda lhs, rhs: lhs > rhs,
    "oge": lambda lhs, rhs: lhs >= rhs,
    "olt": lambda lhs, rhs: lhs < rhs,
    "ole": lambda lhs, rhs: lhs <= rhs,
    "one": lambda lhs, rhs: (lhs < rhs) | (lhs > rhs),
    "ord": lambda lhs, rhs: ~_is_nan(lhs, rhs),
    "ueq": lambda lhs, rhs: ~((lhs < rhs) | (lhs > rhs)),
    "ugt": lambda lhs, rhs: ~(lhs <= rhs),
    "uge": lambda lhs, rhs: ~(lhs < rhs),
    "ult": lambda lhs, rhs: ~(lhs >= rhs),
    "ule": lambda lhs, rhs: ~(lhs > rhs),
    "une": lambda lhs, rhs: lhs != rhs,
    "uno": _is_nan,
    "true": lambda lhs, rhs: _is_nan(lhs, rhs) | True,
}

_CMPI: dict[str, Binary] = {
    "eq": lambda lhs, rhs: lhs == rhs,
    "ne": lambda lhs, rhs: lhs != rhs,
    "slt": lambda lhs, rhs: as_signed(lhs) < as_signed(rhs),
    "sle": lambda lhs, rhs: as_signed(lhs) <= as_signed(rhs),
    "sgt": lambda lhs, rhs: as_signed(lhs) > as_signed(rhs),
    "sge": lambda lhs, rhs: as_signed(lhs) >= as_signed(rhs),
    "ult": lambda lhs, rhs: as_unsigned(lhs) < as_unsigned(rhs),
    "ule": lambda lhs, rhs: as_unsigned(lhs) <= as_unsigned(rhs),
    "ugt": lambda lhs, rhs: as_unsigned(lhs) > as_unsigned(rhs),
    "uge": lambda lhs, rhs: as_unsigned(lhs) >= as_unsigned(rhs),
}


def _cmpf(op: Operation) -> Function:
    assert isinstance(op, arith.CmpfOp)
    return _CMPF[CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]]


def _cmpi(op: Operation) -> Function:
    assert isinstance(op, arith.CmpiOp)
    return _CMPI[CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]]


def _bitcast(op: Operation) -> Unary:
    operand, result = op.operands[0].type, op.results[0].type
    source, dtype = dtype_of(operand), dtype_of(result)
    is_same_size = source.itemsize == dtype.itemsize and (source == BOOL) == (dtype == BOOL)
    if not is_same_size or lanes_of(operand) != lanes_of(result) or isinstance(operand, MemRefType):
        raise InterpreterError(f"{describe(op)}: cannot bitcast {op.operands[0].type} to {result}")
    return lambda value: np.asarray(value).view(dtype)


def _index_cast(op: Operation) -> Unary:
    dtype = dtype_of(op.results[0].type)
    if dtype == BOOL:
        return lambda value: value & 1 != 0
    return lambda value: as_signed(value).astype(dtype)


def _float_cast(op: Operation) -> Unary:
    dtype = dtype_of(op.results[0].type)
    return lambda value: numerics.cast(value, dtype)


def _convert(op: Operation) -> Unary:
    assert isinstance(op, low.ConvertOp)
    kind, dtype = op.conversion.data, dtype_of(op.result.type)
    match kind:
        case low.Conversion.SITOFP:
            return lambda value: numerics.cast(as_signed(value), dtype)
        case low.Conversion.UITOFP:
            return lambda value: numerics.cast(as_unsigned(value), dtype)
        case low.Conversion.FPTOSI | low.Conversion.FPTOUI:
            return _float_to_integer(dtype, kind is low.Conversion.FPTOSI)
        case low.Conversion.EXTSI:
            return lambda value: as_signed(value).astype(dtype)
        case low.Conversion.EXTUI:
            return lambda value: as_unsigned(value).astype(dtype)
        case low.Conversion.TRUNCI:
            if dtype == BOOL:
                return lambda value: value & 1 != 0
            return lambda value: value.astype(dtype)


def _float_to_integer(dtype: np.dtype[np.generic], signed: bool) -> Unary:
    if dtype == BOOL:  # one bit holds -1 and 0, or 0 and 1
        if signed:
            return lambda value: value <= -1
        return lambda value: value >= 1
    held = np.dtype(f"{'i' if signed else 'u'}{dtype.itemsize}")
    return lambda value: np.asarray(numerics.cast(value, held)).view(dtype)


def _where(condition: Array, on_true: Array, on_false: Array) -> Array:
    return np.where(condition, on_true, on_false)


FUNCTIONS: dict[type[Operation], Function] = {
    arith.AddiOp: on_signed(np.add),
    arith.SubiOp: on_signed(np.subtract),
    arith.MuliOp: on_signed(np.multiply),
    arith.DivSIOp: on_signed(_divide),
    arith.DivUIOp: on_unsigned(np.floor_divide),
    arith.RemSIOp: on_signed(_remainder),
    arith.RemUIOp: on_unsigned(np.remainder),
    arith.MinSIOp: on_signed(np.minimum),
    arith.MinUIOp: on_unsigned(np.minimum),
    arith.MaxSIOp: on_signed(np.maximum),
    arith.MaxUIOp: on_unsigned(np.maximum),
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: _shift(np.left_shift, signed=True),
    arith.ShRSIOp: _shift(np.right_shift, signed=True),
    arith.ShRUIOp: _shift(np.right_shift, signed=False),
    arith.AddfOp: numerics.add,
    arith.SubfOp: numerics.subtract,
    arith.MulfOp: numerics.multiply,
    arith.DivfOp: numerics.divide,
    arith.NegfOp: numerics.ELEMENTWISE[graph.NegOp],
    arith.MaximumfOp: numerics.maximum,
    arith.MinimumfOp: numerics.minimum,
    **numerics.MATH,
    low.SelectOp: _where,
    low.RemfOp: numerics.truncated_remainder,
    low.LdexpOp: numerics.ldexp,
}
"""What an op computes that has no attributes to look at."""

SCALAR_RULES: dict[type[Operation], Rule] = {
    **{op: _always(function) for op, function in FUNCTIONS.items()},
    arith.ConstantOp: _constant,
    arith.CmpiOp: _cmpi,
    arith.CmpfOp: _cmpf,
    arith.BitcastOp: _bitcast,
    arith.ExtFOp: _float_cast,
    arith.TruncFOp: _float_cast,
    arith.IndexCastOp: _index_cast,
    low.ConvertOp: _convert,
}
"""Every op of the two levels that computes values from values alone."""
