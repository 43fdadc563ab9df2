"""A square of elements turned about its diagonal in registers, `low.transpose`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..element_types import lanes_of


@irdl_op_definition
class TransposeOp(IRDLOperation):
    """
    Turns the n vectors of n lanes that are the rows of a square into its columns: lane `i` of result `j` is
    lane `j` of operand `i`.

    ```mlir
    %x, %y = low.transpose %a, %b : vector<2xf32>
    ```
    """

    name = "low.transpose"
    rows = var_operand_def(VectorType)
    columns = var_result_def(VectorType)
    traits = traits_def(Pure())

    def __init__(self, rows: Sequence[SSAValue]):
        Operation.__init__(self, operands=tuple(rows), result_types=[row.type for row in rows])

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        rows = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = [parser.resolve_operand(row, type) for row in rows]
        return cls.create(operands=operands, result_types=[type] * len(operands), attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.rows, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.rows[0].type)

    def verify_(self) -> None:
        types = [value.type for value in (*self.rows, *self.columns)]
        n = len(self.rows)
        if not n or len(self.columns) != n:
            raise VerifyException(f"{self.name}: {n} rows give {len(self.columns)} columns")
        if any(type != types[0] for type in types) or lanes_of(types[0]) != n:
            found = ", ".join(dict.fromkeys(map(str, types)))
            raise VerifyException(f"{self.name}: {n} rows of {found}, expected one type of {n} lanes")
