"""Says whether a row is in order already, or in the opposite order, so that nothing needs to be sorted."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, i32
from xdsl.ir import SSAValue

from ......dialects import sched
from ......dialects.element_types import NBYTES
from .....scalar.ops import select
from ...code import KernelCode
from ..ordering import comes_before, key
from .sorted_row import SortedRow

BLOCK = 64
"""Neighbours that are compared at once. Of most rows in no order no more are compared."""


def order_of(row: SortedRow) -> tuple[SSAValue, SSAValue]:
    """
    Returns whether no element comes before the one that stands before it, and whether the row is to be turned
    around: each does or, where elements are sorted and not their positions, is the same to the last bit.

    What is found of neighbours are two bits: that the latter comes before the former, and that it does not
    and is another one. It ends where there are both.
    """
    code = row.code
    one = code.index(1)
    neighbours = code.index(row.extent - 1)
    none, turned, kept, both = (code.b.constant(bits, i32) for bits in range(4))

    def kind_at(position: SSAValue) -> SSAValue:
        following = code.integer(arith.AddiOp, position, one)
        stored = [code.load(row.source, row.place(at)) for at in (position, following)]
        former, latter = (key(code, each, row.type) for each in stored)
        is_turned = comes_before(code, latter, former, row.type, row.is_descending)
        otherwise = kept if row.is_argsort else select(code.b, _are_same(code, *stored), none, kept)
        return select(code.b, is_turned, turned, otherwise)

    def kinds_from(start: Sequence[SSAValue], block: int) -> Sequence[SSAValue]:
        """Looks at block by block from a position on; returns where it ends, and what was found."""
        end = code.integer(arith.SubiOp, neighbours, code.index(block - 1))

        def goes_on(arguments: Sequence[SSAValue]) -> SSAValue:
            position, found = arguments
            is_inside = code.compare("slt", position, end)
            return code.b.op(arith.AndIOp, code.compare("ne", found, both), is_inside)

        def add(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            position, found = arguments

            def kind(offset: SSAValue) -> SSAValue:
                return kind_at(code.integer(arith.AddiOp, position, offset))

            if block == 1:
                kinds = kind_at(position)
            else:
                kinds = code.reduce(sched.CombineKind.ORI, block, kind, "kinds")
            found = code.b.op(arith.OrIOp, found, kinds)
            return code.integer(arith.AddiOp, position, code.index(block)), found

        return code.repeat(start, goes_on, add, ("k", "found"))

    looked: Sequence[SSAValue] = (code.index(0), none)
    for block in (BLOCK, 1):
        looked = kinds_from(looked, block)
    is_ascending, is_descending = (
        code.compare("eq", code.b.op(arith.AndIOp, looked[1], other), none) for other in (turned, kept)
    )
    return is_ascending, is_descending


def _are_same(code: KernelCode, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Returns whether two stored elements have the same bits."""
    if isinstance(lhs.type, AnyFloat):
        bits = IntegerType(8 * NBYTES[lhs.type])
        lhs, rhs = (code.b.op(arith.BitcastOp, each, result_type=bits) for each in (lhs, rhs))
    return code.compare("eq", lhs, rhs)
