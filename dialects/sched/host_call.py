"""Items of programs at which the host is called, between what the device does before and after."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self, cast

from xdsl.dialects.builtin import FunctionType, MemRefType, StringAttr, SymbolNameConstraint
from xdsl.ir import Attribute, Data, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..buffer_size import size_of
from ..print_format import check_format
from ..rearrangement import Rearrangement
from .program import TOKEN, check_tensor, parse_after, print_after
from .program_types import buffer_type

__all__ = ["CallbackOp", "HostItem", "PrintOp", "RearrangeOp", "RearrangementAttr", "orders_items"]


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


@irdl_attr_definition
class RearrangementAttr(Data[Rearrangement], SpacedOpaqueSyntaxAttribute):
    """
    Which elements an array is made of: `#sched<rearrangement [2, 3] strides = [1, 2] offset = 0>`; printed
    bare by `sched.rearrange`.
    """

    name = "sched.rearrangement"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Rearrangement:
        return Rearrangement.parse(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.text)


@irdl_op_definition
class RearrangeOp(HostItem):
    """
    Fills a buffer with elements of another one: those of the target, in order, are the element at `offset`
    plus `sum(i * strides)` of the source for each index `i` of the shape. `summed` says that each is added to
    0, so that -0 becomes 0.

    ```mlir
    %t1 = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%x) to(%y) after(%t0)
        : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
    """

    name = "sched.rearrange"
    elements = prop_def(RearrangementAttr)

    @staticmethod
    def what_name() -> str:
        return "elements"

    @staticmethod
    def parse_what(parser: Parser) -> RearrangementAttr:
        return RearrangementAttr(Rearrangement.parse(parser))

    def print_what(self, printer: Printer) -> None:
        printer.print_string(self.elements.data.text)

    @property
    def keeps_order(self) -> bool:
        return False

    def verify_(self) -> None:
        super().verify_()
        what = self.elements.data
        if len(self.arguments) != 1 or len(self.targets) != 1 or self.arguments[0] is self.targets[0]:
            raise VerifyException(f"{self.name}: takes one buffer, and fills another one")
        if what.misfit is not None:
            raise VerifyException(f"{self.name}: {what.misfit}")
        source, target = (cast(MemRefType, each.type) for each in (self.arguments[0], self.targets[0]))
        if source.element_type != target.element_type:
            raise VerifyException(f"{self.name}: takes {source} for {target}")
        if size_of(target) != what.n_elements:
            raise VerifyException(f"{self.name}: {target} has not {what.n_elements} elements")
        size, (first, last) = size_of(source), what.places
        if not isinstance(size, int) or not 0 <= first <= last < size:
            raise VerifyException(f"{self.name}: takes elements {first} to {last} of {source}")


def orders_items(op: Operation) -> bool:
    """Returns whether an item, or one in its regions, must keep the order of the text with others that do."""
    return any(isinstance(inner, HostItem) and inner.keeps_order for inner in op.walk())
