"""
Replaces register tiles by loops over their depth, for backends that have no rule for them.

    low.tile_fma 2 x 4 %c[%c_at, %c_row] = %a[%a_at, %a_row, %a_k] * %b[%b_at, %b_k] depth [%n] : ...

-->

    %sum, %sum_1 = scf.for %k = %c0 to %n step %c1 iter_args(%row_0 = %zero, %row_1 = %zero) -> ... {
      %columns = vector.load %b[...] : memref<64xf32>, vector<4xf32>
      %a_0 = memref.load %a[...] : memref<64xf32>
      %factor = vector.broadcast %a_0 : f32 to vector<4xf32>
      %next_0 = math.fma %factor, %columns, %row_0 : vector<4xf32>
      ...
    }
    vector.store %sum, %c[...] : memref<64xf32>, vector<4xf32>
    ...

The sums stay in variables, three quarters of the registers; a larger tile is several such loops. Columns that
fill no vector of `vector-nbytes` are narrower vectors, and a last one a scalar. With a number of columns that
is known at run time only, each vector of them is a tile of its own, and then each column. Of a number of rows
that is, those that there are not read the first one and store nothing. Constants go to the front of the
kernel, each once. The prefetches of a tile are left out, but for `ahead`.

Requires: nothing. Ensures: no `low.tile_fma` remains; what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    i8,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ...dialects.element_types import NBYTES, element_type_of, is_float, with_lanes
from ...dialects.low import AllocaOp, Conversion, ConvertOp, KernelOp, SelectOp, TileFmaOp
from ...dialects.low.constant_integer import constant_integer
from ...dialects.low.nibbles import NIBBLE_BITS
from ...dialects.low.prefetch import set_prefetch_distance
from ...dialects.low.tile import INDEX, RowRanges
from ..indices.lanes import MOST_LANES
from ..machine.target import VECTOR_NBYTES, check_positive, usual_registers
from .kernel_front import KernelFront

_CONVERSIONS = {
    (True, False): Conversion.SITOFP,
    (True, True): Conversion.UITOFP,
    (False, False): Conversion.EXTSI,
    (False, True): Conversion.EXTUI,
}
"""What widens an integer: to floats or not, and read as unsigned or not."""


@dataclass(frozen=True)
class ExpandTilesPass(ModulePass):
    """Replaces register tiles by loops over their depth."""

    name = "expand-tiles"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes")
        at_once = (self.vector_registers or usual_registers(self.vector_nbytes)) * 3 // 4
        for kernel in op.ops:
            if isinstance(kernel, KernelOp):
                tiles = [each for each in kernel.walk() if isinstance(each, TileFmaOp)]
                front = KernelFront(kernel.body.block)
                for tile in tiles:
                    _expand(tile, self.vector_nbytes, at_once, front)
                front.insert()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Neighbouring columns: the first one, and how many; one is a scalar."""

    first: SSAValue
    lanes: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """Neighbouring rows: their numbers, and how far each is behind the first one of the tile in `lhs`."""

    numbers: range
    places: Sequence[SSAValue]


