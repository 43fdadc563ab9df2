"""
Functions of floats that no arithmetic gives exactly.

Most become an op of `math` (`MATH`), which `expand-math` writes out.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Commutative

from ..types import FLOATS
from .elementwise import BinaryOp, UnaryOp

__all__ = [
    "AcosOp",
    "AcoshOp",
    "AsinOp",
    "AsinhOp",
    "Atan2Op",
    "AtanOp",
    "AtanhOp",
    "CosOp",
    "CoshOp",
    "ErfOp",
    "Exp2Op",
    "ExpOp",
    "Expm1Op",
    "FunctionOp",
    "HypotOp",
    "Log1pOp",
    "Log2Op",
    "Log10Op",
    "LogOp",
    "LogaddexpOp",
    "RecipOp",
    "RsqrtOp",
    "SinOp",
    "SinhOp",
    "SqrtOp",
    "TanOp",
    "TanhOp",
]


class FunctionOp(UnaryOp, ABC):
    """A function of one float."""

    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class ExpOp(FunctionOp):
    """e to the power of each element."""

    name = "graph.exp"
    MATH: ClassVar = math.ExpOp


@irdl_op_definition
class LogOp(FunctionOp):
    """The natural logarithm of each element: -inf for 0, NaN below 0."""

    name = "graph.log"
    MATH: ClassVar = math.LogOp


@irdl_op_definition
class SqrtOp(FunctionOp):
    """The square root of each element: NaN below 0, -0.0 for -0.0."""

    name = "graph.sqrt"
    MATH: ClassVar = math.SqrtOp


@irdl_op_definition
class RsqrtOp(FunctionOp):
    """One divided by the square root of each element: inf for 0, NaN below 0."""

    name = "graph.rsqrt"


@irdl_op_definition
class RecipOp(FunctionOp):
    """One divided by each element: inf and -inf for 0.0 and -0.0."""

    name = "graph.recip"


@irdl_op_definition
class TanhOp(FunctionOp):
    """The hyperbolic tangent of each element."""

    name = "graph.tanh"
    MATH: ClassVar = math.TanhOp


@irdl_op_definition
class ErfOp(FunctionOp):
    """The error function of each element."""

    name = "graph.erf"
    MATH: ClassVar = math.ErfOp


@irdl_op_definition
class SinOp(FunctionOp):
    """The sine of each element, in radians; NaN for inf."""

    name = "graph.sin"
    MATH: ClassVar = math.SinOp


@irdl_op_definition
class CosOp(FunctionOp):
    """The cosine of each element, in radians; NaN for inf."""

    name = "graph.cos"
    MATH: ClassVar = math.CosOp


@irdl_op_definition
class Expm1Op(FunctionOp):
    """e to the power of each element, minus one, accurate near 0 too: -0.0 for -0.0, -1 for -inf."""

    name = "graph.expm1"
    MATH: ClassVar = math.ExpM1Op


@irdl_op_definition
class Exp2Op(FunctionOp):
    """2 to the power of each element; exact for integers."""

    name = "graph.exp2"
    MATH: ClassVar = math.Exp2Op


@irdl_op_definition
class Log1pOp(FunctionOp):
    """
    The natural logarithm of one plus each element, accurate near 0 too: -0.0 for -0.0, -inf for -1, NaN
    below.
    """

    name = "graph.log1p"
    MATH: ClassVar = math.Log1pOp


@irdl_op_definition
class Log2Op(FunctionOp):
    """The logarithm to the base 2 of each element: -inf for 0, NaN below 0; exact for powers of 2."""

    name = "graph.log2"
    MATH: ClassVar = math.Log2Op


@irdl_op_definition
class Log10Op(FunctionOp):
    """The logarithm to the base 10 of each element: -inf for 0, NaN below 0; exact for powers of 10."""

    name = "graph.log10"
    MATH: ClassVar = math.Log10Op


@irdl_op_definition
class TanOp(FunctionOp):
    """The tangent of each element, in radians; NaN for inf."""

    name = "graph.tan"
    MATH: ClassVar = math.TanOp


@irdl_op_definition
class AsinOp(FunctionOp):
    """The angle between -pi/2 and pi/2 whose sine each element is; NaN beyond -1 and 1."""

    name = "graph.asin"
    MATH: ClassVar = math.AsinOp


@irdl_op_definition
class AcosOp(FunctionOp):
    """The angle between 0 and pi whose cosine each element is; NaN beyond -1 and 1."""

    name = "graph.acos"
    MATH: ClassVar = math.AcosOp


@irdl_op_definition
class AtanOp(FunctionOp):
    """The angle between -pi/2 and pi/2 whose tangent each element is."""

    name = "graph.atan"
    MATH: ClassVar = math.AtanOp


@irdl_op_definition
class SinhOp(FunctionOp):
    """The hyperbolic sine of each element."""

    name = "graph.sinh"
    MATH: ClassVar = math.SinhOp


@irdl_op_definition
class CoshOp(FunctionOp):
    """The hyperbolic cosine of each element."""

    name = "graph.cosh"
    MATH: ClassVar = math.CoshOp


@irdl_op_definition
class AsinhOp(FunctionOp):
    """The inverse hyperbolic sine of each element."""

    name = "graph.asinh"
    MATH: ClassVar = math.AsinhOp


@irdl_op_definition
class AcoshOp(FunctionOp):
    """The inverse hyperbolic cosine of each element, which is not negative; NaN below 1."""

    name = "graph.acosh"
    MATH: ClassVar = math.AcoshOp


@irdl_op_definition
class AtanhOp(FunctionOp):
    """The inverse hyperbolic tangent of each element: infinite for 1 and -1, NaN beyond."""

    name = "graph.atanh"
    MATH: ClassVar = math.AtanhOp


@irdl_op_definition
class Atan2Op(BinaryOp):
    """
    The angle of the point (`rhs`, `lhs`) in the plane, between -pi and pi, with the cases of C99 for zeros
    and infinities: pi for (0.0, -0.0), pi/4 for (inf, inf).
    """

    name = "graph.atan2"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = True
    MATH: ClassVar = math.Atan2Op


@irdl_op_definition
class HypotOp(BinaryOp):
    """
    The root of the sum of the squares, without overflow on the way; inf if an operand is infinite, even if
    the other is NaN.
    """

    name = "graph.hypot"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = True
    traits = traits_def(Commutative())


@irdl_op_definition
class LogaddexpOp(BinaryOp):
    """The logarithm of the sum of e to the power of each operand, without overflow on the way."""

    name = "graph.logaddexp"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = True
    traits = traits_def(Commutative())
