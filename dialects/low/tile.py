"""
The microkernel of a contraction: `low.tile_fma` adds up the products of one register tile.

A backend has a rule of its own for it, or `expand-tiles` makes loops of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..element_types import NARROW_FLOATS, element_type_of, is_float
from .constant_integer import constant_integer
from .prefetch import LEVELS

INDEX = IndexType()

RowRanges = tuple[int, Sequence[tuple[int, int]]]
"""The number of a depth, and for each of its steps the first row that it adds to and where these end."""

SUM_TYPES: tuple[Attribute, ...] = (f32, f64, i32, i64)
"""What a tile adds up in."""

_HELD: dict[Attribute, tuple[Attribute, ...]] = {
    f32: (f32, *NARROW_FLOATS, i8, i16),
    f64: (f64, f32, *NARROW_FLOATS, i8, i16, i32),
    i32: (i8, i16, i32),
    i64: (i8, i16, i32, i64),
}


def holds(wide: Attribute, narrow: Attribute) -> bool:
    """Returns whether each element of `narrow`, a storage type, is one of `wide`, signed or unsigned."""
    return narrow in _HELD.get(wide, ())


@irdl_op_definition
class TileFmaOp(IRDLOperation):
    """
    Sums of products for `rows` x `columns` elements at once. For every row r and column c

        acc[acc_at + r * acc_row + c] = sum over k of
            lhs[lhs_at + r * lhs_row + k * lhs_step] * rhs[rhs_at + c + k * rhs_step]

    where k runs over `depths` dims, the last one fastest, each with a step of its own in `lhs` and in `rhs`;
    every product is added by one fma in the type of `acc`, in that order, to 0.0 (`=`) or to what `acc` holds
    (`+=`); integers wrap. Elements of `lhs` and `rhs` may be narrower, integers beside floats too, and are
    converted exactly; integers are read as signed unless `unsigned` stands before their buffer. No two of the
    elements that are written are the same, and none of them is among those that are read.

    Where `nibbles` stands before `rhs`, its bytes have two signed numbers of four bits each: the last depth,
    of 2 steps of 0 in `rhs`, takes the one in the lower bits and then the one in the upper bits.

    With `live` behind the columns only so many of them exist: no others are read or written. Behind the rows
    it says the same of these, of which there are at least half, rounded up.

    `rows` behind the depths says which rows each step of one of them adds to: of depth number 2, which has as
    many steps as there are ranges, from the first number up to the second one, exclusive. Nothing of `lhs` is
    read for the others. It is not the last depth, and there are no rows whose number varies. With `if` behind
    the ranges a step whose condition does not hold adds to all rows.

    `prefetch` says what the next tile reads. Step k prefetches `count` elements from `at + k * step` on: of
    the only depth, or of several all but the last one, as one number. A prefetch changes nothing but time,
    and its elements need not exist.

    Under `transposed` the sum of row r and column c is written to acc[acc_at + c * acc_row + r] instead.
    There is no `live` then, of either, and no `+=`.

    `ahead` is a distance in elements: the microkernel may prefetch `rhs` so far ahead of its loads, beyond
    the end of the buffer too, into the first cache, or the second one under `level 2`. It changes no result,
    and a backend may ignore it.

    ```mlir
    low.tile_fma 8 x 48 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * %b[%b_at, %b_step] depth [%k]
        prefetch lhs[%next_a, 8, 8] rhs[%next_b, 2, 2]
        : memref<65536xf32>, memref<65536xf32>, memref<65536xbf16>
    low.tile_fma 1 x 16 live %n %c[%c_at, %c_row] += %a[%a_at, %a_row, %a_0, %a_1] * %b[%b_at, %b_0, %b_1]
        depth [%h, %k] : memref<16xf64>, memref<64xf64>, memref<1024xf64>
    low.tile_fma 8 live %m x 48 live %n %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * %b[%b_at, %b_step]
        depth [%k] : memref<8192xf32>, memref<8192xf32>, memref<1048576xf32>
    low.tile_fma 8 x 32 ahead 1024 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * %b[%b_at, %b_step]
        depth [%k] : memref<8192xf32>, memref<8192xf32>, memref<1048576xf32>
    low.tile_fma 8 x 32 ahead 4096 level 2 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * %b[%b_at, %b_step]
        depth [%k] : memref<8192xf32>, memref<8192xf32>, memref<1048576xf32>
    low.tile_fma 14 x 32 transposed %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * %b[%b_at, %b_step]
        depth [%k] : memref<65536xf32>, memref<65536xf32>, memref<65536xf32>
    low.tile_fma 7 x 32 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_0, %a_1] * %b[%b_at, %b_0, %b_1]
        depth [%h, %k] prefetch rhs[%next_b, 152, 152]
        : memref<65536xf32>, memref<65536xf32>, memref<65536xf32>
    low.tile_fma 14 x 32 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_0, %a_1] * %b[%b_at, %b_0, %b_1]
        depth [%three, %k] rows 0 [1 to 14, 0 to 14, 0 to 13] if [%first, %true, %last]
        : memref<65536xf32>, memref<65536xf32>, memref<65536xf32>
    low.tile_fma 14 x 32 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_step] * unsigned %b[%b_at, %b_step]
        depth [%k] : memref<65536xf32>, memref<65536xf32>, memref<65536xi8>
    low.tile_fma 8 x 48 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_0, %a_1] * nibbles %b[%b_at, %b_0, %zero]
        depth [%k, %two] : memref<65536xf32>, memref<65536xf32>, memref<65536xi8>
    ```
    """

    name = "low.tile_fma"
    rows = prop_def(IntegerAttr[I64])
    columns = prop_def(IntegerAttr[I64])
    accumulates = opt_prop_def(UnitAttr)
    transposed = opt_prop_def(UnitAttr)
    ahead = opt_prop_def(IntegerAttr[I64])
    ahead_level = opt_prop_def(IntegerAttr[I64])
    lhs_unsigned = opt_prop_def(UnitAttr)
    rhs_unsigned = opt_prop_def(UnitAttr)
    rhs_nibbles = opt_prop_def(UnitAttr)
    acc = operand_def(MemRefType)
    acc_at = operand_def(INDEX)
    acc_row = operand_def(INDEX)
    lhs = operand_def(MemRefType)
    lhs_at = operand_def(INDEX)
    lhs_row = operand_def(INDEX)
    lhs_steps = var_operand_def(INDEX)
    rhs = operand_def(MemRefType)
    rhs_at = operand_def(INDEX)
    rhs_steps = var_operand_def(INDEX)
    depths = var_operand_def(INDEX)
    live = opt_operand_def(INDEX)
    lhs_next = opt_operand_def(INDEX)
    rhs_next = opt_operand_def(INDEX)
    live_rows = opt_operand_def(INDEX)
    lhs_next_steps = opt_prop_def(DenseArrayBase.constr(i64))
    rhs_next_steps = opt_prop_def(DenseArrayBase.constr(i64))
    cut = var_operand_def(i1)
    ranged_depth = opt_prop_def(IntegerAttr[I64])
    row_ranges = opt_prop_def(DenseArrayBase.constr(i64))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        shape: tuple[int, int],
        acc: tuple[SSAValue, SSAValue, SSAValue],
        lhs: Sequence[SSAValue],
        rhs: Sequence[SSAValue],
        depths: Sequence[SSAValue],
        live: SSAValue | None = None,
        accumulates: bool = False,
        transposed: bool = False,
        ahead: int | None = None,
        lhs_next: tuple[SSAValue, int, int] | None = None,
        rhs_next: tuple[SSAValue, int, int] | None = None,
        unsigned: tuple[bool, bool] = (False, False),
        nibbles: bool = False,
        live_rows: SSAValue | None = None,
        ranges: RowRanges | None = None,
        cut: Sequence[SSAValue] = (),
        ahead_level: int = LEVELS[0],
    ):
        """
        `acc` is a buffer, the index at which its tile begins, and the step from row to row. `lhs` is the same
        and a step for each depth. `rhs` is a buffer, the index at which its tile begins, and a step for each
        depth. A prefetch of `lhs` or `rhs` is an index, a step and a count. `unsigned` says how the integers
        of `lhs` and of `rhs` are read, `nibbles` that the bytes of `rhs` have two numbers each, and `ranges`
        which rows the steps of a depth add to, where `cut` holds for each of them, if anything does.
        """
        super().__init__(
            operands=[*acc, *lhs[:3], lhs[3:], *rhs[:2], rhs[2:], depths, live]
            + [None if each is None else each[0] for each in (lhs_next, rhs_next)]
            + [live_rows, cut],
            properties={
                "rows": IntegerAttr(shape[0], i64),
                "columns": IntegerAttr(shape[1], i64),
                "accumulates": UnitAttr() if accumulates else None,
                "transposed": UnitAttr() if transposed else None,
                "ahead": None if ahead is None else IntegerAttr(ahead, i64),
                "ahead_level": None if ahead_level == LEVELS[0] else IntegerAttr(ahead_level, i64),
                "lhs_unsigned": UnitAttr() if unsigned[0] else None,
                "rhs_unsigned": UnitAttr() if unsigned[1] else None,
                "rhs_nibbles": UnitAttr() if nibbles else None,
                "lhs_next_steps": _steps_of(lhs_next),
                "rhs_next_steps": _steps_of(rhs_next),
                "ranged_depth": None if ranges is None else IntegerAttr(ranges[0], i64),
                "row_ranges": None if ranges is None else DenseArrayBase.from_list(i64, [*chain(*ranges[1])]),
            },
        )

    @property
    def prefetch_level(self) -> int:
        """The cache that `ahead` prefetches into."""
        return LEVELS[0] if self.ahead_level is None else self.ahead_level.value.data

    @property
    def ranges(self) -> RowRanges | None:
        """The depth whose steps add to some rows alone, and from which to which row each of them does."""
        if self.ranged_depth is None or self.row_ranges is None:
            return None
        numbers = self.row_ranges.get_values()
        return self.ranged_depth.value.data, tuple(zip(numbers[::2], numbers[1::2], strict=False))

    @classmethod
    def parse(cls, parser: Parser) -> TileFmaOp:
        start = parser.pos
        rows = parser.parse_integer(allow_boolean=False)
        live_rows = _parse_live(parser)
        parser.parse_keyword("x")
        columns = parser.parse_integer(allow_boolean=False)
        live = _parse_live(parser)
        transposed = parser.parse_optional_keyword("transposed") is not None
        ahead: int | None = None
        level = LEVELS[0]
        if parser.parse_optional_keyword("ahead") is not None:
            ahead = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if parser.parse_optional_keyword("level") is not None:
                level = parser.parse_integer(allow_boolean=False, allow_negative=False)
        acc, acc_indices = _parse_place(parser)
        accumulates = parser.parse_optional_punctuation("+") is not None
        parser.parse_punctuation("=")
        lhs_unsigned = parser.parse_optional_keyword("unsigned") is not None
        lhs, lhs_indices = _parse_place(parser)
        parser.parse_punctuation("*")
        rhs_unsigned = parser.parse_optional_keyword("unsigned") is not None
        nibbles = parser.parse_optional_keyword("nibbles") is not None
        rhs, rhs_indices = _parse_place(parser)
        parser.parse_keyword("depth")
        depths = _parse_indices(parser)
        ranges = _parse_ranges(parser)
        cut = list[SSAValue]()
        if ranges is not None and parser.parse_optional_keyword("if") is not None:
            cut = _parse_values(parser, i1)
        lhs_next, rhs_next = None, None
        if parser.parse_optional_keyword("prefetch") is not None:
            if parser.parse_optional_keyword("lhs") is not None:
                lhs_next = _parse_next(parser)
            if lhs_next is None:
                parser.parse_keyword("rhs")
                rhs_next = _parse_next(parser)
            elif parser.parse_optional_keyword("rhs") is not None:
                rhs_next = _parse_next(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = [parser.parse_type()]
        for _ in range(2):
            parser.parse_punctuation(",")
            types.append(parser.parse_type())
        for name, found, least in (("acc", acc_indices, 2), ("lhs", lhs_indices, 2), ("rhs", rhs_indices, 1)):
            if len(found) < least or (name == "acc" and len(found) > least):
                parser.raise_error(f"{cls.name}: {len(found)} indices of {name}, expected {least}", start)
        buffers = [parser.resolve_operand(*each) for each in zip((acc, lhs, rhs), types, strict=True)]
        op = cls(
            (rows, columns),
            (buffers[0], acc_indices[0], acc_indices[1]),
            [buffers[1], *lhs_indices],
            [buffers[2], *rhs_indices],
            depths,
            live,
            accumulates,
            transposed,
            ahead,
            lhs_next,
            rhs_next,
            (lhs_unsigned, rhs_unsigned),
            nibbles,
            live_rows,
            ranges,
            cut,
            level,
        )
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.rows.value.data}")
        _print_live(printer, self.live_rows)
        printer.print_string(f" x {self.columns.value.data}")
        _print_live(printer, self.live)
        if self.transposed is not None:
            printer.print_string(" transposed")
        if self.ahead is not None:
            printer.print_string(f" ahead {self.ahead.value.data}")
            if self.ahead_level is not None:
                printer.print_string(f" level {self.ahead_level.value.data}")
        _print_place(printer, self.acc, (self.acc_at, self.acc_row))
        printer.print_string(" =" if self.accumulates is None else " +=")
        if self.lhs_unsigned is not None:
            printer.print_string(" unsigned")
        _print_place(printer, self.lhs, (self.lhs_at, self.lhs_row, *self.lhs_steps))
        printer.print_string(" *")
        if self.rhs_unsigned is not None:
            printer.print_string(" unsigned")
        if self.rhs_nibbles is not None:
            printer.print_string(" nibbles")
        _print_place(printer, self.rhs, (self.rhs_at, *self.rhs_steps))
        printer.print_string(" depth [")
        printer.print_list(self.depths, printer.print_ssa_value)
        printer.print_string("]")
        if self.ranges is not None:
            number, ranges = self.ranges
            words = ", ".join(f"{first} to {end}" for first, end in ranges)
            printer.print_string(f" rows {number} [{words}]")
        if self.cut:
            printer.print_string(" if [")
            printer.print_list(self.cut, printer.print_ssa_value)
            printer.print_string("]")
        if self.lhs_next is not None or self.rhs_next is not None:
            printer.print_string(" prefetch")
        for name, place, steps in self._next:
            if place is not None and steps is not None:
                printer.print_string(f" {name}[")
                printer.print_ssa_value(place)
                printer.print_string("".join(f", {number}" for number in steps.get_values()) + "]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.acc.type, self.lhs.type, self.rhs.type), printer.print_attribute)

    @property
    def _next(self) -> tuple[tuple[str, SSAValue | None, DenseArrayBase[I64] | None], ...]:
        return ("lhs", self.lhs_next, self.lhs_next_steps), ("rhs", self.rhs_next, self.rhs_next_steps)

    def verify_(self) -> None:
        if self.rows.value.data < 1 or self.columns.value.data < 1:
            rows, columns = self.rows.value.data, self.columns.value.data
            raise VerifyException(f"{self.name}: a tile of {rows} x {columns} (expected 1 or more of each)")
        if self.ahead is not None and self.ahead.value.data < 1:
            raise VerifyException(f"{self.name}: ahead {self.ahead.value.data} (expected 1 or more, or none)")
        if self.prefetch_level not in LEVELS:
            levels = " or ".join(map(str, LEVELS))
            raise VerifyException(f"{self.name}: ahead at level {self.prefetch_level} (expected {levels})")
        found = [len(self.depths), len(self.lhs_steps), len(self.rhs_steps)]
        if found[0] < 1 or found != [found[0]] * 3:
            raise VerifyException(
                f"{self.name}: {found[0]} depths, {found[1]} steps of lhs and {found[2]} of rhs "
                "(expected as many of each, 1 or more)"
            )
        # Operands are converted exactly, so it does not matter where a backend converts them.
        wide: Attribute = element_type_of(self.acc.type)
        if wide not in SUM_TYPES:
            types = ", ".join(map(str, SUM_TYPES))
            raise VerifyException(f"{self.name}: acc is {self.acc.type}, expected elements of {types}")
        sides = ("lhs", self.lhs, self.lhs_unsigned), ("rhs", self.rhs, self.rhs_unsigned)
        for name, buffer, unsigned in sides:
            element: Attribute = element_type_of(buffer.type)
            if not holds(wide, element):
                raise VerifyException(
                    f"{self.name}: {name} is {buffer.type}, expected numbers that {wide} holds exactly"
                )
            if unsigned is not None and is_float(element):
                raise VerifyException(f"{self.name}: {name} is unsigned {buffer.type}, expected integers")
        if self.rhs_nibbles is not None:
            self._verify_nibbles()
        self._verify_ranges()
        is_cut = self.live is not None or self.live_rows is not None
        if self.transposed is not None and (self.accumulates is not None or is_cut):
            what = "+=" if self.accumulates is not None else "live"
            raise VerifyException(f"{self.name}: {what} of a transposed tile (expected = of all columns)")
        for name, place, steps in self._next:
            numbers = [] if steps is None else list(steps.get_values())
            if (place is None) != (steps is None) or (place is not None and len(numbers) != 2):
                raise VerifyException(
                    f"{self.name}: prefetch {name} by {numbers} (expected a place, a step and a count)"
                )
            if any(number < 1 for number in numbers):
                raise VerifyException(f"{self.name}: prefetch {name} by {numbers} (expected 1 or more)")
        # Whether a load sees new sums or old elements would depend on when a backend stores the sums.
        if self.acc in (self.lhs, self.rhs):
            raise VerifyException(f"{self.name}: acc is an operand too, expected a buffer of its own")

    def _verify_ranges(self) -> None:
        if (self.ranged_depth is None) != (self.row_ranges is None):
            raise VerifyException(
                f"{self.name}: rows of a depth (expected its number and its ranges, or none)"
            )
        if self.ranges is None or self.row_ranges is None:
            if self.cut:
                raise VerifyException(f"{self.name}: {len(self.cut)} conditions and no ranges of rows")
            return
        number, ranges = self.ranges
        if not 0 <= number < len(self.depths) - 1:
            raise VerifyException(
                f"{self.name}: rows of depth {number} of {len(self.depths)} (expected one before the last)"
            )
        steps, count = constant_integer(self.depths[number]), len(self.row_ranges.get_values())
        if steps is None or count != 2 * steps:
            raise VerifyException(
                f"{self.name}: {count} bounds of rows for depth {number} of "
                f"{'unknown' if steps is None else steps} steps (expected two for each of a known number)"
            )
        if self.cut and len(self.cut) != steps:
            raise VerifyException(
                f"{self.name}: {len(self.cut)} conditions of {steps} ranges of rows (expected each)"
            )
        rows = self.rows.value.data
        for first, end in ranges:
            if not 0 <= first <= end <= rows:
                raise VerifyException(f"{self.name}: rows {first} to {end} of {rows}")
        if self.live_rows is not None:
            raise VerifyException(f"{self.name}: rows of a depth, and a number of rows that varies")

    def _verify_nibbles(self) -> None:
        if element_type_of(self.rhs.type) != i8 or self.rhs_unsigned is not None:
            unsigned = "" if self.rhs_unsigned is None else "unsigned "
            raise VerifyException(f"{self.name}: nibbles of {unsigned}{self.rhs.type}, expected i8")
        step, depth = constant_integer(self.rhs_steps[-1]), constant_integer(self.depths[-1])
        if len(self.depths) < 2 or (step, depth) != (0, 2):
            raise VerifyException(
                f"{self.name}: nibbles and {len(self.depths)} depths, the last one of {depth} steps of "
                f"{step} in rhs (expected two or more, the last one of 2 steps of 0)"
            )


def _parse_live(parser: Parser) -> SSAValue | None:
    if parser.parse_optional_keyword("live") is None:
        return None
    return parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)


def _print_live(printer: Printer, live: SSAValue | None) -> None:
    if live is not None:
        printer.print_string(" live ")
        printer.print_ssa_value(live)


def _parse_indices(parser: Parser) -> list[SSAValue]:
    return _parse_values(parser, INDEX)


def _parse_values(parser: Parser, type: Attribute) -> list[SSAValue]:
    found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_unresolved_operand)
    return [parser.resolve_operand(value, type) for value in found]


def _steps_of(next: tuple[SSAValue, int, int] | None) -> DenseArrayBase[I64] | None:
    return None if next is None else DenseArrayBase.from_list(i64, next[1:])


def _parse_next(parser: Parser) -> tuple[SSAValue, int, int]:
    parser.parse_punctuation("[")
    place = parser.resolve_operand(parser.parse_unresolved_operand(), INDEX)
    parser.parse_punctuation(",")
    step = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation(",")
    count = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation("]")
    return place, step, count


def _parse_ranges(parser: Parser) -> RowRanges | None:
    if parser.parse_optional_keyword("rows") is None:
        return None

    def parse_range() -> tuple[int, int]:
        first = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("to")
        return first, parser.parse_integer(allow_boolean=False)

    number = parser.parse_integer(allow_boolean=False)
    return number, tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_range))


def _parse_place(parser: Parser) -> tuple[UnresolvedOperand, list[SSAValue]]:
    return parser.parse_unresolved_operand(), _parse_indices(parser)


def _print_place(printer: Printer, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    printer.print_string(" ")
    printer.print_ssa_value(buffer)
    printer.print_string("[")
    printer.print_list(indices, printer.print_ssa_value)
    printer.print_string("]")


def sizes_of_tile(op: TileFmaOp) -> tuple[SSAValue, ...]:
    """Returns the values that say how far a tile reaches and how it steps, but not where it begins."""
    rest = (op.acc_row, op.lhs_row, *op.lhs_steps, *op.rhs_steps, *op.depths, *op.cut)
    return (*rest, *(live for live in (op.live, op.live_rows) if live is not None))
