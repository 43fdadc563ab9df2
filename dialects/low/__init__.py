"""
The `low` dialect: one kernel, nothing left to decide.

A kernel's body is written in xDSL's own dialects; `low` adds only what they lack. The whole vocabulary is
the closed list `BODY_OPS` below, so that a backend is a table plus a `match`:

* `scf`: for (iter_args), if (with or without results), while, condition, yield
* `memref`: load, store (one linear index), alloca (private; or memory space `"shared"` for a work-group)
* `vector`: load, store, broadcast, reduction, on 1-d vectors of 2, 4, 8 or 16 lanes
* `arith`: constant, integer and float arithmetic, bit operations, comparisons, bitcast, extf, truncf,
  index_cast
* `math`: absf, sqrt, floor, ceil, trunc, roundeven, copysign, fma, and the functions `expand-math` expands
* `low`: the ids, the barrier, select, convert, remf, ldexp, reverse, transpose,
  tile_fma (`dialects/low/tile.py`), atomic_rmw (`dialects/low/atomic_rmw.py`)

xDSL's `arith.select` and its integer conversions take scalars only; `low.select` and `low.convert` take
vectors too and are used everywhere instead of them.

Kernel arguments are one-dimensional, contiguous memrefs of a storage type (f64 f32 f16 bf16 f8E5M2 f8E4M3FN
f8E4M3 i64 i32 i16 i8; a boolean is stored as an i8 of 0 or 1) that do not overlap one another where one of
them is written.
`vector.reduction` combines the upper half of the lanes into the lower half, again and again, until one lane
is left, and that into the accumulator if there is one: for four lanes `(v0 + v2) + (v1 + v3)`.

Integers wrap. Float arithmetic is IEEE in the type's own precision, in the order written; nothing is
contracted or reassociated unless an op's `fastmath` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    IndexType,
    IntegerType,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Data,
    Dialect,
    Operation,
    Region,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..argument_list import parse_arguments, print_arguments
from ..buffer_size import is_strided, verify_layout
from ..dims.expressions import Extent, is_at_least, unbounded
from ..dims.text import parse_extent
from ..element_types import element_type_of, is_float, lanes_of, with_lanes
from ..kernel_dims import dims_properties, parse_dims, print_dims, sizes_of, verify_dims
from .alloca import AllocaOp
from .atomic_rmw import AtomicRmwKindAttr, AtomicRmwOp
from .ldexp import LdexpOp
from .reverse import ReverseOp
from .static_bounds import Counter, verify_accesses
from .tile import TileFmaOp
from .transpose import TransposeOp


@irdl_attr_definition
class DimsAttr(Data[tuple[Extent, ...]], SpacedOpaqueSyntaxAttribute):
    """Three extents, x first: `#low<dims [128, 1, 1]>`; printed bare (`[128, 1, 1]`) by ops."""

    name = "low.dims"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Extent, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_extent(parser)))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(str(list(self.data)))

    def verify(self) -> None:
        if len(self.data) != 3 or any(is_at_least(-1, extent) for extent in self.data):
            raise VerifyException(f"{self.name}: {list(self.data)} is not three extents from 0 up")


class Dimension(StrEnum):
    """A dimension of the grid."""

    X = "x"
    Y = "y"
    Z = "z"

    @property
    def number(self) -> int:
        """0 for x, 1 for y, 2 for z: where grids and blocks have the dimension's extent."""
        return "xyz".index(self.value)


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """`#low<dimension x>`; printed bare (`x`) by the ops that use it."""

    name = "low.dimension"


class Conversion(StrEnum):
    """The conversions of `low.convert`, with MLIR's `arith` names."""

    SITOFP = "sitofp"
    UITOFP = "uitofp"
    FPTOSI = "fptosi"
    FPTOUI = "fptoui"
    EXTSI = "extsi"
    EXTUI = "extui"
    TRUNCI = "trunci"


@irdl_attr_definition
class ConversionAttr(EnumAttribute[Conversion], SpacedOpaqueSyntaxAttribute):
    """`#low<conversion sitofp>`; printed bare (`sitofp`) by `low.convert`."""

    name = "low.conversion"


