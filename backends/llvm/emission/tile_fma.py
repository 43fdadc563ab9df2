"""
Writes `low.tile_fma`: one fma per row and vector for each step of the depth, all sums in registers.

A step loads the vectors of a row of `rhs`, and for each row of the tile one element of `lhs` into all lanes.
Columns that fill no whole vector are loaded and stored under a mask. Of rows whose number varies, the lower
half moves up as far as rows lack: it computes some once more, the same bits, and writes them to the same
places. So there are two pointers, not one for each row. A tile that needs more registers than there are is
written as several smaller ones, of which the first prefetches. How wide the vectors are changes no bits: no
sum is split.

Sums of products of integers of 16 bits or less are written two steps of the depth at a time where the
processor has an instruction that adds the products of pairs, bytes without a sign by those with one four at
a time; what these steps load of a column is put side by side for it.

Under `ahead` a step fetches the cache lines that a later one loads, before it loads its own.

A tile in a loop that hardly ever runs is a function, which is given all operands: one for all tiles of its
shape in a module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.builtin import I64, DenseArrayBase
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects.element_types import NBYTES, element_type_of, is_float
from ....dialects.low import TileFmaOp
from ....dialects.low.constant_integer import constant_integer
from ....dialects.low.prefetch import LEVELS
from ....dialects.low.rare import is_rare
from .emitter import Emitter
from .float_formats import extend
from .multiply_add import write_multiply_add
from .nibbles import write_nibble
from .several_products import SeveralProducts, TileBuffer
from .transposition import NOTHING, transposed
from .types import mangled, shaped

Amount = int | str
"""A number of elements: a constant, or the name of a value."""

LINE_NBYTES = 64
"""How much is fetched at once: a cache line."""

FMAS_IN_A_ROW = 24
"""A step of the depth with fewer is written out several times, so that the loop costs little beside it."""


def write_tile_fma(emitter: Emitter, op: TileFmaOp) -> None:
    """Raises DiagnosticException, naming the op, for an element type that LLVM lacks."""
    if _is_rare(op):
        _write_call(emitter, op)
    else:
        _write(emitter, op)


def _is_rare(op: TileFmaOp) -> bool:
    around = op.parent_op()
    while around is not None and not (isinstance(around, scf.ForOp) and is_rare(around)):
        around = around.parent_op()
    return around is not None


def _write_call(emitter: Emitter, op: TileFmaOp) -> None:
    # Each operand is a parameter of its own: of another tile, two that are equal here may differ.
    block = Block(arg_types=[operand.type for operand in op.operands])
    copy = op.clone()
    copy.operands = block.args
    block.add_op(copy)

    def write(inner: Emitter, names: Sequence[str]) -> str:
        inner.values.update(zip(block.args, names, strict=True))
        _write(inner, copy)
        return ""

    arguments = [(emitter.type(op, operand.type), emitter.values[operand]) for operand in op.operands]
    emitter.lines.append(f"  {emitter.call_apart('void', arguments, write)}")


def _write(emitter: Emitter, op: TileFmaOp) -> None:
    wide: Attribute = element_type_of(op.acc.type)
    for buffer in (op.acc, op.lhs, op.rhs):
        emitter.type(op, element_type_of(buffer.type))
    rows, columns = op.rows.value.data, op.columns.value.data
    nbytes = emitter.processor.vector_nbytes
    lanes = min(nbytes // NBYTES[wide], 1 << (columns - 1).bit_length())
    registers = emitter.processor.vector_registers
    vectors = min(-(-columns // lanes), registers // 2)
    most_rows = max(1, (registers - 1 - vectors) // vectors)
    parts = [
        _Part(row, min(most_rows, rows - row), column, min(vectors * lanes, columns - column))
        for column in range(0, columns, vectors * lanes)
        for row in range(0, rows, most_rows)
    ]
    if op.live_rows is None:
        for part in parts:
            writer = _TileWriter(emitter, op, part, lanes)
            writer.finish(writer.start())
        return
    # A row that two parts compute goes on from what was there before both.
    writers = [_TileWriter(emitter, op, part, lanes) for part in parts]
    for writer, sums in [(writer, writer.start()) for writer in writers]:
        writer.finish(sums)


MOST_UNROLLED = 8
"""A dim of the depth with fewer steps, inside of others, is no loop: its end would be mispredicted."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a tile whose sums are in registers at once."""

    row: int
    rows: int
    column: int
    columns: int


