"""
The kernel of `graph.search_sorted`: binary searches of several values at once.

    for each block of values:
      begin = 0 for each of them, n = extent of the sorted
      while n > 1:
        half = n / 2
        begin += half for each value that sorted[begin + half] comes before
        n -= half
      the place is begin, and one more where sorted[begin] comes before the value

All searches take as many steps, so that a step is one comparison and one choice for each value. The loads of
a step wait for those of the step before, but not for one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import product, upper_bound
from .....dialects.element_types import is_float, is_unsigned
from .....dialects.graph import SortedSide
from ....indices.access import shape_of
from ....scalar.builder import INDEX
from ....scalar.ops import cmpf, select
from ....scalar.rules import element_type
from ..code import KernelCode
from .interface import ProgramPart
from .ordering import key

LANES = 12
"""Values that are searched for at once. Of 8 or 16 LLVM makes vectors, which load slower than scalars do."""

_Test = Callable[[SSAValue], SSAValue]


def write(part: ProgramPart, op: graph.SearchSortedOp) -> None:
    code = KernelCode(op)
    operands = list(dict.fromkeys((op.sorted, op.values)))
    arguments = {value: code.buffer(value.type, value.name_hint) for value in operands}
    result = code.buffer(op.result.type, op.result.name_hint)
    _Search(code, op, arguments[op.sorted], arguments[op.values], result).write()
    part.launch(code, [*map(part.buffer_of, operands), part.buffer_of(op.result)])


class _Search:
    def __init__(
        self,
        code: KernelCode,
        op: graph.SearchSortedOp,
        sorted: SSAValue,
        values: SSAValue,
        result: SSAValue,
    ):
        self.code = code
        self.sorted, self.values, self.result = sorted, values, result
        (self.extent,) = shape_of(op.sorted, op.name)
        self.shape = shape_of(op.values, op.name)
        self.type: Attribute = element_type(op.values)
        self.is_left = op.side.data is SortedSide.LEFT

    def write(self) -> None:
        code = self.code
        if not self.shape:
            self._write_block([[]])
            return
        count = product(self.shape)
        lanes = min(LANES, upper_bound(count))
        with code.axis((count + (lanes - 1)) // lanes, "i") as block:
            first = code.integer(arith.MuliOp, block, code.index(lanes))
            last = code.index(count - 1)
            # Lanes behind the last value search for it once more.
            numbers = [
                code.b.op(arith.MinSIOp, code.integer(arith.AddiOp, first, code.index(lane)), last)
                for lane in range(lanes)
            ]
            self._write_block([self._place(number) for number in numbers])

    def _place(self, number: SSAValue) -> list[SSAValue]:
        """Returns the indices of a value, of which `number` come before it in row-major order."""
        code = self.code
        place: list[SSAValue] = []
        for extent in self.shape[:0:-1]:
            place.insert(0, code.integer(arith.RemUIOp, number, code.index(extent)))
            number = code.integer(arith.DivUIOp, number, code.index(extent))
        return [number, *place]

    def _write_block(self, places: Sequence[list[SSAValue]]) -> None:
        code = self.code
        wanted = [key(code, code.load(self.values, place, "wanted"), self.type) for place in places]
        found = self._search([self._test(value) for value in wanted])
        if not is_float(self.type):
            self._store(found, places)
            return
        is_nan = [cmpf(code.b, "uno", value, value) for value in wanted]
        if not self.is_left:
            found = [
                select(code.b, nan, code.index(self.extent), position)
                for nan, position in zip(is_nan, found, strict=True)
            ]
            self._store(found, places)
            return
        self._store(found, places)
        is_any = is_nan[0]
        for nan in is_nan[1:]:
            is_any = code.b.op(arith.OrIOp, is_any, nan)

        def store_numbers() -> None:
            # Before the first NaN, of which none is less than another.
            (numbers,) = self._search([lambda element: cmpf(code.b, "ord", element, element)])
            pairs = zip(is_nan, found, strict=True)
            self._store([select(code.b, nan, numbers, position) for nan, position in pairs], places)

        code.branch(is_any, store_numbers)

    def _store(self, found: Sequence[SSAValue], places: Sequence[list[SSAValue]]) -> None:
        code = self.code
        for position, place in zip(found, places, strict=True):
            code.store(code.b.op(arith.IndexCastOp, position, result_type=i64), self.result, place)

    def _test(self, wanted: SSAValue) -> _Test:
        """Returns what says whether an element stands before the place of a value that is not NaN."""
        code = self.code
        order = "lt" if self.is_left else "le"
        if is_float(self.type):
            return lambda element: cmpf(code.b, f"o{order}", element, wanted)
        sign = "u" if is_unsigned(self.type) else "s"
        return lambda element: code.compare(f"{sign}{order}", element, wanted)

    def _search(self, tests: Sequence[_Test]) -> list[SSAValue]:
        """Returns how many elements stand before each of several places."""
        code = self.code
        if self.extent == 0:
            return [code.index(0) for _ in tests]

        def advance(begin: SSAValue, at: SSAValue, step: SSAValue, is_before: _Test) -> SSAValue:
            element = key(code, code.load(self.sorted, [at], "found"), self.type)
            moved = code.integer(arith.AddiOp, begin, step)
            return select(code.b, is_before(element), moved, begin, unpredictable=True)

        def halve(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            _, n, *begins = arguments
            half = code.integer(arith.DivUIOp, n, code.index(2), "half")
            moved = [
                advance(begin, code.integer(arith.AddiOp, begin, half), half, is_before)
                for begin, is_before in zip(begins, tests, strict=True)
            ]
            return [code.integer(arith.SubiOp, n, half), *moved]

        start = (code.index(self.extent), *(code.index(0) for _ in tests))
        steps = (upper_bound(self.extent) - 1).bit_length()
        _, *begins = code.count(steps, start, halve, ("k", "n", *(["begin"] * len(tests))))
        assert all(begin.type == INDEX for begin in begins)
        return [
            advance(begin, begin, code.index(1), is_before)
            for begin, is_before in zip(begins, tests, strict=True)
        ]
