"""The ops of `chlo` that jax prints, and those that broadcast."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def

from .attributes import ComparisonDirection, ComparisonType, DimensionNumbersAttr, DotAttr, Precision
from .base import TypeStyle, WrittenOp
from .clauses import Int
from .scan import ScanOp

__all__ = [
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "BesselI1eOp",
    "BroadcastAddOp",
    "BroadcastAndOp",
    "BroadcastAtan2Op",
    "BroadcastCompareOp",
    "BroadcastComplexOp",
    "BroadcastDivideOp",
    "BroadcastMaximumOp",
    "BroadcastMinimumOp",
    "BroadcastMultiplyOp",
    "BroadcastNextAfterOp",
    "BroadcastOrOp",
    "BroadcastPolygammaOp",
    "BroadcastPowerOp",
    "BroadcastRemainderOp",
    "BroadcastSelectOp",
    "BroadcastShiftLeftOp",
    "BroadcastShiftRightArithmeticOp",
    "BroadcastShiftRightLogicalOp",
    "BroadcastSubtractOp",
    "BroadcastXorOp",
    "BroadcastZetaOp",
    "ChloComparisonDirectionAttr",
    "ChloComparisonTypeAttr",
    "ChloPrecisionAttr",
    "ConjOp",
    "ConstantLikeOp",
    "ConstantOp",
    "CoshOp",
    "DigammaOp",
    "ErfInvOp",
    "ErfOp",
    "ErfcOp",
    "IsInfOp",
    "IsNegInfOp",
    "IsPosInfOp",
    "LgammaOp",
    "MulhiOp",
    "NextAfterOp",
    "PolygammaOp",
    "RaggedDotAttr",
    "RaggedDotOp",
    "ScanOp",
    "SinhOp",
    "SquareOp",
    "TanOp",
    "TopKOp",
    "ZetaOp",
]


@irdl_attr_definition
class ChloComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    """`#chlo<comparison_direction LT>`."""

    name = "chlo.comparison_direction"


@irdl_attr_definition
class ChloComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    """`#chlo<comparison_type FLOAT>`."""

    name = "chlo.comparison_type"


@irdl_attr_definition
class ChloPrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """`#chlo<precision DEFAULT>`."""

    name = "chlo.precision"


class ChloUnaryOp(WrittenOp, ABC):
    """One operand."""

    N_OPERANDS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.ARROW


class ChloBinaryOp(WrittenOp, ABC):
    """Two operands."""

    N_OPERANDS: ClassVar = 2
    STYLE: ClassVar = TypeStyle.ARROW


class BroadcastingOp(WrittenOp, ABC):
    """Two operands of shapes that broadcast to one."""

    N_OPERANDS: ClassVar = 2
    STYLE: ClassVar = TypeStyle.FUNCTION
    broadcast_dimensions = opt_prop_def()


@irdl_op_definition
class AcosOp(ChloUnaryOp):
    """The angle whose cosine each element is."""

    name = "chlo.acos"


@irdl_op_definition
class AcoshOp(ChloUnaryOp):
    """The inverse of cosh."""

    name = "chlo.acosh"


@irdl_op_definition
class AsinOp(ChloUnaryOp):
    """The angle whose sine each element is."""

    name = "chlo.asin"


@irdl_op_definition
class AsinhOp(ChloUnaryOp):
    """The inverse of sinh."""

    name = "chlo.asinh"


@irdl_op_definition
class AtanOp(ChloUnaryOp):
    """The angle whose tangent each element is."""

    name = "chlo.atan"


@irdl_op_definition
class AtanhOp(ChloUnaryOp):
    """The inverse of tanh."""

    name = "chlo.atanh"


@irdl_op_definition
class BesselI1eOp(ChloUnaryOp):
    """The modified Bessel function of the first kind of order 1, times `exp(-|x|)`."""

    name = "chlo.bessel_i1e"


@irdl_op_definition
class ConjOp(ChloUnaryOp):
    """The complex conjugate."""

    name = "chlo.conj"


@irdl_op_definition
class CoshOp(ChloUnaryOp):
    """The hyperbolic cosine."""

    name = "chlo.cosh"


@irdl_op_definition
class DigammaOp(ChloUnaryOp):
    """The derivative of lgamma."""

    name = "chlo.digamma"


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    """The error function."""

    name = "chlo.erf"


@irdl_op_definition
class ErfInvOp(ChloUnaryOp):
    """The inverse of the error function."""

    name = "chlo.erf_inv"


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    """One less the error function."""

    name = "chlo.erfc"


@irdl_op_definition
class IsInfOp(ChloUnaryOp):
    """Whether an element is infinite."""

    name = "chlo.is_inf"


@irdl_op_definition
class IsNegInfOp(ChloUnaryOp):
    """Whether an element is -inf."""

    name = "chlo.is_neg_inf"


@irdl_op_definition
class IsPosInfOp(ChloUnaryOp):
    """Whether an element is inf."""

    name = "chlo.is_pos_inf"


@irdl_op_definition
class LgammaOp(ChloUnaryOp):
    """The logarithm of the absolute value of the gamma function."""

    name = "chlo.lgamma"


@irdl_op_definition
class SinhOp(ChloUnaryOp):
    """The hyperbolic sine."""

    name = "chlo.sinh"


@irdl_op_definition
class SquareOp(ChloUnaryOp):
    """The square."""

    name = "chlo.square"


@irdl_op_definition
class TanOp(ChloUnaryOp):
    """The tangent."""

    name = "chlo.tan"


@irdl_op_definition
class NextAfterOp(ChloBinaryOp):
    """The next value in the direction of rhs."""

    name = "chlo.next_after"


@irdl_op_definition
class MulhiOp(ChloBinaryOp):
    """The upper half of the product of two integers."""

    name = "chlo.mulhi"


@irdl_op_definition
class PolygammaOp(ChloBinaryOp):
    """The derivative of this order of digamma."""

    name = "chlo.polygamma"


@irdl_op_definition
class ZetaOp(ChloBinaryOp):
    """The Hurwitz zeta function."""

    name = "chlo.zeta"


@irdl_op_definition
class BroadcastAddOp(BroadcastingOp):
    """`add` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_add"