@irdl_op_definition
class KernelOp(IRDLOperation):
    """
    One kernel: its body runs once per work-item of `grid` x `block`. Work-groups are independent of one
    another; the work-items of one work-group meet at barriers. A grid with an extent of 0 runs nothing.

    A kernel with named `dims` has an `index` for each of them before its buffers, and its grid may be written
    with them: `low.kernel @double(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>) dims [n]
    grid [n, 1, 1] block [1, 1, 1] { ... }`.

    ```mlir
    low.kernel @double(%x: memref<128xf32>, %y: memref<128xf32>) grid [128, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<128xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%i] : memref<128xf32>
    }
    ```
    """

    name = "low.kernel"
    sym_name = prop_def(StringAttr)
    dims = opt_prop_def(ArrayAttr[StringAttr])
    grid = prop_def(DimsAttr)
    block_dims = prop_def(DimsAttr, prop_name="block")
    body = region_def("single_block")
    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    def __init__(
        self,
        name: str,
        argument_types: Sequence[Attribute],
        grid: Sequence[Extent],
        block: Sequence[int],
        dims: Sequence[str] = (),
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                **dims_properties(dims),
                "grid": DimsAttr(tuple(map(unbounded, grid))),
                "block": DimsAttr(tuple(block)),
            },
            regions=[Region(Block(arg_types=[*(IndexType() for _ in dims), *argument_types]))],
        )

    @property
    def sizes(self) -> dict[str, BlockArgument]:
        """The arguments that are the values of dims, by the dims' names."""
        return sizes_of(self.dims, self.body.block)

    @property
    def block_extents(self) -> tuple[int, int, int]:
        """The extents of a work-group, which are numbers."""
        x, y, z = (extent for extent in self.block_dims.data if isinstance(extent, int))
        return x, y, z

    @classmethod
    def parse(cls, parser: Parser) -> KernelOp:
        name = parser.parse_symbol_name()
        arguments = parse_arguments(parser)
        dims = dims_properties(parse_dims(parser))
        parser.parse_keyword("grid")
        grid = DimsAttr(DimsAttr.parse_parameter(parser))
        parser.parse_keyword("block")
        block = DimsAttr(DimsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword(("sym_name", "dims", "grid", "block"))
        region = parser.parse_region(arguments)
        op = cls.create(properties={"sym_name": name, **dims, "grid": grid, "block": block}, regions=[region])
        if attributes is not None:
            op.attributes.update(attributes.data)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        print_arguments(printer, self.body.block)
        print_dims(printer, self.dims)
        printer.print_string(f" grid {list(self.grid.data)} block {list(self.block_dims.data)}")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)

    def verify_(self) -> None:
        verify_dims(self, self.sym_name.data, self.dims, self.body.block)
        for argument in self.body.block.args[len(self.dims or ()) :]:
            who = f"{self.name}: argument {argument.index} of @{self.sym_name.data}"
            type: Attribute = argument.type
            if not isinstance(type, MemRefType) or len(type.get_shape()) != 1:
                raise VerifyException(f"{who} is {type}, expected a one-dimensional memref")
            verify_layout(who, cast(Attribute, type))
            if is_strided(cast(Attribute, type)):
                raise VerifyException(f"{who} is {type}, expected a dense memref")
        if any(not isinstance(extent, int) or extent < 1 for extent in self.block_dims.data):
            raise VerifyException(f"{self.name}: block {list(self.block_dims.data)} has an extent below 1")
        if all(isinstance(extent, int) and extent > 0 for extent in self.grid.data):
            verify_accesses(self.body.block, self._counter_of)

    def _counter_of(self, op: Operation) -> Counter | None:
        if not isinstance(op, BlockIdOp | ThreadIdOp):
            return None
        dimension = op.dimension.data
        extent = (self.grid if isinstance(op, BlockIdOp) else self.block_dims).data[dimension.number]
        assert isinstance(extent, int), "ids of a grid of unknown size are not asked for"
        return (op.name, dimension), range(extent)


class _IdOp(IRDLOperation):
    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "$dimension attr-dict"

    def __init__(self, dimension: Dimension):
        super().__init__(properties={"dimension": DimensionAttr(dimension)}, result_types=[IndexType()])


@irdl_op_definition
class BlockIdOp(_IdOp):
    """
    The index of this work-group in the grid.

    ```mlir
    %b = low.block_id x
    ```
    """

    name = "low.block_id"


