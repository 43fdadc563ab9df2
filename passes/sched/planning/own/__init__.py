"""Ops whose kernels are written by hand: one table, from one file for each of them."""

from __future__ import annotations

from xdsl.ir import Operation

from .....dialects import graph
from . import cumulate, scatter, search_sorted, threefry
from .interface import OwnKernels, ProgramPart
from .sorting import sort

OWN_KERNELS: dict[type[Operation], OwnKernels] = {
    graph.ScatterOp: scatter.write,
    graph.CumulateOp: cumulate.write,
    graph.SortOp: sort.write,
    graph.ArgsortOp: sort.write,
    graph.SearchSortedOp: search_sorted.write,
    graph.ThreefryOp: threefry.write,
}
"""What writes the kernels of each such op."""

__all__ = ["OWN_KERNELS", "OwnKernels", "ProgramPart"]
