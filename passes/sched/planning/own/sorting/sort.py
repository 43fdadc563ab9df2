"""
The kernel of `graph.sort` and `graph.argsort`: of short rows by a network, many side by side or each with
vectors of its own, of long rows by parts.
"""

from __future__ import annotations

from ......dialects import graph
from ..interface import ProgramPart
from . import long_sort, network_sort, vector_sort


def write(part: ProgramPart, op: graph.SortOp | graph.ArgsortOp) -> None:
    row_axis = network_sort.row_axis_of(op)
    if row_axis is not None:
        network_sort.write(part, op, row_axis)
    elif vector_sort.is_short(op, part.vector_nbytes):
        vector_sort.write(part, op)
    else:
        long_sort.write(part, op)
