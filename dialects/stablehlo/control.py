"""Ops with a form of their own: constants, control flow, reductions, calls of what is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    TupleType,
    i32,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from .base import StablehloOp, TypeStyle, WrittenOp, parse_types, print_types
from .clauses import StringClause, ints_attribute, parse_ints

__all__ = [
    "AfterAllOp",
    "CaseOp",
    "CompositeOp",
    "ConstantOp",
    "CreateTokenOp",
    "CustomCallOp",
    "GetTupleElementOp",
    "IfOp",
    "OptimizationBarrierOp",
    "ReduceOp",
    "ReturnOp",
    "SliceOp",
    "TupleOp",
    "WhileOp",
]


@irdl_op_definition
class ConstantOp(WrittenOp):
    """
    A constant.

    ```mlir
    %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
    """

    name = "stablehlo.constant"
    N_OPERANDS: ClassVar = 0
    value = prop_def()
    traits = traits_def(ConstantLike(), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        attributes = parser.parse_optional_attr_dict()
        start = parser.pos
        value = attributes.pop("value", None) or parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            parser.raise_error(f"{cls.name}: expected dense<...>", start)
        constant = cast(Any, value)
        return cls.create(
            result_types=(constant.type,), properties={"value": constant}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)


@irdl_op_definition
class ReturnOp(WrittenOp):
    """
    Ends a region.

    ```mlir
    stablehlo.return %x : tensor<f32>
    ```
    """

    name = "stablehlo.return"
    N_RESULTS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.OPERANDS
    traits = traits_def(IsTerminator(), Pure())

    @classmethod
    def finished(
        cls, parser: Parser, operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
    ) -> Self:
        attributes = parser.parse_optional_attr_dict()
        types: list[Attribute] = []
        start = parser.pos
        if operands:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        resolved = parser.resolve_operands(operands, types, start)
        return cls.create(operands=resolved, attributes=attributes)


@irdl_op_definition
class SliceOp(WrittenOp):
    """
    A box of its operand.

    ```mlir
    %y = stablehlo.slice %x [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
    ```
    """

    name = "stablehlo.slice"
    N_OPERANDS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("start_indices", "limit_indices")
    start_indices = opt_prop_def()
    limit_indices = opt_prop_def()
    strides = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()

        def part() -> tuple[int, int, int]:
            begin = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(":")
            end = parser.parse_integer(allow_boolean=False)
            step = parser.parse_optional_punctuation(":")
            return begin, end, 1 if step is None else parser.parse_integer(allow_boolean=False)

        parts = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, part)
        names = ("start_indices", "limit_indices", "strides")
        columns = zip(*parts, strict=True) if parts else ((), (), ())
        lists: dict[str, Attribute] = {
            n: ints_attribute(tuple(c)) for n, c in zip(names, columns, strict=True)
        }
        return cls.finished(parser, (operand,), lists)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        begins, ends = self.ints("start_indices") or (), self.ints("limit_indices") or ()
        steps = self.ints("strides") or (1,) * len(begins)
        parts = (
            f"{begin}:{end}" if step == 1 else f"{begin}:{end}:{step}"
            for begin, end, step in zip(begins, ends, steps, strict=True)
        )
        printer.print_string(f" [{', '.join(parts)}]")
        self.print_rest(printer, {"start_indices", "limit_indices", "strides"})

    def verify_(self) -> None:
        super().verify_()
        lists = [self.ints(name) for name in ("start_indices", "limit_indices", "strides")]
        if len({len(each) for each in lists if each is not None}) != 1:
            raise VerifyException(f"{self.name}: start, limit and strides are not of one length")


@irdl_op_definition
class WhileOp(WrittenOp):
    """
    Carries values as long as a condition holds.

    ```mlir
    %n = stablehlo.while(%i = %i0) : tensor<i32>
    cond {
      %more = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    ```
    """

    name = "stablehlo.while"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 2
    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def binding() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        carried = parser.parse_comma_separated_list(parser.Delimiter.PAREN, binding)
        start, types = parser.pos, list[Attribute]()
        if carried:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        if len(types) != len(carried):
            parser.raise_error(f"{len(carried)} carried values but {len(types)} types", start)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operands = parser.resolve_operands([operand for _, operand in carried], types, start)
        regions: list[Region] = []
        for keyword in ("cond", "do"):
            parser.parse_keyword(keyword)
            arguments = [
                Parser.Argument(argument.name, type, None)
                for (argument, _), type in zip(carried, types, strict=True)
            ]
            regions.append(parser.parse_region(arguments))
        return cls.create(
            operands=operands,
            result_types=types,
            regions=regions,
            attributes={} if attributes is None else dict(attributes.data),
        )

    def print(self, printer: Printer) -> None:
        condition, body = (region.block for region in self.regions)
        names: list[str] = []
        with printer.in_parens():
            for number, (argument, operand) in enumerate(zip(condition.args, self.operands, strict=True)):
                printer.print_string(", " if number else "")
                names.append(printer.print_ssa_value(argument))
                printer.print_string(" = ")
                printer.print_operand(operand)
        # One name stands for the arguments of both regions.
        for argument, name in zip(body.args, names, strict=True):
            printer._ssa_values[argument] = name  # pyright: ignore[reportPrivateUsage]
        if self.operands:
            printer.print_string(" : ")
            printer.print_list(self.operands, lambda value: printer.print_attribute(value.type))
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" cond ")
        printer.print_region(self.regions[0], print_entry_block_args=False)
        printer.print_string(" do ")
        printer.print_region(self.regions[1], print_entry_block_args=False)

    def verify_(self) -> None:
        super().verify_()
        types = [value.type for value in self.operands]
        for region, what in zip(self.regions, ("condition", "body"), strict=True):
            if len(region.blocks) != 1 or [argument.type for argument in region.block.args] != types:
                raise VerifyException(f"{self.name}: the {what} does not take the carried values")
        if list(self.result_types) != types:
            raise VerifyException(f"{self.name}: the results are not of the types of the carried values")


@irdl_op_definition
class IfOp(StablehloOp):
    """What one of two regions returns."""

    name = "stablehlo.if"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 2
    traits = traits_def()


@irdl_op_definition
class CaseOp(StablehloOp):
    """What the region of a number returns; the last one where the number is out of range."""

    name = "stablehlo.case"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = None
    traits = traits_def()

    def verify_(self) -> None:
        super().verify_()
        if not self.regions:
            raise VerifyException(f"{self.name}: there is no branch")


@irdl_op_definition
class ReduceOp(WrittenOp):
    """
    What a region makes of all elements along some dims, for one or several operands at once.

    ```mlir
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.reduce"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("dimensions",)
    dimensions = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs: list[tuple[UnresolvedOperand, UnresolvedOperand]] = []
        while not pairs or parser.parse_optional_punctuation(",") is not None:
            with parser.in_parens():
                operand = parser.parse_unresolved_operand()
                parser.parse_keyword("init")
                parser.parse_punctuation(":")
                pairs.append((operand, parser.parse_unresolved_operand()))
        start, applied = parser.pos, None
        if parser.parse_optional_keyword("applies") is not None:
            applied = parser._get_op_by_name(parser.parse_identifier())  # pyright: ignore[reportPrivateUsage]
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = ints_attribute(parse_ints(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        at = parser.pos
        inputs, results = parse_types(parser, cls.STYLE, 2 * len(pairs))
        operands = [*(first for first, _ in pairs), *(init for _, init in pairs)]
        region = _parse_reducer(parser, len(pairs)) if applied is None else None
        resolved = parser.resolve_operands(operands, inputs, at)
        if applied is not None:
            type = results[0] if results else None
            if not isinstance(type, TensorType) or len(pairs) != 1:
                parser.raise_error(f"{cls.name}: applies is for one tensor", start)
            element = TensorType(cast("TensorType[Any]", type).element_type, [])
            block = Block(arg_types=(element, element))
            made = applied.create(operands=block.args, result_types=(element,))
            block.add_ops((made, ReturnOp.create(operands=made.results)))
            region = Region(block)
        assert region is not None, "neither written nor applied"
        return cls.create(
            operands=resolved,
            result_types=results,
            properties={"dimensions": dimensions},
            attributes=attributes,
            regions=(region,),
        )

    def print(self, printer: Printer) -> None:
        n = len(self.operands) // 2
        for number in range(n):
            printer.print_string(", (" if number else "(")
            printer.print_operand(self.operands[number])
            printer.print_string(" init: ")
            printer.print_operand(self.operands[n + number])
            printer.print_string(")")
        applied = self._applied()
        if applied is not None:
            printer.print_string(f" applies {applied}")
        printer.print_string(f" across dimensions = {list(self.ints('dimensions') or ())}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        print_types(printer, self.STYLE, self.operands, self.results)
        if applied is not None:
            return
        arguments = self.regions[0].block.args
        printer.print_string(" reducer")
        for first, second in zip(arguments[:n], arguments[n:], strict=True):
            with printer.in_parens():
                printer.print_list((first, second), printer.print_block_argument)
            printer.print_string(" ")
        printer.print_region(self.regions[0], print_entry_block_args=False)

    def _applied(self) -> str | None:
        """Returns the op that is all of the region, None where there is more to say."""
        block = self.regions[0].block
        first, last = block.first_op, block.last_op
        if first is None or last is None or first.next_op is not last or len(first.results) != 1:
            return None
        elements = {value.type for value in (*block.args, *first.results)}
        is_plain = not first.properties and not first.attributes and not first.regions
        is_whole = tuple(first.operands) == tuple(block.args) and tuple(last.operands) == tuple(first.results)
        return first.name if len(block.args) == 2 and len(elements) == 1 and is_plain and is_whole else None

    def verify_(self) -> None:
        super().verify_()
        n, odd = divmod(len(self.operands), 2)
        if odd or not n or len(self.results) != n:
            raise VerifyException(
                f"{self.name}: {len(self.operands)} operands and {len(self.results)} results, expected as "
                "many initial values and results as inputs"
            )
        if len(self.regions[0].blocks) != 1 or len(self.regions[0].block.args) != 2 * n:
            raise VerifyException(f"{self.name}: the region does not take two elements of each input")


def _parse_reducer(parser: Parser, n: int) -> Region:
    parser.parse_keyword("reducer")
    pairs: list[tuple[Parser.Argument, Parser.Argument]] = []
    for _ in range(n):
        with parser.in_parens():
            first = _parse_argument(parser)
            parser.parse_punctuation(",")
            pairs.append((first, _parse_argument(parser)))
    return parser.parse_region([*(first for first, _ in pairs), *(second for _, second in pairs)])


def _parse_argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    location = parser.parse_optional_location()
    return Parser.Argument(argument.name, argument.type, location)


@irdl_op_definition
class CustomCallOp(WrittenOp):
    """
    What somebody else's function makes of its operands.

    ```mlir
    stablehlo.custom_call @shape_assertion(%holds, %n) {has_side_effect = true}
        : (tensor<i1>, tensor<i32>) -> ()
    ```
    """

    name = "stablehlo.custom_call"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("call_target_name",)
    call_target_name = opt_prop_def(StringAttr)
    has_side_effect = opt_prop_def()
    backend_config = opt_prop_def()
    api_version = opt_prop_def()
    called_computations = opt_prop_def()
    operand_layouts = opt_prop_def()
    result_layouts = opt_prop_def()
    output_operand_aliases = opt_prop_def()
    traits = traits_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        return cls.finished(parser, operands, {"call_target_name": name})

    @property
    def target(self) -> str:
        """The name of the function."""
        return "" if self.call_target_name is None else self.call_target_name.data

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.target)
        printer.print_operands(self.operands)
        self.print_rest(printer, {"call_target_name"})


@irdl_op_definition
class CompositeOp(WrittenOp):
    """
    An op that a function of the module says the meaning of.

    ```mlir
    %y = stablehlo.composite "my.op" %x {decomposition = @my_op} : (tensor<f32>) -> tensor<f32>
    ```
    """

    name = "stablehlo.composite"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.FUNCTION
    LEADING: ClassVar = StringClause(None, "name")
    REQUIRED: ClassVar = ("decomposition",)
    composite_name = opt_prop_def(StringAttr, prop_name="name")
    composite_attributes = opt_prop_def()
    decomposition = opt_prop_def()
    version = opt_prop_def()
    composite_regions = opt_prop_def()


@irdl_op_definition
class OptimizationBarrierOp(WrittenOp):
    """
    Its operands, past which nothing is moved.

    ```mlir
    %a, %b = stablehlo.optimization_barrier %x, %y : tensor<4xf32>, tensor<i32>
    ```
    """

    name = "stablehlo.optimization_barrier"
    N_RESULTS: ClassVar = None
    STYLE: ClassVar = TypeStyle.OPERANDS


@irdl_op_definition
class TupleOp(WrittenOp):
    """Its operands as one value."""

    name = "stablehlo.tuple"

    @classmethod
    def finished(
        cls, parser: Parser, operands: Sequence[UnresolvedOperand], properties: dict[str, Attribute]
    ) -> Self:
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        start = parser.pos
        type = parser.parse_type()
        if not isinstance(type, TupleType):
            parser.raise_error(f"{cls.name}: expected a tuple type", start)
        resolved = parser.resolve_operands(operands, type.types.data, start)
        return cls.create(operands=resolved, result_types=(type,), attributes=attributes)

    def print_rest(self, printer: Printer, written: set[str]) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)


@irdl_op_definition
class GetTupleElementOp(WrittenOp):
    """
    One value of a tuple.

    ```mlir
    %x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
    ```
    """

    name = "stablehlo.get_tuple_element"
    N_OPERANDS: ClassVar = 1
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("index",)
    index = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_integer(allow_boolean=False)
        return cls.finished(parser, (operand,), {"index": IntegerAttr(index, i32)})

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        printer.print_string(f"[{self.number('index', 0)}]")
        self.print_rest(printer, {"index"})


@irdl_op_definition
class AfterAllOp(WrittenOp):
    """A token that comes after others."""

    name = "stablehlo.after_all"


@irdl_op_definition
class CreateTokenOp(WrittenOp):
    """A token."""

    name = "stablehlo.create_token"
    N_OPERANDS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.RESULTS
