"""Functions of floats that no arithmetic gives exactly, beside exp, log, tanh, erf, sin, cos and pow."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Commutative

from .elementwise import BinaryOp, UnaryOp
from .types import FLOATS, ElementKind


@irdl_op_definition
class Expm1Op(UnaryOp):
    """
    e to the power of each element, minus one, accurate near 0 too: -0.0 for -0.0, -1 for -inf.

    ```mlir
    %y = graph.expm1 %x : tensor<4xf32>
    ```
    """

    name = "graph.expm1"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class Exp2Op(UnaryOp):
    """
    2 to the power of each element; exact for integers.

    ```mlir
    %y = graph.exp2 %x : tensor<4xf32>
    ```
    """

    name = "graph.exp2"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class Log1pOp(UnaryOp):
    """
    The natural logarithm of one plus each element, accurate near 0 too: -0.0 for -0.0, -inf for -1, NaN
    below.

    ```mlir
    %y = graph.log1p %x : tensor<4xf32>
    ```
    """

    name = "graph.log1p"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class Log2Op(UnaryOp):
    """
    The logarithm to the base 2 of each element: -inf for 0, NaN below 0; exact for powers of 2.

    ```mlir
    %y = graph.log2 %x : tensor<4xf32>
    ```
    """

    name = "graph.log2"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class Log10Op(UnaryOp):
    """
    The logarithm to the base 10 of each element: -inf for 0, NaN below 0; exact for powers of 10.

    ```mlir
    %y = graph.log10 %x : tensor<4xf32>
    ```
    """

    name = "graph.log10"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class TanOp(UnaryOp):
    """
    The tangent of each element, in radians; NaN for inf.

    ```mlir
    %y = graph.tan %x : tensor<4xf32>
    ```
    """

    name = "graph.tan"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AsinOp(UnaryOp):
    """
    The angle between -pi/2 and pi/2 whose sine each element is; NaN beyond -1 and 1.

    ```mlir
    %y = graph.asin %x : tensor<4xf32>
    ```
    """

    name = "graph.asin"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AcosOp(UnaryOp):
    """
    The angle between 0 and pi whose cosine each element is; NaN beyond -1 and 1.

    ```mlir
    %y = graph.acos %x : tensor<4xf32>
    ```
    """

    name = "graph.acos"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AtanOp(UnaryOp):
    """
    The angle between -pi/2 and pi/2 whose tangent each element is.

    ```mlir
    %y = graph.atan %x : tensor<4xf32>
    ```
    """

    name = "graph.atan"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class SinhOp(UnaryOp):
    """
    The hyperbolic sine of each element.

    ```mlir
    %y = graph.sinh %x : tensor<4xf32>
    ```
    """

    name = "graph.sinh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class CoshOp(UnaryOp):
    """
    The hyperbolic cosine of each element.

    ```mlir
    %y = graph.cosh %x : tensor<4xf32>
    ```
    """

    name = "graph.cosh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AsinhOp(UnaryOp):
    """
    The inverse hyperbolic sine of each element.

    ```mlir
    %y = graph.asinh %x : tensor<4xf32>
    ```
    """

    name = "graph.asinh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AcoshOp(UnaryOp):
    """
    The inverse hyperbolic cosine of each element, which is not negative; NaN below 1.

    ```mlir
    %y = graph.acosh %x : tensor<4xf32>
    ```
    """

    name = "graph.acosh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class AtanhOp(UnaryOp):
    """
    The inverse hyperbolic tangent of each element: infinite for 1 and -1, NaN beyond.

    ```mlir
    %y = graph.atanh %x : tensor<4xf32>
    ```
    """

    name = "graph.atanh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class Atan2Op(BinaryOp):
    """
    The angle of the point (`rhs`, `lhs`) in the plane, between -pi and pi, with the cases of C99 for zeros
    and infinities: pi for (0.0, -0.0), pi/4 for (inf, inf).

    ```mlir
    %z = graph.atan2 %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.atan2"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class HypotOp(BinaryOp):
    """
    The root of the sum of the squares, without overflow on the way; inf if an operand is infinite, even if
    the other is NaN.

    ```mlir
    %z = graph.hypot %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.hypot"
    ELEMENTS: ClassVar[ElementKind] = FLOATS
    traits = traits_def(Commutative())


@irdl_op_definition
class LogaddexpOp(BinaryOp):
    """
    The logarithm of the sum of e to the power of each operand, without overflow on the way.

    ```mlir
    %z = graph.logaddexp %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.logaddexp"
    ELEMENTS: ClassVar[ElementKind] = FLOATS
    traits = traits_def(Commutative())
