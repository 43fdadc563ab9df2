"""Ops that compute each element of the result from the elements of the operands at the same index."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Self

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from .base import ElementwiseOp, check_exact_result, check_result, fastmath_properties
from .elementwise_format import parse_elementwise, print_elementwise
from .types import (
    ANY,
    BITS,
    FLOATS,
    INTEGERS,
    NUMBERS,
    TENSOR,
    TENSOR_T,
    Computed,
    ElementKind,
    shape_of,
    tensor_of,
    tensor_type_of,
    with_booleans,
)


class FlaggedOp(ElementwiseOp, ABC):
    """Operands of one type, fast-math flags, and a result of that type."""

    N_OPERANDS: ClassVar[int]
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(TENSOR_T)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands, properties, attributes, type = parse_elementwise(parser, cls.name, cls.N_OPERANDS)
        return cls.create(
            operands=operands, result_types=(type,), properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        print_elementwise(self, printer)


class UnaryOp(FlaggedOp, ABC):
    """One operand, and a result of its type."""

    N_OPERANDS: ClassVar[int] = 1
    source = operand_def(TENSOR_T)

    def __init__(self, source: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(source,), result_types=(source.type,), properties=fastmath_properties(fastmath)
        )


class BinaryOp(FlaggedOp, ABC):
    """Two operands of one type, and a result of that type."""

    N_OPERANDS: ClassVar[int] = 2
    lhs = operand_def(TENSOR_T)
    rhs = operand_def(TENSOR_T)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(lhs, rhs), result_types=(lhs.type,), properties=fastmath_properties(fastmath)
        )


class CompareOp(ElementwiseOp, ABC):
    """Two operands of one type, and a result of i1."""

    lhs = operand_def(TENSOR_T)
    rhs = operand_def(TENSOR_T)
    result = result_def(Computed(with_booleans, ("T",)))
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        result_type = with_booleans(tensor_type_of(lhs, self.name))
        Operation.__init__(self, operands=(lhs, rhs), result_types=(result_type,))

    def verify_(self) -> None:
        operand_type = tensor_type_of(self.lhs, self.name)
        check_exact_result(self, with_booleans(operand_type), f"i1 for each element of {operand_type}")


@irdl_op_definition
class NegOp(UnaryOp):
    """
    The negative of each element; the least integer stays itself, unsigned ones wrap.

    ```mlir
    %y = graph.neg %x : tensor<4xf32>
    ```
    """

    name = "graph.neg"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class AbsOp(UnaryOp):
    """
    The absolute value of each element; the least integer stays itself.

    ```mlir
    %y = graph.abs %x : tensor<4xf32>
    ```
    """

    name = "graph.abs"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class ExpOp(UnaryOp):
    """
    e to the power of each element.

    ```mlir
    %y = graph.exp %x : tensor<4xf32>
    ```
    """

    name = "graph.exp"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class LogOp(UnaryOp):
    """
    The natural logarithm of each element: -inf for 0, NaN below 0.

    ```mlir
    %y = graph.log %x : tensor<4xf32>
    ```
    """

    name = "graph.log"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class SqrtOp(UnaryOp):
    """
    The square root of each element: NaN below 0, -0.0 for -0.0.

    ```mlir
    %y = graph.sqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.sqrt"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class RsqrtOp(UnaryOp):
    """
    One divided by the square root of each element: inf for 0, NaN below 0.

    ```mlir
    %y = graph.rsqrt %x : tensor<4xf32>
    ```
    """

    name = "graph.rsqrt"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class RecipOp(UnaryOp):
    """
    One divided by each element: inf and -inf for 0.0 and -0.0.

    ```mlir
    %y = graph.recip %x : tensor<4xf32>
    ```
    """

    name = "graph.recip"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class TanhOp(UnaryOp):
    """
    The hyperbolic tangent of each element.

    ```mlir
    %y = graph.tanh %x : tensor<4xf32>
    ```
    """

    name = "graph.tanh"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class ErfOp(UnaryOp):
    """
    The error function of each element.

    ```mlir
    %y = graph.erf %x : tensor<4xf32>
    ```
    """

    name = "graph.erf"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class SinOp(UnaryOp):
    """
    The sine of each element, in radians; NaN for inf.

    ```mlir
    %y = graph.sin %x : tensor<4xf32>
    ```
    """

    name = "graph.sin"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class CosOp(UnaryOp):
    """
    The cosine of each element, in radians; NaN for inf.

    ```mlir
    %y = graph.cos %x : tensor<4xf32>
    ```
    """

    name = "graph.cos"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class FloorOp(UnaryOp):
    """
    The largest integer that is not above each element.

    ```mlir
    %y = graph.floor %x : tensor<4xf32>
    ```
    """

    name = "graph.floor"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class CeilOp(UnaryOp):
    """
    The least integer that is not below each element.

    ```mlir
    %y = graph.ceil %x : tensor<4xf32>
    ```
    """

    name = "graph.ceil"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class TruncOp(UnaryOp):
    """
    Each element rounded to an integer towards zero.

    ```mlir
    %y = graph.trunc %x : tensor<4xf32>
    ```
    """

    name = "graph.trunc"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class RoundOp(UnaryOp):
    """
    The integer nearest to each element, the even one of two; the sign stays, so that -0.3 becomes -0.0.

    ```mlir
    %y = graph.round %x : tensor<4xf32>
    ```
    """

    name = "graph.round"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class SignOp(UnaryOp):
    """
    -1, 0 or 1 as each element is below, equal to or above 0: 0.0 for -0.0, NaN for NaN.

    ```mlir
    %y = graph.sign %x : tensor<4xf32>
    ```
    """

    name = "graph.sign"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class ReluOp(UnaryOp):
    """
    The larger of each element and zero; NaN stays NaN, -0.0 becomes 0.0.

    ```mlir
    %y = graph.relu %x : tensor<4xf32>
    ```
    """

    name = "graph.relu"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class NotOp(UnaryOp):
    """
    The complement of each element: all bits of an integer flipped, true and false exchanged.

    ```mlir
    %y = graph.not %x : tensor<4xi1>
    ```
    """

    name = "graph.not"
    ELEMENTS: ClassVar[ElementKind] = BITS


@irdl_op_definition
class AddOp(BinaryOp):
    """
    The sum, element by element; integers wrap.

    ```mlir
    %z = graph.add %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.add"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS
    traits = traits_def(Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """
    The difference, element by element; integers wrap.

    ```mlir
    %z = graph.sub %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.sub"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class MulOp(BinaryOp):
    """
    The product, element by element; integers wrap.

    ```mlir
    %z = graph.mul %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.mul"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS
    traits = traits_def(Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    """
    The quotient, element by element. Integers: rounded down; 0 for division by 0; min / -1 wraps.

    ```mlir
    %z = graph.div %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.div"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class ModOp(BinaryOp):
    """
    The remainder with the sign of the divisor (`np.mod`), element by element. Integers: 0 for division by 0.

    ```mlir
    %z = graph.mod %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.mod"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class FloordivOp(BinaryOp):
    """
    The quotient of floats rounded down (`np.floor_divide`), consistent with `mod`: infinite or NaN for
    division by 0. The `div` of integers is rounded down already.

    ```mlir
    %z = graph.floordiv %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.floordiv"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class TruncdivOp(BinaryOp):
    """
    The quotient of integers rounded towards zero, as C divides: 0 for division by 0, min / -1 wraps.

    ```mlir
    %z = graph.truncdiv %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.truncdiv"
    ELEMENTS: ClassVar[ElementKind] = INTEGERS


@irdl_op_definition
class RemOp(BinaryOp):
    """
    The remainder with the sign of the dividend (C's `fmod` and `%`), element by element. Integers: 0 for
    division by 0.

    ```mlir
    %z = graph.rem %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.rem"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class PowOp(BinaryOp):
    """
    `lhs` to the power of `rhs`, element by element. Integers wrap; a negative exponent gives 0 except for
    the bases 1 and -1.

    ```mlir
    %z = graph.pow %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.pow"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS


@irdl_op_definition
class CopysignOp(BinaryOp):
    """
    The magnitude of `lhs` with the sign of `rhs`, also of zeros and NaN.

    ```mlir
    %z = graph.copysign %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.copysign"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class NextafterOp(BinaryOp):
    """
    The next value of the element type after `lhs` in the direction of `rhs`; `rhs` where they are equal, NaN
    where one of them is. Past the greatest finite value it is infinite, or NaN in a type without infinities.

    ```mlir
    %z = graph.nextafter %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.nextafter"
    ELEMENTS: ClassVar[ElementKind] = FLOATS


@irdl_op_definition
class MaxOp(BinaryOp):
    """
    The larger element; NaN wins, and 0.0 is larger than -0.0.

    ```mlir
    %z = graph.max %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.max"
    ELEMENTS: ClassVar[ElementKind] = ANY
    traits = traits_def(Commutative())


@irdl_op_definition
class MinOp(BinaryOp):
    """
    The smaller element; NaN wins, and -0.0 is smaller than 0.0.

    ```mlir
    %z = graph.min %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.min"
    ELEMENTS: ClassVar[ElementKind] = ANY
    traits = traits_def(Commutative())


@irdl_op_definition
class AndOp(BinaryOp):
    """
    The conjunction of booleans or of the bits of integers.

    ```mlir
    %z = graph.and %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.and"
    ELEMENTS: ClassVar[ElementKind] = BITS
    traits = traits_def(Commutative())


@irdl_op_definition
class OrOp(BinaryOp):
    """
    The disjunction of booleans or of the bits of integers.

    ```mlir
    %z = graph.or %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.or"
    ELEMENTS: ClassVar[ElementKind] = BITS
    traits = traits_def(Commutative())


@irdl_op_definition
class XorOp(BinaryOp):
    """
    The exclusive disjunction of booleans or of the bits of integers.

    ```mlir
    %z = graph.xor %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.xor"
    ELEMENTS: ClassVar[ElementKind] = BITS
    traits = traits_def(Commutative())


@irdl_op_definition
class ShlOp(BinaryOp):
    """
    The bits of `lhs` moved up by `rhs`: 0 for amounts that are negative or not below the width.

    ```mlir
    %z = graph.shl %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.shl"
    ELEMENTS: ClassVar[ElementKind] = INTEGERS


@irdl_op_definition
class ShrOp(BinaryOp):
    """
    The bits of `lhs` moved down by `rhs`, keeping the sign. Amounts that are negative or not below the width
    give 0 for unsigned integers, else 0 or -1 by the sign.

    ```mlir
    %z = graph.shr %x, %y : tensor<4xi32>
    ```
    """

    name = "graph.shr"
    ELEMENTS: ClassVar[ElementKind] = INTEGERS


@irdl_op_definition
class EqOp(CompareOp):
    """
    Whether the elements are equal; NaN equals nothing.

    ```mlir
    %c = graph.eq %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.eq"
    traits = traits_def(Commutative())


@irdl_op_definition
class NeOp(CompareOp):
    """
    Whether the elements differ; NaN differs from everything.

    ```mlir
    %c = graph.ne %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.ne"
    traits = traits_def(Commutative())


@irdl_op_definition
class LtOp(CompareOp):
    """
    Whether `lhs` is less than `rhs`; false for NaN. False is less than true.

    ```mlir
    %c = graph.lt %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.lt"


@irdl_op_definition
class LeOp(CompareOp):
    """
    Whether `lhs` is less than or equal to `rhs`; false for NaN.

    ```mlir
    %c = graph.le %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.le"


@irdl_op_definition
class GtOp(CompareOp):
    """
    Whether `lhs` is greater than `rhs`; false for NaN.

    ```mlir
    %c = graph.gt %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.gt"


@irdl_op_definition
class GeOp(CompareOp):
    """
    Whether `lhs` is greater than or equal to `rhs`; false for NaN.

    ```mlir
    %c = graph.ge %x, %y : tensor<4xf32>
    ```
    """

    name = "graph.ge"


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """
    `on_true` where `condition` holds, else `on_false`.

    ```mlir
    %r = graph.select %c, %x, %y : tensor<4xf32>
    ```

    `%c` is a `tensor<4xi1>`.
    """

    name = "graph.select"
    condition = operand_def(Computed(with_booleans, ("T",)))
    on_true = operand_def(TENSOR_T)
    on_false = operand_def(TENSOR_T)
    result = result_def(TENSOR_T)
    assembly_format = "$condition `,` $on_true `,` $on_false attr-dict `:` type($result)"

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue):
        Operation.__init__(self, operands=(condition, on_true, on_false), result_types=(on_true.type,))

    def verify_(self) -> None:
        found, result = self.condition.type, tensor_type_of(self.result, self.name)
        wanted = with_booleans(result)
        if found != wanted:
            raise VerifyException(
                f"{self.name}: condition is {found}, expected {wanted} (i1 for each element of {result})"
            )


