"""Which part of a buffer the body of a loop reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from .....dialects.buffer_size import extents_of
from .....dialects.dims.expressions import DimExpr, Extent, bounded, is_at_least
from ....indices.access import planned_dims
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import IndexExpr
from ....rewriting.value_names import value_names
from .dependences import is_inside, known_part
from .errors import refuse
from .loops import KernelLoop, kernel_around


@dataclass(frozen=True)
class Region:
    """
    A box of a buffer: where it begins in each dim, known in the body of the loop, how many elements that are
    at most, and how many the buffer has there.
    """

    starts: tuple[IndexExpr, ...]
    extents: tuple[int, ...]
    limits: tuple[Extent, ...]

    def may_end_outside(self, dim: int) -> bool:
        """Returns whether the box may reach beyond the end of the buffer."""
        end = self.starts[dim].high + self.extents[dim]
        return not is_at_least(self.limits[dim], end)


def reads_of(buffer: SSAValue, loop: KernelLoop) -> list[memref.LoadOp]:
    """Returns the loads of a buffer in the body of a loop."""
    uses = [use.operation for use in buffer.uses]
    found = [op for op in uses if isinstance(op, memref.LoadOp) and is_inside(op, loop)]
    order = {op: number for number, op in enumerate(loop.walk())}
    return sorted(found, key=lambda op: order[op])


def place_before(who: str, buffer: SSAValue, loop: KernelLoop, reads: Sequence[Operation]) -> Operation:
    """
    Returns the first op of a loop's body in which the buffer is read.

    Raises:
        ScheduleError: it is not read there, or it is stored to there or later in the body.
    """
    name = value_names(kernel_around(loop))[buffer]
    if not reads:
        refuse(who, loop, f"%{name} is not read in it")
    body: Block = loop.body.block
    place: Operation | None = None
    for op in body.ops:
        if place is None and any(is_inside(read, op) for read in reads):
            place = op
        if place is not None and any(
            isinstance(inner, memref.StoreOp) and inner.memref is buffer for inner in op.walk()
        ):
            refuse(who, loop, f"%{name} is stored to in it, so that a copy would be out of date")
    assert place is not None, f"{loop.name}: a load stands in no op of its body"
    return place


def read_region(
    who: str, analysis: IndexAnalysis, buffer: SSAValue, loop: KernelLoop, reads: Sequence[memref.LoadOp]
) -> Region:
    """
    Returns the box that holds all elements that `reads` touch in one iteration of `loop`.

    Raises:
        ScheduleError: the box has no fixed size, or two reads begin at places that are no constant apart.
    """
    name = value_names(kernel_around(loop))[buffer]
    dims = planned_dims(loop)
    limits = tuple(
        bounded(extent, dims) if isinstance(extent, DimExpr) else extent for extent in extents_of(buffer.type)
    )
    starts: list[IndexExpr] = []
    extents: list[int] = []
    for dim, limit in enumerate(limits):
        base: IndexExpr | None = None
        least, most = 0, 0
        for read in reads:
            known, rest = known_part(analysis, loop, analysis.expr(read.indices[dim]), with_scope=True)
            distance = 0 if base is None else (known - base)
            if base is None:
                base = known
            if isinstance(distance, IndexExpr):
                if not distance.is_constant or not isinstance(distance.constant, int):
                    refuse(who, loop, f"%{name} is read in dim {dim} at places that are not a number apart")
                distance = distance.constant
            low, high = rest.low, rest.high
            if not isinstance(low, int) or not isinstance(high, int) or high - low >= _UNBOUNDED:
                refuse(who, loop, f"how much of dim {dim} of %{name} is read in it is not known")
            first = read is reads[0]
            least = low + distance if first else min(least, low + distance)
            most = high + distance if first else max(most, high + distance)
        assert base is not None, "there are reads"
        start, extent = base + least, most - least + 1
        if isinstance(limit, int) and extent >= limit:
            start, extent = IndexExpr({}, 0), limit
        starts.append(start)
        extents.append(extent)
    return Region(tuple(starts), tuple(extents), limits)


_UNBOUNDED = 1 << 40
"""More elements than any box has."""
