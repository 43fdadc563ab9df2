"""
Writes what a tile leaves out: where its depth begins and ends, and the products that are added after all.

Zero times a weight is 0 and adds nothing, unless the weight is infinite or NaN. So the sums tell whether all
weights are finite: one pixel in the middle leaves out no column of the window, and where its sum is finite,
so is each weight that was multiplied for it. Where it is not, each pixel gets added what it left out: 0 times
the weights, summed up once for all pixels in a tile of one row. The sums say nothing of the rows of the
window that no pixel of the tile took: those are always added so.

So each result is the one of all products, but for the sign of a 0: products that are too small for a number
may leave -0.0, to which 0 is not added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i1, i64
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from .....dialects import low
from .....dialects.element_types import NBYTES, element_type_of, is_float
from .....dialects.low.tile import RowRanges
from ....indices.expressions import Axis, IndexExpr
from ....indices.tile_windows import TileWindows
from ....scalar.builder import INDEX
from ..state import KernelState
from ..writer import vector_type
from .branches import branch, compare
from .depths import Depth, merged
from .left_out import LeftOut, Window

_NOT_EQUAL = IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index("une"), i64)
"""Of NaN this holds too."""

_ADDED_UP: dict[str, Attribute] = {
    "kind": CombiningKindAttr(CombiningKindFlag.ADD),
    "fastmath": arith.FastMathFlagsAttr("none"),
}

FORWARDED_NBYTES = 32
"""
How many bytes of sums are loaded at once right after they were stored. On a Zen 4, loads of 64 wait until
the stores are in the cache: tiles of 14x32 sums of 1152 products take 1.005 times as long so.
"""

STEPS_AT_ONCE = 4, 2, 1
"""How many steps of weights that lie side by side may be summed up apart: the first number that fits."""


@dataclass(frozen=True, slots=True)
class SumPlace:
    """Where the sums of a tile are, how many rows and columns, and how many of the latter if that varies."""

    buffer: SSAValue
    at: SSAValue
    row: SSAValue
    is_transposed: bool
    rows: SSAValue
    columns: int
    live: SSAValue | None


@dataclass(frozen=True, slots=True)
class Weights:
    """What is multiplied by 0: where it is loaded, and all dims of the depth with their axes."""

    load: memref.LoadOp
    address: IndexExpr
    depths: Sequence[Depth]
    axes: Sequence[Axis]
    pixels: Axis | None
    """The axis that the rows of the tile go along."""
    windows: TileWindows | None
    """Which rows take part in the steps of the window that moves with them."""


class LeftOutProducts:
    """Writes what one sum leaves out; `op` is what it is told of, and located at."""

    def __init__(self, state: KernelState, op: Operation, what: LeftOut, weights: Weights) -> None:
        self.state = state
        self.op = op
        self.what = what
        self.weights = weights
        self.taken: tuple[SSAValue, SSAValue] | None = None
        """The first step of the window `around` that adds, and where they end."""

    def begin(self) -> None:
        """Writes the first step of the window `around`, to which it binds its axis, and where they end."""
        window = self.what.around
        if window is None:
            return
        at = self.state.indices.write_for(self.op, window.index)
        zero, extent = self._number(0), self._number(window.extent)
        first = self._index(arith.SubiOp, self._number(window.low), at)
        first = self._index(arith.MinSIOp, self._index(arith.MaxSIOp, first, zero), extent)
        end = self._index(arith.SubiOp, self._number(window.high), at)
        end = self._index(arith.MaxSIOp, self._index(arith.MinSIOp, end, extent), first)
        self.taken = first, end
        self._bind(window, first)

    def depths(self) -> list[Depth]:
        """Returns the dims of the depth, of which the window `around` has the steps alone that add."""
        found = list(self.weights.depths)
        if self.taken is not None and self.what.around is not None:
            dim = self.what.around.dim
            count = self._index(arith.SubiOp, self.taken[1], self.taken[0])
            found[dim] = Depth(count, found[dim].lhs, found[dim].rhs)
        return found

    def taken_depths(self) -> tuple[list[Depth], RowRanges | None]:
        """Returns the depths of the tile itself, and which rows the steps of one of them add to."""
        depths, window, windows = self.depths(), self.what.within, self.weights.windows
        if window is None or windows is None:
            return merged(depths), None
        outer, inner = merged(depths[: window.dim]), merged(depths[window.dim + 1 :])
        return [*outer, depths[window.dim], *inner], (len(outer), windows.rows)

    def add(self, place: SumPlace) -> None:
        """
        Adds to the sums of a tile what it left out: each step of the window `within` to the rows that left it
        out, where they need it, and then those of `around` to all rows. These are the turns of one loop, as
        its code is long. Most tiles take none.
        """
        # 0 times an integer is 0.
        if not is_float(element_type_of(self.weights.load.memref.type)):
            return
        zeros = _ZeroProducts(self.state, self.op, self.weights, place)
        turns = 0 if self.what.within is None else self.what.within.extent
        begin = end = self._number(turns)
        if self.weights.windows is not None:
            begin = self._select(zeros.is_not_finite(self.weights.windows.middle), self._number(0), begin)
        left = self._left_around()
        if left is not None:
            count = self._index(arith.MinSIOp, left[1], self._number(1))
            end = self._index(arith.AddiOp, end, count)

        def turn(number: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            self._take_turn(zeros, number, left)
            return []

        bounds = begin, end, self._number(1)
        self.state.writer.loop(bounds, (), turn, self.op.location, "turn", is_rare=True)

    def _left_around(self) -> tuple[SSAValue, SSAValue] | None:
        """Returns where the steps begin that the window `around` leaves out, and how many there are."""
        window = self.what.around
        if window is None or self.taken is None:
            return None
        # Never both: there is room for the whole window.
        (first, end), zero = self.taken, self._number(0)
        is_before = compare(self.state, "sgt", first, zero, self.op, "is_before")
        begin = self._select(is_before, zero, end)
        end = self._select(is_before, first, self._number(window.extent))
        return begin, self._index(arith.SubiOp, end, begin)

    def _take_turn(
        self, zeros: _ZeroProducts, number: SSAValue, left: tuple[SSAValue, SSAValue] | None
    ) -> None:
        """Adds step `number` of the window `within`, or, after the last of these, what `around` left out."""
        within, around = self.what.within, self.what.around
        depths, is_last = list(self.weights.depths), None
        if within is not None:
            last, one = self._number(within.extent - 1), self._number(1)
            begin, count = number, one
            if left is not None:
                is_last = compare(self.state, "sgt", number, last, self.op, "is_last")
                begin = self._select(is_last, self._number(0), number)
                count = self._select(is_last, self._number(within.extent), one)
            self._take(within, begin, count, depths)
        if around is not None and left is not None and self.taken is not None:
            begin, count = left
            if is_last is not None:
                begin = self._select(is_last, begin, self.taken[0])
                count = self._select(is_last, count, self._index(arith.SubiOp, self.taken[1], self.taken[0]))
            self._take(around, begin, count, depths)
        zeros.sum_up(depths)

        def is_added(row: SSAValue) -> SSAValue:
            assert within is not None, "a window that moves with the rows"
            is_outside = self._is_outside(within, number, row)
            if is_last is None:
                return is_outside
            operands = is_last, is_outside
            return self.state.writer.emit(arith.OrIOp, operands, i1, self.op.location, "is_added")

        zeros.add(None if within is None else is_added)

    def _take(self, window: Window, begin: SSAValue, count: SSAValue, depths: list[Depth]) -> None:
        """Has some steps of a window be those that are summed up."""
        self._bind(window, begin)
        depths[window.dim] = Depth(count, depths[window.dim].lhs, depths[window.dim].rhs)

    def _is_outside(self, window: Window, step: SSAValue, row: SSAValue) -> SSAValue:
        """Returns whether a row leaves out a step of a window."""
        state, pixels = self.state, self.weights.pixels
        assert pixels is not None, "a window that moves with the rows"
        before = dict(state.indices.bindings)
        state.indices.bindings[pixels] = before[pixels] + state.indices.bind(row, pixels.extent, pixels.hint)
        self._bind(window, step)
        at = state.indices.write_for(self.op, window.index)
        state.indices.bindings.update(before)
        is_before = compare(state, "slt", at, self._number(window.low), self.op, "is_before")
        is_behind = compare(state, "sgt", at, self._number(window.high - 1), self.op, "is_behind")
        return state.writer.emit(arith.OrIOp, (is_before, is_behind), i1, self.op.location, "is_outside")

    def _bind(self, window: Window, value: SSAValue) -> None:
        indices, axis = self.state.indices, self.weights.axes[window.dim]
        indices.bindings[axis] = indices.bind(value, window.extent + 1, axis.hint)

    def _number(self, value: int) -> SSAValue:
        return self.state.writer.constants.get(value, INDEX)

    def _index(self, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.state.indices.op(op_type, lhs, rhs, self.op.location)

    def _select(self, condition: SSAValue, on_true: SSAValue, on_false: SSAValue) -> SSAValue:
        operands = condition, on_true, on_false
        return self.state.writer.emit(low.SelectOp, operands, INDEX, self.op.location)


class _ZeroProducts:
    """
    Sums of 0 times the weights of a tile, one for each column, and what is done with them. Where the weights
    of several steps lie side by side these are columns of their own, as each sum waits for the one before it.
    """

    def __init__(self, state: KernelState, op: Operation, weights: Weights, place: SumPlace) -> None:
        self.state = state
        self.op = op
        self.weights = weights
        self.place = place
        self.type: Attribute = element_type_of(place.buffer.type)
        innermost = weights.depths[-1]
        is_contiguous = place.live is None and innermost.rhs == place.columns
        steps = innermost.extent if is_contiguous and isinstance(innermost.extent, int) else 1
        self.parts = next(count for count in STEPS_AT_ONCE if steps % count == 0)
        alloca, columns = state.writer.alloca, self.parts * place.columns
        self.zero = alloca(MemRefType(self.type, [1]), op.location, "zero")
        self.sums = alloca(MemRefType(self.type, [columns]), op.location, "sums_of_zeros")

    def sum_up(self, depths: Sequence[Depth]) -> None:
        """Writes the sums over some depths, of the weights from where the axes of the others are bound to."""
        state, load, (*outer, innermost) = self.state, self.weights.load, depths
        if self.parts > 1:
            assert isinstance(innermost.extent, int), "a known number of steps"
            innermost = Depth(innermost.extent // self.parts, 0, innermost.rhs * self.parts)
        steps = merged([Depth(depth.extent, 0, depth.rhs) for depth in (*outer, innermost)])
        get, columns = state.writer.constants.get, self.parts * self.place.columns
        nothing, none = get(0.0, self.type), get(0, INDEX)
        state.writer.insert(memref.StoreOp.create(operands=(nothing, self.zero, none)), self.op.location)
        new = low.TileFmaOp(
            (1, columns),
            (self.sums, none, get(columns, INDEX)),
            [self.zero, none, none, *(none for _ in steps)],
            [
                state.buffers[load.memref],
                state.indices.write_for(load, self.weights.address),
                *(get(step.rhs, INDEX) for step in steps),
            ],
            [step.extent if isinstance(step.extent, SSAValue) else get(step.extent, INDEX) for step in steps],
            self.place.live,
        )
        state.writer.insert(new, self.op.location)

    def is_not_finite(self, row: int) -> SSAValue:
        """Returns whether a sum of a row of the tile is infinite or NaN."""
        state, location, place = self.state, self.op.location, self.place
        emit, get = state.writer.emit, state.writer.constants.get
        are_apart = place.is_transposed or place.live is not None
        lanes = 1 if are_apart else gcd(place.columns, FORWARDED_NBYTES // NBYTES[self.type])
        type = self.type if lanes == 1 else vector_type(self.type, lanes)
        zero, zeros, number = get(0.0, self.type), state.writer.number(0.0, self.type, lanes), get(row, INDEX)

        def column(column: SSAValue, so_far: Sequence[SSAValue]) -> list[SSAValue]:
            load = memref.LoadOp if lanes == 1 else vector.LoadOp
            value = emit(load, (place.buffer, self._at(number, column)), type, location, "value")
            nothing = emit(arith.MulfOp, (value, zeros), type, location, "nothing")
            return [emit(arith.AddfOp, (so_far[0], nothing), type, location, "so_far")]

        begin, end, _ = self._columns()
        bounds = begin, end, get(lanes, INDEX)
        (total,) = state.writer.loop(bounds, [zeros], column, location, "column", "so_far")
        if lanes > 1:
            total = emit(vector.ReductionOp, (total,), self.type, location, "total", dict(_ADDED_UP))
        properties: dict[str, Attribute] = {"predicate": _NOT_EQUAL}
        return emit(arith.CmpfOp, (total, zero), i1, location, "is_not_finite", properties)

    def add(self, is_added: Callable[[SSAValue], SSAValue] | None) -> None:
        """Adds the sums to those of each row of the tile, or of each that `is_added` holds for."""
        state, location = self.state, self.op.location
        get = state.writer.constants.get

        def column(row: SSAValue, number: SSAValue) -> list[SSAValue]:
            at = self._at(row, number)
            value = self._load(self.place.buffer, at)
            for part in range(self.parts):
                first = get(part * self.place.columns, INDEX)
                more = self._load(self.sums, state.indices.op(arith.AddiOp, number, first, location))
                value = state.writer.emit(arith.AddfOp, (value, more), self.type, location, "sum")
            state.writer.insert(memref.StoreOp.create(operands=(value, self.place.buffer, at)), location)
            return []

        def columns(row: SSAValue) -> None:
            state.writer.loop(self._columns(), (), lambda number, _: column(row, number), location, "column")

        def each(row: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            if is_added is None:
                columns(row)
            else:
                branch(state, is_added(row), self.op, lambda: columns(row))
            return []

        bounds = get(0, INDEX), self.place.rows, get(1, INDEX)
        state.writer.loop(bounds, (), each, location, "row")

    def _columns(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        get = self.state.writer.constants.get
        return get(0, INDEX), self.place.live or get(self.place.columns, INDEX), get(1, INDEX)

    def _load(self, buffer: SSAValue, at: SSAValue) -> SSAValue:
        return self.state.writer.emit(memref.LoadOp, (buffer, at), self.type, self.op.location, "value")

    def _at(self, row: SSAValue, column: SSAValue) -> SSAValue:
        """Returns where the sum of a row and a column is."""
        outer, inner = (column, row) if self.place.is_transposed else (row, column)
        op, location = self.state.indices.op, self.op.location
        far = op(arith.MuliOp, outer, self.place.row, location)
        return op(arith.AddiOp, op(arith.AddiOp, self.place.at, far, location), inner, location)
