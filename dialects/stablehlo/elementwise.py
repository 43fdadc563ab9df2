"""Ops that compute each element from those at the same index."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def
from xdsl.printer import Printer

from .attributes import ComparisonDirectionAttr, ComparisonTypeAttr
from .base import StablehloOp, TypeStyle, WrittenOp
from .clauses import Enum, FloatFormat

__all__ = [
    "AbsOp",
    "AddOp",
    "AndOp",
    "Atan2Op",
    "BitcastConvertOp",
    "CbrtOp",
    "CeilOp",
    "ClampOp",
    "CompareOp",
    "ComplexOp",
    "ConvertOp",
    "CosineOp",
    "CountLeadingZerosOp",
    "DivideOp",
    "ExponentialMinusOneOp",
    "ExponentialOp",
    "FloorOp",
    "ImagOp",
    "IsFiniteOp",
    "LogOp",
    "LogPlusOneOp",
    "LogisticOp",
    "MapOp",
    "MaximumOp",
    "MinimumOp",
    "MultiplyOp",
    "NegateOp",
    "NotOp",
    "OrOp",
    "PopcntOp",
    "PowerOp",
    "RealOp",
    "ReducePrecisionOp",
    "RemainderOp",
    "RoundNearestAfzOp",
    "RoundNearestEvenOp",
    "RsqrtOp",
    "SelectOp",
    "ShiftLeftOp",
    "ShiftRightArithmeticOp",
    "ShiftRightLogicalOp",
    "SignOp",
    "SineOp",
    "SqrtOp",
    "SubtractOp",
    "TanOp",
    "TanhOp",
    "UniformDequantizeOp",
    "UniformQuantizeOp",
    "XorOp",
]


class UnaryOp(WrittenOp, ABC):
    """One operand."""

    N_OPERANDS: ClassVar = 1


class BinaryOp(WrittenOp, ABC):
    """Two operands."""

    N_OPERANDS: ClassVar = 2


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value."""

    name = "stablehlo.abs"


@irdl_op_definition
class CbrtOp(UnaryOp):
    """The cubic root."""

    name = "stablehlo.cbrt"


@irdl_op_definition
class CeilOp(UnaryOp):
    """The least integer that is not below."""

    name = "stablehlo.ceil"


@irdl_op_definition
class ConvertOp(UnaryOp):
    """The same value in another element type."""

    name = "stablehlo.convert"


@irdl_op_definition
class BitcastConvertOp(UnaryOp):
    """The same bits in another element type, along a last axis more or less where it is narrower or wider."""

    name = "stablehlo.bitcast_convert"


@irdl_op_definition
class CosineOp(UnaryOp):
    """The cosine."""

    name = "stablehlo.cosine"


@irdl_op_definition
class CountLeadingZerosOp(UnaryOp):
    """How many zeros there are before the first one, in bits."""

    name = "stablehlo.count_leading_zeros"


@irdl_op_definition
class ExponentialOp(UnaryOp):
    """e to the power of each element."""

    name = "stablehlo.exponential"


@irdl_op_definition
class ExponentialMinusOneOp(UnaryOp):
    """e to the power of each element, less one."""

    name = "stablehlo.exponential_minus_one"


@irdl_op_definition
class FloorOp(UnaryOp):
    """The greatest integer that is not above."""

    name = "stablehlo.floor"


@irdl_op_definition
class ImagOp(UnaryOp):
    """The imaginary part."""

    name = "stablehlo.imag"


@irdl_op_definition
class IsFiniteOp(UnaryOp):
    """Whether an element is neither infinite nor NaN."""

    name = "stablehlo.is_finite"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm."""

    name = "stablehlo.log"


@irdl_op_definition
class LogPlusOneOp(UnaryOp):
    """The natural logarithm of one more."""

    name = "stablehlo.log_plus_one"


@irdl_op_definition
class LogisticOp(UnaryOp):
    """`1 / (1 + exp(-x))`."""

    name = "stablehlo.logistic"


@irdl_op_definition
class NegateOp(UnaryOp):
    """The negative."""

    name = "stablehlo.negate"


@irdl_op_definition
class NotOp(UnaryOp):
    """The complement, of a boolean or of bits."""

    name = "stablehlo.not"


@irdl_op_definition
class PopcntOp(UnaryOp):
    """How many bits are one."""

    name = "stablehlo.popcnt"


@irdl_op_definition
class RealOp(UnaryOp):
    """The real part."""

    name = "stablehlo.real"


@irdl_op_definition
class RoundNearestAfzOp(UnaryOp):
    """The nearest integer, of two the one that is farther from zero."""

    name = "stablehlo.round_nearest_afz"


@irdl_op_definition
class RoundNearestEvenOp(UnaryOp):
    """The nearest integer, of two the even one."""

    name = "stablehlo.round_nearest_even"


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """One divided by the square root."""

    name = "stablehlo.rsqrt"


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1."""

    name = "stablehlo.sign"