@irdl_op_definition
class ThreadIdOp(_IdOp):
    """
    The index of this work-item in its work-group.

    ```mlir
    %t = low.thread_id x
    ```
    """

    name = "low.thread_id"


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """
    All work-items of the work-group wait here, and see one another's stores before it.

    ```mlir
    low.barrier
    ```
    """

    name = "low.barrier"
    assembly_format = "attr-dict"


@irdl_op_definition
class SelectOp(IRDLOperation):
    """
    `on_true` where `condition` holds, else `on_false`, lane by lane. Both are evaluated.

    ```mlir
    %r = low.select %c, %a, %b : vector<8xf32>
    ```

    `%c` is an i1, or a vector of i1 of as many lanes as the other operands. `unpredictable` says that nobody
    foresees it, so that a branch would take longer:

    ```mlir
    %r = low.select %c, %a, %b unpredictable : index
    ```
    """

    name = "low.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    condition = operand_def(EqAttrConstraint(IntegerType(1)) | VectorType.constr(IntegerType(1)))
    on_true = operand_def(T)
    on_false = operand_def(T)
    unpredictable = opt_prop_def(UnitAttr)
    result = result_def(T)
    traits = traits_def(Pure())

    def __init__(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue):
        Operation.__init__(self, operands=(condition, on_true, on_false), result_types=(on_true.type,))

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        condition = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        on_true = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        on_false = parser.parse_unresolved_operand()
        is_unpredictable = parser.parse_optional_keyword("unpredictable") is not None
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        lanes = lanes_of(type)
        condition_type = with_lanes(IntegerType(1), lanes)
        return cls.create(
            operands=[
                parser.resolve_operand(condition, condition_type),
                parser.resolve_operand(on_true, type),
                parser.resolve_operand(on_false, type),
            ],
            result_types=[type],
            properties={"unpredictable": UnitAttr()} if is_unpredictable else {},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        if self.unpredictable is not None:
            printer.print_string(" unpredictable")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        if lanes_of(self.condition.type) != lanes_of(self.result.type):
            raise VerifyException(
                f"{self.name}: condition {self.condition.type} and result {self.result.type} differ in lanes"
            )


_NUMBER = AnyFloatConstr | BaseAttr(IntegerType)
_NUMBER_LIKE = _NUMBER | VectorType.constr(_NUMBER)


@irdl_op_definition
class ConvertOp(IRDLOperation):
    """
    Converts between integers, and between integers and floats, lane by lane. `fptosi` and `fptoui` round
    towards zero, saturate, and turn NaN into 0; `trunci` keeps the low bits.

    ```mlir
    %f = low.convert sitofp %n : vector<8xi32> to vector<8xf32>
    ```
    """

    name = "low.convert"
    conversion = prop_def(ConversionAttr)
    source = operand_def(_NUMBER_LIKE)
    result = result_def(_NUMBER_LIKE)
    traits = traits_def(Pure())
    assembly_format = "$conversion $source attr-dict `:` type($source) `to` type($result)"

    def __init__(self, conversion: Conversion, source: SSAValue, result_type: Attribute):
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(result_type,),
            properties={"conversion": ConversionAttr(conversion)},
        )

    def verify_(self) -> None:
        source, result = element_type_of(self.source.type), element_type_of(self.result.type)
        kind = self.conversion.data
        from_integer, to_integer = isinstance(source, IntegerType), isinstance(result, IntegerType)
        wanted = {
            Conversion.SITOFP: (True, False),
            Conversion.UITOFP: (True, False),
            Conversion.FPTOSI: (False, True),
            Conversion.FPTOUI: (False, True),
        }.get(kind, (True, True))
        if (from_integer, to_integer) != wanted or lanes_of(self.source.type) != lanes_of(self.result.type):
            raise VerifyException(
                f"{self.name}: cannot {kind.value} {self.source.type} to {self.result.type}"
            )
        if isinstance(source, IntegerType) and isinstance(result, IntegerType):
            widens = result.bitwidth > source.bitwidth
            if widens == (kind is Conversion.TRUNCI) or result.bitwidth == source.bitwidth:
                raise VerifyException(
                    f"{self.name}: cannot {kind.value} {self.source.type} to {self.result.type}"
                )


