"""
The arithmetic that expansions are written in: floats, bit patterns and masks with Python's operators.

An expansion is a function of `Float`s. What an operation does is up to the `Arithmetic` its operands belong
to: `emitter.py` writes ops into a kernel, `array_arithmetic.py` computes numpy arrays. Every operation has
exactly one result by IEEE 754 and two's complement, so the two agree bit for bit, and so does every backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, Literal, TypeVar

from ....dialects.float_layout import FloatLayout

T = TypeVar("T")

FloatKind = Literal["addf", "subf", "mulf", "divf", "negf", "absf", "floor", "sqrt"]
IntegerKind = Literal["addi", "subi", "muli", "andi", "ori", "xori", "shli", "shrui"]
Predicate = Literal["oeq", "olt", "uno"]


class Arithmetic(ABC, Generic[T]):
    """
    What the values of an expansion can do, `T` being the values themselves. `format` is the format of all its
    floats; integers are 32 or 64 bits wide and read as unsigned.
    """

    def __init__(self, format: FloatLayout):
        self.format = format

    @abstractmethod
    def float_constant(self, value: float) -> T:
        """Returns `value`, rounded to the format."""

    @abstractmethod
    def integer_constant(self, value: int, width: int) -> T: ...

    @abstractmethod
    def float_operation(self, kind: FloatKind, *operands: T) -> T: ...

    @abstractmethod
    def integer_operation(self, kind: IntegerKind, lhs: T, rhs: T) -> T: ...

    @abstractmethod
    def compare(self, predicate: Predicate, lhs: T, rhs: T) -> T:
        """Compares floats as `arith.cmpf` does."""

    @abstractmethod
    def is_nonzero(self, value: T, width: int) -> T:
        """Returns where an integer is not 0."""

    @abstractmethod
    def combine_masks(self, kind: Literal["andi", "ori", "xori"], lhs: T, rhs: T) -> T: ...

    @abstractmethod
    def select(self, condition: T, on_true: T, on_false: T) -> T: ...

    @abstractmethod
    def choose(self, condition: T, on_true: Sequence[T], otherwise: Callable[[], Sequence[T]]) -> Sequence[T]:
        """
        Returns `on_true` where the condition holds, else what `otherwise` returns, which need not be computed
        where no lane wants it.
        """

    @abstractmethod
    def bits_of_float(self, value: T) -> T: ...

    @abstractmethod
    def float_of_bits(self, value: T) -> T: ...

    @abstractmethod
    def widen(self, value: T) -> T:
        """Extends 32 bits to 64 with zeros."""

    @abstractmethod
    def narrow(self, value: T) -> T:
        """Cuts 64 bits to the low 32."""

    @abstractmethod
    def multiply_add(self, a: T, b: T, c: T) -> T:
        """Returns `a * b + c`, rounded once."""

    @abstractmethod
    def ldexp(self, x: T, n: T) -> T:
        """Returns `x` times 2 to the power of the integer `n`, rounded once, within `low.ldexp`'s limits."""

    def constant(self, value: float) -> Float[T]:
        return Float(self, self.float_constant(value))

    def integer(self, value: int, width: int | None = None) -> Integer[T]:
        """Returns an integer constant, as wide as the floats unless told otherwise."""
        width = self.format.nbits if width is None else width
        return Integer(self, self.integer_constant(value, width), width)


class Float(Generic[T]):
    """A float of an expansion. Numbers beside it in an operation become constants."""

    __slots__ = ("arithmetic", "value")

    def __init__(self, arithmetic: Arithmetic[T], value: T):
        self.arithmetic = arithmetic
        self.value = value

    def _operand(self, other: Float[T] | float) -> T:
        return other.value if isinstance(other, Float) else self.arithmetic.float_constant(other)

    def _apply(self, kind: FloatKind, *operands: T) -> Float[T]:
        return Float(self.arithmetic, self.arithmetic.float_operation(kind, *operands))

    def _compare(self, predicate: Predicate, lhs: T, rhs: T) -> Mask[T]:
        return Mask(self.arithmetic, self.arithmetic.compare(predicate, lhs, rhs))

    def __add__(self, other: Float[T] | float) -> Float[T]:
        return self._apply("addf", self.value, self._operand(other))

    def __sub__(self, other: Float[T] | float) -> Float[T]:
        return self._apply("subf", self.value, self._operand(other))

    def __rsub__(self, other: float) -> Float[T]:
        return self._apply("subf", self._operand(other), self.value)

    def __mul__(self, other: Float[T] | float) -> Float[T]:
        return self._apply("mulf", self.value, self._operand(other))

    def __truediv__(self, other: Float[T] | float) -> Float[T]:
        return self._apply("divf", self.value, self._operand(other))

    def __rtruediv__(self, other: float) -> Float[T]:
        return self._apply("divf", self._operand(other), self.value)

    def __neg__(self) -> Float[T]:
        return self._apply("negf", self.value)

    def __abs__(self) -> Float[T]:
        return self._apply("absf", self.value)

    def floor(self) -> Float[T]:
        return self._apply("floor", self.value)

    def sqrt(self) -> Float[T]:
        """Returns the square root, correctly rounded; NaN below 0."""
        return self._apply("sqrt", self.value)

    def __lt__(self, other: Float[T] | float) -> Mask[T]:
        """Returns where self is less; false where an operand is NaN, as are all comparisons."""
        return self._compare("olt", self.value, self._operand(other))

    def __gt__(self, other: Float[T] | float) -> Mask[T]:
        return self._compare("olt", self._operand(other), self.value)

    def equals(self, other: Float[T] | float) -> Mask[T]:
        return self._compare("oeq", self.value, self._operand(other))

    def is_unordered(self, other: Float[T] | float) -> Mask[T]:
        """Returns where self or `other` is NaN."""
        return self._compare("uno", self.value, self._operand(other))

    def times_plus(self, factor: Float[T] | float, addend: Float[T] | float) -> Float[T]:
        """Returns `self * factor + addend`, rounded once."""
        value = self.arithmetic.multiply_add(self.value, self._operand(factor), self._operand(addend))
        return Float(self.arithmetic, value)

    def ldexp(self, n: Float[T]) -> Float[T]:
        """Returns `self` times 2 to the power of the integer `n`, rounded once."""
        return Float(self.arithmetic, self.arithmetic.ldexp(self.value, n.value))

    def at_most(self, bound: float) -> Float[T]:
        """Returns the smaller of self and `bound`; NaN stays."""
        return (self > bound).select(bound, self)

    def at_least(self, bound: float) -> Float[T]:
        """Returns the greater of self and `bound`; NaN stays."""
        return (self < bound).select(bound, self)

    def with_sign_of(self, other: Float[T]) -> Float[T]:
        """Returns self, which is not negative, with the sign of `other`."""
        return (self.bits() | (other.bits() & self.arithmetic.format.sign)).as_float()

    def polynomial(self, coefficients: Sequence[float]) -> Float[T]:
        """Returns `coefficients[0] + coefficients[1] * self + ...` by Horner's rule."""
        result = self.arithmetic.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = result.times_plus(self, coefficient)
        return result

    def bits(self) -> Integer[T]:
        return Integer(
            self.arithmetic, self.arithmetic.bits_of_float(self.value), self.arithmetic.format.nbits
        )


