"""Regions whose ops stand in no order: MLIR's graph regions."""

from __future__ import annotations

from xdsl.ir import Operation, Region
from xdsl.traits import OpTrait

_NAMES = frozenset(
    ("builtin.module", "equivalence.graph", "hw.module", "test.op", "test.pureop", "test.termop")
)
"""Ops of xDSL whose regions are such; it has no trait that says so. Those of `test` stand for any op."""


class GraphRegions(OpTrait):
    """The trait of an op in whose regions a value may be used by ops before the one that defines it."""


def is_graph_region(region: Region) -> bool:
    """Returns whether values of a region may be used before they are defined; of an unknown op they may."""
    op = region.parent
    return op is not None and len(region.blocks) == 1 and _has_graph_regions(op)


def _has_graph_regions(op: Operation) -> bool:
    return op.name in _NAMES or op.has_trait(GraphRegions, value_if_unregistered=True)