@dataclass(frozen=True, slots=True)
class _Depth:
    """
    One dim of the depth: how many steps, and how far each goes in `lhs` and in `rhs`. Of steps that are
    `count` at once, `apart` is how far these are from one another in `rhs`. `ranges` are the rows of the tile
    that each step adds to, where these are not all.
    """

    extent: Amount
    lhs_step: Amount
    rhs_step: Amount
    count: int = 1
    apart: Amount = 0
    ranges: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class _Prefetch:
    """What is fetched of a buffer: from where on, how far apart for two steps, and how many elements."""

    buffer: TileBuffer
    place: str
    step: int
    count: int


class _TileWriter:
    def __init__(self, emitter: Emitter, op: TileFmaOp, part: _Part, lanes: int):
        self.emitter, self.op, self.part, self.lanes = emitter, op, part, lanes
        self.acc = TileBuffer(op.acc)
        self.lhs = TileBuffer(op.lhs, op.lhs_unsigned is not None)
        self.rhs = TileBuffer(op.rhs, op.rhs_unsigned is not None)
        self.type = shaped(self.acc.element, lanes)
        self.vectors = -(-part.columns // lanes)
        self.several = SeveralProducts(emitter, self.acc, self.lhs, self.rhs, lanes)
        self.masks = [self._mask(number) for number in range(self.vectors)]
        self.base = part.row if op.live_rows is None else 0
        """The row of the tile whose place the others are counted from: where rows lack, the first one."""
        self.n_kept = -(-op.rows.value.data // 2) - part.row
        """Of so many rows of the part there is each; where rows lack, those after them move up."""
        self.lacking = self._lacking()
        lhs_row = self._amount(op.lhs_row)
        self.lhs_rows = self._offsets(lhs_row)
        self.lhs_moved = self._product(self.lacking, lhs_row)
        self.taken = slice(0, part.rows)
        """The rows of the part that what is being written adds to."""
        self.is_one_depth = len(op.depths) == 1
        self.turn: Amount = 0
        """The number of the step, of all depths but the last one, where there are several."""
        self.ahead = op.ahead.value.data if op.ahead is not None and part.row == 0 else None
        self.prefetches = [
            self._prefetch(buffer, place, steps)
            for buffer, place, steps in (
                (self.lhs, op.lhs_next, op.lhs_next_steps),
                (self.rhs, op.rhs_next, op.rhs_next_steps),
            )
            if place is not None and steps is not None and part.row == part.column == 0
        ]
        # Stepping along them by pointers of the loop's own was slower: 1024x1024x1024 takes 4 % longer.
        if self.prefetches and not emitter.processor.adds_addresses_apart:
            emitter.needs_strength_reduction = True

    def start(self) -> list[str]:
        """Writes what the sums begin with, and returns it."""
        self.acc_places = self._acc_places()
        return [self._before(place, number) for place in self.acc_places for number in range(self.vectors)]

    def finish(self, sums: list[str]) -> None:
        """Writes what is added to sums, and stores them."""
        op, part = self.op, self.part
        lhs = self._at(self.lhs, self._amount(op.lhs_at), self._times(self._amount(op.lhs_row), self.base))
        rhs = self._at(self.rhs, self._amount(op.rhs_at), part.column)
        sums = self._sum(self._depths(), lhs, rhs, sums)
        if op.transposed is not None:
            self._store_transposed(sums)
            return
        for row, place in enumerate(self.acc_places):
            for number in range(self.vectors):
                self._store(sums[row * self.vectors + number], place, number)

    def _acc_places(self) -> list[str]:
        """Returns where each row of sums is."""
        op, row = self.op, self._amount(self.op.acc_row)
        if op.transposed is not None:
            return [""] * self.part.rows
        place = self._at(self.acc, self._amount(op.acc_at), self.part.column, self._times(row, self.base))
        return self._rows(self.acc, place, self._offsets(row), self._product(self.lacking, row))

    def _lacking(self) -> Amount:
        """Returns minus how many rows of the tile there are not."""
        live = self.op.live_rows
        if live is None:
            return 0
        return self.emitter.emit(
            f"sub nsw i64 {self.emitter.values[live]}, {self.op.rows.value.data}", "lacking"
        )

    def _offsets(self, row: Amount) -> list[Amount]:
        """Returns how far each row of the part is from the one that is counted from."""
        first = self.part.row - self.base
        return [self._times(row, number) for number in range(first, first + self.part.rows)]

    def _rows(self, buffer: TileBuffer, place: str, offsets: Sequence[Amount], moved: Amount) -> list[str]:
        """Returns the place of each row of the part; those of the lower half move up as far as rows lack."""
        if moved == 0 or self.n_kept >= self.part.rows:
            return [self._step(buffer, place, offset) for offset in offsets]
        # In front of the rows there may be nothing.
        lower = self._behind(buffer, place, moved)
        return [
            self._step(buffer, place, offset) if number < self.n_kept else self._behind(buffer, lower, offset)
            for number, offset in enumerate(offsets)
        ]

    def _store_transposed(self, sums: Sequence[str]) -> None:
        """Stores sums of which each row of a vector's lanes goes to a row of its own."""
        op, part = self.op, self.part
        acc_row = self._amount(op.acc_row)
        acc = self._at(self.acc, self._amount(op.acc_at), self._times(acc_row, part.column), part.row)
        for number in range(self.vectors):
            columns = min(self.lanes, part.columns - number * self.lanes)
            for first in range(0, part.rows, self.lanes):
                rows = min(self.lanes, part.rows - first)
                block = [sums[row * self.vectors + number] for row in range(first, first + rows)]
                square = [*block, *[NOTHING] * (self.lanes - rows)]
                turned = transposed(self.emitter, self.type, square, self.acc.nbytes)
                for column, value in enumerate(turned[:columns]):
                    row = self._step(self.acc, acc, self._times(acc_row, number * self.lanes + column))
                    self._store_part(value, self._step(self.acc, row, first), rows)

    def _depths(self) -> list[_Depth]:
        op, amount = self.op, self._amount
        steps = zip(op.depths, op.lhs_steps, op.rhs_steps, strict=True)
        depths = [_Depth(amount(extent), amount(left), amount(right)) for extent, left, right in steps]
        if op.ranges is not None:
            number, ranges = op.ranges
            depths[number] = replace(depths[number], ranges=ranges)
        return depths

    def _store_part(self, value: str, place: str, count: int) -> None:
        """Stores the first `count` lanes of a vector."""
        if count == self.lanes:
            self.emitter.lines.append(f"  store {self.type} {value}, ptr {place}, align {self.acc.nbytes}")
            return
        lanes = ", ".join(f"i1 {str(lane < count).lower()}" for lane in range(self.lanes))
        operands = [
            (self.type, value),
            ("ptr", place),
            ("i32", str(self.acc.nbytes)),
            (self._bits, f"<{lanes}>"),
        ]
        self.emitter.lines.append(
            f"  {self.emitter.call(f'masked.store.{mangled(self.type)}.p0', 'void', operands)}"
        )

    def _sum(self, depths: Sequence[_Depth], lhs: str, rhs: str, sums: list[str]) -> list[str]:
        """Writes the loops over `depths`, from the places `lhs` and `rhs` on; returns the sums after them."""
        if not depths:
            return self._add_products(lhs, rhs, sums)
        depth, *inner = depths
        if depth.ranges:
            return self._sum_of_rows(depth, inner, lhs, rhs, sums)
        if not inner and self.op.rhs_nibbles is not None:
            return self._add_nibbles(depth, lhs, rhs, sums)
        if not inner and (count := self._at_once(depth)) > 1:
            return self._sum_several(count, depth, lhs, rhs, sums)
        extent = depth.extent
        if isinstance(extent, str):
            return self._run(depth, None, inner, lhs, rhs, sums)[2]
        unroll = 1
        if not inner:
            fitting = (u for u in (8, 4, 2) if u * len(sums) <= FMAS_IN_A_ROW and u <= extent)
            unroll = extent if 0 < extent <= MOST_UNROLLED else next(fitting, 1)
        main = extent - extent % unroll
        if main == unroll:
            lhs, rhs, sums = self._in_a_row(0, main, depth, inner, lhs, rhs, sums)
        elif main:
            lhs, rhs, sums = self._run(replace(depth, extent=main), unroll, inner, lhs, rhs, sums)
        return self._in_a_row(main, extent - main, depth, inner, lhs, rhs, sums)[2]

    def _sum_of_rows(
        self, depth: _Depth, inner: Sequence[_Depth], lhs: str, rhs: str, sums: list[str]
    ) -> list[str]:
        """Writes the steps of a depth of which each adds to some rows alone."""
        part, cut, rereads = self.part, self.op.cut, self._rereads(depth, len(depth.ranges))
        for number, (begin, end) in enumerate(depth.ranges):
            if number and rereads:
                lhs = self.emitter.hidden(lhs)
            some = slice(max(begin - part.row, 0), max(min(end - part.row, part.rows), 0))
            step = partial(self._step_of_rows, depth, inner, number, lhs, rhs, sums)
            is_cut = constant_integer(cut[number]) if cut else 1
            if is_cut is not None:
                sums = step(some if is_cut else self.taken)
            else:
                types = [self.type] * len(sums)
                ways = partial(step, some), partial(step, self.taken)
                phis = self.emitter.write_either(self.emitter.values[cut[number]], types, *ways)
                sums = [self.emitter.emit(phi, "sum") for phi in phis]
            lhs, rhs = self._step(self.lhs, lhs, depth.lhs_step), self._step(self.rhs, rhs, depth.rhs_step)
        return sums

    def _step_of_rows(
        self,
        depth: _Depth,
        inner: Sequence[_Depth],
        number: int,
        lhs: str,
        rhs: str,
        sums: list[str],
        rows: slice,
    ) -> list[str]:
        """Writes a step of a depth for some rows of the part, and returns the sums of all of them."""
        if rows.start >= rows.stop:
            return sums
        before, self.taken = self.taken, rows
        here, found = slice(rows.start * self.vectors, rows.stop * self.vectors), list(sums)
        found[here] = self._next(depth, inner, number, lhs, rhs, found[here])[2]
        self.taken = before
        return found

    def _in_a_row(
        self,
        begin: Amount,
        count: int,
        depth: _Depth,
        inner: Sequence[_Depth],
        lhs: str,
        rhs: str,
        sums: list[str],
    ) -> tuple[str, str, list[str]]:
        """
        Writes so many steps of a depth one after the other, from number `begin` on. Where a row reads in one
        step what another row reads in the next, as pixels do in a window, LLVM would load that once and keep
        it: in memory, as the sums leave no registers. So it must not see that both are the same.
        """
        rereads = self._rereads(depth, count)
        for number in range(count):
            if number and rereads:
                lhs = self.emitter.hidden(lhs)
            lhs, rhs, sums = self._next(depth, inner, self._plus(begin, number), lhs, rhs, sums)
        return lhs, rhs, sums

    def _rereads(self, depth: _Depth, count: int) -> bool:
        """Returns whether two rows may read the same element of `lhs` in different ones of `count` steps."""
        row, step = self._amount(self.op.lhs_row), depth.lhs_step
        if isinstance(row, str) or isinstance(step, str):
            return True
        apart = {abs(step) * number for number in range(1, count)}
        return any(abs(row) * number in apart for number in range(1, self.part.rows))

    def _run(
        self,
        depth: _Depth,
        unroll: int | None,
        inner: Sequence[_Depth],
        lhs: str,
        rhs: str,
        sums: list[str],
    ) -> tuple[str, str, list[str]]:
        """Writes one loop, that has `unroll` steps in a row and is not empty, or whose extent varies."""
        carried = [("rhs", "ptr", rhs), *(("sum", self.type, value) for value in sums)]
        if unroll is None:
            loop = self.emitter.begin_loop(
                "k", "i64", "0", str(depth.extent), [("lhs", "ptr", lhs), *carried]
            )
            if self.is_one_depth:
                self._write_prefetches(loop.index, 0, 1)
            lhs, rhs, sums = self._next(
                depth, inner, loop.index, loop.carried[0], loop.carried[1], loop.carried[2:]
            )
            self.emitter.end_loop(loop, "1", [self.emitter.opaque(lhs), self.emitter.opaque(rhs), *sums])
            return loop.carried[0], loop.carried[1], loop.carried[2:]
        # What counts the steps up to 0 can be the place in `lhs` too: each instruction beside the sums costs.
        is_place = depth.lhs_step == 1
        if is_place:
            lhs = self._step(self.lhs, lhs, depth.extent)
        else:
            carried.append(("lhs", "ptr", lhs))
        loop = self.emitter.begin_repetition("k", "i64", f"-{depth.extent}", carried)
        number: Amount = 0
        if self.is_one_depth:
            self._write_prefetches(loop.index, depth.extent, unroll)
        elif inner and self.prefetches:
            number = self.emitter.emit(f"add nsw i64 {loop.index}, {depth.extent}", "number")
        rhs, *sums = loop.carried[: 1 + len(sums)]
        first = self.emitter.opaque(self._step(self.lhs, lhs, loop.index)) if is_place else loop.carried[-1]
        first, rhs, sums = self._in_a_row(number, unroll, depth, inner, first, rhs, sums)
        yielded = [self.emitter.opaque(rhs), *sums]
        if not is_place:
            lhs = self.emitter.opaque(first)
            yielded.append(lhs)
        self.emitter.end_repetition(loop, str(unroll), "0", yielded)
        return lhs, yielded[0], sums

    def _prefetch(self, buffer: TileBuffer, at: SSAValue, steps: DenseArrayBase[I64]) -> _Prefetch:
        step, count = steps.get_values()
        place = self._behind(buffer, self.emitter.values[buffer.value], self._amount(at))
        return _Prefetch(buffer, place, step, count)

    def _write_prefetches(self, index: Amount, last: Amount, steps: int) -> None:
        """Fetches what goes with some steps, the first of which is `last` + `index`."""
        for each in self.prefetches:
            place = self._behind(each.buffer, each.place, self._times(last, each.step))
            place = self._behind(each.buffer, place, self._times(index, each.step))
            if each.step == each.count:
                self._fetch(place, steps * each.count * each.buffer.nbytes)
                continue
            for number in range(steps):
                first = self._behind(each.buffer, place, number * each.step)
                self._fetch(first, each.count * each.buffer.nbytes)

    def _behind(self, buffer: TileBuffer, place: str, amount: Amount) -> str:
        """Returns the place so many elements behind one, where there need be none."""
        if amount == 0:
            return place
        return self.emitter.emit(f"getelementptr {buffer.element}, ptr {place}, i64 {amount}", "later")

    def _fetch(self, place: str, nbytes: int, level: int = LEVELS[0]) -> None:
        """Fetches the cache lines of that many bytes, which need not be there, into a cache."""
        emitter = self.emitter
        for offset in range(0, nbytes, LINE_NBYTES):
            line = emitter.emit(f"getelementptr i8, ptr {place}, i64 {offset}", "line") if offset else place
            emitter.prefetch(line, level)

    def _next(
        self, depth: _Depth, inner: Sequence[_Depth], number: Amount, lhs: str, rhs: str, sums: list[str]
    ) -> tuple[str, str, list[str]]:
        """Writes step `number` of a depth; returns where the next one begins, and the sums."""
        if inner and self.prefetches:
            before = self.turn
            self.turn = self._plus(self._product(before, depth.extent), number)
            if len(inner) == 1:
                self._write_prefetches(self.turn, 0, 1)
            sums = self._sum(inner, lhs, rhs, sums)
            self.turn = before
        elif depth.count == 1:
            sums = self._sum(inner, lhs, rhs, sums)
        else:
            sums = self._add_several(lhs, rhs, depth, sums)
        return self._step(self.lhs, lhs, depth.lhs_step), self._step(self.rhs, rhs, depth.rhs_step), sums

    def _at_once(self, depth: _Depth) -> int:
        """
        Returns how many steps of the innermost depth are one: their elements of `lhs` are neighbours, and the
        processor adds as many products. Sums wrap, so their order is open.
        """
        if depth.lhs_step != 1 or depth.count > 1 or self.prefetches:
            return 1
        return self.several.at_once(depth.extent)

    def _sum_several(self, count: int, depth: _Depth, lhs: str, rhs: str, sums: list[str]) -> list[str]:
        """Writes the loop over the innermost depth, `count` steps at a time, and over those left over."""
        extent, step = depth.extent, depth.rhs_step
        far = self._times(step, count)
        if isinstance(extent, str):
            turns = self.emitter.emit(f"sdiv i64 {extent}, {count}", "turns")
            left = self.emitter.emit(f"srem i64 {extent}, {count}", "left")
            whole = _Depth(turns, count, far, count, step)
            lhs, rhs, sums = self._run(whole, None, [], lhs, rhs, sums)
            return self._run(_Depth(left, 1, step), None, [], lhs, rhs, sums)[2]
        whole = extent - extent % count
        sums = self._sum([_Depth(whole // count, count, far, count, step)], lhs, rhs, sums)
        if extent == whole:
            return sums
        lhs, rhs = self._step(self.lhs, lhs, whole), self._step(self.rhs, rhs, self._times(step, whole))
        return self._sum([_Depth(extent - whole, 1, step)], lhs, rhs, sums)

    def _add_several(self, lhs: str, rhs: str, depth: _Depth, sums: list[str]) -> list[str]:
        """Adds the products of several steps."""
        places = [rhs]
        for _ in range(depth.count - 1):
            places.append(self._step(self.rhs, places[-1], depth.apart))
        for place in places:
            self._fetch_ahead(place)
        columns = [
            self.several.columns([self._loaded(self.rhs, place, number) for place in places])
            for number in range(self.vectors)
        ]
        return [
            sum
            for row, place in enumerate(self._lhs_places(lhs))
            for sum in self.several.added(
                depth.count,
                place,
                columns,
                sums[row * self.vectors : (row + 1) * self.vectors],
            )
        ]

    def _add_nibbles(self, depth: _Depth, lhs: str, rhs: str, sums: list[str]) -> list[str]:
        """
        Adds the products of the first and then of the second number of each byte. One row takes both of a
        vector of bytes before the next one: there are no registers for all bytes.
        """
        self._fetch_ahead(rhs)
        factors = lhs, self._step(self.lhs, lhs, depth.lhs_step)
        at_once = 1 if self.part.rows == 1 else self.vectors
        results = list(sums)
        for first in range(0, self.vectors, at_once):
            numbers = range(first, first + at_once)
            bytes = [self._loaded(self.rhs, rhs, number) for number in numbers]
            for nibble, place in enumerate(factors):
                columns = [
                    write_nibble(self.emitter, value, nibble, self.acc.stored, self.lanes) for value in bytes
                ]
                for row, element in enumerate(self._lhs_places(place)):
                    factor = self._in_all_lanes(element)
                    for number, column in zip(numbers, columns, strict=True):
                        at = row * self.vectors + number
                        results[at] = self._plus_product(results[at], factor, column)
        return results

    def _add_products(self, lhs: str, rhs: str, sums: list[str]) -> list[str]:
        self._fetch_ahead(rhs)
        columns = [self._vector(self.rhs, rhs, number) for number in range(self.vectors)]
        results: list[str] = []
        for row, place in enumerate(self._lhs_places(lhs)):
            factor = self._in_all_lanes(place)
            for number, column in enumerate(columns):
                results.append(self._plus_product(sums[row * self.vectors + number], factor, column))
        return results

    def _lhs_places(self, lhs: str) -> list[str]:
        """Returns where each row of the part has its factor, given that of the first row."""
        return self._rows(self.lhs, lhs, self.lhs_rows[self.taken], self.lhs_moved)

    def _fetch_ahead(self, rhs: str) -> None:
        """Fetches what a later step loads of `rhs`, where the op says how far ahead."""
        if self.ahead is not None:
            later = self._behind(self.rhs, rhs, self.ahead)
            self._fetch(later, self.part.columns * self.rhs.nbytes, self.op.prefetch_level)

    def _plus_product(self, sum: str, lhs: str, rhs: str) -> str:
        if is_float(self.acc.stored):
            return write_multiply_add(self.emitter, self.type, [lhs, rhs, sum])
        product = self.emitter.emit(f"mul {self.type} {lhs}, {rhs}")
        return self.emitter.emit(f"add {self.type} {sum}, {product}")

    def _in_all_lanes(self, place: str) -> str:
        """Returns the element of `lhs` at `place`, converted, in all lanes of a vector."""
        emitter, lhs = self.emitter, self.lhs
        value = emitter.emit(f"load {lhs.element}, ptr {place}, align {lhs.nbytes}")
        return emitter.in_all_lanes(self.acc.element, self._converted(lhs, value, None), self.lanes)

    def _vector(self, buffer: TileBuffer, place: str, number: int) -> str:
        """Returns vector `number` of those that begin at `place`, converted; 0 where the mask is not set."""
        return self._converted(buffer, self._loaded(buffer, place, number), self.lanes)

    def _loaded(self, buffer: TileBuffer, place: str, number: int) -> str:
        """Returns the same as it is stored."""
        emitter = self.emitter
        place = self._step(buffer, place, number * self.lanes)
        type, mask = shaped(buffer.element, self.lanes), self.masks[number]
        if mask is None:
            return emitter.emit(f"load {type}, ptr {place}, align {buffer.nbytes}")
        operands = [
            ("ptr", place),
            ("i32", str(buffer.nbytes)),
            (self._bits, mask),
            (type, "zeroinitializer"),
        ]
        return emitter.emit(emitter.call(f"masked.load.{mangled(type)}.p0", type, operands))

    def _converted(self, buffer: TileBuffer, value: str, lanes: int | None) -> str:
        """Returns elements of a buffer in the type of the sums."""
        stored, wide = buffer.stored, self.acc.stored
        if stored == wide:
            return value
        if is_float(stored):
            return extend(self.emitter, value, stored, wide, lanes)
        signed, unsigned = ("sitofp", "uitofp") if is_float(wide) else ("sext", "zext")
        convert = unsigned if buffer.is_unsigned else signed
        from_type, to_type = shaped(buffer.element, lanes), shaped(self.acc.element, lanes)
        return self.emitter.emit(f"{convert} {from_type} {value} to {to_type}")

    def _before(self, place: str, number: int) -> str:
        """Returns what a vector of sums begins with."""
        return "zeroinitializer" if self.op.accumulates is None else self._vector(self.acc, place, number)

    def _store(self, value: str, place: str, number: int) -> None:
        emitter = self.emitter
        place = self._step(self.acc, place, number * self.lanes)
        mask, nbytes = self.masks[number], self.acc.nbytes
        if mask is None:
            emitter.lines.append(f"  store {self.type} {value}, ptr {place}, align {nbytes}")
        else:
            operands = [(self.type, value), ("ptr", place), ("i32", str(nbytes)), (self._bits, mask)]
            emitter.lines.append(
                f"  {emitter.call(f'masked.store.{mangled(self.type)}.p0', 'void', operands)}"
            )

    @property
    def _bits(self) -> str:
        return shaped("i1", self.lanes)

    def _mask(self, number: int) -> str | None:
        """Returns which lanes of vector `number` there are, None for all of them."""
        first = number * self.lanes
        live = self.op.live
        if live is not None:
            emitter, wide = self.emitter, shaped("i64", self.lanes)
            start = self.part.column + first
            left = emitter.emit(f"sub nsw i64 {emitter.values[live]}, {start}")
            everywhere = emitter.in_all_lanes("i64", left, self.lanes)
            numbers = f"<{', '.join(f'i64 {lane}' for lane in range(self.lanes))}>"
            return emitter.emit(f"icmp slt {wide} {numbers}, {everywhere}", "mask")
        count = self.part.columns - first
        if count >= self.lanes:
            return None
        return f"<{', '.join(f'i1 {str(lane < count).lower()}' for lane in range(self.lanes))}>"

    def _amount(self, value: SSAValue) -> Amount:
        number = constant_integer(value)
        return self.emitter.values[value] if number is None else number

    def _times(self, amount: Amount, factor: int) -> Amount:
        if isinstance(amount, int) or factor == 0:
            return factor * amount if factor else 0
        return amount if factor == 1 else self.emitter.emit(f"mul nsw i64 {amount}, {factor}")

    def _product(self, first: Amount, second: Amount) -> Amount:
        if isinstance(second, int):
            return self._times(first, second)
        return self._times(second, first) if isinstance(first, int) else self._emitted("mul", first, second)

    def _plus(self, first: Amount, second: Amount) -> Amount:
        if isinstance(first, int) and isinstance(second, int):
            return first + second
        if 0 in (first, second):
            return second if first == 0 else first
        return self._emitted("add", first, second)

    def _emitted(self, name: str, first: Amount, second: Amount) -> Amount:
        return self.emitter.emit(f"{name} nsw i64 {first}, {second}")

    def _at(self, buffer: TileBuffer, *amounts: Amount) -> str:
        """Returns the place in a buffer that many elements after its first."""
        place = self.emitter.values[buffer.value]
        for amount in amounts:
            place = self._step(buffer, place, amount)
        return self.emitter.opaque(place)

    def _step(self, buffer: TileBuffer, place: str, amount: Amount) -> str:
        if amount == 0:
            return place
        return self.emitter.emit(f"getelementptr inbounds {buffer.element}, ptr {place}, i64 {amount}")
