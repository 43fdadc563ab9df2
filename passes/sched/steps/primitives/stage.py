"""
Copies the part of a buffer that the body of a loop reads into a local buffer first, and reads it there.

    sched.axis %j_outer = 4 {                sched.axis %j_outer = 4 {
      sched.axis %i = 20 {                     %x_local = sched.alloc local : memref<8xf32>
        sched.axis %j_inner = 8 {              sched.axis %x_a = 8 {
          %v = memref.load %x[...]               ...
          ...                                  }
        }                            -->       sched.axis %i = 20 {
      }                                          sched.axis %j_inner = 8 {
    }                                              %v = memref.load %x_local[%j_inner]
                                                   ...
                                                 }
                                               }
                                             }
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import is_at_least
from .....dialects.sched import Scope
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import ZERO
from ....scalar.builder import INDEX
from ..loop_nests.code import add, write_index, writer_before
from ..loop_nests.local_buffer import CopyNest, allocate, redirect, refuse_lanes, remaining
from ..loop_nests.loops import KernelLoop
from ..loop_nests.region import place_before, read_region, reads_of
from ..recipe import note

WHO = "stage-buffer"


def stage(loop: KernelLoop, buffer: SSAValue, scope: Scope = Scope.LOCAL) -> list[sched.AxisOp]:
    """
    Stages a buffer in the body of a loop, and returns the axes of the copy. The local buffer has the dims of
    the buffer, as large as the box around all that one iteration reads. A `shared` one is filled and read by
    the work-items of a group together, where axes are mapped to `items`.

    Raises:
        ScheduleError: the buffer is not read there, or is stored to there, or the box has no fixed size.
    """
    reads = reads_of(buffer, loop)
    place = place_before(WHO, buffer, loop, reads)
    refuse_lanes(WHO, loop)
    analysis = IndexAnalysis()
    box = read_region(WHO, analysis, buffer, loop, reads)
    note(loop, "stage", axis=loop, buffer=buffer, scope=scope is not Scope.LOCAL and scope.value)
    writer = writer_before(place)
    writer.location = reads[0].location
    local = allocate(writer, buffer, box.extents, scope.value, scope)
    starts = [write_index(writer, analysis, start) for start in box.starts]
    counts = [
        remaining(writer, limit, start) if box.may_end_outside(dim) else None
        for dim, (limit, start) in enumerate(zip(box.limits, starts, strict=True))
    ]
    nest = CopyNest(writer, local)
    for extent, count in zip(box.extents, counts, strict=True):
        nest.open(extent, count)
    at: list[SSAValue] = []
    for axis, start, value in zip(nest.axes, box.starts, starts, strict=True):
        index = axis.index if start == ZERO else add(nest.writer, value, axis.index)
        if not is_at_least(start.low, 0):
            index = nest.writer.op(arith.MaxSIOp, index, nest.writer.constant(0, INDEX))
        at.append(index)
    nest.copy(buffer, at)
    for read in reads:
        before = writer_before(read)
        exprs = [analysis.expr(index) - start for index, start in zip(read.indices, box.starts, strict=True)]
        redirect(read, local, [write_index(before, analysis, expr) for expr in exprs])
    return nest.axes
