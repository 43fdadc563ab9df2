"""Says whether a row is in order already, or in the opposite order, so that nothing needs to be sorted."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .....dialects import sched
from ....scalar.builder import INDEX
from ....scalar.ops import select
from .ordering import comes_before, key
from .sorted_row import SortedRow

BLOCK = 64
"""Neighbours that are compared at once. Of most rows in no order no more are compared."""


def order_of(row: SortedRow) -> tuple[SSAValue, SSAValue]:
    """
    Returns whether no element comes before the one that stands before it, and whether each does: then the
    row is to be turned around, and no two of its elements are equal.

    What is counted is how many come before the one that stands before them, for as long as all do or none.
    """
    code = row.code
    one = code.index(1)
    neighbours = code.index(row.extent - 1)

    def is_turned(position: SSAValue) -> SSAValue:
        following = code.integer(arith.AddiOp, position, one)
        former, latter = (
            key(code, code.load(row.source, row.place(at)), row.type) for at in (position, following)
        )
        return comes_before(code, latter, former, row.type, row.is_descending)

    def turned_at(position: SSAValue) -> SSAValue:
        return select(code.b, is_turned(position), one, code.index(0))

    def turned_in_block(position: SSAValue, block: int) -> SSAValue:
        def number(offset: SSAValue) -> SSAValue:
            found = is_turned(code.integer(arith.AddiOp, position, offset))
            return select(code.b, found, code.b.constant(1, i32), code.b.constant(0, i32))

        turned = code.reduce(sched.CombineKind.ADDI, block, number, "turned")
        return code.b.op(arith.IndexCastOp, turned, result_type=INDEX)

    def turned_from(start: Sequence[SSAValue], block: int) -> Sequence[SSAValue]:
        """Counts block by block from a position on; returns where it ends, and how many there are."""
        end = code.integer(arith.SubiOp, neighbours, code.index(block - 1))

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            position, total = arguments
            is_none = code.compare("eq", total, code.index(0))
            is_alike = code.b.op(arith.OrIOp, is_none, code.compare("eq", total, position))
            return code.b.op(arith.AndIOp, is_alike, code.compare("slt", position, end))

        def add(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, total = arguments
            turned = turned_at(position) if block == 1 else turned_in_block(position, block)
            total = code.integer(arith.AddiOp, total, turned)
            return code.integer(arith.AddiOp, position, code.index(block)), total

        return code.repeat(start, goes_on, add, ("k", "turned"))

    counted: Sequence[SSAValue] = (code.index(0), code.index(0))
    for block in (BLOCK, 1):
        counted = turned_from(counted, block)
    position, total = counted
    is_whole = code.compare("sge", position, neighbours)
    is_ascending = code.compare("eq", total, code.index(0))
    is_descending = code.compare("eq", total, neighbours)
    return (
        code.b.op(arith.AndIOp, is_whole, is_ascending),
        code.b.op(arith.AndIOp, is_whole, is_descending),
    )
