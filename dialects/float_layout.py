"""How floats are laid out in bits, for all that works on them by integer arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import bf16, f8E4M3, f8E4M3FN, f8E5M2, f16, f32, f64
from xdsl.ir import Attribute


@dataclass(frozen=True)
class FloatLayout:
    """
    A sign, `n_exponent_bits` and `n_mantissa_bits`. All ones in the exponent are an infinity or a NaN; where
    there are no infinities, all ones in the exponent and the mantissa are a NaN, and nothing else is.
    """

    n_exponent_bits: int
    n_mantissa_bits: int
    has_infinity: bool = True

    @cached_property
    def nbits(self) -> int:
        return 1 + self.n_exponent_bits + self.n_mantissa_bits

    @cached_property
    def sign(self) -> int:
        """The bit of the sign, alone."""
        return 1 << self.nbits - 1

    @cached_property
    def bias(self) -> int:
        return (1 << self.n_exponent_bits - 1) - 1

    @cached_property
    def exponents(self) -> int:
        """All bits of the exponent."""
        return (1 << self.n_exponent_bits) - 1 << self.n_mantissa_bits

    @cached_property
    def mantissa(self) -> int:
        """All bits of the mantissa."""
        return (1 << self.n_mantissa_bits) - 1

    @cached_property
    def least_special(self) -> int:
        """The least magnitude that is no number: the infinity if there is one, else the NaN."""
        return self.exponents if self.has_infinity else self.exponents | self.mantissa

    @cached_property
    def quiet_nan(self) -> int:
        """A NaN, the quiet one with a mantissa of one bit where there are several."""
        return self.least_special | 1 << self.n_mantissa_bits - 1

    @cached_property
    def exponent_rounder(self) -> float:
        """A float whose sum with a whole number n has n and twice the exponent's bias as its low bits."""
        return 1.5 * 2.0**self.n_mantissa_bits + 2 * self.bias


F32 = FloatLayout(8, 23)
F64 = FloatLayout(11, 52)

LAYOUTS: dict[Attribute, FloatLayout] = {
    f64: F64,
    f32: F32,
    f16: FloatLayout(5, 10),
    bf16: FloatLayout(8, 7),
    f8E5M2: FloatLayout(5, 2),
    f8E4M3FN: FloatLayout(4, 3, has_infinity=False),
    f8E4M3: FloatLayout(4, 3),
}
"""The layout of each float type."""


@dataclass(frozen=True)
class Rounding:
    """
    The numbers with which a float of layout `wide` is rounded to `narrow`, to nearest even, by arithmetic on
    its bits without the sign.

    * from `overflow` on the result is `narrow.least_special`, and above `wide.exponents` a NaN
    * below `least_normal` it is the bits of the sum of the floats `magnitude` and `magic`, less `magic`
    * else it is `magnitude - rebias + half + odd >> shift`, where `odd` is the last bit that stays; a carry
      out of the mantissa is right, up to infinity
    """

    wide: FloatLayout
    narrow: FloatLayout

    @cached_property
    def shift(self) -> int:
        return self.wide.n_mantissa_bits - self.narrow.n_mantissa_bits

    @cached_property
    def rebias(self) -> int:
        return self.wide.bias - self.narrow.bias << self.wide.n_mantissa_bits

    @cached_property
    def half(self) -> int:
        """Just below half of what the last bit that stays is worth."""
        return (1 << self.shift - 1) - 1

    @cached_property
    def magic(self) -> int:
        """The bits of the number whose last bit is worth the least subnormal of `narrow`."""
        exponent = 1 - self.narrow.bias - self.narrow.n_mantissa_bits + self.wide.n_mantissa_bits
        return max(exponent + self.wide.bias, 1) << self.wide.n_mantissa_bits

    @cached_property
    def least_normal(self) -> int:
        """0 where both have the same exponents: rounding the bits then rounds the subnormals too."""
        if self.wide.n_exponent_bits == self.narrow.n_exponent_bits:
            return 0
        return 1 - self.narrow.bias + self.wide.bias << self.wide.n_mantissa_bits

    @cached_property
    def overflow(self) -> int:
        return (self.narrow.least_special << self.shift) + self.rebias
