"""
Kernels: trees of annotated axes over buffers, with scalar bodies.

A body is written in `memref.load` and `memref.store`, scalar `arith` and `math`, and `low.select`,
`low.convert` and `low.remf` (the closed list is `SCALAR_OPS`). Serial code may use `scf.for`, `scf.if` and
`scf.while` too, which carry scalars and indices; axes may stand in them, but what stands around them runs
neither as vectors nor unrolled. Several stages may stand one after the other under a shared outer axis and
hand scalars (`sched.reduce`) and local buffers (`sched.alloc`) to one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_attr_def,
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
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from .. import low
from ..argument_list import parse_arguments, print_arguments
from ..buffer_size import extents_of, verify_layout
from ..dims.attributes import LengthAttr, length_attribute, length_of
from ..dims.expressions import Extent, is_at_least
from ..dims.text import parse_extent
from ..element_types import is_float
from ..kernel_dims import dims_properties, parse_dims, print_dims, sizes_of, verify_dims
from ..low.static_bounds import Counter, verify_accesses
from .attributes import CombineKind, CombineKindAttr, MappingAttr, Scope, ScopeAttr
from .tile_shape import TileShapeAttr

__all__ = ["SCALAR_OPS", "AllocOp", "AxisOp", "KernelOp", "ReduceOp", "YieldOp"]

INDEX = IndexType()


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    One kernel. Its arguments are the buffers it reads and writes; a buffer it writes overlaps no other.
    Before them stands an `index` for each of the named `dims` that its extents are written with.

    ```mlir
    sched.kernel @scale(%x: memref<128xf32>, %y: memref<128xf32>) {
      sched.axis %i = 128 block vector(8) {
        %v = memref.load %x[%i] : memref<128xf32>
        %d = arith.addf %v, %v : f32
        memref.store %d, %y[%i] : memref<128xf32>
      }
    }
    ```

    With dims: `sched.kernel @scale(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] { ... }`.

    The pass that maps its axes says why in `attributes {schedule = "i: neighbours in memory; ..."}`: clauses
    with `; ` between them, about the axis whose name each begins with. It is for people and has no meaning.
    """

    name = "sched.kernel"
    sym_name = prop_def(StringAttr)
    dims = opt_prop_def(ArrayAttr[StringAttr])
    schedule = opt_attr_def(StringAttr)
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    def __init__(self, name: str, argument_types: Sequence[Attribute], dims: Sequence[str] = ()):
        super().__init__(
            properties={"sym_name": StringAttr(name), **dims_properties(dims)},
            regions=[Region(Block(arg_types=[*(INDEX for _ in dims), *argument_types]))],
        )

    @property
    def sizes(self) -> dict[str, BlockArgument]:
        """The arguments that are the values of dims, by the dims' names."""
        return sizes_of(self.dims, self.body.block)

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parse_arguments(parser)
        dims = parse_dims(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "dims"))
        region = parser.parse_region(arguments)
        op = cls.create(properties={"sym_name": name, **dims_properties(dims)}, regions=[region])
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_arguments(printer, self.body.block)
        print_dims(printer, self.dims)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        verify_dims(self, self.sym_name.data, self.dims, self.body.block)
        for argument in self.body.block.args[len(self.dims or ()) :]:
            who = f"{self.name}: argument {argument.index} of @{self.sym_name.data}"
            type: Attribute = argument.type
            if not isinstance(type, MemRefType):
                raise VerifyException(f"{who} is {type}, expected a memref")
            verify_layout(who, cast(Attribute, type))
        verify_accesses(self.body.block, _counter_of)


def _counter_of(op: Operation) -> Counter | None:
    if not isinstance(op, AxisOp | ReduceOp) or op.count is not None:
        return None
    extent = op.extent
    return (op, range(extent)) if isinstance(extent, int) else None


def _print_loop(printer: Printer, op: AxisOp | ReduceOp) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(op.index)
    printer.print_string(f" = {op.extent}")
    if op.count is not None:
        printer.print_string(" count ")
        printer.print_ssa_value(op.count)
    if words := op.mapping.words():
        printer.print_string(f" {words}")


_Header = tuple[Parser.UnresolvedArgument, Extent, SSAValue | None, MappingAttr]


def _parse_loop(parser: Parser) -> _Header:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    extent = parse_extent(parser)
    count = None
    if parser.parse_optional_keyword("count") is not None:
        count = parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
    return argument, extent, count, MappingAttr.parse_mapping(parser)


def _verify_loop(op: AxisOp | ReduceOp) -> None:
    if is_at_least(-1, op.extent):
        raise VerifyException(f"{op.name}: extent {op.extent} is negative")
    arguments = op.body.block.args
    if len(arguments) != 1 or arguments[0].type != INDEX:
        raise VerifyException(
            f"{op.name}: body takes ({', '.join(str(a.type) for a in arguments)}), expected one index"
        )


