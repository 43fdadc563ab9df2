"""The kernel of `graph.sort` and `graph.argsort` of rows that are sorted by a network (row_network.py)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ......dialects import graph
from ......dialects.dims.expressions import upper_bound
from ......dialects.element_types import NBYTES
from .....indices.access import shape_of
from ..interface import ProgramPart
from .numbered_row import NumberedRow, Place
from .row_network import RowNetwork, scratch_of
from .sort_numbers import SortNumbers
from .sorted_row import write_rows

MOST_NBYTES = 40 << 10
"""Of the numbers of a row: more are not in the first cache, and each is looked at many times."""

MOST_EXTENT_OF_WIDE = 256
"""Of a row of numbers of 64 bits where vectors have no instruction that finds the lesser ones."""


def is_short(op: graph.SortOp | graph.ArgsortOp, vector_nbytes: int) -> bool:
    """Returns whether rows have no more elements than a network sorts in little time."""
    types, longest = SortNumbers(op).types, _longest(op)
    if not suits(types, vector_nbytes) and longest > MOST_EXTENT_OF_WIDE:
        return False
    return longest * sum(NBYTES[type] for type in types) <= MOST_NBYTES


def suits(types: Sequence[Attribute], vector_nbytes: int) -> bool:
    """
    Returns whether networks sort numbers of these types, which are long, in less time than digits do. Of 64
    bits, what finds the lesser ones came to processors with vectors of 64 bytes.
    """
    return NBYTES[types[0]] < 8 or vector_nbytes >= 64


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    write_rows(part, op, scratch_of(SortNumbers(op).types, _longest(op)), _Vectors)


def _longest(op: graph.SortOp | graph.ArgsortOp) -> int:
    return upper_bound(shape_of(op.source, op.name)[op.axis.data])


class _Vectors(NumberedRow):
    def first_place(self, position: SSAValue) -> list[SSAValue]:
        return [*self.within, position]

    def sort_numbers(self) -> Place:
        code = self.code
        network = RowNetwork(code, self.sorted.types, self.scratch, self.within, upper_bound(self.extent))
        network.sort(code.index(self.extent))
        return self.first_place