@irdl_op_definition
class BroadcastAndOp(BroadcastingOp):
    """`and` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_and"


@irdl_op_definition
class BroadcastAtan2Op(BroadcastingOp):
    """`atan2` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_atan2"


@irdl_op_definition
class BroadcastComplexOp(BroadcastingOp):
    """`complex` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_complex"


@irdl_op_definition
class BroadcastDivideOp(BroadcastingOp):
    """`divide` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_divide"


@irdl_op_definition
class BroadcastMaximumOp(BroadcastingOp):
    """`maximum` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_maximum"


@irdl_op_definition
class BroadcastMinimumOp(BroadcastingOp):
    """`minimum` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_minimum"


@irdl_op_definition
class BroadcastMultiplyOp(BroadcastingOp):
    """`multiply` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_multiply"


@irdl_op_definition
class BroadcastNextAfterOp(BroadcastingOp):
    """`next_after` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_next_after"


@irdl_op_definition
class BroadcastOrOp(BroadcastingOp):
    """`or` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_or"


@irdl_op_definition
class BroadcastPolygammaOp(BroadcastingOp):
    """`polygamma` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_polygamma"


@irdl_op_definition
class BroadcastPowerOp(BroadcastingOp):
    """`power` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_power"


@irdl_op_definition
class BroadcastRemainderOp(BroadcastingOp):
    """`remainder` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_remainder"


@irdl_op_definition
class BroadcastShiftLeftOp(BroadcastingOp):
    """`shift_left` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_shift_left"


@irdl_op_definition
class BroadcastShiftRightArithmeticOp(BroadcastingOp):
    """`shift_right_arithmetic` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_shift_right_arithmetic"


@irdl_op_definition
class BroadcastShiftRightLogicalOp(BroadcastingOp):
    """`shift_right_logical` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_shift_right_logical"


@irdl_op_definition
class BroadcastSubtractOp(BroadcastingOp):
    """`subtract` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_subtract"


@irdl_op_definition
class BroadcastXorOp(BroadcastingOp):
    """`xor` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_xor"


@irdl_op_definition
class BroadcastZetaOp(BroadcastingOp):
    """`zeta` of two operands that are repeated to one shape."""

    name = "chlo.broadcast_zeta"


@irdl_op_definition
class BroadcastCompareOp(BroadcastingOp):
    """How two elements compare that are repeated to one shape."""

    name = "chlo.broadcast_compare"
    REQUIRED: ClassVar = ("comparison_direction",)
    comparison_direction = opt_prop_def(ChloComparisonDirectionAttr)
    compare_type = opt_prop_def(ChloComparisonTypeAttr)


@irdl_op_definition
class BroadcastSelectOp(WrittenOp):
    """`select` of operands that are repeated to one shape."""

    name = "chlo.broadcast_select"
    N_OPERANDS: ClassVar = 3
    STYLE: ClassVar = TypeStyle.FUNCTION


@irdl_op_definition
class ConstantOp(WrittenOp):
    """A constant."""

    name = "chlo.constant"
    N_OPERANDS: ClassVar = 0
    REQUIRED: ClassVar = ("value",)
    value = opt_prop_def()


@irdl_op_definition
class ConstantLikeOp(WrittenOp):
    """A constant of the shape of its operand."""

    name = "chlo.constant_like"
    N_OPERANDS: ClassVar = 1
    REQUIRED: ClassVar = ("value",)
    value = opt_prop_def()


@irdl_op_definition
class TopKOp(WrittenOp):
    """The greatest elements along the last dim, and where they are."""

    name = "chlo.top_k"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = 2
    STYLE: ClassVar = TypeStyle.ARROW
    IN_PARENS: ClassVar = True
    CLAUSES: ClassVar = (Int("k", "k"),)
    REQUIRED: ClassVar = ("k",)
    k = opt_prop_def()


@irdl_attr_definition
class RaggedDotAttr(DimensionNumbersAttr):
    """`#chlo.ragged_dot<lhs_contracting_dimensions = [1], ..., lhs_ragged_dimensions = [0], ...>`."""

    name = "chlo.ragged_dot"
    LISTS: ClassVar = (*DotAttr.LISTS, "lhs_ragged_dimensions", "rhs_group_dimensions")


@irdl_op_definition
class RaggedDotOp(WrittenOp):
    """Products of groups of rows with a matrix each."""

    name = "chlo.ragged_dot"
    N_OPERANDS: ClassVar = 3
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("ragged_dot_dimension_numbers",)
    ragged_dot_dimension_numbers = opt_prop_def(RaggedDotAttr)
    precision_config = opt_prop_def()