def _expand(op: TileFmaOp, vector_nbytes: int, at_once: int, front: KernelFront) -> None:
    """Replaces a tile; `at_once` is the most vectors of sums that are kept in variables at once."""
    wide: Attribute = element_type_of(op.acc.type)
    widest = max(1, min(vector_nbytes // NBYTES[wide], MOST_LANES))
    writer = _TileWriter(op, front)
    if op.live is None:
        pieces = writer.pieces(widest)
        for first in range(0, len(pieces), at_once):
            part = pieces[first : first + at_once]
            writer.write_rows(part, at_once // len(part))
    else:
        begin = writer.index(0)
        for lanes in dict.fromkeys((widest, 1)):
            if lanes <= op.columns.value.data:
                begin = writer.write_live(op.live, begin, lanes, at_once)
    op.detach()
    op.erase()


class _TileWriter:
    """Writes ops that compute a tile, or parts of it, in front of it."""

    def __init__(self, op: TileFmaOp, front: KernelFront) -> None:
        self.op = op
        self.front = front
        self.wide: Attribute = element_type_of(op.acc.type)
        self.builder = Builder(InsertPoint.before(op))
        self._scratch: dict[int, SSAValue] = {}

    def pieces(self, widest: int) -> list[_Piece]:
        """Returns all columns, in the widest vectors that there are."""
        found: list[_Piece] = []
        first, columns = 0, self.op.columns.value.data
        while first < columns:
            lanes = min(widest, 1 << (columns - first).bit_length() - 1)
            found.append(_Piece(self.index(first), lanes))
            first += lanes
        return found

    def write_live(self, live: SSAValue, begin: SSAValue, lanes: int, at_once: int) -> SSAValue:
        """Writes the columns from `begin` on that fill vectors, each a loop; returns where they end."""
        end = live
        if lanes > 1:
            vectors = self.value(arith.DivSIOp(live, self.index(lanes)), "vectors")
            end = self.product(vectors, self.index(lanes))
        body = Block(arg_types=[INDEX])
        body.args[0].name_hint = "column"
        self.insert(scf.ForOp(begin, end, self.index(lanes), [], body))
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(body))
        self.write_rows([_Piece(body.args[0], lanes)], at_once)
        self.insert(scf.YieldOp())
        self.builder = outer
        return end

    def write_rows(self, pieces: Sequence[_Piece], at_once: int) -> None:
        """Writes all rows of some columns, `at_once` rows in a loop."""
        for row in range(0, self.op.rows.value.data, at_once):
            self._write(range(row, min(row + at_once, self.op.rows.value.data)), pieces)

    def _write(self, rows: range, pieces: Sequence[_Piece]) -> None:
        op = self.op
        alive = {row: self._is_live(row) for row in rows}
        places = [(row, piece) for row in rows for piece in pieces]
        if op.accumulates is None:
            sums = [self._zero(piece.lanes) for _, piece in places]
        else:
            sums = [
                self._load(op.acc, self._acc_at(row, piece, alive[row]), piece.lanes) for row, piece in places
            ]
        lhs_rows = [self._row(row, op.lhs_row, alive[row]) for row in rows]
        sums = self._sum(sums, 0, _Rows(rows, lhs_rows), pieces, op.lhs_at, op.rhs_at)
        for (row, piece), value in zip(places, sums, strict=True):
            if op.transposed is not None:
                self._store_column(value, row, piece)
            else:
                self._store_row(value, row, piece, alive[row])

    def _store_row(self, value: SSAValue, row: int, piece: _Piece, is_live: SSAValue | None) -> None:
        """Stores sums of a row, if there is that row."""
        if is_live is None:
            self._store(value, self.op.acc, self._acc_at(row, piece), piece.lanes)
            return
        body = Block()
        self.insert(scf.IfOp(is_live, [], Region(body)))
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(body))
        self._store(value, self.op.acc, self._acc_at(row, piece), piece.lanes)
        self.insert(scf.YieldOp())
        self.builder = outer

    def _is_live(self, row: int) -> SSAValue | None:
        """Returns what says whether there is a row, None where there always is."""
        live = self.op.live_rows
        if live is None or row == 0:
            return None
        return self.value(arith.CmpiOp(live, self.index(row), "sgt"), "is_live")

    def _row(self, row: int, step: SSAValue, is_live: SSAValue | None) -> SSAValue:
        """Returns how far a row is behind the first one, which it is itself if there is no such row."""
        far = self.product(self.index(row), step)
        return far if is_live is None else self.value(SelectOp(is_live, far, self.index(0)), "row")

    def _sum(
        self,
        sums: Sequence[SSAValue],
        depth: int,
        rows: _Rows,
        pieces: Sequence[_Piece],
        lhs_at: SSAValue,
        rhs_at: SSAValue,
        step: SSAValue | None = None,
    ) -> list[SSAValue]:
        """Returns `sums` with the products of the depths from `depth` on added."""
        op = self.op
        if depth == len(op.depths):
            nibble = step if op.rhs_nibbles is not None else None
            return self._multiply_add(sums, rows.places, pieces, lhs_at, rhs_at, nibble)
        if op.ranges is not None and op.ranges[0] == depth:
            return self._sum_of_rows(sums, op.ranges, rows, pieces, lhs_at, rhs_at)
        body = Block(arg_types=[INDEX, *(value.type for value in sums)])
        k, *carried = body.args
        loop = scf.ForOp(self.index(0), op.depths[depth], self.index(1), sums, body)
        for value, hint in ((k, "k"), *((each, "sum") for each in (*carried, *loop.results))):
            value.name_hint = hint
        self.insert(loop)
        outer, self.builder = self.builder, Builder(InsertPoint.at_end(body))
        lhs_at = self.sum(lhs_at, self.product(k, op.lhs_steps[depth]))
        rhs_at = self.sum(rhs_at, self.product(k, op.rhs_steps[depth]))
        self.insert(scf.YieldOp(*self._sum(carried, depth + 1, rows, pieces, lhs_at, rhs_at, k)))
        self.builder = outer
        return list(loop.results)

    def _sum_of_rows(
        self,
        sums: Sequence[SSAValue],
        ranges: RowRanges,
        rows: _Rows,
        pieces: Sequence[_Piece],
        lhs_at: SSAValue,
        rhs_at: SSAValue,
    ) -> list[SSAValue]:
        """As `_sum`, for a depth of which each step adds to some of the rows alone."""
        (depth, steps), op, found = ranges, self.op, list(sums)
        for number, taken in enumerate(steps):
            k = self.index(number)
            step = partial(
                self._step_of_rows,
                depth=depth,
                rows=rows,
                pieces=pieces,
                lhs_at=self.sum(lhs_at, self.product(k, op.lhs_steps[depth])),
                rhs_at=self.sum(rhs_at, self.product(k, op.rhs_steps[depth])),
                k=k,
            )
            if op.cut:
                everywhere = partial(step, found, (0, op.rows.value.data))
                found = self._either(op.cut[number], partial(step, found, taken), everywhere)
            else:
                found = step(found, taken)
        return found

    def _step_of_rows(
        self,
        sums: Sequence[SSAValue],
        taken: tuple[int, int],
        depth: int,
        rows: _Rows,
        pieces: Sequence[_Piece],
        lhs_at: SSAValue,
        rhs_at: SSAValue,
        k: SSAValue,
    ) -> list[SSAValue]:
        """Returns `sums`, those of the rows that are `taken` with the products of a step of a depth added."""
        first, end = (min(max(row - rows.numbers.start, 0), len(rows.numbers)) for row in taken)
        found, here = list(sums), slice(first * len(pieces), end * len(pieces))
        if found[here]:
            some = _Rows(rows.numbers[first:end], rows.places[first:end])
            found[here] = self._sum(found[here], depth + 1, some, pieces, lhs_at, rhs_at, k)
        return found

    def _either(
        self,
        condition: SSAValue,
        on_true: Callable[[], list[SSAValue]],
        on_false: Callable[[], list[SSAValue]],
    ) -> list[SSAValue]:
        """Writes a branch, and returns what it gives."""
        outer, blocks, types = self.builder, (Block(), Block()), list[Attribute]()
        for block, write in zip(blocks, (on_true, on_false), strict=True):
            self.builder = Builder(InsertPoint.at_end(block))
            results = write()
            types = [value.type for value in results]
            self.insert(scf.YieldOp(*results))
        self.builder = outer
        new = scf.IfOp(condition, types, Region(blocks[0]), Region(blocks[1]))
        self.insert(new)
        for result in new.results:
            result.name_hint = "sum"
        return list(new.results)

    def _multiply_add(
        self,
        sums: Sequence[SSAValue],
        lhs_rows: Sequence[SSAValue],
        pieces: Sequence[_Piece],
        lhs_at: SSAValue,
        rhs_at: SSAValue,
        nibble: SSAValue | None,
    ) -> list[SSAValue]:
        ahead = None if self.op.ahead is None else self.op.ahead.value.data
        columns = [
            self._load(
                self.op.rhs,
                self.sum(rhs_at, piece.first),
                piece.lanes,
                ahead,
                self.op.rhs_unsigned is not None,
                nibble,
            )
            for piece in pieces
        ]
        found: list[SSAValue] = []
        for row in lhs_rows:
            is_unsigned = self.op.lhs_unsigned is not None
            factor = self._load(self.op.lhs, self.sum(lhs_at, row), 1, is_unsigned=is_unsigned)
            factors: dict[Attribute, SSAValue] = {self.wide: factor}
            for column in columns:
                if isa(column.type, VectorType) and column.type not in factors:
                    same = vector.BroadcastOp(factor, column.type)
                    factors[column.type] = self.value(same, "factor")
                found.append(self._plus_product(sums[len(found)], factors[column.type], column))
        return found

    def _plus_product(self, sum: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        if is_float(self.wide):
            return self.value(math.FmaOp(lhs, rhs, sum), "sum")
        return self.value(arith.AddiOp(sum, self.value(arith.MuliOp(lhs, rhs), "product")), "sum")

    def _acc_at(self, row: int, piece: _Piece, is_live: SSAValue | None = None) -> SSAValue:
        start = self.sum(self.op.acc_at, self._row(row, self.op.acc_row, is_live))
        return self.sum(start, piece.first)

    def _zero(self, lanes: int) -> SSAValue:
        wide: Any = self.wide
        if lanes == 1:
            zero = FloatAttr(0.0, wide) if is_float(wide) else IntegerAttr(0, wide)
            return self.front.constant(zero, wide, "zero", self.op.location)
        type = VectorType(wide, [lanes])
        zeros = DenseIntOrFPElementsAttr.from_list(type, [0])
        return self.front.constant(zeros, type, "zeros", self.op.location)

    def _load(
        self,
        buffer: SSAValue,
        at: SSAValue,
        lanes: int,
        ahead: int | None = None,
        is_unsigned: bool = False,
        nibble: SSAValue | None = None,
    ) -> SSAValue:
        """
        Returns elements from `at` on, or four bits of each, converted to the type of the sums. `nibble` is 0
        for the lower ones, 1 for the upper ones.
        """
        stored = element_type_of(buffer.type)
        assert isa(buffer.type, MemRefType), f"{buffer.type} is no buffer"
        shape = lanes if lanes > 1 else None
        type = with_lanes(stored, shape)
        load = memref.LoadOp.get(buffer, [at])
        if isa(type, VectorType):
            load = vector.LoadOp(buffer, [at], type)
        if ahead is not None:
            set_prefetch_distance(load, ahead, self.op.prefetch_level)
        loaded = self.value(load, "element" if lanes == 1 else "elements")
        if stored == self.wide:
            return loaded
        if nibble is not None:
            loaded = self._nibble(loaded, nibble)
        wide, hint = with_lanes(self.wide, shape), loaded.name_hint or ""
        if is_float(stored):
            return self.value(arith.ExtFOp.create(operands=(loaded,), result_types=(wide,)), hint)
        convert = _CONVERSIONS[is_float(self.wide), is_unsigned]
        return self.value(ConvertOp(convert, loaded, wide), hint)

    def _nibble(self, bytes: SSAValue, number: SSAValue) -> SSAValue:
        """Returns the lower four bits of bytes where a number is 0, and the upper ones where it is 1."""
        four = self.index(NIBBLE_BITS)
        amount = self.value(arith.SubiOp(four, self.value(arith.MuliOp(number, four), "bits")), "bits")
        amounts = [self.value(arith.IndexCastOp(each, i8), "bits") for each in (amount, four)]
        if isa(bytes.type, VectorType):
            amounts = [self.value(vector.BroadcastOp(each, bytes.type), "bits") for each in amounts]
        raised = self.value(arith.ShLIOp(bytes, amounts[0]), "raised")
        return self.value(arith.ShRSIOp(raised, amounts[1]), "nibble")

    def _store(self, value: SSAValue, buffer: SSAValue, at: SSAValue, lanes: int) -> None:
        if lanes == 1:
            self.insert(memref.StoreOp.get(value, buffer, [at]))
        else:
            self.insert(vector.StoreOp(value, buffer, [at]))

    def _store_column(self, value: SSAValue, row: int, piece: _Piece) -> None:
        """Stores the sums of a row with a row of `acc` between them, vectors by way of private memory."""
        op = self.op
        scratch = None
        if piece.lanes > 1:
            scratch = self._scratch_of(piece.lanes)
            self._store(value, scratch, self.index(0), piece.lanes)
        for lane in range(piece.lanes):
            column = self.sum(piece.first, self.index(lane))
            at = self.sum(self.sum(op.acc_at, self.product(column, op.acc_row)), self.index(row))
            element = value if scratch is None else self._load(scratch, self.index(lane), 1)
            self._store(element, op.acc, at, 1)

    def _scratch_of(self, lanes: int) -> SSAValue:
        if lanes not in self._scratch:
            memory = AllocaOp(MemRefType(self.wide, [lanes]))
            self._scratch[lanes] = self.front.add(memory, "lanes", self.op.location)
        return self._scratch[lanes]

    def index(self, value: int) -> SSAValue:
        return self.front.index(value, self.op.location)

    def sum(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        numbers = constant_integer(lhs), constant_integer(rhs)
        match numbers:
            case (int(a), int(b)):
                return self.index(a + b)
            case (0, _):
                return rhs
            case (_, 0):
                return lhs
            case _:
                return self.value(arith.AddiOp(lhs, rhs), "at")

    def product(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        numbers = constant_integer(lhs), constant_integer(rhs)
        match numbers:
            case (int(a), int(b)):
                return self.index(a * b)
            case (0, _) | (_, 0):
                return self.index(0)
            case (1, _):
                return rhs
            case (_, 1):
                return lhs
            case _:
                return self.value(arith.MuliOp(lhs, rhs), "offset")

    def value(self, op: Operation, hint: str) -> SSAValue:
        self.insert(op)
        op.results[0].name_hint = hint
        return op.results[0]

    def insert(self, op: Operation) -> Operation:
        op.location = self.op.location
        return self.builder.insert(op)
