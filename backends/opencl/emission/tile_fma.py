"""
Writes `low.tile_fma`: variables for the sums, loops over the depth, one fma per row and vector in them.

Columns that fill no whole vector are narrower ones, down to one lane. With a number of columns that is known
at run time only, each vector of them is a tile of its own, and then each column.

The pass `expand-tiles` would do instead: it gives the same bits, and on PoCL as fast (0.97 to 1.01 of the
time for each of 26 products and convolutions). A first call takes 10 to 20 % longer, though, when nothing is
cached (1.4 s -> 1.5 s for a 3x3 convolution), as what an op does for each vector is an op of its own then.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ....dialects.element_types import NBYTES, element_type_of, is_float, is_narrow_float
from ....dialects.low import TileFmaOp
from .kernel import KernelWriter
from .types import LANES, UNSIGNED, cast, vector_type

SUMS_AT_ONCE = 24
"""The most vectors of sums that are kept in variables at once."""

Piece = tuple[str, int | None]
"""The first column of a vector, as an expression, and its lanes; None for a scalar."""


def tile_fma(kernel: KernelWriter, op: TileFmaOp) -> None:
    rows, columns = op.rows.value.data, op.columns.value.data
    wide: Attribute = element_type_of(op.acc.type)
    widest = max(2, min(16, kernel.source.device.vector_nbytes // NBYTES[wide]))
    if op.live is not None:
        live = kernel.expressions[op.live]
        column = kernel.fresh("column")
        kernel.line(f"long {column} = 0;")
        for lanes in (widest, None):
            if lanes is not None and lanes > columns:
                continue
            width = lanes or 1
            kernel.line(f"for (; {column} + {width} <= {live}; {column} += {width}) {{")
            with kernel.deeper():
                for row in range(0, rows, SUMS_AT_ONCE):
                    _Tile(kernel, op, row, min(SUMS_AT_ONCE, rows - row), [(column, lanes)]).write()
            kernel.line("}")
        return
    pieces = _pieces(columns, widest)
    for first in range(0, len(pieces), SUMS_AT_ONCE):
        part = pieces[first : first + SUMS_AT_ONCE]
        most = max(1, SUMS_AT_ONCE // len(part))
        for row in range(0, rows, most):
            _Tile(kernel, op, row, min(most, rows - row), part).write()


def _pieces(columns: int, widest: int) -> list[Piece]:
    """Cuts columns into the widest vectors that there are."""
    pieces: list[Piece] = []
    first = 0
    while first < columns:
        fitting = [lanes for lanes in LANES if lanes <= min(widest, columns - first)]
        pieces.append((str(first), max(fitting) if fitting else None))
        first += pieces[-1][1] or 1
    return pieces


class _Tile:
    def __init__(self, kernel: KernelWriter, op: TileFmaOp, row: int, rows: int, pieces: Sequence[Piece]):
        self.kernel = kernel
        self.op = op
        self.rows = range(row, row + rows)
        self.pieces = pieces
        self.wide: Attribute = element_type_of(op.acc.type)
        self.element = kernel.element(self.wide, op)

    def write(self) -> None:
        kernel, op = self.kernel, self.op
        kernel.line("{")
        with kernel.deeper():
            sums: dict[tuple[int, int], str] = {}
            for row in self.rows:
                for number, (column, lanes) in enumerate(self.pieces):
                    name = sums[row, number] = kernel.fresh("sum")
                    start = zero = f"({vector_type(self.element, lanes)})(0)"
                    if op.accumulates is not None:
                        start = self._load(op.acc, self._acc_at(row, column), lanes)
                        if self._is_live(row) is not None:
                            start = f"{self._is_live(row)} ? {start} : {zero}"
                    kernel.line(f"{vector_type(self.element, lanes)} {name} = {start};")
            self._sum(sums)
            for row in self.rows:
                is_live = self._is_live(row)
                if is_live is not None:
                    kernel.line(f"if ({is_live}) {{")
                for number, (column, lanes) in enumerate(self.pieces):
                    if op.transposed is None:
                        self._store(self._acc_at(row, column), lanes, sums[row, number])
                    else:
                        self._store_transposed(row, column, lanes, sums[row, number])
                if is_live is not None:
                    kernel.line("}")
        kernel.line("}")

    def _is_live(self, row: int) -> str | None:
        """Returns what says whether there is a row, None where there always is."""
        live = self.op.live_rows
        return None if live is None or row == 0 else f"({row} < {self.kernel.expressions[live]})"

    def _store_transposed(self, row: int, column: str, lanes: int | None, value: str) -> None:
        """Stores the lanes of a vector one by one, a row of acc apart."""
        kernel, op = self.kernel, self.op
        array, at, step = (kernel.expressions[each] for each in (op.acc, op.acc_at, op.acc_row))
        for lane in range(lanes or 1):
            element = value if lanes is None else f"{value}.s{lane:x}"
            kernel.line(f"{array}[{at} + ({column} + {lane}) * {step} + {row}] = {element};")

    def _acc_at(self, row: int, column: str) -> str:
        text = self.kernel.expressions
        return f"{text[self.op.acc_at]} + {row} * {text[self.op.acc_row]} + {column}"

    def _sum(self, sums: dict[tuple[int, int], str]) -> None:
        text = self.kernel.expressions
        self._sum_from(0, self.rows, sums, text[self.op.lhs_at], text[self.op.rhs_at], "")

    def _sum_from(
        self, number: int, rows: range, sums: dict[tuple[int, int], str], lhs: str, rhs: str, last: str
    ) -> None:
        """Writes the loops over the depths from `number` on, for some rows; `last` counts the one before."""
        kernel, op, text = self.kernel, self.op, self.kernel.expressions
        if number == len(op.depths):
            self._add_products(rows, sums, lhs, rhs, last if op.rhs_nibbles is not None else None)
            return
        lhs_step, rhs_step = text[op.lhs_steps[number]], text[op.rhs_steps[number]]
        if op.ranges is not None and op.ranges[0] == number:
            for step, (first, end) in enumerate(op.ranges[1]):
                some = range(max(first, rows.start), min(end, rows.stop))
                places = f"{lhs} + {step} * {lhs_step}", f"{rhs} + {step} * {rhs_step}"
                if not op.cut:
                    if some:
                        self._sum_from(number + 1, some, sums, *places, str(step))
                    continue
                for rows_of, sign in ((some, ""), (rows, "!")):
                    kernel.line(f"if ({sign}{text[op.cut[step]]}) {{")
                    with kernel.deeper():
                        if rows_of:
                            self._sum_from(number + 1, rows_of, sums, *places, str(step))
                    kernel.line("}")
            return
        k = kernel.fresh("k")
        kernel.line(f"for (long {k} = 0; {k} < {text[op.depths[number]]}; ++{k}) {{")
        with kernel.deeper():
            self._sum_from(
                number + 1, rows, sums, f"{lhs} + {k} * {lhs_step}", f"{rhs} + {k} * {rhs_step}", k
            )
        kernel.line("}")

    def _add_products(
        self, rows: range, sums: dict[tuple[int, int], str], lhs: str, rhs: str, nibble: str | None
    ) -> None:
        kernel, op = self.kernel, self.op
        columns: list[str] = []
        for column, lanes in self.pieces:
            name = kernel.fresh("column")
            value = self._load(op.rhs, f"{rhs} + {column}", lanes, op.rhs_unsigned is not None, nibble)
            kernel.line(f"const {vector_type(self.element, lanes)} {name} = {value};")
            columns.append(name)
        for row in rows:
            factor = kernel.fresh("factor")
            is_live = self._is_live(row)
            # A row that there is not adds up the products of the first one, which are not stored.
            number = str(row) if is_live is None else f"({is_live} ? {row} : 0)"
            place = f"{lhs} + {number} * {kernel.expressions[op.lhs_row]}"
            value = self._load(op.lhs, place, None, op.lhs_unsigned is not None)
            kernel.line(f"const {self.element} {factor} = {value};")
            for number, (_, lanes) in enumerate(self.pieces):
                total = sums[row, number]
                same = factor if lanes is None else f"({vector_type(self.element, lanes)})({factor})"
                kernel.line(f"{total} = {self._plus_product(total, same, columns[number], lanes)};")

    def _plus_product(self, total: str, lhs: str, rhs: str, lanes: int | None) -> str:
        if is_float(self.wide):
            return f"{self.kernel.helpers.fma(self.element, lanes)}({lhs}, {rhs}, {total})"
        # Integers wrap; of signed ones OpenCL C leaves that open.
        unsigned, signed = (vector_type(each, lanes) for each in (UNSIGNED[self.element], self.element))
        return f"as_{signed}(as_{unsigned}({total}) + as_{unsigned}({lhs}) * as_{unsigned}({rhs}))"

    def _load(
        self,
        buffer: SSAValue,
        at: str,
        lanes: int | None,
        is_unsigned: bool = False,
        nibble: str | None = None,
    ) -> str:
        """
        Returns the elements at an index, or four bits of each, converted: the upper ones where `nibble` is 1.
        """
        kernel, stored = self.kernel, element_type_of(buffer.type)
        element, array = kernel.element(stored, self.op), kernel.expressions[buffer]
        value = f"{array}[{at}]" if lanes is None else kernel.vector_at(self.op, buffer, at, lanes, "const ")
        if nibble is not None:
            # OpenCL C leaves open what a negative number shifted up is.
            unsigned, signed = (vector_type(each, lanes) for each in (UNSIGNED[element], element))
            raised = f"(as_{unsigned}({value}) << ({unsigned})(4 - 4 * {nibble}))"
            value = f"(as_{signed}(({unsigned}){raised}) >> ({signed})(4))"
        if is_unsigned:
            value, element = f"as_{vector_type(UNSIGNED[element], lanes)}({value})", UNSIGNED[element]
        if is_narrow_float(stored):
            value, element = f"{kernel.helpers.narrow_to_float(stored, lanes)}({value})", "float"
        return value if element == self.element else cast(self.element, lanes, value)

    def _store(self, at: str, lanes: int | None, value: str) -> None:
        kernel, acc = self.kernel, self.op.acc
        if lanes is None:
            place = f"{kernel.expressions[acc]}[{at}]"
        else:
            place = kernel.vector_at(self.op, acc, at, lanes)
        kernel.line(f"{place} = {value};")
