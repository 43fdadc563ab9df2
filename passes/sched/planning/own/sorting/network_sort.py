"""
The kernel of `graph.sort` and `graph.argsort` of several rows side by side, one in each lane of a vector, by
a sorting network (network.py).

    for each block of as many rows as there are lanes:
      write the numbers of the elements into a scratch buffer, the rows side by side
      sort the lanes
      store the elements that have these numbers

Lanes without a row, in the last block, sort the last row again and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ......dialects import graph
from ......dialects.dims.expressions import Extent, is_at_least, quotient, remainder, upper_bound
from .....indices.access import shape_of
from ...code import KernelCode
from ..interface import ProgramPart
from .equal_elements import has_special, store_special
from .network import Network, lanes_of
from .scratch import Scratch
from .sort_numbers import SortNumbers
from .sorted_row import SortedRow

MOST_EXTENT = 400
"""
Rows of so many elements are sorted side by side where all lanes have one, shorter ones where as great a share
of the lanes has. Others are sorted in less time one by one.
"""


def row_axis_of(op: graph.SortOp | graph.ArgsortOp) -> int | None:
    """
    Returns the axis along which rows are sorted side by side: neighbours in memory, or as many as there are.
    None where there are so few rows, or they are so long, that one by one takes less time.
    """
    shape, axis = shape_of(op.source, op.name), op.axis.data
    last = len(shape) - 1
    others = [last] if axis != last else range(last)
    lanes = lanes_of(SortNumbers(op).types[0])
    shares = {dim: _share_of_lanes(shape[dim], lanes) for dim in others}
    row_axis = max(others, key=lambda dim: (shares[dim], dim), default=None)
    if row_axis is None or upper_bound(shape[axis]) > MOST_EXTENT * shares[row_axis]:
        return None
    return row_axis


def _share_of_lanes(extent: Extent, lanes: int) -> float:
    """Returns the part of the lanes that have rows; of an extent that varies, all."""
    if not isinstance(extent, int) or extent == 0:
        return 1.0
    return extent / (-(-extent // lanes) * lanes)


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp, row_axis: int) -> None:
    """Writes the kernel that sorts rows side by side along an axis."""
    shape, axis = shape_of(op.source, op.name), op.axis.data
    numbers = SortNumbers(op)
    lanes = lanes_of(numbers.types[0])
    blocks = quotient(shape[row_axis] + (lanes - 1), lanes)
    outer = [extent for dim, extent in enumerate(shape) if dim not in (axis, row_axis)]
    pieces = [*outer, blocks]

    code = KernelCode(op)
    source = code.buffer(op.source.type, op.source.name_hint)
    scratch = Scratch(code, part, pieces, [(type, (shape[axis] * lanes,)) for type in numbers.types])
    result = code.buffer(op.result.type, op.result.name_hint)
    with code.axes(pieces) as at:
        _SideBySide(code, op, numbers, at, row_axis, lanes, source, *scratch.of(at), result).write()
    part.launch(code, [part.buffer_of(op.source), *scratch.places, part.buffer_of(op.result)])


class _SpecialRow(SortedRow):
    """One of the rows that were sorted side by side, of which some elements may be equal and not the same."""

    def __init__(self, rows: _SideBySide, row: list[SSAValue], lane: SSAValue):
        super().__init__(rows.code, rows.op, row, rows.source, rows.buffers, [], rows.result)
        self.rows, self.lane = rows, lane

    def write(self) -> None:
        store_special(
            self, self.rows.numbers.numbers, lambda position: self.rows.result_at(position, self.lane)
        )


class _SideBySide:
    """
    A block of as many rows as there are lanes. Element k of a lane is at `k * lanes + lane` of each buffer.
    """

    def __init__(
        self,
        code: KernelCode,
        op: graph.SortOp | graph.ArgsortOp,
        numbers: SortNumbers,
        at: Sequence[SSAValue],
        row_axis: int,
        lanes: int,
        source: SSAValue,
        buffers: Sequence[SSAValue],
        around: Sequence[SSAValue],
        result: SSAValue,
    ):
        self.code, self.op, self.numbers, self.lanes = code, op, numbers, lanes
        self.outer, self.block = list(at[:-1]), at[-1]
        self.source, self.buffers, self.result = source, buffers, result
        shape = shape_of(op.source, op.name)
        self.axis, self.row_axis = op.axis.data, row_axis
        self.extent, self.nrows = shape[self.axis], shape[row_axis]
        self.is_last = self.axis == len(shape) - 1
        self.network = Network(code, buffers, around, lanes, upper_bound(self.extent))
        self.first = code.integer(arith.MuliOp, self.block, code.index(lanes), "first")

    def write(self) -> None:
        self._whole_or_part(self._load_all, self._load_part)
        self.network.sort(self.code.index(self.extent))
        self._whole_or_part(self._store_all, self._store_part)
        numbers = self.numbers.numbers
        if numbers.has_special and not self.numbers.is_argsort:
            code = self.code
            extent: Extent = self.extent * self.lanes
            code.branch(
                has_special(
                    code, extent, numbers, lambda at: code.load(self.buffers[0], [*self.network.around, at])
                ),
                self._store_special,
            )

    def _whole_or_part(self, whole: Callable[[], None], part: Callable[[], None]) -> None:
        """Runs the code for a block that has a row in each lane, or that for one which has not."""
        code = self.code
        if remainder(self.nrows, self.lanes) == 0:
            whole()
            return
        if is_at_least(self.lanes - 1, self.nrows):
            part()
            return
        code.branch(code.compare("sge", self._left(), code.index(self.lanes)), whole, part)

    def _left(self) -> SSAValue:
        """Returns how many rows there are from the first one of this block on."""
        return self.code.integer(arith.SubiOp, self.code.index(self.nrows), self.first)

    def _row(self, lane: SSAValue) -> SSAValue:
        return self.code.integer(arith.AddiOp, self.first, lane)

    def _place(self, row: SSAValue, position: SSAValue) -> list[SSAValue]:
        """Returns the indices of an element of a row in the source, and in the result."""
        place = self._row_indices(row)
        return [*place[: self.axis], position, *place[self.axis :]]

    def _row_indices(self, row: SSAValue) -> list[SSAValue]:
        """Returns the indices of a row, without that of the sorted axis."""
        at = self.row_axis if self.row_axis < self.axis else self.row_axis - 1
        return [*self.outer[:at], row, *self.outer[at:]]

    def result_at(self, position: SSAValue, lane: SSAValue) -> SSAValue:
        """Returns the element, or the position, that stands at a position of a sorted lane."""
        return self.numbers.result(
            self.code, self.code.load(self.buffers[-1], self.network.at(position, lane))
        )

    def _load(self, row: SSAValue, position: SSAValue, lane: SSAValue) -> None:
        code = self.code
        stored = code.load(self.source, self._place(row, position))
        for value, buffer in zip(self.numbers.of(code, stored, position), self.buffers, strict=True):
            code.store(value, buffer, self.network.at(position, lane))

    def _store(self, row: SSAValue, position: SSAValue, lane: SSAValue) -> None:
        self.code.store(self.result_at(position, lane), self.result, self._place(row, position))

    def _load_all(self) -> None:
        with self.code.axes([self.extent, self.lanes], "k") as (position, lane):
            self._load(self._row(lane), position, lane)

    def _load_part(self) -> None:
        code = self.code
        last = code.index(self.nrows - 1)

        def load(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (lane,) = arguments
            row = code.b.op(arith.MinSIOp, self._row(lane), last)
            with code.axis(self.extent, "k") as position:
                self._load(row, position, lane)
            return ()

        code.count(self.lanes, (), load, ("lane",))

    def _store_all(self) -> None:
        extents = [self.lanes, self.extent] if self.is_last else [self.extent, self.lanes]
        with self.code.axes(extents, "k") as at:
            lane, position = at if self.is_last else reversed(at)
            self._store(self._row(lane), position, lane)

    def _store_part(self) -> None:
        self._for_rows(self._store_row)

    def _store_row(self, row: SSAValue, lane: SSAValue) -> None:
        with self.code.axis(self.extent, "k") as position:
            self._store(row, position, lane)

    def _store_special(self) -> None:
        self._for_rows(lambda row, lane: _SpecialRow(self, self._row_indices(row), lane).write())

    def _for_rows(self, body: Callable[[SSAValue, SSAValue], None]) -> None:
        """Runs code for each row of the block, given its number and its lane."""
        code = self.code
        end = code.b.op(arith.MinSIOp, self._left(), code.index(self.lanes))

        def run(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (lane,) = arguments
            body(self._row(lane), lane)
            return ()

        code.loop(code.index(0), end, code.index(1), (), run, ("lane",))
