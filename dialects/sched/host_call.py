"""Items of programs at which the host is called, between what the device does before and after."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import FunctionType, MemRefType, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..print_format import check_format
from .program import TOKEN, check_tensor, parse_after, print_after
from .program_types import buffer_type

__all__ = ["CallbackOp", "HostItem", "PrintOp", "orders_items"]


class HostItem(IRDLOperation, ABC):
    """
    An item that calls the host once the items in `after` are done: with what the buffers `arguments` hold, to
    fill the buffers `targets`. `function_type` is over the tensors that they hold. It is done when the host
    returns; where that fails, nothing that comes later runs.
    """

    function_type = prop_def(FunctionType)
    arguments = var_operand_def(MemRefType)
    targets = var_operand_def(MemRefType)
    after = var_operand_def(TOKEN)
    token = result_def(TOKEN)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        what: Attribute,
        function_type: FunctionType,
        arguments: Sequence[SSAValue],
        targets: Sequence[SSAValue],
        after: Sequence[SSAValue] = (),
    ):
        super().__init__(
            operands=[arguments, targets, after],
            result_types=[TOKEN],
            properties={self.what_name(): what, "function_type": function_type},
        )

    @staticmethod
    @abstractmethod
    def what_name() -> str:
        """Returns the name of the property that says what the host does."""

    @staticmethod
    @abstractmethod
    def parse_what(parser: Parser) -> Attribute: ...

    @abstractmethod
    def print_what(self, printer: Printer) -> None: ...

    @property
    @abstractmethod
    def keeps_order(self) -> bool:
        """Whether it must run in the order of the text with all others of which that is true."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        what = cls.parse_what(parser)
        pos = parser.pos
        arguments = parser.parse_optional_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        targets = None
        if parser.parse_optional_keyword("to") is not None:
            targets = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
        after = parse_after(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_attribute()
        if not isinstance(type, FunctionType):
            parser.raise_error(f"expected a function type, found {type}", pos)
        for tensor in (*type.inputs, *type.outputs):
            check_tensor(cls.name, tensor)
        op = cls(
            what,
            type,
            parser.resolve_operands(arguments or (), [buffer_type(each) for each in type.inputs], pos),
            parser.resolve_operands(targets or (), [buffer_type(each) for each in type.outputs], pos),
            after,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.print_what(printer)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_operand)
        if self.targets:
            printer.print_string(" to")
            with printer.in_parens():
                printer.print_list(self.targets, printer.print_operand)
        print_after(printer, self.after)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.function_type)

    def verify_(self) -> None:
        for what, buffers, tensors in (
            ("takes", self.arguments, self.function_type.inputs.data),
            ("fills", self.targets, self.function_type.outputs.data),
        ):
            for tensor in tensors:
                check_tensor(self.name, tensor)
            found = [buffer.type for buffer in buffers]
            expected = [buffer_type(tensor) for tensor in tensors]
            if found != expected:
                raise VerifyException(f"{self.name}: {what} {_listed(found)}, expected {_listed(expected)}")
        if len(set(self.targets)) < len(self.targets):
            raise VerifyException(f"{self.name}: fills a buffer twice")


def _listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


@irdl_op_definition
class CallbackOp(HostItem):
    """
    Calls a function of the host's, which whoever compiles the program gives for the name. It is pure: two
    calls may come in any order.

    ```mlir
    %t1 = sched.callback @f(%x) to(%y, %n) after(%t0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>)
    ```
    """

    name = "sched.callback"
    callee = prop_def(SymbolNameConstraint())

    @staticmethod
    def what_name() -> str:
        return "callee"

    @staticmethod
    def parse_what(parser: Parser) -> StringAttr:
        return parser.parse_symbol_name()

    def print_what(self, printer: Printer) -> None:
        printer.print_symbol_name(self.callee.data)

    @property
    def keeps_order(self) -> bool:
        return False


@irdl_op_definition
class PrintOp(HostItem):
    """
    Prints a line, as `graph.print` does. Lines come in the order of the text.

    ```mlir
    %t1 = sched.print "step {0}: {1:.3f}"(%i, %loss) after(%t0) : (tensor<i32>, tensor<f32>) -> ()
    ```
    """

    name = "sched.print"
    format = prop_def(StringAttr)

    @staticmethod
    def what_name() -> str:
        return "format"

    @staticmethod
    def parse_what(parser: Parser) -> StringAttr:
        return StringAttr(parser.parse_str_literal())

    def print_what(self, printer: Printer) -> None:
        printer.print_string_literal(self.format.data)

    @property
    def keeps_order(self) -> bool:
        return True

    def verify_(self) -> None:
        super().verify_()
        if self.targets:
            raise VerifyException(f"{self.name}: fills {len(self.targets)} buffers, expected none")
        wrong = check_format(self.format.data, len(self.arguments))
        if wrong is not None:
            raise VerifyException(f"{self.name}: {wrong}")


def orders_items(op: Operation) -> bool:
    """Returns whether an item, or one in its regions, must keep the order of the text with others that do."""
    return any(isinstance(inner, HostItem) and inner.keeps_order for inner in op.walk())
