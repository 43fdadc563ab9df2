"""
Stores a sorted row of floats in which elements that are equal have several numbers: zeros of two signs, and
NaN. These are copied from the source, in the order that they have there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ......dialects import sched
from ......dialects.dims.expressions import Extent
from .....scalar.ops import cmpf, select
from ...code import KernelCode
from ..ordering import key
from .order_numbers import OrderNumbers
from .sorted_row import SortedRow

Result = Callable[[SSAValue], SSAValue]
"""Returns the element that has the number at a position of the sorted numbers."""


def has_special(code: KernelCode, extent: Extent, numbers: OrderNumbers, number: Result) -> SSAValue:
    """
    Returns whether some of `extent` elements are equal and not the same, as are zeros of two signs, and NaN.
    """
    zero, one = code.b.constant(0, numbers.type), code.b.constant(1, numbers.type)

    def one_if_special(position: SSAValue) -> SSAValue:
        return select(code.b, numbers.is_special(code, number(position)), one, zero)

    found = code.reduce(sched.CombineKind.ORI, extent, one_if_special, "special")
    return code.compare("ne", found, zero)


def store_special(row: SortedRow, numbers: OrderNumbers, result: Result) -> None:
    """
    Stores the result where some elements have several numbers. The order of numbers is NaN, what comes
    before zeros, zeros, what comes after them, NaN.
    """
    code = row.code
    zero, one, extent = code.index(0), code.index(1), code.index(row.extent)
    lowest_is_negative = "slt" if not row.is_descending else "sge"

    def element(position: SSAValue) -> tuple[SSAValue, SSAValue]:
        stored = code.load(row.source, row.place(position))
        return stored, key(code, stored, row.type)

    def one_if(condition: SSAValue) -> SSAValue:
        return select(code.b, condition, one, zero)

    def count(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        position, below, before, nans = arguments
        _, value = element(position)
        bits = code.b.op(arith.BitcastOp, value, result_type=numbers.type)
        is_nan = cmpf(code.b, "uno", value, value)
        is_first = code.compare(lowest_is_negative, bits, code.b.constant(0, numbers.type))
        is_below = code.b.op(arith.AndIOp, is_nan, is_first)
        null = code.b.constant(0.0, value.type)
        is_before = cmpf(code.b, "ogt" if row.is_descending else "olt", value, null)
        sums = ((below, is_below), (before, is_before), (nans, is_nan))
        return [code.integer(arith.AddiOp, each, one_if(found)) for each, found in sums]

    start = (zero, zero, zero)
    below, before, nans = code.loop(zero, extent, one, start, count, ("k", "below", "before", "nans"))
    numbered = code.integer(arith.SubiOp, extent, nans)

    def store(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        (position,) = arguments
        at = code.integer(arith.AddiOp, position, below)
        code.store(result(at), row.result, row.place(position))
        return ()

    code.loop(zero, numbered, one, (), store, ("k",))

    def copy(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        position, of_zero, of_nan = arguments
        stored, value = element(position)
        is_zero = cmpf(code.b, "oeq", value, code.b.constant(0.0, value.type))
        is_nan = cmpf(code.b, "uno", value, value)
        code.branch(is_zero, lambda: code.store(stored, row.result, row.place(of_zero)))
        code.branch(is_nan, lambda: code.store(stored, row.result, row.place(of_nan)))
        return [
            code.integer(arith.AddiOp, of_zero, one_if(is_zero)),
            code.integer(arith.AddiOp, of_nan, one_if(is_nan)),
        ]

    code.loop(zero, extent, one, (before, numbered), copy, ("k", "zero", "nan"))
