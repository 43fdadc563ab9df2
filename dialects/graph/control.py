"""
Control flow: ops with regions of `graph` ops.

A region sees the values around it. Each ends in a `graph.yield`, the first region of a `graph.while` in a
`graph.condition`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, LocationAttr, TensorType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsTerminator, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from ..dims.attributes import LengthAttr, length_attribute, length_of
from ..dims.expressions import Extent, is_at_least
from ..dims.text import parse_extent
from .types import TENSOR, difference, shape_of, tensor_of, tensor_type_of

__all__ = ["ConditionOp", "ControlOp", "IfOp", "ScanOp", "WhileOp", "YieldOp", "slice_type"]

CONDITION = tensor_of(i1, ())
"""The type of what decides: one boolean."""

COUNTER = tensor_of(i64, ())
"""The type of the number of a scan's iteration."""


class YieldingOp(IRDLOperation, ABC):
    """An op of `graph` with regions that end in `graph.yield`."""


class ControlOp(YieldingOp, ABC):
    """An op of `graph` whose regions say what it does. Its results, any number, are tensors."""

    traits = traits_def(RecursiveMemoryEffect())


def yield_of(block: Block, who: str, what: str) -> YieldOp:
    """Returns the `graph.yield` that ends a block. Raises `VerifyException` where another op does."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"{who}: the {what} ends in no graph.yield")
    return last


def _check_count(who: str, what: str, found: int, expected: int) -> None:
    if found != expected:
        raise VerifyException(f"{who}: {what} (found {found}, expected {expected})")


def _check_type(who: str, what: str, found: Attribute, expected: TensorType[Any]) -> None:
    where = difference(tensor_type_of(found, f"{who}: {what}"), expected)
    if where is not None:
        raise VerifyException(f"{who}: {what} is {found}, expected {expected} ({where})")


def _check_condition(who: str, type: Attribute) -> None:
    if type != CONDITION:
        raise VerifyException(f"{who}: the condition is {type}, expected {CONDITION}")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    Ends a region: what it gives to the op around it.

    ```mlir
    graph.yield %a, %b : tensor<4xf32>, tensor<i32>
    ```
    """

    name = "graph.yield"
    values = var_operand_def(TENSOR)
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, values: Sequence[SSAValue] = ()):
        Operation.__init__(self, operands=values)

    def verify_(self) -> None:
        around = self.parent_op()
        if around is not None and not isinstance(around, YieldingOp):
            raise VerifyException(f"{self.name}: ends a region of {around.name}, expected one of graph")


@irdl_op_definition
class ConditionOp(IRDLOperation):
    """
    Ends the first region of a `graph.while`: whether there is one more iteration.

    ```mlir
    graph.condition %more
    ```
    """

    name = "graph.condition"
    condition = operand_def(TENSOR)
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(WhileOp), Pure()))

    def __init__(self, condition: SSAValue):
        Operation.__init__(self, operands=(condition,))

    @classmethod
    def parse(cls, parser: Parser) -> ConditionOp:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), CONDITION)
        op = cls(condition)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        _check_condition(self.name, self.condition.type)


@irdl_op_definition
class IfOp(ControlOp):
    """
    The values that one of two regions yields: the first where `condition` is true, else the second. Only
    that region is run.

    ```mlir
    %y = graph.if %c -> (tensor<4xf32>) {
      %e = graph.exp %x : tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    ```
    """

    name = "graph.if"
    condition = operand_def(TENSOR)
    res = var_result_def(TENSOR)
    then_region = region_def("single_block")
    else_region = region_def("single_block")

    def __init__(
        self,
        condition: SSAValue,
        result_types: Sequence[Attribute],
        then_region: Region,
        else_region: Region,
    ):
        Operation.__init__(
            self, operands=(condition,), result_types=result_types, regions=(then_region, else_region)
        )

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), CONDITION)
        parser.parse_punctuation("->")
        types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        then_region = parser.parse_region(())
        parser.parse_keyword("else")
        op = cls(condition, types, then_region, parser.parse_region(()))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.then_region, print_entry_block_args=False)
        printer.print_string(" else ")
        printer.print_region(self.else_region, print_entry_block_args=False)

    def verify_(self) -> None:
        _check_condition(self.name, self.condition.type)
        for block, branch in ((self.then_region.block, "then"), (self.else_region.block, "else")):
            what = f"{branch} branch"
            _check_count(self.name, f"the {what} takes arguments", len(block.args), 0)
            values = yield_of(block, self.name, what).values
            _check_count(self.name, f"the {what} yields another number of values", len(values), len(self.res))
            for number, (value, result) in enumerate(zip(values, self.results, strict=True)):
                expected = tensor_type_of(result, self.name)
                _check_type(self.name, f"value {number} of the {what}", value.type, expected)


