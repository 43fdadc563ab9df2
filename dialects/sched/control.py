"""
Control flow of programs: items whose regions are items again.

Buffers are the program's own, and stand outside of all regions; in a region stand items, and the rows that a
loop steps through. An iteration begins when the one before it is done. Within one, items wait for items of
the same region only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StridedLayoutAttr, UnitAttr, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..buffer_size import extents_of, memref_of
from ..dims.attributes import LengthAttr, length_attribute, length_of
from ..dims.expressions import DimSymbol, Extent, bounded, is_at_least
from ..dims.text import parse_extent
from ..graph import dims_around
from ..graph.types import tensor_of
from .attributes import AnalysisAttr
from .collectives import AwaitOp, CollectiveOp
from .host_call import CallbackOp, HostItem, PrintOp, RearrangeOp
from .program import (
    TOKEN,
    LaunchOp,
    SyncOp,
    TransferOp,
    parse_after,
    parse_analysis,
    print_after,
    print_analysis,
)
from .program_types import buffer_type

__all__ = ["ITEMS", "ControlItem", "ForOp", "IfOp", "RowOp", "WhileOp", "row_type"]

CONDITION = buffer_type(tensor_of(i1, ()))
"""The type of a buffer that decides."""

COUNTER = buffer_type(tensor_of(i64, ()))
"""The type of a buffer that holds the number of an iteration."""


def row_type(type: MemRefType) -> MemRefType:
    """Returns the type of one element of a buffer along its first axis."""
    if isinstance(type.layout, StridedLayoutAttr):
        strides = StridedLayoutAttr(type.layout.strides.data[1:])
        return MemRefType(type.element_type, type.get_shape()[1:], strides)
    return memref_of(type.element_type, extents_of(type)[1:])


def _indexed(type: Attribute) -> MemRefType[Attribute]:
    """Returns the type of a buffer, which must have an axis."""
    if not isinstance(type, MemRefType):
        raise VerifyException(f"sched.row: {type} is no buffer")
    buffer = cast(MemRefType[Attribute], type)
    if not buffer.get_shape():
        raise VerifyException(f"sched.row: {buffer} has no axis to index")
    return buffer


@irdl_op_definition
class RowOp(IRDLOperation):
    """
    The part of a buffer at an index along its first axis: a buffer of one dim less, in the same memory. The
    index is that of the `sched.for` that it stands in, or a number.

    ```mlir
    %row = sched.row %x[%i] : memref<10x8xf32>
    %third = sched.row %x[2] : memref<10x8xf32>
    ```
    """

    name = "sched.row"
    source = operand_def(MemRefType)
    index = opt_operand_def(IndexType())
    place = opt_prop_def(IntegerAttr.constr(IndexType()))
    result = result_def(MemRefType)
    traits = traits_def(Pure())

    def __init__(self, source: SSAValue, index: SSAValue | int):
        type = _indexed(source.type)
        is_number = isinstance(index, int)
        Operation.__init__(
            self,
            operands=(source,) if is_number else (source, index),
            result_types=(row_type(type),),
            properties={"place": IntegerAttr(index, IndexType())} if is_number else {},
        )

    @property
    def number(self) -> int | None:
        """The number that is the index, None where it is that of a loop."""
        return None if self.place is None else self.place.value.data

    @classmethod
    def parse(cls, parser: Parser) -> RowOp:
        source = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_optional_integer(allow_boolean=False)
            counted = parser.parse_unresolved_operand() if index is None else None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        at = parser.resolve_operand(counted, IndexType()) if counted is not None else index
        assert at is not None, "an index is a number or a value"
        op = cls(parser.resolve_operand(source, type), at)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        with printer.in_square_brackets():
            if self.index is not None:
                printer.print_operand(self.index)
            else:
                printer.print_string(str(self.number))
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    def verify_(self) -> None:
        type = _indexed(self.source.type)
        dims, rows = dims_around(self), extents_of(type)[0]
        if self.number is not None:
            if self.index is not None:
                raise VerifyException(f"{self.name}: it has two indices")
            if self.number < 0 or not is_at_least(bounded(rows, dims), self.number + 1):
                raise VerifyException(f"{self.name}: {type} has {rows} rows, found index {self.number}")
        else:
            self._verify_counted(type, dims)
        if self.result.type != row_type(type):
            raise VerifyException(
                f"{self.name}: a row of {type} is {row_type(type)}, found {self.result.type}"
            )

    def _verify_counted(self, type: MemRefType, dims: Mapping[str, DimSymbol]) -> None:
        owner = self.parent_op()
        if self.index is None or not isinstance(owner, ForOp) or self.index is not owner.index:
            raise VerifyException(f"{self.name}: the index is not that of the sched.for that it stands in")
        rows = extents_of(type)[0]
        if not is_at_least(bounded(rows, dims), bounded(owner.trip_count, dims)):
            raise VerifyException(
                f"{self.name}: {type} has {rows} rows, the loop has {owner.trip_count} iterations"
            )


class ControlItem(IRDLOperation, ABC):
    """An item of a program that runs the items of its regions."""

    after = var_operand_def(TOKEN)
    analysis = opt_prop_def(AnalysisAttr)
    token = result_def(TOKEN)
    traits = traits_def(NoTerminator())

    @property
    @abstractmethod
    def own_operands(self) -> Sequence[SSAValue]:
        """The operands that are no tokens."""
        ...

    @property
    def blocks(self) -> Sequence[Block]:
        """The blocks of the regions, in order."""
        return [region.block for region in self.regions]

    def set_analysis(self, analysis: AnalysisAttr | None) -> None:
        if analysis is not None:
            self.properties["analysis"] = analysis

    def verify_(self) -> None:
        for block in self.blocks:
            for op in block.ops:
                if not isinstance(op, RowOp | LaunchOp | TransferOp | SyncOp | HostItem | ControlItem):
                    raise VerifyException(
                        f"{self.name}: its region has {op.name}; only items and sched.row may stand there"
                    )
                for token in () if isinstance(op, RowOp) else op.after:
                    if token.owner.parent is not block:  # pyright: ignore[reportAttributeAccessIssue]
                        raise VerifyException(
                            f"{op.name}: in a region of {self.name}, waits for an item outside of it"
                        )

    def _print_analysis(self, printer: Printer) -> None:
        print_analysis(printer, self.analysis)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")


def _parse_attributes(parser: Parser) -> dict[str, Attribute]:
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return {} if attributes is None else dict(attributes.data)


def _check_condition(who: str, type: Attribute) -> None:
    if type != CONDITION:
        raise VerifyException(f"{who}: the condition is {type}, expected {CONDITION}")


@irdl_op_definition
class ForOp(ControlItem):
    """
    Runs the items of its region `trip_count` times: for the indices 0, 1, 2, ..., with `reverse` from the
    last to 0. If there is a `counter`, it holds the index while an iteration runs.

    ```mlir
    %t1 = sched.for %i = 10 counter %n after(%t0) {
      %row = sched.row %x[%i] : memref<10x8xf32>
      %t2 = sched.launch @f(%row, %n, %sum) after() : memref<8xf32>, memref<i64>, memref<8xf32>
    }
    ```
    """

    name = "sched.for"
    length = prop_def(LengthAttr)
    reverse = opt_prop_def(UnitAttr)
    counter = opt_operand_def(MemRefType)
    after = var_operand_def(TOKEN)
    analysis = opt_prop_def(AnalysisAttr)
    token = result_def(TOKEN)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        trip_count: Extent,
        counter: SSAValue | None = None,
        reverse: bool = False,
        after: Sequence[SSAValue] = (),
        body: Region | None = None,
    ):
        properties: dict[str, Attribute] = {"length": length_attribute(trip_count)}
        if reverse:
            properties["reverse"] = UnitAttr()
        super().__init__(
            operands=[counter, after],
            result_types=[TOKEN],
            properties=properties,
            regions=[Region(Block(arg_types=[IndexType()])) if body is None else body],
        )

    @property
    def trip_count(self) -> Extent:
        return length_of(self.length)

    @property
    def is_reverse(self) -> bool:
        return self.reverse is not None

    @property
    def index(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def own_operands(self) -> Sequence[SSAValue]:
        return () if self.counter is None else (self.counter,)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        index = parser.parse_argument(expect_type=False)
        location = parser.parse_optional_location()
        parser.parse_punctuation("=")
        trip_count = parse_extent(parser)
        is_reverse = parser.parse_optional_keyword("reverse") is not None
        counter = None
        if parser.parse_optional_keyword("counter") is not None:
            counter = parser.resolve_operand(parser.parse_unresolved_operand(), COUNTER)
        after = parse_after(parser)
        analysis, attributes = parse_analysis(parser), _parse_attributes(parser)
        body = parser.parse_region((Parser.Argument(index.name, IndexType(), location),))
        op = cls(trip_count, counter, is_reverse, after, body)
        op.set_analysis(analysis)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_block_argument(self.index, print_type=False)
        if printer.print_debuginfo:
            printer.print_string(" ")
            printer.print_attribute(self.index.location)
        printer.print_string(f" = {self.trip_count}")
        if self.is_reverse:
            printer.print_string(" reverse")
        if self.counter is not None:
            printer.print_string(" counter ")
            printer.print_operand(self.counter)
        print_after(printer, self.after)
        self._print_analysis(printer)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        if is_at_least(-1, self.trip_count):
            raise VerifyException(f"{self.name}: {self.trip_count} iterations (expected 0 or more)")
        if self.counter is not None and self.counter.type != COUNTER:
            raise VerifyException(f"{self.name}: the counter is {self.counter.type}, expected {COUNTER}")
        found = [argument.type for argument in self.body.block.args]
        if found != [IndexType()]:
            raise VerifyException(
                f"{self.name}: the region takes ({', '.join(map(str, found))}), expected (index)"
            )
        super().verify_()


class ConditionalItem(ControlItem, ABC):
    """An item with a condition and two regions, written with `KEYWORD` between them."""

    KEYWORD: ClassVar[str]
    condition = operand_def(MemRefType)
    after = var_operand_def(TOKEN)
    analysis = opt_prop_def(AnalysisAttr)
    token = result_def(TOKEN)
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        condition: SSAValue,
        after: Sequence[SSAValue] = (),
        first: Region | None = None,
        second: Region | None = None,
    ):
        super().__init__(
            operands=[condition, after],
            result_types=[TOKEN],
            regions=[first or Region(Block()), second or Region(Block())],
        )

    @property
    def own_operands(self) -> Sequence[SSAValue]:
        return (self.condition,)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        condition = parser.resolve_operand(parser.parse_unresolved_operand(), CONDITION)
        after = parse_after(parser)
        analysis, attributes = parse_analysis(parser), _parse_attributes(parser)
        first = parser.parse_region(())
        parser.parse_keyword(cls.KEYWORD)
        op = cls(condition, after, first, parser.parse_region(()))
        op.set_analysis(analysis)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.condition)
        print_after(printer, self.after)
        self._print_analysis(printer)
        first, second = self.regions
        printer.print_region(first, print_entry_block_args=False, print_empty_block=False)
        printer.print_string(f" {self.KEYWORD} ")
        printer.print_region(second, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        _check_condition(self.name, self.condition.type)
        super().verify_()


@irdl_op_definition
class WhileOp(ConditionalItem):
    """
    Runs the items of its first region, and then, while `condition` holds, those of the second region and of
    the first again. The first region is what makes the condition.

    ```mlir
    %t1 = sched.while %more after(%t0) {
      %t2 = sched.launch @is_more(%n, %more) after() : memref<i32>, memref<i8>
    } do {
      %t3 = sched.launch @next(%n) after() : memref<i32>
    }
    ```
    """

    name = "sched.while"
    KEYWORD: ClassVar[str] = "do"
    before = region_def("single_block")
    body = region_def("single_block")


@irdl_op_definition
class IfOp(ConditionalItem):
    """
    Runs the items of its first region where `condition` holds, else those of the second.

    ```mlir
    %t1 = sched.if %c after(%t0) {
      %t2 = sched.launch @f(%x, %y) after() : memref<8xf32>, memref<8xf32>
    } else {
      %t3 = sched.transfer %x to %y after() : memref<8xf32>
    }
    ```
    """

    name = "sched.if"
    KEYWORD: ClassVar[str] = "else"
    then_region = region_def("single_block")
    else_region = region_def("single_block")


ITEMS = (
    LaunchOp,
    TransferOp,
    SyncOp,
    CallbackOp,
    PrintOp,
    RearrangeOp,
    CollectiveOp,
    AwaitOp,
    ForOp,
    WhileOp,
    IfOp,
)
"""The ops that are items of a program."""