class Integer(Generic[T]):
    """An unsigned integer of an expansion, 32 or 64 bits wide. It wraps. Shifts must be below the width."""

    __slots__ = ("arithmetic", "value", "width")

    def __init__(self, arithmetic: Arithmetic[T], value: T, width: int):
        self.arithmetic = arithmetic
        self.value = value
        self.width = width

    def _apply(self, kind: IntegerKind, other: Integer[T] | int) -> Integer[T]:
        arithmetic = self.arithmetic
        rhs = other.value if isinstance(other, Integer) else arithmetic.integer_constant(other, self.width)
        return Integer(arithmetic, arithmetic.integer_operation(kind, self.value, rhs), self.width)

    def __add__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("addi", other)

    def __sub__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("subi", other)

    def __mul__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("muli", other)

    def __and__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("andi", other)

    def __or__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("ori", other)

    def __xor__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("xori", other)

    def __lshift__(self, other: Integer[T] | int) -> Integer[T]:
        return self._apply("shli", other)

    def __rshift__(self, other: Integer[T] | int) -> Integer[T]:
        """Shifts zeros in."""
        return self._apply("shrui", other)

    def is_nonzero(self) -> Mask[T]:
        return Mask(self.arithmetic, self.arithmetic.is_nonzero(self.value, self.width))

    def as_float(self) -> Float[T]:
        """Returns the float that these bits encode."""
        return Float(self.arithmetic, self.arithmetic.float_of_bits(self.value))

    def resize(self, width: int) -> Integer[T]:
        """Returns the low `width` bits, or the value extended with zeros."""
        if width == self.width:
            return self
        convert = self.arithmetic.widen if width > self.width else self.arithmetic.narrow
        return Integer(self.arithmetic, convert(self.value), width)


class Mask(Generic[T]):
    """Where something holds."""

    __slots__ = ("arithmetic", "value")

    def __init__(self, arithmetic: Arithmetic[T], value: T):
        self.arithmetic = arithmetic
        self.value = value

    def __and__(self, other: Mask[T]) -> Mask[T]:
        return Mask(self.arithmetic, self.arithmetic.combine_masks("andi", self.value, other.value))

    def __or__(self, other: Mask[T]) -> Mask[T]:
        return Mask(self.arithmetic, self.arithmetic.combine_masks("ori", self.value, other.value))

    def __xor__(self, other: Mask[T]) -> Mask[T]:
        return Mask(self.arithmetic, self.arithmetic.combine_masks("xori", self.value, other.value))

    def select(self, on_true: Float[T] | float, on_false: Float[T] | float) -> Float[T]:
        """Returns `on_true` where the mask holds, else `on_false`."""
        arithmetic = self.arithmetic
        true = on_true.value if isinstance(on_true, Float) else arithmetic.float_constant(on_true)
        false = on_false.value if isinstance(on_false, Float) else arithmetic.float_constant(on_false)
        return Float(arithmetic, arithmetic.select(self.value, true, false))

    def choose(
        self,
        on_true: tuple[Integer[T], Float[T], Float[T]],
        otherwise: Callable[[], tuple[Integer[T], Float[T], Float[T]]],
    ) -> tuple[Integer[T], Float[T], Float[T]]:
        """
        Returns `on_true` where the mask holds, else what `otherwise` returns: for results that are quick to
        compute for most arguments, as `otherwise` is skipped where no lane of a vector wants it.
        """
        arithmetic, width = self.arithmetic, on_true[0].width
        integer, *floats = arithmetic.choose(
            self.value, [value.value for value in on_true], lambda: [value.value for value in otherwise()]
        )
        first, second = (Float(arithmetic, value) for value in floats)
        return Integer(arithmetic, integer, width), first, second

    def select_integer(self, on_true: Integer[T], on_false: Integer[T]) -> Integer[T]:
        value = self.arithmetic.select(self.value, on_true.value, on_false.value)
        return Integer(self.arithmetic, value, on_true.width)