@irdl_op_definition
class AxisOp(IRDLOperation):
    """
    A parallel axis: `body` for every index from 0 to `extent` - 1, in any order, mapped as said. With a
    `count` there are as many iterations as that says, but no more than `extent`, and none where it is
    negative: the last part of an axis that was split into parts of `extent`.

    ```mlir
    sched.axis %i = 4096 block(64) vector(8) {
      ...
    }
    sched.axis %j = 16 count %left {
      ...
    }
    ```
    """

    name = "sched.axis"
    count = opt_operand_def(IndexType)
    length = prop_def(LengthAttr, prop_name="extent")
    mapping = prop_def(MappingAttr)
    body = region_def("single_block")
    traits = traits_def(NoTerminator())

    def __init__(
        self,
        extent: Extent,
        mapping: MappingAttr | None = None,
        body: Region | None = None,
        count: SSAValue | None = None,
    ):
        Operation.__init__(
            self,
            operands=() if count is None else (count,),
            properties={"extent": length_attribute(extent), "mapping": mapping or MappingAttr.get()},
            regions=(body or Region(Block(arg_types=[INDEX])),),
        )

    @property
    def extent(self) -> Extent:
        """The index runs from 0 to this, exclusive, unless there is a `count`."""
        return length_of(self.length)

    @property
    def index(self) -> BlockArgument:
        return self.body.block.args[0]

    @classmethod
    def parse(cls, parser: Parser) -> AxisOp:
        argument, extent, count, mapping = _parse_loop(parser)
        attributes = parser.parse_optional_attr_dict_with_keyword(("extent", "mapping"))
        region = parser.parse_region([argument.resolve(INDEX)])
        op = cls(extent, mapping, region, count)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        _print_loop(printer, self)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        _verify_loop(self)


