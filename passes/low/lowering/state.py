"""The state of the lowering of a `sched` kernel to a `low` kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import low
from ...indices.analysis import IndexAnalysis
from .group_sharing import GroupSharing
from .indices import IndexWriter
from .lanes import LanedValue, LaneNest
from .writer import KernelWriter


@dataclass(eq=False, slots=True)
class KernelState:
    """
    Shared by the parts of the lowering. `ids` is what `work_groups` found, `lower_block` lowers the body of a
    loop, and `lower_op` one op of it.
    """

    writer: KernelWriter
    indices: IndexWriter
    ids: dict[Operation, tuple[type[Operation], low.Dimension]]
    lower_block: Callable[[Block], None]
    lower_op: Callable[[Operation], None]
    scalars: dict[SSAValue, LanedValue]
    analysis: IndexAnalysis = field(default_factory=IndexAnalysis)
    lanes: LaneNest = field(default_factory=LaneNest)
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    sums: dict[Operation, LanedValue] = field(default_factory=dict)
    """The values that inner reductions start from: one for each set of lanes."""
    group: GroupSharing | None = None
    """What the work-items of a group do together; None where each of them works for itself."""
    overrides: dict[Operation, Callable[[], None]] = field(default_factory=dict)
    """Ops that are lowered in another way than by themselves at the moment."""
