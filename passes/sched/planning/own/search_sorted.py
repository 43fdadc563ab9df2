"""The kernel of `graph.search_sorted`: a binary search for each value, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import upper_bound
from .....dialects.graph import SortedSide
from ....indices.access import shape_of
from ....scalar.builder import INDEX
from ....scalar.ops import select
from ....scalar.rules import element_type
from ..code import KernelCode
from .interface import ProgramPart
from .ordering import comes_before, key


def write(part: ProgramPart, op: graph.SearchSortedOp) -> None:
    code = KernelCode(op)
    operands = list(dict.fromkeys((op.sorted, op.values)))
    arguments = {value: code.buffer(value.type, value.name_hint) for value in operands}
    result = code.buffer(op.result.type, op.result.name_hint)
    with code.axes(shape_of(op.values, op.name)) as place:
        found = _search(code, op, arguments[op.sorted], arguments[op.values], place)
        code.store(code.b.op(arith.IndexCastOp, found, result_type=i64), result, place)
    part.launch(code, [*map(part.buffer_of, operands), part.buffer_of(op.result)])


def _search(
    code: KernelCode, op: graph.SearchSortedOp, sorted: SSAValue, values: SSAValue, place: list[SSAValue]
) -> SSAValue:
    (extent,), type = shape_of(op.sorted, op.name), element_type(op.values)
    if extent == 0:
        return code.index(0)
    wanted = key(code, code.load(values, place, "wanted"), type)

    def halve(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _, low, high = arguments
        middle = code.integer(arith.DivUIOp, code.integer(arith.AddiOp, low, high), code.index(2), "middle")
        # Where the search is over, the middle may be behind the last element.
        at = code.b.op(arith.MinSIOp, middle, code.index(extent - 1))
        found = key(code, code.load(sorted, [at], "found"), type)
        if op.side.data is SortedSide.LEFT:
            is_before = comes_before(code, found, wanted, type, descending=False)
        else:
            is_after = comes_before(code, wanted, found, type, descending=False)
            is_before = code.b.op(arith.XOrIOp, is_after, code.b.constant(1, i1))
        is_open = code.compare("slt", low, high)
        goes_up = code.b.op(arith.AndIOp, is_open, is_before)
        goes_down = code.b.op(arith.XOrIOp, is_open, goes_up)
        above = code.integer(arith.AddiOp, middle, code.index(1))
        return select(code.b, goes_up, above, low), select(code.b, goes_down, middle, high)

    start = (code.index(0), code.index(extent))
    low, _ = code.count(upper_bound(extent).bit_length(), start, halve, ("k", "low", "high"))
    assert low.type == INDEX
    return low