_SEGMENTS = {
    (has_count, has_init): DenseArrayBase.from_list(i32, [int(has_count), int(has_init)])
    for has_count in (False, True)
    for has_init in (False, True)
}
"""How many operands of a reduction are a count, and how many an init."""


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """
    A reduction axis: combines what `body` yields for every index from 0 to `extent` - 1; the result of no
    elements is the kind's identity (0, 1, -inf or the least integer, +inf or the greatest, all bits, no
    bits).

    The order of combination is part of the meaning. With `vector(w) unroll(u)` there are n = w * u partial
    results, all starting at the identity, and number p takes the indices k * n + p for k = 0, 1, ...; then
    the upper half of them is combined into the lower half, until one is left; then the indices that fill no
    whole step, one by one. So what is computed depends on n only, and not on how wide the vectors are.
    Work-items share a reduction likewise: with `items(t) unroll(u)` there are n = t * u partial results, of
    which number p takes all indices k * n + p, those that fill no whole step too.

    The body of a reduction by `fma` yields two values. Each step adds their product to a partial result,
    rounded once; partial results are then added to one another. Several dims are one such reduction in
    another: the body of the outer one, which is serial, yields nothing but the result of the inner one, whose
    first partial result starts from what the outer one has so far.

    With `init` partial result 0 starts from that value instead of the identity, also where no index falls to
    it: so a reduction goes on where another one ended, which in serial order changes no bit. A `count` is
    that of `sched.axis`; the order is that of an extent with so many indices.

    ```mlir
    %sum = sched.reduce addf %j = 1000 vector(8) unroll(4) : f32 {
      %v = memref.load %x[%j] : memref<1000xf32>
      sched.yield %v : f32
    }
    %dot = sched.reduce fma %k = 1000 : f32 {
      %a = memref.load %x[%k] : memref<1000xf32>
      %b = memref.load %y[%k] : memref<1000xf32>
      sched.yield %a, %b : f32
    }
    %more = sched.reduce addf %k = 16 count %left init(%sum) : f32 {
      ...
    }
    %tiled = sched.reduce fma %k = 1000 tile_shape [6, 16 in panels] : f32 {
      %a = memref.load %x[%i, %k] : memref<48x1000xf32>
      %b = memref.load %panels[%p, %k, %l] : memref<4x1000x16xf32>
      sched.yield %a, %b : f32
    }
    ```
    """

    name = "sched.reduce"
    count = opt_operand_def(IndexType)
    init = opt_operand_def(AnyAttr())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    kind = prop_def(CombineKindAttr)
    length = prop_def(LengthAttr, prop_name="extent")
    mapping = prop_def(MappingAttr)
    tile_shape = opt_prop_def(TileShapeAttr)
    fastmath = opt_prop_def(arith.FastMathFlagsAttr)
    result = result_def(AnyAttr())
    body = region_def("single_block")

    def __init__(
        self,
        kind: CombineKind,
        extent: Extent,
        result_type: Attribute,
        mapping: MappingAttr | None = None,
        body: Region | None = None,
        fastmath: arith.FastMathFlagsAttr | None = None,
        count: SSAValue | None = None,
        init: SSAValue | None = None,
        tile_shape: TileShapeAttr | None = None,
    ):
        properties: dict[str, Attribute] = {
            "kind": CombineKindAttr(kind),
            "extent": length_attribute(extent),
            "mapping": mapping or MappingAttr.get(),
            "operandSegmentSizes": _SEGMENTS[count is not None, init is not None],
        }
        if fastmath is not None:
            properties["fastmath"] = fastmath
        if tile_shape is not None:
            properties["tile_shape"] = tile_shape
        Operation.__init__(
            self,
            operands=[operand for operand in (count, init) if operand is not None],
            result_types=(result_type,),
            properties=properties,
            regions=(body or Region(Block(arg_types=[INDEX])),),
        )

    @property
    def extent(self) -> Extent:
        """The index runs from 0 to this, exclusive, unless there is a `count`."""
        return length_of(self.length)

    @property
    def index(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def yielded(self) -> Sequence[SSAValue]:
        """What `body` yields: the value to combine, or the two of a product to add."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp), "sched.reduce: body ends in no sched.yield"
        return last.values

    @property
    def continued(self) -> ReduceOp | None:
        """The reduction inside that goes on with this one's sum, if this is one of several dims by `fma`."""
        if not self.kind.data.adds_products or len(self.yielded) != 1:
            return None
        inner = self.yielded[0].owner
        assert isinstance(inner, ReduceOp), f"{self.name}: nothing goes on with the sum"
        return inner

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        kind = parser.parse_str_enum(CombineKind)
        argument, extent, count, mapping = _parse_loop(parser)
        init, tile_shape, fastmath = None, None, None
        if parser.parse_optional_keyword("init") is not None:
            parser.parse_punctuation("(")
            init = parser.parse_unresolved_operand()
            parser.parse_punctuation(")")
        if parser.parse_optional_keyword("tile_shape") is not None:
            tile_shape = TileShapeAttr(TileShapeAttr.parse_parameter(parser))
        if parser.parse_optional_keyword("fastmath") is not None:
            fastmath = arith.FastMathFlagsAttr(arith.FastMathFlagsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword(
            ("kind", "extent", "mapping", "tile_shape", "fastmath")
        )
        parser.parse_punctuation(":")
        result_type = parser.parse_type()
        start = None if init is None else parser.resolve_operand(init, result_type)
        region = parser.parse_region([argument.resolve(INDEX)])
        op = cls(kind, extent, result_type, mapping, region, fastmath, count, start, tile_shape)
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.kind.data.value}")
        _print_loop(printer, self)
        if self.init is not None:
            printer.print_string(" init(")
            printer.print_ssa_value(self.init)
            printer.print_string(")")
        if self.tile_shape is not None:
            printer.print_string(" tile_shape ")
            self.tile_shape.print_parameter(printer)
        if self.fastmath is not None:
            printer.print_string(" fastmath")
            self.fastmath.print_parameter(printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        _verify_loop(self)
        if self.mapping.tile.data and (not self.kind.data.adds_products or self.mapping.step != 1):
            raise VerifyException(f"{self.name}: {self.mapping.words()} (tiles are of serial sums by fma)")
        if self.mapping.prefetch.data:
            raise VerifyException(f"{self.name}: {self.mapping.words()} (prefetch is for the axes of a tile)")
        self._verify_tile_shape()
        kind, last = self.kind.data, self.body.block.last_op
        if not isinstance(last, YieldOp) or any(value.type != self.result.type for value in last.values):
            found = _types(last.values) if isinstance(last, YieldOp) else "no sched.yield"
            raise VerifyException(f"{self.name}: body yields {found}, expected {self.result.type}")
        if self.init is not None and self.init.type != self.result.type:
            raise VerifyException(f"{self.name}: init is {self.init.type}, expected {self.result.type}")
        if kind.adds_products:
            self._verify_products(last.values)
        elif len(last.values) != 1:
            raise VerifyException(
                f"{self.name}: body yields {len(last.values)} values, expected 1 to combine by {kind.value}"
            )
        # Partial results are combined by halves, in one order everywhere, so that all backends round alike.
        partials = self.mapping.partials
        if partials & (partials - 1):
            raise VerifyException(
                f"{self.name}: {partials} partial results cannot be halved (need a power of two)"
            )
        if self.mapping.items.data > 1 and self.mapping.vector.data > 1:
            raise VerifyException(
                f"{self.name}: vector({self.mapping.vector.data}) in items({self.mapping.items.data}): "
                "work-items keep partial results of one lane"
            )
        # `CombineKind` has the names of MLIR's arith ops: those of floats end in `f`.
        of_floats = kind is CombineKind.FMA or kind.value.endswith("f")
        if is_float(self.result.type) != of_floats or not (
            is_float(self.result.type) or isinstance(self.result.type, IntegerType)
        ):
            raise VerifyException(f"{self.name}: cannot combine {self.result.type} by {kind.value}")

    def reads_panels(self, shape: TileShapeAttr) -> bool:
        """Returns whether the body loads from buffers that lie in the panels of a tile."""
        loads = [op for op in self.body.walk() if isinstance(op, memref.LoadOp)]
        return shape.fits([extents_of(load.memref.type)[-1] for load in loads if load.indices])

    def _verify_tile_shape(self) -> None:
        if self.tile_shape is None:
            return
        text = f"tile_shape [{', '.join(map(str, self.tile_shape.data))}]"
        if not self.kind.data.adds_products:
            kind = self.kind.data.value
            raise VerifyException(f"{self.name}: {text} of a sum by {kind} (tiles are by fma)")
        if not self.reads_panels(self.tile_shape):
            raise VerifyException(
                f"{self.name}: {text}, but it loads from no buffers whose last extents are "
                "those of the panels"
            )

    def _verify_products(self, values: Sequence[SSAValue]) -> None:
        """Checks that the body yields two values, or the sum that an inner reduction goes on with."""
        if len(values) == 2:
            return
        inner = values[0].owner if len(values) == 1 else None
        if (
            not isinstance(inner, ReduceOp)
            or inner.kind.data is not self.kind.data
            or inner.parent is not self.body.block
            or inner.init is not None
            or not values[0].has_one_use()
        ):
            raise VerifyException(
                f"{self.name}: body yields {len(values)} values, expected 2 to multiply or "
                "the sum of a reduction by fma in it, for nothing else"
            )
        if self.mapping != MappingAttr.get(tile=self.mapping.tile.data):
            raise VerifyException(
                f"{self.name}: {self.mapping.words()} for the outer of two dims (only serial goes on)"
            )


def _types(values: Sequence[SSAValue]) -> str:
    return ", ".join(str(value.type) for value in values)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """
    The value that a `sched.reduce` combines, or the two of one type whose product it adds.

    ```mlir
    sched.yield %v : f32
    ```
    """

    name = "sched.yield"
    values = var_operand_def(AnyAttr())
    traits = traits_def(IsTerminator(), Pure())

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)

    @classmethod
    def parse(cls, parser: Parser) -> YieldOp:
        values = [parser.parse_unresolved_operand()]
        while parser.parse_optional_punctuation(",") is not None:
            values.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        op = cls(*(parser.resolve_operand(value, type) for value in values))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.values, printer.print_ssa_value)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.values[0].type)

    def verify_(self) -> None:
        if not self.values or any(value.type != self.values[0].type for value in self.values):
            raise VerifyException(f"{self.name}: yields ({_types(self.values)}), expected values of one type")


