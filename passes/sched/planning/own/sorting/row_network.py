"""
Sorts a row of numbers that lie one after the other with vectors, by the sorting network of `network.py`.

The row is a matrix of as many columns as vectors have lanes, row by row:

    fill it up with the last number there is, to a whole number of square tiles
    sort the columns side by side: the steps of algorithm M whose p is the number of columns, or more
    transpose it, tile by tile, so that columns lie one after the other
    for the other p, half of the number of columns down to 1, and each distance d of the network:
      exchange the numbers at i and i + d that are not in order: those of a column with those of another one,
        from a row on
    transpose it back

Behind each column of the transposed matrix stand as many last numbers as vectors have lanes: what is compared
with them stays where it is, so that columns need not end where vectors do.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from ...code import KernelCode
from .network import Network, Pass, exchange, for_each_pass, lanes_of


def scratch_of(types: Sequence[Attribute], most: int) -> list[tuple[Attribute, tuple[int, ...]]]:
    """
    Returns the element types and shapes of the buffers of a row of up to `most` numbers, one for each of
    `types`, and of those that it is transposed into.
    """
    lanes = lanes_of(types[0])
    rows = _whole_tiles(most, lanes)
    matrix, transposed = (rows * lanes,), (lanes * (rows + lanes),)
    return [(type, shape) for shape in (matrix, transposed) for type in types]


def _whole_tiles(most: int, lanes: int) -> int:
    """Returns how many rows the matrix of so many numbers has."""
    tile = lanes * lanes
    return -(-most // tile) * lanes


class RowNetwork:
    """
    Sorts up to `most` numbers at the beginning of the first half of `buffers`, those of `scratch_of`, behind
    the indices `around`.
    """

    def __init__(
        self,
        code: KernelCode,
        types: Sequence[Attribute],
        buffers: Sequence[SSAValue],
        around: Sequence[SSAValue],
        most: int,
    ):
        self.code, self.types, self.around = code, types, around
        self.matrix, self.transposed = buffers[: len(types)], buffers[len(types) :]
        self.lanes = lanes_of(types[0])
        self.stride = _whole_tiles(most, self.lanes) + self.lanes
        self.columns = Network(code, self.matrix, around, self.lanes, -(-most // self.lanes))
        self.levels = max((most - 1).bit_length(), (self.lanes - 1).bit_length())

    def sort(self, count: SSAValue) -> None:
        """Sorts the first `count` numbers."""
        code = self.code
        lanes, tile = code.index(self.lanes), code.index(self.lanes * self.lanes)
        rows = self._divided_up(count, lanes)
        tiles = self._divided_up(count, tile)
        self._fill(count, code.integer(arith.MuliOp, tiles, tile))
        self.columns.sort(rows)
        self._transpose(tiles, to_columns=True)
        self._fill_columns(code.integer(arith.MuliOp, tiles, lanes))
        self._merge_columns(rows)
        self._transpose(tiles, to_columns=False)

    def _divided_up(self, value: SSAValue, divisor: SSAValue) -> SSAValue:
        code = self.code
        last = code.integer(arith.SubiOp, divisor, code.index(1))
        return code.b.op(arith.DivUIOp, code.integer(arith.AddiOp, value, last), divisor)

    def _last(self) -> list[SSAValue]:
        """Returns the last number there is, and what comes after all that belongs to equal ones."""
        return [self.code.b.constant(-1, type) for type in self.types]

    def _fill(self, begin: SSAValue, end: SSAValue) -> None:
        code = self.code

        def fill(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for value, buffer in zip(self._last(), self.matrix, strict=True):
                code.store(value, buffer, [*self.around, arguments[0]])
            return ()

        code.loop(begin, end, code.index(1), (), fill, ("k",))

    def _transpose(self, tiles: SSAValue, to_columns: bool) -> None:
        """Copies the matrix to the transposed one, or back."""
        code = self.code

        def tile_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first = code.integer(arith.MuliOp, arguments[0], code.index(self.lanes))
            # What is stored has its neighbours along the inner axis.
            with code.axes([self.lanes, self.lanes], "k") as at:
                column, inner = at if to_columns else reversed(at)
                row = code.integer(arith.AddiOp, first, inner)
                places = self.columns.at(row, column), self._in_column(column, row)
                source, target = (0, 1) if to_columns else (1, 0)
                for pair in zip(self.matrix, self.transposed, strict=True):
                    code.store(code.load(pair[source], places[source]), pair[target], places[target])
            return ()

        code.loop(code.index(0), tiles, code.index(1), (), tile_body, ("tile",))

    def _in_column(self, column: SSAValue, row: SSAValue) -> list[SSAValue]:
        code = self.code
        start = code.integer(arith.MuliOp, column, code.index(self.stride))
        return [*self.around, code.integer(arith.AddiOp, start, row)]

    def _fill_columns(self, rows: SSAValue) -> None:
        """Writes last numbers behind `rows` rows of each column."""
        code = self.code
        with code.axes([self.lanes, self.lanes], "c") as (column, number):
            place = self._in_column(column, code.integer(arith.AddiOp, rows, number))
            for value, buffer in zip(self._last(), self.transposed, strict=True):
                code.store(value, buffer, place)

    def _merge_columns(self, rows: SSAValue) -> None:
        """Writes the passes whose p is less than the number of columns."""
        n_levels = (self.lanes - 1).bit_length()
        for_each_pass(self.code, n_levels, self.levels, lambda each: self._exchange_columns(rows, each))

    def _exchange_columns(self, rows: SSAValue, each: Pass) -> None:
        """Writes a pass; i are columns, of which the rows are compared with those of one column each."""
        code = self.code
        bits = code.index(self.lanes.bit_length() - 1)

        def column_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            column = each.compared(code, arguments[0])
            place = code.integer(arith.AddiOp, column, each.d)
            other = code.b.op(arith.AndIOp, place, code.index(self.lanes - 1))
            down = code.b.op(arith.ShRUIOp, place, bits)
            count = code.integer(arith.SubiOp, rows, down)

            def vector_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
                with code.axis(self.lanes, "lane") as lane:
                    lower = code.integer(arith.AddiOp, arguments[0], lane)
                    upper = code.integer(arith.AddiOp, lower, down)
                    places = self._in_column(column, lower), self._in_column(other, upper)
                    exchange(code, self.transposed, *places)
                return ()

            code.loop(code.index(0), count, code.index(self.lanes), (), vector_body, ("row",))
            return ()

        code.count(self.lanes // 2, (), column_body, ("pair",))
