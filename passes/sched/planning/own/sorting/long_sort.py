"""
The kernel of `graph.sort` and `graph.argsort` of long rows, and of those whose extent varies:

    if the elements have few values: sort these, and repeat each as often as it is there (few_values.py)
    else: sort the numbers by parts that are sorted by a network (bucket_sort.py) or, where these do not suit
      the processor, by digits (digit_sort.py)

Between the two halves of their scratch buffers numbers go to and fro; of integers, their distances from the
least one.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ......dialects import graph, sched
from ......dialects.dims.expressions import upper_bound
from .....indices.access import shape_of
from ..interface import ProgramPart
from . import bucket_sort, few_values, vector_sort
from .digit_sort import DigitSort
from .numbered_row import NumberedRow, Place
from .sort_numbers import POSITION_BITS, SortNumbers
from .sorted_row import write_rows


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    extent = shape_of(op.source, op.name)[op.axis.data]
    types = SortNumbers(op).types
    has_buckets = vector_sort.suits(types, part.vector_nbytes)
    spare = bucket_sort.spare_places(types) if has_buckets else 0
    others = bucket_sort.scratch_of(types, extent) if has_buckets else []
    write_rows(part, op, [*((type, (2, extent + spare)) for type in types), *others], _Long)


class _Long(NumberedRow):
    def first_place(self, position: SSAValue) -> list[SSAValue]:
        return [*self.within, self.code.index(0), position]

    def least_number(self) -> SSAValue | None:
        """
        Returns the least number of integers: the distances from it have few bits where integers are near one
        another, on both sides of zero too.
        """
        code, numbers = self.code, self.numbers
        if numbers.has_special:
            return None

        def number(position: SSAValue) -> SSAValue:
            return numbers.of(code, code.load(self.source, self.place(position)))

        return code.reduce(sched.CombineKind.MINUI, self.extent, number, "least")

    def sort_numbers(self) -> Place:
        offset = POSITION_BITS if self.sorted.is_packed else 0
        digits = DigitSort(self, self.buffers, self.numbers.nbits, offset)
        others = self.scratch[len(self.buffers) :]
        sort: DigitSort | bucket_sort.BucketSort = digits
        if others:
            sort = bucket_sort.BucketSort(self, self.sorted, digits, self.buffers, self.extent, others)
        if self.is_argsort or upper_bound(self.extent) < few_values.LEAST_EXTENT:
            half = sort.sort(self.code.index(self.extent))
        else:
            half = few_values.FewValues(self, digits, sort).sort()
        return lambda position: [*self.within, half, position]