@irdl_op_definition
class AllocOp(IRDLOperation):
    """
    A buffer inside a kernel: `local` lives for one iteration of the axes around it, `shared` for one
    work-group. Its elements start undefined.

    ```mlir
    %row = sched.alloc local : memref<1000xf32>
    ```
    """

    name = "sched.alloc"
    scope = prop_def(ScopeAttr)
    result = result_def(MemRefType)
    assembly_format = "$scope attr-dict `:` type($result)"

    def __init__(self, scope: Scope, result_type: MemRefType):
        Operation.__init__(self, result_types=(result_type,), properties={"scope": ScopeAttr(scope)})

    def verify_(self) -> None:
        if self.scope.data is Scope.GLOBAL:
            raise VerifyException(f"{self.name}: a kernel cannot allocate a global buffer")
        type = self.result.type
        if not type.has_static_shape():
            raise VerifyException(f"{self.name}: {type} has a dynamic extent")
        verify_layout(self.name, type)


SCALAR_OPS: tuple[type[Operation], ...] = (
    memref.LoadOp,
    memref.StoreOp,
    *(
        op
        for op in low.BODY_OPS
        if op.name.startswith(("arith.", "math.")) or op in (low.SelectOp, low.ConvertOp, low.RemfOp)
    ),
)
"""Every op that may stand in a kernel's body beside the ops of this file."""
assert arith.AddfOp in SCALAR_OPS and math.ExpOp in SCALAR_OPS
