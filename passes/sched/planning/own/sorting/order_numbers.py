"""Numbers without a sign that are in the order of the elements, for sorts that compare no elements."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from ......dialects import low
from ......dialects.element_types import NBYTES, compute_type, is_float, is_unsigned, storage_type, width_of
from .....scalar.ops import cmpf, cmpi, convert, select
from .....scalar.rules import to_storage
from ...code import KernelCode
from ..ordering import key


class OrderNumbers:
    """
    Makes an i32 or i64 of an element of a type: for floats the bits, of which the sign turns all the others
    around. Where the order is a descending one, all bits are turned around once more. Numbers have `nbits`
    bits: those of integers no more than the integers have.
    """

    def __init__(self, element_type: Attribute, is_descending: bool):
        self.element_type, self.is_descending = element_type, is_descending
        self.storage = storage_type(element_type)
        self.type = i64 if NBYTES[self.storage] == 8 else i32
        self.nbits = width_of(self.type if is_float(element_type) else self.storage)

    @property
    def has_special(self) -> bool:
        """Whether there are elements that are equal, or come last, and have several numbers."""
        return is_float(self.element_type)

    @property
    def significand(self) -> int:
        """How many bits of a float's number are those of the significand."""
        return {32: 23, 64: 52}[self.nbits]

    @property
    def infinity(self) -> int:
        """The bits of the float infinity."""
        return ((1 << (self.nbits - 1 - self.significand)) - 1) << self.significand

    def of(self, code: KernelCode, stored: SSAValue) -> SSAValue:
        """Returns the number of a stored element: of -0.0 that below 0.0's, of NaN those at the ends."""
        b, value = code.b, key(code, stored, self.element_type)
        if is_float(self.element_type):
            number = self._turn(code, b.op(arith.BitcastOp, value, result_type=self.type))
        else:
            number = self._widened(code, value)
        return b.op(arith.XOrIOp, number, self._ones(code)) if self.is_descending else number

    def one_of(self, code: KernelCode, stored: SSAValue) -> SSAValue:
        """Returns the number of a stored element, the same one for all that are equal, the last for NaN."""
        if not self.has_special:
            return self.of(code, stored)
        b, value = code.b, key(code, stored, self.element_type)
        bits = b.op(arith.BitcastOp, value, result_type=self.type)
        is_zero = cmpf(b, "oeq", value, b.constant(0.0, value.type))
        number = self._turn(code, select(b, is_zero, b.constant(0, self.type), bits))
        if self.is_descending:
            number = b.op(arith.XOrIOp, number, self._ones(code))
        return select(b, cmpf(b, "uno", value, value), self._ones(code), number)

    def stored(self, code: KernelCode, number: SSAValue) -> SSAValue:
        """Returns the stored element that has a number."""
        b = code.b
        if self.is_descending:
            number = b.op(arith.XOrIOp, number, self._ones(code))
        if is_float(self.element_type):
            bits = b.op(
                arith.XOrIOp, number, b.op(arith.OrIOp, self._below(code, number), self._lowest(code))
            )
            value = b.op(arith.BitcastOp, bits, result_type=compute_type(self.element_type))
            return to_storage(b, value, self.element_type, self.storage)
        if self._is_signed:
            number = b.op(arith.XOrIOp, number, self._lowest(code))
        if self.nbits < width_of(self.type):
            return convert(b, low.Conversion.TRUNCI, number, self.storage)
        return number

    def magnitude(self, code: KernelCode, number: SSAValue) -> SSAValue:
        """Returns the bits of a float's number without the sign: those of the float where it is no NaN."""
        b = code.b
        turned = b.op(arith.XOrIOp, number, self._below(code, number))
        return b.op(arith.AndIOp, turned, self._constant(code, (1 << (self.nbits - 1)) - 1))

    def is_special(self, code: KernelCode, number: SSAValue) -> SSAValue:
        """
        Returns whether a number is that of -0.0 or of a NaN; in ascending order, of one that is not the usual
        one, which comes last as it is.
        """
        b = code.b
        infinity = self.infinity
        half = 1 << (self.nbits - 1)
        lowest, extent = half - infinity - 1, 2 * infinity + 1
        minus_zero = half if self.is_descending else half - 1
        above = code.integer(arith.SubiOp, number, self._constant(code, lowest))
        is_nan = cmpi(b, "ugt", above, self._constant(code, extent))
        if not self.is_descending:
            usual = half + infinity + (1 << (self.significand - 1))
            is_other = cmpi(b, "ne", number, self._constant(code, usual))
            is_nan = b.op(arith.AndIOp, is_nan, is_other)
        is_zero = cmpi(b, "eq", number, self._constant(code, minus_zero))
        return b.op(arith.OrIOp, is_nan, is_zero)

    def _below(self, code: KernelCode, number: SSAValue) -> SSAValue:
        """Returns ones where a number is below that of zero, the lowest of those above it, else zeros."""
        b = code.b
        sign = b.op(arith.ShRSIOp, number, b.constant(self.nbits - 1, self.type))
        return b.op(arith.XOrIOp, sign, self._ones(code))

    def _turn(self, code: KernelCode, bits: SSAValue) -> SSAValue:
        b = code.b
        sign = b.op(arith.ShRSIOp, bits, b.constant(self.nbits - 1, self.type))
        return b.op(arith.XOrIOp, bits, b.op(arith.OrIOp, sign, self._lowest(code)))

    def _widened(self, code: KernelCode, value: SSAValue) -> SSAValue:
        b = code.b
        if width_of(value.type) < width_of(self.type):
            value = convert(b, low.Conversion.EXTUI, value, self.type)
        return b.op(arith.XOrIOp, value, self._lowest(code)) if self._is_signed else value

    @property
    def _is_signed(self) -> bool:
        return not is_unsigned(self.element_type) and self.element_type != i1

    def _lowest(self, code: KernelCode) -> SSAValue:
        """The number of which only the sign's bit is set."""
        return self._constant(code, 1 << (self.nbits - 1))

    def _ones(self, code: KernelCode) -> SSAValue:
        return self._constant(code, (1 << self.nbits) - 1)

    def _constant(self, code: KernelCode, number: int) -> SSAValue:
        """The integer that has the bits of a number without a sign."""
        width = width_of(self.type)
        return code.b.constant(number - (1 << width) if number >> (width - 1) else number, self.type)
