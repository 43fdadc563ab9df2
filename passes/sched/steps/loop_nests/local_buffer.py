"""Local buffers that steps of a schedule put into kernels, and the loops that fill them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import Extent
from .....dialects.element_types import element_type_of
from .....dialects.sched import Scope
from ....indices.products import forget_panels
from ....scalar.builder import INDEX, ScalarBuilder
from .code import erase_unused, subtract, writer_at_front, writer_before
from .errors import refuse
from .loops import KernelLoop, fresh_hint, kernel_around


def refuse_lanes(who: str, loop: KernelLoop) -> None:
    """Raises ScheduleError where a loop, or one around it, runs in lanes: each would need a buffer."""
    around: Operation | None = loop
    while around is not None:
        if isinstance(around, sched.AxisOp | sched.ReduceOp) and around.mapping.step > 1:
            words = around.mapping.words()
            refuse(who, loop, f"a local buffer cannot stand in {words} (hint: map afterwards)")
        around = around.parent_op()


def allocate(
    writer: ScalarBuilder, buffer: SSAValue, extents: Sequence[int], suffix: str, scope: Scope
) -> SSAValue:
    """Allocates a local or shared buffer of the elements of another one."""
    assert writer.anchor is not None, "written before an op"
    type = MemRefType(element_type_of(buffer.type), list(extents))
    hint = fresh_hint(kernel_around(writer.anchor), f"{buffer.name_hint or 'buffer'}_{suffix}")
    return writer.insert(sched.AllocOp(scope, type), hint).results[0]


def remaining(writer: ScalarBuilder, limit: Extent, start: SSAValue) -> SSAValue:
    """Returns how many elements there are from `start` to `limit`."""
    return subtract(writer, writer.constant(limit, INDEX), start, "left")


class CopyNest:
    """Axes that fill a local buffer, put where `writer` writes; `writer` then writes in the innermost one."""

    def __init__(self, writer: ScalarBuilder, local: SSAValue):
        self.writer = writer
        self.local = local
        self.axes: list[sched.AxisOp] = []

    def open(self, extent: Extent, count: SSAValue | None) -> sched.AxisOp:
        """Puts one more axis into the innermost one."""
        location = self.writer.location
        axis = sched.AxisOp(extent, body=Region(Block(arg_types=[INDEX])), count=count)
        self.writer.insert(axis)
        axis.index.location = location
        owner = self.local.owner
        assert isinstance(owner, Operation), "a local buffer is an op's"
        axis.index.name_hint = fresh_hint(kernel_around(owner), f"{self.local.name_hint}_at")
        self.axes.append(axis)
        self.writer = writer_at_front(axis.body.block, axis)
        self.writer.location = location
        return axis

    def copy(self, source: SSAValue, at: Sequence[SSAValue]) -> None:
        """Copies the element of `source`, as it is stored, to that of the local buffer."""
        type, hint = element_type_of(source.type), f"{source.name_hint or 'buffer'}_element"
        value = self.writer.op(memref.LoadOp, source, *at, result_type=type, hint=hint)
        indices = [axis.index for axis in self.axes]
        self.writer.insert(memref.StoreOp.create(operands=(value, self.local, *indices)))


def redirect(read: memref.LoadOp, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Has a load read another buffer; the tile goes that was chosen for the panels of the old one."""
    old, around = list(read.indices), read.parent_op()
    type, hint = read.res.type, read.res.name_hint
    new = writer_before(read).op(memref.LoadOp, buffer, *indices, result_type=type, hint=hint)
    read.res.replace_all_uses_with(new)
    read.detach()
    read.erase()
    forget_panels(around)
    erase_unused(old)