@irdl_op_definition
class FmaOp(FlaggedOp):
    """
    `a * b + c`, rounded once.

    ```mlir
    %r = graph.fma %x, %y, %z : tensor<4xf32>
    ```
    """

    name = "graph.fma"
    ELEMENTS: ClassVar[ElementKind] = FLOATS
    N_OPERANDS: ClassVar[int] = 3
    a = operand_def(TENSOR_T)
    b = operand_def(TENSOR_T)
    c = operand_def(TENSOR_T)

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(a, b, c), result_types=(a.type,), properties=fastmath_properties(fastmath)
        )


@irdl_op_definition
class CastOp(ElementwiseOp):
    """
    Each element converted to another element type. Float to integer: towards zero, saturating, 0 for NaN;
    integer to integer: the low bits; to i1: whether the element is not 0; else rounded to nearest.

    ```mlir
    %y = graph.cast %x : tensor<4xi32> -> tensor<4xf32>
    ```
    """

    name = "graph.cast"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: TensorType[Any]):
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        expected = tensor_of(result.element_type, shape_of(source))
        check_result(self, expected, f"the shape of {source}")


@irdl_op_definition
class BitcastOp(ElementwiseOp):
    """
    The bits of each element read as another element type of the same width. The bits of a NaN stay what they
    are, unless an op between computed it: which NaN arithmetic gives is not said.

    ```mlir
    %y = graph.bitcast %x : tensor<4xf32> -> tensor<4xui32>
    ```
    """

    name = "graph.bitcast"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: TensorType[Any]):
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        expected = tensor_of(result.element_type, shape_of(source))
        check_result(self, expected, f"the shape of {source}")
        found, wanted = result.element_type.bitwidth, source.element_type.bitwidth
        if found != wanted:
            raise VerifyException(
                f"{self.name}: cannot read {source} as {result} ({wanted} bits, {found} bits)"
            )
