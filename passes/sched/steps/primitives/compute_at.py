"""
Computes a local buffer where it is read: as much of it as one iteration of a loop needs.

    %row = sched.alloc local : memref<100xf32>      sched.axis %k = 25 {
    sched.axis %j = 100 {                             %row_a = sched.alloc local : memref<4xf32>
      ...                                             sched.axis %j = 4 {
      memref.store %e, %row[%j]                         ... of %k * 4 + %j
    }                                         -->       memref.store %e, %row_a[%j]
    sched.axis %k = 25 {                              }
      sched.axis %l = 4 {                             sched.axis %l = 4 {
        ... %row[%k * 4 + %l] ...                       ... %row_a[%l] ...
      }                                               }
    }                                               }

Elements that several iterations read are computed in each of them. The inverse is `distribute-axis`, which
takes what fills a buffer out of an axis again.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import is_at_least
from .....dialects.element_types import element_type_of
from .....dialects.sched import Scope
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import ZERO
from ....rewriting.value_names import value_names
from ..loop_nests.code import add, copy_places, write_index, writer_at_front, writer_before
from ..loop_nests.dependences import accesses_in, is_inside
from ..loop_nests.errors import refuse
from ..loop_nests.local_buffer import redirect, refuse_lanes, remaining
from ..loop_nests.loops import KernelLoop, kernel_around, loop_name
from ..loop_nests.region import place_before, read_region, reads_of
from ..recipe import note

WHO = "compute-at"


def compute_at(buffer: SSAValue, loop: KernelLoop) -> list[sched.AxisOp]:
    """
    Computes what one iteration of `loop` reads of a local buffer in it, and returns the axes of that, the
    outermost first. The axes that filled the whole buffer before are erased.

    Raises:
        ScheduleError: the buffer is an argument; it is read elsewhere too; it is not filled by axes alone,
            one for each dim, before the loop; what fills it reads what the kernel stores later; the part that
            is read has no fixed size; or the loop runs in lanes.
    """
    producer = _Producer(buffer, loop)
    reads = reads_of(buffer, loop)
    place = place_before(WHO, buffer, loop, reads)
    refuse_lanes(WHO, loop)
    producer.check(reads)
    analysis = IndexAnalysis()
    box = read_region(WHO, analysis, buffer, loop, reads)
    for start in box.starts:
        if not is_at_least(start.low, 0):
            refuse(
                WHO, loop, f"{producer.name} is read from index {start.low} on in it, so a part is missing"
            )
    note(loop, "compute_at", buffer=buffer, axis=loop)
    writer = writer_before(place)
    writer.location = producer.alloc.location
    type = MemRefType(element_type_of(buffer.type), list(box.extents))
    local = writer.insert(sched.AllocOp(Scope.LOCAL, type), buffer.name_hint).results[0]
    starts = [write_index(writer, analysis, start) for start in box.starts]
    writer.location = producer.nest[0].location
    counts = [
        remaining(writer, limit, start) if box.may_end_outside(dim) else None
        for dim, (limit, start) in enumerate(zip(box.limits, starts, strict=True))
    ]
    copy = producer.nest[0].clone()
    copy_places(producer.nest[0], copy)
    writer.insert(copy)
    made = producer.shrink(
        copy,
        local,
        box.extents,
        counts,
        [None if expr == ZERO else start for expr, start in zip(box.starts, starts, strict=True)],
    )
    for read in reads:
        before = writer_before(read)
        exprs = [analysis.expr(index) - start for index, start in zip(read.indices, box.starts, strict=True)]
        redirect(read, local, [write_index(before, analysis, expr) for expr in exprs])
    for op in (producer.nest[0], producer.alloc):
        op.detach()
        op.erase()
    return made


class _Producer:
    """The axes that fill a local buffer: `nest`, the outermost first, and of those that of each dim."""

    def __init__(self, buffer: SSAValue, loop: KernelLoop):
        self.loop = loop
        self.name = f"%{value_names(kernel_around(loop))[buffer]}"
        if not isinstance(buffer.owner, sched.AllocOp):
            refuse(WHO, loop, f"{self.name} is an argument of the kernel, expected a local buffer")
        self.alloc = buffer.owner
        stores = [use.operation for use in buffer.uses if isinstance(use.operation, memref.StoreOp)]
        if len(stores) != 1:
            refuse(WHO, self.alloc, f"{len(stores)} ops store to it, expected one")
        self.store = stores[0]
        self.nest: list[sched.AxisOp] = []
        around = self.store.parent_op()
        while around is not None and around is not self.alloc.parent_op():
            if not isinstance(around, sched.AxisOp):
                refuse(WHO, self.alloc, f"{around.name} stores to it, expected axes alone")
            self.nest.insert(0, around)
            around = around.parent_op()
        self.axes: list[sched.AxisOp] = []
        for dim, index in enumerate(self.store.indices):
            axis = next((axis for axis in self.nest if axis.index is index), None)
            if axis is None or axis in self.axes:
                refuse(WHO, self.alloc, f"dim {dim} is not filled by an axis of its own")
            if axis.extent != self.alloc.result.type.get_shape()[dim] or axis.count is not None:
                what = axis.extent if axis.count is None else "a count"
                extent = self.alloc.result.type.get_shape()[dim]
                refuse(WHO, axis, f"it fills {what} of {extent} elements of dim {dim} of {self.name}")
            self.axes.append(axis)
        if len(self.axes) != len(self.nest) or not self.nest:
            refuse(WHO, self.alloc, f"{len(self.nest)} axes fill its {len(self.axes)} dims")

    def check(self, reads: Sequence[Operation]) -> None:
        """Checks that the producer may run where the loop is instead of where it stands."""
        outermost, buffer = self.nest[0], self.alloc.result
        for axis in self.nest:
            if words := axis.mapping.words():
                refuse(WHO, axis, f"it is mapped to {words}, expected a serial one")
        for use in buffer.uses:
            if use.operation is not self.store and use.operation not in reads:
                refuse(WHO, self.loop, f"{self.name} is read elsewhere too")
        if is_inside(self.loop, outermost) or not self._is_before():
            refuse(WHO, self.loop, f"{self.name} is not filled before it")
        inputs: list[SSAValue] = []
        for access in accesses_in([outermost]):
            if isinstance(access, memref.StoreOp):
                owner = access.memref.owner
                if access is not self.store and not (
                    isinstance(owner, Operation) and is_inside(owner, outermost)
                ):
                    refuse(WHO, outermost, f"it stores to %{self._name(access.memref)} too")
            else:
                inputs.append(access.memref)
        for access in accesses_in([kernel_around(self.loop)]):
            if not isinstance(access, memref.StoreOp) or access.memref not in inputs:
                continue
            if not is_inside(access, outermost) and not self._is_done_before(access):
                name = self._name(access.memref)
                refuse(WHO, self.loop, f"{loop_name(outermost)} reads %{name}, which is stored to later")

    def _name(self, buffer: SSAValue) -> str:
        return value_names(kernel_around(self.loop))[buffer]

    def _is_before(self) -> bool:
        """Returns whether the loop stands after the producer in the block of that, or in an op after it."""
        op: Operation | None = self.nest[0].next_op
        while op is not None:
            if is_inside(self.loop, op):
                return True
            op = op.next_op
        return False

    def _is_done_before(self, store: Operation) -> bool:
        """Returns whether a store stands before the producer in the block of that."""
        op: Operation | None = self.nest[0].prev_op
        while op is not None:
            if is_inside(store, op):
                return True
            op = op.prev_op
        return False

    def shrink(
        self,
        copy: Operation,
        local: SSAValue,
        extents: Sequence[int],
        counts: Sequence[SSAValue | None],
        starts: Sequence[SSAValue | None],
    ) -> list[sched.AxisOp]:
        """Has a copy of the producer fill `local`, of `extents`, with what begins at `starts`."""
        matched = dict(zip(self.nest[0].walk(), copy.walk(), strict=True))
        store = matched[self.store]
        assert isinstance(store, memref.StoreOp), "a copy of a store"
        made: dict[sched.AxisOp, sched.AxisOp] = {}
        for dim, axis in enumerate(self.axes):
            old = matched[axis]
            assert isinstance(old, sched.AxisOp), "a copy of an axis"
            made[axis] = _resized(old, extents[dim], counts[dim], starts[dim])
        indices = [made[axis].index for axis in self.axes]
        store.operands = [store.value, local, *indices]
        return [made[axis] for axis in self.nest]


def _resized(op: sched.AxisOp, extent: int, count: SSAValue | None, start: SSAValue | None) -> sched.AxisOp:
    """Puts an axis of another extent, whose indices begin at `start`, in the place of `op`."""
    body = op.detach_region(op.body)
    new = sched.AxisOp(extent, body=body, count=count)
    new.attributes.update(op.attributes)
    new.location = op.location
    assert op.parent is not None, f"{op.name}: stands in no block"
    op.parent.insert_op_before(new, op)
    op.detach()
    op.erase()
    if start is not None:
        writer = writer_at_front(body.block, new)
        index = new.index
        shifted = add(writer, start, index)
        index.replace_uses_with_if(shifted, lambda use: use.operation is not shifted.owner)
    return new
