"""
Ops that compute each element of the result from the elements of the operands at the same index.

A class is the first part of an op's row: the types it takes (`ELEMENTS`), whether it is worth a store to not
do it twice (`IS_HEAVY`), and the op of `math` that computes it, if one does (`MATH`). The other parts are its
meaning in `semantics/numerics.py`, its scalar code in `passes/scalar/rules.py` where no op of `math` is that,
and its function in `frontends/numpy/elementwise.py`. `test/unit/house/test_op_rows.py` names what is missing.
"""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar, Self

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Commutative
from xdsl.utils.exceptions import VerifyException

from ..base import ElementwiseOp, check_result, fastmath_properties
from ..types import (
    ANY,
    BITS,
    BYTES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    TENSOR,
    TENSOR_T,
    Computed,
    shape_of,
    tensor_of,
    tensor_type_of,
    with_booleans,
)
from .elementwise_format import parse_elementwise, print_elementwise

__all__ = [
    "AbsOp",
    "AddOp",
    "AndOp",
    "BinaryOp",
    "BitcastOp",
    "CastOp",
    "CeilOp",
    "ConversionOp",
    "CopysignOp",
    "DivOp",
    "FloorOp",
    "FloordivOp",
    "FmaOp",
    "MaxOp",
    "MinOp",
    "ModOp",
    "MulOp",
    "NegOp",
    "NextafterOp",
    "NibbleOp",
    "NotOp",
    "OrOp",
    "PowOp",
    "ReluOp",
    "RemOp",
    "RoundOp",
    "RoundingOp",
    "SelectOp",
    "ShlOp",
    "ShrOp",
    "SignOp",
    "SubOp",
    "TruncOp",
    "TruncdivOp",
    "UnaryOp",
    "XorOp",
]


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
    EXAMPLE: ClassVar[str] = "%y = {name} %x : {type}"
    source = operand_def(TENSOR_T)

    def __init__(self, source: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(source,), result_types=(source.type,), properties=fastmath_properties(fastmath)
        )


class RoundingOp(UnaryOp, ABC):
    """A float to an integer near it, which is a float of the same type: nothing is left to round."""

    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = False


class BinaryOp(FlaggedOp, ABC):
    """Two operands of one type, and a result of that type."""

    N_OPERANDS: ClassVar[int] = 2
    EXAMPLE: ClassVar[str] = "%z = {name} %x, %y : {type}"
    lhs = operand_def(TENSOR_T)
    rhs = operand_def(TENSOR_T)

    def __init__(self, lhs: SSAValue, rhs: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(lhs, rhs), result_types=(lhs.type,), properties=fastmath_properties(fastmath)
        )


class ConversionOp(ElementwiseOp, ABC):
    """One operand, and a result of its shape and of any element type."""

    ELEMENTS: ClassVar = ANY
    IS_HEAVY: ClassVar = False
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: TensorType[Any]):
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        check_result(self, tensor_of(result.element_type, shape_of(source)), f"the shape of {source}")