@irdl_op_definition
class WhileOp(ControlOp):
    """
    Carries values from iteration to iteration for as long as a condition holds: first `initial`, then what
    the second region makes of them. The first region, which takes the values too, says before each iteration
    whether it takes place. The results are the values that the condition does not hold for.

    A loop whose condition never fails never ends.

    ```mlir
    %n, %z = graph.while (%i = %i0, %x = %x0) : (tensor<i32>, tensor<4xf32>) {
      %more = graph.lt %i, %limit : tensor<i32>
      graph.condition %more
    } do (%j, %y) {
      %next = graph.add %j, %one : tensor<i32>
      %twice = graph.add %y, %y : tensor<4xf32>
      graph.yield %next, %twice : tensor<i32>, tensor<4xf32>
    }
    ```
    """

    name = "graph.while"
    initial = var_operand_def(TENSOR)
    res = var_result_def(TENSOR)
    before = region_def("single_block")
    body = region_def("single_block")

    def __init__(self, initial: Sequence[SSAValue], before: Region, body: Region):
        Operation.__init__(
            self,
            operands=initial,
            result_types=[value.type for value in initial],
            regions=(before, body),
        )

    @property
    def condition(self) -> SSAValue:
        """What says whether there is one more iteration."""
        last = self.before.block.last_op
        assert isinstance(last, ConditionOp), f"{self.name}: the first region ends in no graph.condition"
        return last.condition

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        carried = _parse_bindings(parser)
        parser.parse_punctuation(":")
        types = _parse_types(parser, len(carried))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        initial = [
            parser.resolve_operand(operand, type) for (_, operand), type in zip(carried, types, strict=True)
        ]
        before = parser.parse_region(_resolved([argument for argument, _ in carried], types))
        parser.parse_keyword("do")
        pos = parser.pos
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        if len(arguments) != len(types):
            parser.raise_error(f"{len(types)} carried values but {len(arguments)} arguments", pos)
        op = cls(initial, before, parser.parse_region(_resolved(arguments, types)))
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_bindings(printer, self.before.block.args, self.initial)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list(self.initial, lambda value: printer.print_attribute(value.type))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.before, print_entry_block_args=False)
        printer.print_string(" do ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, lambda argument: _print_argument(printer, argument))
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        types = [tensor_type_of(value, self.name) for value in self.initial]
        _check_count(self.name, "another number of results than carried values", len(self.res), len(types))
        for what, block in (("condition", self.before.block), ("body", self.body.block)):
            who = f"{self.name}: the {what}"
            _check_count(who, "takes another number of values", len(block.args), len(types))
            for number, (argument, type) in enumerate(zip(block.args, types, strict=True)):
                _check_type(self.name, f"argument {number} of the {what}", argument.type, type)
        if not isinstance(self.before.block.last_op, ConditionOp):
            raise VerifyException(f"{self.name}: the condition ends in no graph.condition")
        yielded = yield_of(self.body.block, self.name, "body").values
        _check_count(self.name, "the body yields another number of values", len(yielded), len(types))
        for number, (value, result, type) in enumerate(zip(yielded, self.results, types, strict=True)):
            _check_type(self.name, f"value {number} of the body", value.type, type)
            _check_type(self.name, f"result {number}", result.type, type)


@irdl_op_definition
class ScanOp(ControlOp):
    """
    A counted loop. Each of its `length` iterations takes the number of the iteration, the carried values and
    a slice of each of `inputs` along axis 0; it yields the carried values for the next iteration, and then
    values that are stacked along a new axis 0. The results are the carried values after the last iteration,
    and the stacks. With `reverse` the last number comes first; slices and stacks go by the number.

    ```mlir
    %sum, %sums = graph.scan %i = 10 (%s = %zero) over (%row = %rows)
        : (tensor<8xf32>, tensor<10x8xf32>) -> (tensor<8xf32>, tensor<10x8xf32>) {
      %next = graph.add %s, %row : tensor<8xf32>
      graph.yield %next, %next : tensor<8xf32>, tensor<8xf32>
    }
    ```
    """

    name = "graph.scan"
    length = prop_def(LengthAttr)
    reverse = opt_prop_def(UnitAttr)
    initial = var_operand_def(TENSOR)
    inputs = var_operand_def(TENSOR)
    res = var_result_def(TENSOR)
    body = region_def("single_block")
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        length: Extent,
        initial: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        body: Region,
        reverse: bool = False,
    ):
        properties: dict[str, Attribute] = {"length": length_attribute(length)}
        if reverse:
            properties["reverse"] = UnitAttr()
        super().__init__(
            operands=[initial, inputs], result_types=[result_types], properties=properties, regions=[body]
        )

    @property
    def trip_count(self) -> Extent:
        return length_of(self.length)

    @property
    def counter(self) -> BlockArgument:
        """The number of the iteration."""
        return self.body.block.args[0]

    @property
    def carried(self) -> Sequence[BlockArgument]:
        """The carried values, as the body sees them."""
        return self.body.block.args[1 : 1 + len(self.initial)]

    @property
    def slices(self) -> Sequence[BlockArgument]:
        """The slices of the inputs, as the body sees them."""
        return self.body.block.args[1 + len(self.initial) :]

    @property
    def stacks(self) -> Sequence[OpResult]:
        """The results that have an element, along axis 0, of every iteration."""
        return self.results[len(self.initial) :]

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        counter = _parse_argument(parser)
        parser.parse_punctuation("=")
        length = parse_extent(parser)
        is_reverse = parser.parse_optional_keyword("reverse") is not None
        carried = _parse_bindings(parser)
        inputs: list[tuple[_Argument, UnresolvedOperand]] = []
        if parser.parse_optional_keyword("over") is not None:
            inputs = _parse_bindings(parser)
        parser.parse_punctuation(":")
        types = _parse_types(parser, len(carried) + len(inputs))
        parser.parse_punctuation("->")
        result_types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operands = [
            parser.resolve_operand(operand, type)
            for (_, operand), type in zip((*carried, *inputs), types, strict=True)
        ]
        n = len(carried)
        seen = (*types[:n], *map(slice_type, types[n:]))
        arguments = [counter, *(argument for argument, _ in (*carried, *inputs))]
        body = parser.parse_region(_resolved(arguments, (COUNTER, *seen)))
        op = cls(length, operands[:n], operands[n:], result_types, body, is_reverse)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        _print_argument(printer, self.counter)
        printer.print_string(f" = {self.trip_count} ")
        if self.reverse is not None:
            printer.print_string("reverse ")
        _print_bindings(printer, self.carried, self.initial)
        if self.inputs:
            printer.print_string(" over ")
            _print_bindings(printer, self.slices, self.inputs)
        printer.print_string(" : ")
        with printer.in_parens():
            printer.print_list(self.operands, lambda value: printer.print_attribute(value.type))
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(self.result_types, printer.print_attribute)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        if is_at_least(-1, self.trip_count):
            raise VerifyException(f"{self.name}: {self.trip_count} iterations (expected 0 or more)")
        n_carried, n_inputs = len(self.initial), len(self.inputs)
        arguments = self.body.block.args
        _check_count(
            self.name,
            f"the body takes another number of values than the counter, {n_carried} carried values and "
            f"{n_inputs} slices",
            len(arguments),
            1 + n_carried + n_inputs,
        )
        if self.counter.type != COUNTER:
            raise VerifyException(f"{self.name}: the counter is {self.counter.type}, expected {COUNTER}")
        for number, (argument, value) in enumerate(zip(self.carried, self.initial, strict=True)):
            _check_type(self.name, f"carried value {number}", argument.type, tensor_type_of(value, self.name))
        for number, (argument, value) in enumerate(zip(self.slices, self.inputs, strict=True)):
            type = tensor_type_of(value, self.name)
            self._check_extent(f"input {number}", type)
            _check_type(self.name, f"slice {number}", argument.type, slice_type(type))
        self._verify_yield()

    def _verify_yield(self) -> None:
        n_carried = len(self.initial)
        yielded = yield_of(self.body.block, self.name, "body").values
        _check_count(self.name, "the body yields another number of values", len(yielded), len(self.res))
        if len(yielded) < n_carried:
            raise VerifyException(
                f"{self.name}: fewer results than carried values ({len(yielded)}, {n_carried} are carried)"
            )
        for number, (value, result) in enumerate(zip(yielded, self.results, strict=True)):
            type = tensor_type_of(value, self.name)
            if number < n_carried:
                expected = tensor_type_of(self.initial[number], self.name)
                _check_type(self.name, f"value {number} of the body", type, expected)
            else:
                expected = tensor_of(type.element_type, (self.trip_count, *shape_of(type)))
            _check_type(self.name, f"result {number}", result.type, expected)

    def _check_extent(self, what: str, type: TensorType[Any]) -> None:
        shape = shape_of(type)
        if not shape:
            raise VerifyException(f"{self.name}: {what} is {type}, which has no axis to go along")
        if shape[0] not in (self.trip_count, DYNAMIC_INDEX):
            raise VerifyException(
                f"{self.name}: {what} is {type}, which has extent {shape[0]} along axis 0, expected "
                f"{self.trip_count}"
            )


