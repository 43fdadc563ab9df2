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

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from ...code import KernelCode
from .network import Network, exchange, lanes_of


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
        self._transpose(tiles, self._tile_to_columns)
        self._fill_columns(code.integer(arith.MuliOp, tiles, lanes))
        self._merge_columns(rows)
        self._transpose(tiles, self._tile_to_rows)

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

    def _transpose(self, tiles: SSAValue, tile_body: Callable[[SSAValue], None]) -> None:
        """Runs code for the first row of each tile."""
        code = self.code

        def run(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            tile_body(code.integer(arith.MuliOp, arguments[0], code.index(self.lanes)))
            return ()

        code.loop(code.index(0), tiles, code.index(1), (), run, ("tile",))

    def _tile_to_columns(self, first: SSAValue) -> None:
        code = self.code
        with code.axes([self.lanes, self.lanes], "c") as (column, row):
            places = self._places(first, row, column)
            for matrix, transposed in zip(self.matrix, self.transposed, strict=True):
                code.store(code.load(matrix, places[0]), transposed, places[1])

    def _tile_to_rows(self, first: SSAValue) -> None:
        code = self.code
        with code.axes([self.lanes, self.lanes], "r") as (row, column):
            places = self._places(first, row, column)
            for matrix, transposed in zip(self.matrix, self.transposed, strict=True):
                code.store(code.load(transposed, places[1]), matrix, places[0])

    def _places(
        self, first: SSAValue, row: SSAValue, column: SSAValue
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """Returns the indices of a number of a tile in the matrix, and in the transposed one."""
        code = self.code
        row = code.integer(arith.AddiOp, first, row)
        return self.columns.at(row, column), self._in_column(column, row)

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
        """Writes the steps of algorithm M whose p is less than the number of columns."""
        code, one = self.code, self.code.index(1)
        steps = (self.lanes - 1).bit_length()

        def merge(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            level = code.integer(arith.SubiOp, code.index(steps - 1), arguments[0], "level")
            p = code.integer(arith.ShLIOp, one, level, "p")

            def has_distance(arguments: Sequence[SSAValue]) -> SSAValue:
                return code.compare("ne", arguments[2], code.index(0))

            def pass_over(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
                q, r, d = arguments
                self._exchange_columns(rows, level, p, r, d)
                return code.integer(arith.ShRUIOp, q, one), p, code.integer(arith.SubiOp, q, p)

            start = (code.index(1 << (self.levels - 1)), code.index(0), p)
            code.repeat(start, has_distance, pass_over, ("q", "r", "d"))
            return ()

        code.count(steps, (), merge, ("number",))

    def _exchange_columns(
        self, rows: SSAValue, level: SSAValue, p: SSAValue, r: SSAValue, d: SSAValue
    ) -> None:
        """
        Exchanges the numbers at i and i + d that are not in order, for each i in whose column's binary digits
        that of `p` is the one of `r`.
        """
        code, one = self.code, self.code.index(1)
        below = code.integer(arith.SubiOp, p, one)
        columns = self.lanes.bit_length() - 1

        def column_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (number,) = arguments
            inside = code.b.op(arith.AndIOp, number, below)
            twice = code.integer(arith.SubiOp, code.integer(arith.AddiOp, number, number), inside)
            column = code.integer(arith.AddiOp, twice, r, "column")
            place = code.integer(arith.AddiOp, column, d)
            other = code.b.op(arith.AndIOp, place, code.index(self.lanes - 1))
            down = code.b.op(arith.ShRUIOp, place, code.index(columns))
            count = code.integer(arith.SubiOp, rows, down)

            def vector_body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
                (row,) = arguments
                with code.axis(self.lanes, "lane") as lane:
                    at = code.integer(arith.AddiOp, row, lane)
                    exchange(
                        code,
                        self.transposed,
                        self._in_column(column, at),
                        self._in_column(other, code.integer(arith.AddiOp, at, down)),
                    )
                return ()

            code.loop(code.index(0), count, code.index(self.lanes), (), vector_body, ("row",))
            return ()

        code.count(self.lanes // 2, (), column_body, ("pair",))
