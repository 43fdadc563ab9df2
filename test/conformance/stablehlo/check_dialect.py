"""
The dialect `check` of openxla's interpreter tests: values that must be equal, or nearly.

    check.expect_eq_const %y, dense<[1, 2]> : tensor<2xi64>
    check.expect_close %y, %z, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
"""

from __future__ import annotations

from typing import Self

from tenon.dialects import context
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand


class CheckOp(IRDLOperation):
    """A check; with a constant where only one value is given."""

    values = var_operand_def()
    value = opt_prop_def()
    tolerance = opt_prop_def()
    max_ulp_difference = opt_prop_def()
    min_ulp_difference = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = [parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {}
        while parser.parse_optional_punctuation(",") is not None:
            operand = parser.parse_optional_unresolved_operand()
            keyword = next(
                (k for k in _OPTIONS if operand is None and parser.parse_optional_keyword(k)), None
            )
            if operand is not None:
                operands.append(operand)
            elif keyword is None:
                properties["value"] = parser.parse_attribute()
            else:
                parser.parse_punctuation("=")
                number = parser.parse_number()
                is_float = isinstance(number, float)
                properties[keyword] = FloatAttr(number, 64) if is_float else IntegerAttr(int(number), i64)
                if is_float and parser.parse_optional_punctuation(":") is not None:
                    # The type of the number, unless it is that of the values.
                    type = parser.parse_type()
                    if isinstance(type, TensorType):
                        return cls._finished(parser, operands, properties, [type])
        attributes = parser.parse_optional_attr_dict()
        value = properties.get("value")
        if isinstance(value, DenseIntOrFPElementsAttr):
            types: list[Attribute] = [value.type]
            resolved = parser.resolve_operands(operands, types, parser.pos)
            return cls.create(operands=resolved, properties=properties, attributes=attributes)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls._finished(parser, operands, properties, types)

    @classmethod
    def _finished(
        cls,
        parser: Parser,
        operands: list[UnresolvedOperand],
        properties: dict[str, Attribute],
        types: list[Attribute],
    ) -> Self:
        types = types * len(operands) if len(types) == 1 else types
        return cls.create(
            operands=parser.resolve_operands(operands, types, parser.pos), properties=properties
        )


_OPTIONS = ("tolerance", "max_ulp_difference", "min_ulp_difference")


@irdl_op_definition
class ExpectEqOp(CheckOp):
    """All bits are equal, or both are NaN."""

    name = "check.expect_eq"


@irdl_op_definition
class ExpectEqConstOp(CheckOp):
    """As `check.expect_eq`, of a constant."""

    name = "check.expect_eq_const"


@irdl_op_definition
class ExpectAlmostEqOp(CheckOp):
    """Values are equal within a tolerance."""

    name = "check.expect_almost_eq"


@irdl_op_definition
class ExpectAlmostEqConstOp(CheckOp):
    """As `check.expect_almost_eq`, of a constant."""

    name = "check.expect_almost_eq_const"


@irdl_op_definition
class ExpectCloseOp(CheckOp):
    """Values are a few floats apart."""

    name = "check.expect_close"


CHECK = Dialect(
    "check", [ExpectEqOp, ExpectEqConstOp, ExpectAlmostEqOp, ExpectAlmostEqConstOp, ExpectCloseOp]
)


def context_with_checks() -> Context:
    """Returns a context that knows Tenon's dialects and `check`."""
    ctx = context()
    ctx.register_dialect("check", lambda: CHECK)
    return ctx