@irdl_op_definition
class NegOp(UnaryOp):
    """The negative of each element; the least integer stays itself, unsigned ones wrap."""

    name = "graph.neg"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value of each element; the least integer stays itself."""

    name = "graph.abs"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False
    MATH: ClassVar = math.AbsFOp


@irdl_op_definition
class FloorOp(RoundingOp):
    """The largest integer that is not above each element."""

    name = "graph.floor"
    MATH: ClassVar = math.FloorOp


@irdl_op_definition
class CeilOp(RoundingOp):
    """The least integer that is not below each element."""

    name = "graph.ceil"
    MATH: ClassVar = math.CeilOp


@irdl_op_definition
class TruncOp(RoundingOp):
    """Each element rounded to an integer towards zero."""

    name = "graph.trunc"
    MATH: ClassVar = math.TruncOp


@irdl_op_definition
class RoundOp(RoundingOp):
    """The integer nearest to each element, the even one of two; the sign stays, so that -0.3 becomes -0.0."""

    name = "graph.round"
    MATH: ClassVar = math.RoundEvenOp


@irdl_op_definition
class SignOp(UnaryOp):
    """-1, 0 or 1 as each element is below, equal to or above 0: 0.0 for -0.0, NaN for NaN."""

    name = "graph.sign"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class ReluOp(UnaryOp):
    """The larger of each element and zero; NaN stays NaN, -0.0 becomes 0.0."""

    name = "graph.relu"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class NotOp(UnaryOp):
    """The complement of each element: all bits of an integer flipped, true and false exchanged."""

    name = "graph.not"
    ELEMENTS: ClassVar = BITS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class AddOp(BinaryOp):
    """The sum, element by element; integers wrap."""

    name = "graph.add"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class SubOp(BinaryOp):
    """The difference, element by element; integers wrap."""

    name = "graph.sub"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class MulOp(BinaryOp):
    """The product, element by element; integers wrap."""

    name = "graph.mul"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class DivOp(BinaryOp):
    """The quotient, element by element. Integers: rounded down; 0 for division by 0; min / -1 wraps."""

    name = "graph.div"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class ModOp(BinaryOp):
    """
    The remainder with the sign of the divisor (`np.mod`), element by element. Integers: 0 for division by 0.
    """

    name = "graph.mod"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class FloordivOp(BinaryOp):
    """
    The quotient of floats rounded down (`np.floor_divide`), consistent with `mod`: infinite or NaN for
    division by 0. The `div` of integers is rounded down already.
    """

    name = "graph.floordiv"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class TruncdivOp(BinaryOp):
    """The quotient of integers rounded towards zero, as C divides: 0 for division by 0, min / -1 wraps."""

    name = "graph.truncdiv"
    ELEMENTS: ClassVar = INTEGERS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class RemOp(BinaryOp):
    """
    The remainder with the sign of the dividend (C's `fmod` and `%`), element by element. Integers: 0 for
    division by 0.
    """

    name = "graph.rem"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = True


@irdl_op_definition
class PowOp(BinaryOp):
    """
    `lhs` to the power of `rhs`, element by element. Integers wrap; a negative exponent gives 0 except for the
    bases 1 and -1.
    """

    name = "graph.pow"
    ELEMENTS: ClassVar = NUMBERS
    IS_HEAVY: ClassVar = True
    MATH: ClassVar = math.PowFOp


@irdl_op_definition
class CopysignOp(BinaryOp):
    """The magnitude of `lhs` with the sign of `rhs`, also of zeros and NaN."""

    name = "graph.copysign"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = False
    MATH: ClassVar = math.CopySignOp


@irdl_op_definition
class NextafterOp(BinaryOp):
    """
    The next value of the element type after `lhs` in the direction of `rhs`; `rhs` where they are equal, NaN
    where one of them is. Past the greatest finite value it is infinite, or NaN in a type without infinities.
    """

    name = "graph.nextafter"
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class MaxOp(BinaryOp):
    """The larger element; NaN wins, and 0.0 is larger than -0.0."""

    name = "graph.max"
    ELEMENTS: ClassVar = ANY
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class MinOp(BinaryOp):
    """The smaller element; NaN wins, and -0.0 is smaller than 0.0."""

    name = "graph.min"
    ELEMENTS: ClassVar = ANY
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class AndOp(BinaryOp):
    """The conjunction of booleans or of the bits of integers."""

    name = "graph.and"
    ELEMENTS: ClassVar = BITS
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class OrOp(BinaryOp):
    """The disjunction of booleans or of the bits of integers."""

    name = "graph.or"
    ELEMENTS: ClassVar = BITS
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class XorOp(BinaryOp):
    """The exclusive disjunction of booleans or of the bits of integers."""

    name = "graph.xor"
    ELEMENTS: ClassVar = BITS
    IS_HEAVY: ClassVar = False
    traits = traits_def(Commutative())


@irdl_op_definition
class ShlOp(BinaryOp):
    """The bits of `lhs` moved up by `rhs`: 0 for amounts that are negative or not below the width."""

    name = "graph.shl"
    ELEMENTS: ClassVar = INTEGERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class ShrOp(BinaryOp):
    """
    The bits of `lhs` moved down by `rhs`, keeping the sign. Amounts that are negative or not below the width
    give 0 for unsigned integers, else 0 or -1 by the sign.
    """

    name = "graph.shr"
    ELEMENTS: ClassVar = INTEGERS
    IS_HEAVY: ClassVar = False


@irdl_op_definition
class NibbleOp(BinaryOp):
    """
    The signed number, -8 to 7, in four bits of `lhs`: the lower ones where `rhs` is even, the upper ones
    where it is odd.
    """

    name = "graph.nibble"
    ELEMENTS: ClassVar = BYTES
    IS_HEAVY: ClassVar = False


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
    ELEMENTS: ClassVar = ANY
    IS_HEAVY: ClassVar = False
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
    ELEMENTS: ClassVar = FLOATS
    IS_HEAVY: ClassVar = False
    MATH: ClassVar = math.FmaOp
    N_OPERANDS: ClassVar[int] = 3
    a = operand_def(TENSOR_T)
    b = operand_def(TENSOR_T)
    c = operand_def(TENSOR_T)

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        Operation.__init__(
            self, operands=(a, b, c), result_types=(a.type,), properties=fastmath_properties(fastmath)
        )


@irdl_op_definition
class CastOp(ConversionOp):
    """
    Each element converted to another element type. Float to integer: towards zero, saturating, 0 for NaN;
    integer to integer: the low bits; to i1: whether the element is not 0; else rounded to nearest.

    ```mlir
    %y = graph.cast %x : tensor<4xi32> -> tensor<4xf32>
    ```
    """

    name = "graph.cast"


@irdl_op_definition
class BitcastOp(ConversionOp):
    """
    The bits of each element read as another element type of the same width. The bits of a NaN stay what they
    are, unless an op between computed it: which NaN arithmetic gives is not said.

    ```mlir
    %y = graph.bitcast %x : tensor<4xf32> -> tensor<4xui32>
    ```
    """

    name = "graph.bitcast"

    def verify_(self) -> None:
        super().verify_()
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        found, wanted = result.element_type.bitwidth, source.element_type.bitwidth
        if found != wanted:
            raise VerifyException(
                f"{self.name}: cannot read {source} as {result} ({wanted} bits, {found} bits)"
            )
