"""The two float formats that functions are expanded in."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class FloatFormat:
    """An IEEE binary format. Integers named `bits` hold an encoded float."""

    name: str
    width: int
    mantissa_bits: int
    """Stored bits of the significand, the leading 1 not counted."""
    bias: int

    @property
    def mantissa_mask(self) -> int:
        return (1 << self.mantissa_bits) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @property
    def high_half_mask(self) -> int:
        """Keeps 12 of 24 or 26 of 53 bits, so that the product of two numbers cut by it is exact."""
        return (1 << self.width) - (1 << ((self.mantissa_bits + 2) // 2))

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @cached_property
    def _struct_codes(self) -> tuple[str, str]:
        return ("<d", "<Q") if self.width == 64 else ("<f", "<I")

    def bits(self, value: float) -> int:
        """Returns the encoding of `value`, which the format holds exactly."""
        float_code, integer_code = self._struct_codes
        return struct.unpack(integer_code, struct.pack(float_code, value))[0]

    def round(self, value: float) -> float:
        """Returns the number of the format nearest to `value`."""
        return struct.unpack(self._struct_codes[0], struct.pack(self._struct_codes[0], value))[0]


F32 = FloatFormat("f32", 32, 23, 127)
F64 = FloatFormat("f64", 64, 52, 1023)
