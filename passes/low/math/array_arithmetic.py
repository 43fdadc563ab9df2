"""Expansions computed on numpy arrays: what a kernel computes, without a kernel. Used to measure accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ....dialects.float_layout import F32, F64
from ....semantics.fused_multiply_add import fma
from ....semantics.numerics import ldexp
from .arithmetic import Arithmetic, Float, FloatKind, IntegerKind, Predicate

Array = npt.NDArray[Any]

_FLOAT_OPERATIONS: dict[FloatKind, Callable[..., Array]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "negf": np.negative,
    "absf": np.abs,
    "floor": np.floor,
    "sqrt": np.sqrt,
}
_INTEGER_OPERATIONS: dict[IntegerKind, Callable[..., Array]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "shli": np.left_shift,
    "shrui": np.right_shift,
}


class ArrayArithmetic(Arithmetic[Array]):
    """Computes arrays of f32 or f64. Arrays have one shape, constants are zero-dimensional."""

    def float_constant(self, value: float) -> Array:
        return np.asarray(value, dtype=np.float64 if self.format is F64 else np.float32)

    def integer_constant(self, value: int, width: int) -> Array:
        return np.asarray(value, dtype=np.uint64 if width == 64 else np.uint32)

    def float_operation(self, kind: FloatKind, *operands: Array) -> Array:
        return _FLOAT_OPERATIONS[kind](*operands)

    def multiply_add(self, a: Array, b: Array, c: Array) -> Array:
        return fma(a, b, c)

    def ldexp(self, x: Array, n: Array) -> Array:
        return ldexp(x, n)

    def integer_operation(self, kind: IntegerKind, lhs: Array, rhs: Array) -> Array:
        return _INTEGER_OPERATIONS[kind](lhs, rhs)

    def compare(self, predicate: Predicate, lhs: Array, rhs: Array) -> Array:
        if predicate == "uno":
            return np.isnan(lhs) | np.isnan(rhs)
        return np.equal(lhs, rhs) if predicate == "oeq" else np.less(lhs, rhs)

    def is_nonzero(self, value: Array, width: int) -> Array:
        return np.not_equal(value, 0)

    def combine_masks(self, kind: Literal["andi", "ori", "xori"], lhs: Array, rhs: Array) -> Array:
        return _INTEGER_OPERATIONS[kind](lhs, rhs)

    def select(self, condition: Array, on_true: Array, on_false: Array) -> Array:
        return np.where(condition, on_true, on_false)

    def choose(
        self, condition: Array, on_true: Sequence[Array], otherwise: Callable[[], Sequence[Array]]
    ) -> Sequence[Array]:
        return [np.where(condition, *pair) for pair in zip(on_true, otherwise(), strict=True)]

    def bits_of_float(self, value: Array) -> Array:
        return np.asarray(value).view(np.uint64 if self.format is F64 else np.uint32)

    def float_of_bits(self, value: Array) -> Array:
        return np.asarray(value).view(np.float64 if self.format is F64 else np.float32)

    def widen(self, value: Array) -> Array:
        return np.asarray(value).astype(np.uint64)

    def narrow(self, value: Array) -> Array:
        return np.asarray(value).astype(np.uint32)


def evaluate(function: Callable[..., Float[Array]], *arrays: Array) -> Array:
    """Returns `function`, an expansion, of arrays of f32 or of f64."""
    arithmetic = ArrayArithmetic(F64 if arrays[0].dtype == np.float64 else F32)
    with np.errstate(all="ignore"):
        return function(*(Float(arithmetic, array) for array in arrays)).value