@irdl_op_definition
class RemfOp(IRDLOperation):
    """
    The remainder of `lhs / rhs` with the sign of `lhs`, exact (C's `fmod`, MLIR's `arith.remf`).

    ```mlir
    %r = low.remf %a, %b : f32
    ```
    """

    name = "low.remf"
    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue):
        Operation.__init__(self, operands=(lhs, rhs), result_types=(lhs.type,))

    def verify_(self) -> None:
        if not is_float(element_type_of(self.result.type)):
            raise VerifyException(f"{self.name}: {self.result.type} is no float and no vector of floats")


EXPANDED_OPS: dict[type[Operation], int] = {
    math.ExpOp: 20,
    math.LogOp: 25,
    math.TanhOp: 30,
    math.ErfOp: 40,
    math.SinOp: 30,
    math.CosOp: 30,
    math.ExpM1Op: 30,
    math.Exp2Op: 18,
    math.Log1pOp: 35,
    math.Log2Op: 60,
    math.Log10Op: 60,
    math.TanOp: 35,
    math.AsinOp: 30,
    math.AcosOp: 30,
    math.AtanOp: 30,
    math.SinhOp: 35,
    math.CoshOp: 30,
    math.AsinhOp: 45,
    math.AcoshOp: 45,
    math.AtanhOp: 40,
    math.PowFOp: 60,
    math.Atan2Op: 45,
}
"""
The ops that `expand-math` replaces, and about how many operations their polynomials take. No backend ever
sees them.
"""

FLOPS: dict[type[Operation], int] = {
    arith.AddiOp: 1,
    arith.SubiOp: 1,
    arith.MuliOp: 1,
    arith.DivSIOp: 1,
    arith.DivUIOp: 1,
    arith.RemSIOp: 1,
    arith.RemUIOp: 1,
    arith.MinSIOp: 1,
    arith.MinUIOp: 1,
    arith.MaxSIOp: 1,
    arith.MaxUIOp: 1,
    arith.AndIOp: 1,
    arith.OrIOp: 1,
    arith.XOrIOp: 1,
    arith.ShLIOp: 1,
    arith.ShRSIOp: 1,
    arith.ShRUIOp: 1,
    arith.CmpiOp: 1,
    arith.AddfOp: 1,
    arith.SubfOp: 1,
    arith.MulfOp: 1,
    arith.DivfOp: 1,
    arith.NegfOp: 1,
    arith.MaximumfOp: 1,
    arith.MinimumfOp: 1,
    arith.CmpfOp: 1,
    RemfOp: 1,
    math.AbsFOp: 1,
    math.SqrtOp: 1,
    math.FloorOp: 1,
    math.CeilOp: 1,
    math.TruncOp: 1,
    math.RoundEvenOp: 1,
    math.CopySignOp: 1,
    math.FmaOp: 2,
    **EXPANDED_OPS,
}
"""
Operations that an op counts for, in each lane: fma is two. Constants, selects, conversions and arithmetic on
`index` count nothing.
"""

_OWN_BODY_OPS: tuple[type[Operation], ...] = (
    AllocaOp,
    AtomicRmwOp,
    BlockIdOp,
    ThreadIdOp,
    BarrierOp,
    SelectOp,
    ConvertOp,
    LdexpOp,
    ReverseOp,
    TileFmaOp,
    TransposeOp,
)

BODY_OPS: tuple[type[Operation], ...] = (
    scf.ForOp,
    scf.IfOp,
    scf.WhileOp,
    scf.ConditionOp,
    scf.YieldOp,
    memref.LoadOp,
    memref.StoreOp,
    vector.LoadOp,
    vector.StoreOp,
    vector.BroadcastOp,
    vector.ReductionOp,
    arith.ConstantOp,
    arith.BitcastOp,
    arith.ExtFOp,
    arith.TruncFOp,
    arith.IndexCastOp,
    *FLOPS,
    *_OWN_BODY_OPS,
)
"""Every op that may stand in a kernel's body at this level."""

LOW = Dialect(
    "low",
    [KernelOp, RemfOp, *_OWN_BODY_OPS],
    [DimsAttr, DimensionAttr, ConversionAttr, AtomicRmwKindAttr],
)