def slice_type(type: Attribute) -> TensorType[Any]:
    """Returns the type of one element of a tensor along axis 0; the type itself where it has no axis."""
    tensor = tensor_type_of(type, ScanOp.name)
    return tensor_of(tensor.element_type, tuple(shape_of(tensor)[1:]))


_Argument = tuple[Parser.UnresolvedArgument, LocationAttr | None]
"""An argument of a region whose type is not known yet, and its place where it is written."""


def _parse_argument(parser: Parser) -> _Argument:
    return parser.parse_argument(expect_type=False), parser.parse_optional_location()


def _print_argument(printer: Printer, argument: BlockArgument) -> None:
    printer.print_block_argument(argument, print_type=False)
    if printer.print_debuginfo:
        printer.print_string(" ")
        printer.print_attribute(argument.location)


def _resolved(arguments: Sequence[_Argument], types: Sequence[Attribute]) -> list[Parser.Argument]:
    return [
        Parser.Argument(argument.name, type, location)
        for (argument, location), type in zip(arguments, types, strict=True)
    ]


def _parse_bindings(parser: Parser) -> list[tuple[_Argument, UnresolvedOperand]]:
    def binding() -> tuple[_Argument, UnresolvedOperand]:
        argument = _parse_argument(parser)
        parser.parse_punctuation("=")
        return argument, parser.parse_unresolved_operand()

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)


def _parse_types(parser: Parser, count: int) -> list[Attribute]:
    pos = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
    if len(types) != count:
        parser.raise_error(f"{count} values but {len(types)} types", pos)
    for type in types:
        tensor_type_of(type, "graph")
    return list(types)


def _print_bindings(printer: Printer, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]) -> None:
    with printer.in_parens():
        for number, (argument, value) in enumerate(zip(arguments, values, strict=True)):
            if number:
                printer.print_string(", ")
            _print_argument(printer, argument)
            printer.print_string(" = ")
            printer.print_operand(value)
