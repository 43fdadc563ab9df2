"""
The kernel of `graph.sort` and `graph.argsort`: a stable merge sort of each row, from the bottom up.

Each row is copied into a scratch buffer of two halves, and runs of 1, 2, 4, ... elements are merged from one
half into the other. argsort does the same with positions, and looks up what stands there in the source. Long
rows are sorted by digits instead (radix_sort.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import upper_bound
from .....dialects.element_types import storage_type
from ....indices.access import shape_of
from ....scalar.builder import INDEX
from ....scalar.ops import select
from ....scalar.rules import element_type
from . import radix_sort
from .interface import ProgramPart
from .ordering import comes_before, key
from .sorted_row import SortedRow, write_rows


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    if upper_bound(shape_of(op.source, op.name)[op.axis.data]) >= radix_sort.LEAST_EXTENT:
        radix_sort.write(part, op)
        return
    stored = i64 if isinstance(op, graph.ArgsortOp) else storage_type(element_type(op.source))
    write_rows(part, op, [stored], _Merges)


class _Merges(SortedRow):
    def write(self) -> None:
        code, extent = self.code, self.extent
        passes = (upper_bound(extent) - 1).bit_length()
        with code.axis(extent, "k") as position:
            if self.is_argsort:
                first = code.b.op(arith.IndexCastOp, position, result_type=i64)
            else:
                first = code.load(self.source, self.place(position))
            code.store(first, self.scratch[0], [*self.row, code.index(0), position])

        def merge_all(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _, width, half = arguments
            other = code.integer(arith.SubiOp, code.index(1), half, "other")
            self._merge_runs(width, half, other)
            return code.integer(arith.AddiOp, width, width), other

        start = (code.index(1), code.index(0))
        _, half = code.count(passes, start, merge_all, ("pass", "width", "half"))
        self.store_result(self.scratch[0], half)

    def _merge_runs(self, width: SSAValue, half: SSAValue, other: SSAValue) -> None:
        """Merges pairs of runs of `width` elements of one half into the other."""
        code, extent = self.code, self.code.index(self.extent)
        both = code.integer(arith.AddiOp, width, width)

        def merge(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (begin,) = arguments
            middle = code.b.op(arith.MinSIOp, code.integer(arith.AddiOp, begin, width), extent)
            end = code.b.op(arith.MinSIOp, code.integer(arith.AddiOp, begin, both), extent)
            self._merge(begin, middle, end, half, other)
            return ()

        code.loop(code.index(0), extent, both, (), merge, ("begin",))

    def _merge(
        self, begin: SSAValue, middle: SSAValue, end: SSAValue, half: SSAValue, other: SSAValue
    ) -> None:
        """Takes from the right run what comes before the next of the left one, else from the left."""
        code = self.code
        last = code.index(self.extent - 1)

        def take(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            to, left, right = arguments
            # A run that is used up is not read from, but what is read must be there.
            left_stored = self._stored(half, code.b.op(arith.MinSIOp, left, last))
            right_stored = self._stored(half, code.b.op(arith.MinSIOp, right, last))
            is_before = comes_before(
                code,
                self._key(right_stored),
                self._key(left_stored),
                self.type,
                self.is_descending,
            )
            has_left = code.compare("slt", left, middle)
            has_right = code.compare("slt", right, end)
            true = code.b.constant(True, has_left.type)
            is_forced = code.b.op(arith.XOrIOp, has_left, true)
            takes_right = code.b.op(arith.AndIOp, has_right, code.b.op(arith.OrIOp, is_forced, is_before))
            code.store(
                select(code.b, takes_right, right_stored, left_stored),
                self.scratch[0],
                [*self.row, other, to],
            )
            step = select(code.b, takes_right, code.index(1), code.index(0))
            next_right = code.integer(arith.AddiOp, right, step)
            return code.integer(
                arith.AddiOp, left, code.integer(arith.SubiOp, code.index(1), step)
            ), next_right

        code.loop(begin, end, code.index(1), (begin, middle), take, ("to", "left", "right"))

    def _stored(self, half: SSAValue, position: SSAValue) -> SSAValue:
        return self.code.load(self.scratch[0], [*self.row, half, position])

    def _key(self, stored: SSAValue) -> SSAValue:
        """Returns what elements are compared by: for argsort, what stands at a position in the source."""
        if self.is_argsort:
            at = self.code.b.op(arith.IndexCastOp, stored, result_type=INDEX)
            stored = self.code.load(self.source, self.place(at))
        return key(self.code, stored, self.type)