@irdl_op_definition
class SineOp(UnaryOp):
    """The sine."""

    name = "stablehlo.sine"


@irdl_op_definition
class SqrtOp(UnaryOp):
    """The square root."""

    name = "stablehlo.sqrt"


@irdl_op_definition
class TanOp(UnaryOp):
    """The tangent."""

    name = "stablehlo.tan"


@irdl_op_definition
class TanhOp(UnaryOp):
    """The hyperbolic tangent."""

    name = "stablehlo.tanh"


@irdl_op_definition
class UniformQuantizeOp(UnaryOp):
    """A float as a quantised number."""

    name = "stablehlo.uniform_quantize"


@irdl_op_definition
class UniformDequantizeOp(UnaryOp):
    """A quantised number as a float."""

    name = "stablehlo.uniform_dequantize"


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum; of booleans their disjunction."""

    name = "stablehlo.add"


@irdl_op_definition
class AndOp(BinaryOp):
    """The conjunction, of booleans or of bits."""

    name = "stablehlo.and"


@irdl_op_definition
class Atan2Op(BinaryOp):
    """The angle of the point (rhs, lhs)."""

    name = "stablehlo.atan2"


@irdl_op_definition
class ComplexOp(BinaryOp):
    """The complex numbers of these parts."""

    name = "stablehlo.complex"
    STYLE: ClassVar = TypeStyle.PARTS


@irdl_op_definition
class DivideOp(BinaryOp):
    """The quotient, of integers towards zero."""

    name = "stablehlo.divide"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The greater element, NaN if one is."""

    name = "stablehlo.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The lesser element, NaN if one is."""

    name = "stablehlo.minimum"


@irdl_op_definition
class MultiplyOp(BinaryOp):
    """The product; of booleans their conjunction."""

    name = "stablehlo.multiply"


@irdl_op_definition
class OrOp(BinaryOp):
    """The disjunction, of booleans or of bits."""

    name = "stablehlo.or"


@irdl_op_definition
class PowerOp(BinaryOp):
    """lhs to the power of rhs."""

    name = "stablehlo.power"


@irdl_op_definition
class RemainderOp(BinaryOp):
    """The remainder, with the sign of lhs."""

    name = "stablehlo.remainder"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """The bits moved up; 0 for amounts beyond the width."""

    name = "stablehlo.shift_left"


@irdl_op_definition
class ShiftRightArithmeticOp(BinaryOp):
    """The bits moved down, with the sign."""

    name = "stablehlo.shift_right_arithmetic"


@irdl_op_definition
class ShiftRightLogicalOp(BinaryOp):
    """The bits moved down, with zeros."""

    name = "stablehlo.shift_right_logical"


@irdl_op_definition
class SubtractOp(BinaryOp):
    """The difference."""

    name = "stablehlo.subtract"


@irdl_op_definition
class XorOp(BinaryOp):
    """The exclusive disjunction, of booleans or of bits."""

    name = "stablehlo.xor"


@irdl_op_definition
class CompareOp(BinaryOp):
    """How two elements compare."""

    name = "stablehlo.compare"
    LEADING: ClassVar = Enum(None, "comparison_direction", ComparisonDirectionAttr)
    CLAUSES: ClassVar = (Enum(None, "compare_type", ComparisonTypeAttr),)
    REQUIRED: ClassVar = ("comparison_direction",)
    comparison_direction = opt_prop_def(ComparisonDirectionAttr)
    compare_type = opt_prop_def(ComparisonTypeAttr)


@irdl_op_definition
class ClampOp(WrittenOp):
    """Each element of the second operand, not below the first nor above the third."""

    name = "stablehlo.clamp"
    N_OPERANDS: ClassVar = 3


@irdl_op_definition
class SelectOp(WrittenOp):
    """The second operand where the first holds, else the third."""

    name = "stablehlo.select"
    N_OPERANDS: ClassVar = 3
    STYLE: ClassVar = TypeStyle.SELECT


@irdl_op_definition
class ReducePrecisionOp(UnaryOp):
    """Each element rounded to a float of so many bits."""

    name = "stablehlo.reduce_precision"
    CLAUSES: ClassVar = (FloatFormat("format", "exponent_bits"),)
    REQUIRED: ClassVar = ("exponent_bits", "mantissa_bits")
    exponent_bits = opt_prop_def()
    mantissa_bits = opt_prop_def()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        exponent, mantissa = self.number("exponent_bits", 0), self.number("mantissa_bits", 0)
        printer.print_string(f", format = e{exponent}m{mantissa}")
        self.print_rest(printer, {"exponent_bits", "mantissa_bits"})


@irdl_op_definition
class MapOp(StablehloOp):
    """What a region makes of the elements of all operands at each index."""

    name = "stablehlo.map"
    N_REGIONS: ClassVar = 1
    dimensions = opt_prop_def()
