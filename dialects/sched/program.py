"""
Programs: the host's side of a function, an ordered list of items over buffers.

Items are kernel launches, transfers, synchronisations, and the loops and branches of control.py. Each gives a
token; `after` lists the tokens of the items it depends on. Before `build-dependencies` the list is empty and
the order of the text is what counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IndexType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface, SymbolTable
from xdsl.utils.exceptions import VerifyException

from .. import low
from ..argument_list import parse_arguments, print_arguments
from ..buffer_size import dims_of_buffer, is_strided, size_of, verify_layout
from ..dims.expressions import Extent
from ..element_types import ELEMENT_TYPES, element_type_of
from ..graph.attributes import IntsAttr
from .attributes import AnalysisAttr, LifetimeAttr, Role, RoleAttr, Scope, ScopeAttr, SlabAttr, TokenType
from .kernel import KernelOp
from .origin import OriginAttr
from .program_types import argument_type, buffer_type

__all__ = ["TOKEN", "BufferOp", "ConstantOp", "LaunchOp", "ProgramOp", "ReturnOp", "SyncOp", "TransferOp"]

TOKEN = TokenType()


def check_tensor(who: str, type: Attribute) -> None:
    """Raises `VerifyException` where a type is no tensor that buffers can hold."""
    if element_type_of(type) not in ELEMENT_TYPES or not isinstance(type, TensorType):
        raise VerifyException(f"{who}: {type} is no tensor of numbers or booleans")


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """
    The host program of one function. `function_type` is the function's own type, over tensors; the arguments
    are the buffers that hold its inputs. The body returns the buffers that hold its results. An argument of
    type `index` is a static symbol: it is known when the program runs, and says which part of a node a
    `sched.node` is. Items write to no argument but those whose numbers the attribute `donated` has.

    ```mlir
    sched.program @double(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
      %y = sched.buffer global result : memref<8xf32>
      %t = sched.launch @double_0(%x, %y) after() : memref<8xf32>, memref<8xf32>
      sched.return %y after(%t) : memref<8xf32>
    }
    ```
    """

    name = "sched.program"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove())

    def __init__(self, name: str, function_type: FunctionType):
        super().__init__(
            properties={"sym_name": StringAttr(name), "function_type": function_type},
            regions=[Region(Block(arg_types=[argument_type(type) for type in function_type.inputs]))],
        )

    @property
    def donated(self) -> tuple[int, ...]:
        """The numbers of the arguments that the program may write to."""
        found = self.attributes.get("donated")
        return found.data if isinstance(found, IntsAttr) else ()

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name()
        arguments = parse_arguments(parser)
        parser.parse_punctuation(":")
        function_type = parser.parse_attribute()
        if not isinstance(function_type, FunctionType):
            parser.raise_error(f"expected a function type, found {function_type}")
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type"))
        region = parser.parse_region(arguments)
        op = cls.create(properties={"sym_name": name, "function_type": function_type}, regions=[region])
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_arguments(printer, self.body.block)
        printer.print_string(" : ")
        printer.print_attribute(self.function_type)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_(self) -> None:
        inputs = self.function_type.inputs
        for number in self.donated:
            if not 0 <= number < len(inputs) or isinstance(inputs.data[number], IndexType):
                raise VerifyException(
                    f"{self.name}: donates argument {number} of @{self.sym_name.data}, which is no buffer "
                    f"({len(inputs)} arguments)"
                )
        for type in inputs:
            if not isinstance(type, IndexType):
                check_tensor(self.name, type)
        for type in self.function_type.outputs:
            check_tensor(self.name, type)
        found = [argument.type for argument in self.body.block.args]
        expected = [argument_type(type) for type in inputs]
        if found != expected:
            raise VerifyException(
                f"{self.name}: @{self.sym_name.data} takes ({', '.join(map(str, found))}), expected "
                f"({', '.join(map(str, expected))})"
            )
        last = self.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise VerifyException(f"{self.name}: @{self.sym_name.data} ends in no sched.return")
        found = [value.type for value in last.buffers]
        expected = [buffer_type(type) for type in self.function_type.outputs]
        if found != expected:
            raise VerifyException(
                f"{self.name}: @{self.sym_name.data} returns ({', '.join(map(str, found))}), expected "
                f"({', '.join(map(str, expected))})"
            )


@irdl_op_definition
class BufferOp(IRDLOperation):
    """
    A buffer of the program: a `result`, or a `temporary` between two items. `lifetime` and, for temporaries,
    `slab` are what `plan-memory` found; buffers whose slabs overlap share memory at different times.

    ```mlir
    %t = sched.buffer global temporary lifetime <0, 1> slab <1, 4096> : memref<128xf32>
    ```

    One that is `kept` was asked for: its value is stored there, though nothing may read it.
    """

    name = "sched.buffer"
    scope = prop_def(ScopeAttr)
    role = prop_def(RoleAttr)
    lifetime = opt_prop_def(LifetimeAttr)
    slab = opt_prop_def(SlabAttr)
    kept = opt_attr_def(UnitAttr)
    result = result_def(MemRefType)
    assembly_format = "$scope $role (`lifetime` $lifetime^)? (`slab` $slab^)? attr-dict `:` type($result)"

    def __init__(self, role: Role, result_type: MemRefType):
        Operation.__init__(
            self,
            result_types=(result_type,),
            properties={"scope": ScopeAttr(Scope.GLOBAL), "role": RoleAttr(role)},
        )

    def verify_(self) -> None:
        if self.scope.data is not Scope.GLOBAL:
            raise VerifyException(f"{self.name}: a program's buffer is global, not {self.scope.data.value}")
        verify_layout(self.name, self.result.type)


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """
    A buffer whose contents are known when compiling; it is filled once, before the first run.

    ```mlir
    %w = sched.constant dense<[1.0, 2.0]> : tensor<2xf32> : memref<2xf32>
    ```
    """

    name = "sched.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    slab = opt_prop_def(SlabAttr)
    result = result_def(MemRefType)
    assembly_format = "$value (`slab` $slab^)? attr-dict `:` type($result)"

    def __init__(self, value: DenseIntOrFPElementsAttr):
        Operation.__init__(self, result_types=(buffer_type(value.type),), properties={"value": value})

    def verify_(self) -> None:
        check_tensor(self.name, self.value.type)
        if buffer_type(self.value.type) != self.result.type:
            raise VerifyException(
                f"{self.name}: {self.value.type} is held by {buffer_type(self.value.type)}, "
                f"found {self.result.type}"
            )


def print_after(printer: Printer, after: Sequence[SSAValue]) -> None:
    """Prints the tokens that an item waits for."""
    printer.print_string(" after")
    with printer.in_parens():
        printer.print_list(after, printer.print_operand)


def parse_after(parser: Parser) -> list[SSAValue]:
    """Parses what `print_after` prints."""
    parser.parse_keyword("after")
    tokens = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
    return [parser.resolve_operand(token, TOKEN) for token in tokens]


def print_analysis(printer: Printer, analysis: AnalysisAttr | None) -> None:
    """Prints what an item costs, if that is known."""
    if analysis is not None:
        printer.print_string(" analysis")
        analysis.print_parameters(printer)


def parse_analysis(parser: Parser) -> AnalysisAttr | None:
    """Parses what `print_analysis` prints."""
    if parser.parse_optional_keyword("analysis") is None:
        return None
    return AnalysisAttr.new(AnalysisAttr.parse_parameters(parser))


def _parse_buffers(parser: Parser, buffers: Sequence[UnresolvedOperand], pos: int) -> list[SSAValue]:
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type) if buffers else []
    if len(types) != len(buffers):
        parser.raise_error(f"{len(buffers)} buffers but {len(types)} types", pos)
    return [parser.resolve_operand(buffer, type) for buffer, type in zip(buffers, types, strict=True)]


@irdl_op_definition
class LaunchOp(IRDLOperation):
    """
    Runs a kernel, once the items in `after` are done. Before the buffers stand the values of its dims.

    ```mlir
    %t1 = sched.launch @softmax_0(%x, %y) after(%t0) : memref<8xf32>, memref<8xf32>
    ```

    `origins` are the ops of `graph` that it computes, where that was asked for.
    """

    name = "sched.launch"
    kernel = prop_def(FlatSymbolRefAttrConstr)
    analysis = opt_prop_def(AnalysisAttr)
    origins = opt_attr_def(ArrayAttr[OriginAttr])
    arguments = var_operand_def(BaseAttr(MemRefType) | BaseAttr(IndexType))
    after = var_operand_def(TOKEN)
    token = result_def(TOKEN)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, kernel: str, arguments: Sequence[SSAValue], after: Sequence[SSAValue] = ()):
        super().__init__(
            operands=[arguments, after], result_types=[TOKEN], properties={"kernel": SymbolRefAttr(kernel)}
        )

    @classmethod
    def parse(cls, parser: Parser) -> LaunchOp:
        kernel = parser.parse_symbol_name()
        pos = parser.pos
        buffers = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        after = parse_after(parser)
        analysis = parse_analysis(parser)
        attributes = parser.parse_optional_attr_dict()
        arguments: list[SSAValue] = []
        if parser.parse_optional_punctuation(":") is not None:
            arguments = _parse_buffers(parser, buffers, pos)
        op = cls(kernel.data, arguments, after)
        if analysis is not None:
            op.analysis = analysis
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.root_reference.data)
        with printer.in_parens():
            printer.print_list(self.arguments, printer.print_operand)
        print_after(printer, self.after)
        print_analysis(printer, self.analysis)
        printer.print_op_attributes(self.attributes)
        if self.arguments:
            printer.print_string(" : ")
            printer.print_list(self.arguments, lambda argument: printer.print_attribute(argument.type))

    def verify_(self) -> None:
        name = self.kernel.root_reference.data
        kernel = SymbolTable.lookup_symbol(self, name)
        if not isinstance(kernel, KernelOp | low.KernelOp):
            raise VerifyException(f"{self.name}: there is no kernel @{name}")
        misfit = self.misfit(kernel)
        if misfit is not None:
            raise VerifyException(misfit)

    def misfit(self, kernel: KernelOp | low.KernelOp) -> str | None:
        """Returns what is wrong with running `kernel` on these arguments: their number, types or sizes."""
        name, parameters = kernel.sym_name.data, kernel.body.block.args
        if len(self.arguments) != len(parameters) or any(
            mine.type != its.type and _flat(mine.type) != _flat(its.type)
            for mine, its in zip(self.arguments, parameters, strict=True)
        ):
            return (
                f"{self.name}: @{name} takes {len(parameters)} buffers ({_sizes(parameters)}), "
                f"found ({_sizes(self.arguments)})"
            )
        if isinstance(kernel, KernelOp):
            for mine, its in zip(self.arguments, parameters, strict=True):
                if isinstance(mine.type, IndexType):
                    continue
                # Dense buffers may be seen in another shape.
                if mine.type != its.type and (is_strided(mine.type) or is_strided(its.type)):
                    return f"{self.name}: argument {its.index} of @{name} is {its.type}, found {mine.type}"
        return None


@lru_cache(1024)
def _flat(type: Attribute) -> tuple[Attribute, Extent | Attribute]:
    """A buffer as kernels of every level see it: its element type and its number of elements, with gaps."""
    if isinstance(type, IndexType):
        return type, 1
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    buffer = cast(Attribute, type)
    is_known = type.has_static_shape() or dims_of_buffer(buffer) is not None
    return element_type_of(buffer), size_of(buffer) if is_known else buffer


def _sizes(buffers: Sequence[SSAValue]) -> str:
    sizes = (_flat(buffer.type) for buffer in buffers)
    return ", ".join(f"{count} x {element_type}" for element_type, count in sizes)


@irdl_op_definition
class TransferOp(IRDLOperation):
    """
    Copies a buffer to another of the same type, once the items in `after` are done.

    ```mlir
    %t1 = sched.transfer %x to %y after(%t0) : memref<8xf32>
    ```

    `why` says in words what it is for, where that was asked for.
    """

    name = "sched.transfer"
    analysis = opt_prop_def(AnalysisAttr)
    why = opt_attr_def(StringAttr)
    source = operand_def(MemRefType)
    target = operand_def(MemRefType)
    after = var_operand_def(TOKEN)
    token = result_def(TOKEN)

    def __init__(self, source: SSAValue, target: SSAValue, after: Sequence[SSAValue] = ()):
        super().__init__(operands=[source, target, after], result_types=[TOKEN])

    @classmethod
    def parse(cls, parser: Parser) -> TransferOp:
        source = parser.parse_unresolved_operand()
        parser.parse_keyword("to")
        target = parser.parse_unresolved_operand()
        after = parse_after(parser)
        analysis = parse_analysis(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(parser.resolve_operand(source, type), parser.resolve_operand(target, type), after)
        if analysis is not None:
            op.analysis = analysis
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(" to ")
        printer.print_operand(self.target)
        print_after(printer, self.after)
        print_analysis(printer, self.analysis)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    def verify_(self) -> None:
        if self.source.type != self.target.type:
            raise VerifyException(
                f"{self.name}: cannot copy {self.source.type} to {self.target.type} (types differ)"
            )


@irdl_op_definition
class SyncOp(IRDLOperation):
    """
    A fence: done once all items before it are, and all items after it wait for it, whether or not they share
    buffers. `after` lists those before it that no other item of the list waits for. The host need not wait.

    ```mlir
    %t2 = sched.sync after(%t0, %t1)
    ```
    """

    name = "sched.sync"
    after = var_operand_def(TOKEN)
    token = result_def(TOKEN)

    def __init__(self, after: Sequence[SSAValue] = ()):
        super().__init__(operands=[after], result_types=[TOKEN])

    @classmethod
    def parse(cls, parser: Parser) -> SyncOp:
        op = cls(parse_after(parser))
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        print_after(printer, self.after)
        printer.print_op_attributes(self.attributes)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """
    Ends a program: its results, and the items that must be done before they may be read.

    ```mlir
    sched.return %y after(%t1) : memref<8xf32>
    ```
    """

    name = "sched.return"
    buffers = var_operand_def(MemRefType)
    after = var_operand_def(TOKEN)
    traits = traits_def(IsTerminator())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(self, buffers: Sequence[SSAValue], after: Sequence[SSAValue] = ()):
        super().__init__(operands=[buffers, after])

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        pos = parser.pos
        buffers: list[UnresolvedOperand] = []
        while (operand := parser.parse_optional_unresolved_operand()) is not None:
            buffers.append(operand)
            if parser.parse_optional_punctuation(",") is None:
                break
        after = parse_after(parser)
        attributes = parser.parse_optional_attr_dict()
        values: list[SSAValue] = []
        if parser.parse_optional_punctuation(":") is not None:
            values = _parse_buffers(parser, buffers, pos)
        op = cls(values, after)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        if self.buffers:
            printer.print_string(" ")
            printer.print_list(self.buffers, printer.print_operand)
        print_after(printer, self.after)
        printer.print_op_attributes(self.attributes)
        if self.buffers:
            printer.print_string(" : ")
            printer.print_list(self.buffers, lambda buffer: printer.print_attribute(buffer.type))
