"""
Sums whose both sides are contiguous along the depth: vectors of partial results, as many as map-axes has, for
some rows and columns at once, so that what is loaded is used more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .....dialects import sched
from ....indices.analysis import IndexAnalysis
from ....indices.lanes import MOST_LANES
from ....indices.products import Product
from ....machine.partial_results import LEAST, partial_results
from ....machine.target import Target

LEAST_DEPTH = 8
"""A sum with fewer iterations is no vector."""


@dataclass(frozen=True, slots=True)
class Dots:
    """
    `across` iterations of `columns` by `down` of `rows` run at once, each with `partials` results in vectors
    of `lanes`.
    """

    rows: sched.AxisOp
    columns: sched.AxisOp
    down: int
    across: int
    lanes: int
    partials: int


def choose_dots(
    nest: Sequence[sched.AxisOp], product: Product, analysis: IndexAnalysis, target: Target
) -> Dots | None:
    """Returns how the only sum of a nest runs so, None where it does not."""
    dim = product.dims[0]
    depth, axis = analysis.most(dim), analysis.axis(dim)
    if len(product.dims) > 1 or any(side.stride(axis) != 1 for side in product.sides):
        return None
    found: tuple[list[sched.AxisOp], list[sched.AxisOp]] = [], []
    """The axes along which the one side stays, and the other."""
    for each in nest:
        strides = [side.stride(analysis.axis(each)) for side in product.sides]
        if None in strides:
            return None
        if strides.count(0) == 1:
            found[strides.index(0)].append(each)
    partials = partial_results(depth, LEAST)
    lanes = min(target.vector_nbytes // max(product.sum_nbytes, product.nbytes), MOST_LANES, partials)
    if depth < LEAST_DEPTH or lanes < 2 or not all(found):
        return None
    rows, columns = sorted((axes[-1] for axes in found), key=analysis.most)
    across, down = (4, 2) if target.registers >= 32 else (2, 1)
    if analysis.most(rows) < 2 or analysis.most(columns) < across:
        return None
    if {analysis.axis(rows), analysis.axis(columns)} & product.counting_axes(analysis):
        return None
    return Dots(rows, columns, down, across, lanes, partials)
