"""
Packs the part of a buffer that the body of a loop reads into a local buffer, in the order of the reads.

    sched.axis %j_outer = 4 {                sched.axis %j_outer = 4 {
      sched.axis %i = 20 {                     %b_packed = sched.alloc local : memref<30x8xf32>
        sched.axis %j_inner = 8 {              sched.axis %b_packed_at = 30 {
          %s = sched.reduce fma %k = 30          sched.axis %b_packed_at_a = 8 {
            ... %b[%k, %j] ...         -->         ... %b[%b_packed_at, ...] ...
                                                 }
                                               }
                                               ...
                                                   ... %b_packed[%k, %j_inner] ...

The layout says which loops index the new buffer, the last one the fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import is_at_least
from .....dialects.low.constant_integer import constant_integer
from .....dialects.sched import Scope
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Axis, Clamp, Element, FloorDiv, IndexExpr, Mod, Opaque
from ....rewriting.value_names import value_names
from ..loop_nests.code import write_index, writer_before
from ..loop_nests.dependences import is_inside, is_known_at
from ..loop_nests.errors import refuse
from ..loop_nests.local_buffer import CopyNest, allocate, redirect, refuse_lanes
from ..loop_nests.loops import KernelLoop, index_of, kernel_around, loop_name
from ..loop_nests.region import place_before, reads_of
from ..recipe import note

WHO = "pack-buffer"


def pack(
    loop: KernelLoop, buffer: SSAValue, layout: Sequence[KernelLoop], scope: Scope = Scope.LOCAL
) -> list[sched.AxisOp]:
    """
    Packs what the body of `loop` reads of a buffer, and returns the axes of the copy. The local buffer has a
    dim for each loop of `layout`, in that order, and is read at their indices. A `shared` one is filled and
    read by the work-items of a group together, where axes are mapped to `items`.

    Raises:
        ScheduleError: the buffer is not read there, at different places, or is stored to there; a loop of the
            layout is not around every read, has no fixed extent, or a count that is not known when the copy
            is made; or the place of a read depends on other loops too.
    """
    reads = reads_of(buffer, loop)
    place = place_before(WHO, buffer, loop, reads)
    refuse_lanes(WHO, loop)
    analysis = IndexAnalysis()
    packing = _Packing(loop, layout, analysis)
    extents = [packing.extent(inner) for inner in layout]
    where = packing.where(buffer, reads)
    shared = scope is not Scope.LOCAL and scope.value
    note(loop, "pack", axis=loop, buffer=buffer, layout=layout, scope=shared)
    writer = writer_before(place)
    writer.location = reads[0].location
    counts = packing.counts(place)
    local = allocate(writer, buffer, extents, "packed", scope)
    nest = CopyNest(writer, local)
    replaced: dict[SSAValue, SSAValue] = {}
    for inner, extent, count in zip(layout, extents, counts, strict=True):
        if isinstance(count, IndexExpr):
            count = write_index(nest.writer, analysis, count, replaced)
        replaced[index_of(inner)] = nest.open(extent, count).index
    nest.copy(buffer, [write_index(nest.writer, analysis, index, replaced) for index in where])
    for read in reads:
        redirect(read, local, [index_of(inner) for inner in layout])
    return nest.axes


class _Packing:
    def __init__(self, loop: KernelLoop, layout: Sequence[KernelLoop], analysis: IndexAnalysis):
        self.loop, self.layout, self.analysis = loop, layout, analysis

    def extent(self, op: KernelLoop) -> int:
        """Returns how many iterations a loop of the layout has at most."""
        if op is self.loop or not is_inside(op, self.loop):
            refuse(WHO, op, f"it does not stand in {loop_name(self.loop)}")
        if list(self.layout).count(op) > 1:
            refuse(WHO, op, "it is named twice")
        extent = _trips(op) if isinstance(op, scf.ForOp) else self.analysis.extent(op)
        if not isinstance(extent, int):
            refuse(WHO, op, f"a local buffer needs a number of elements, its extent is {extent}")
        return extent

    def where(self, buffer: SSAValue, reads: Sequence[memref.LoadOp]) -> list[IndexExpr]:
        """Returns the place that all reads have, in terms of loops around and of those of the layout."""
        name = value_names(kernel_around(self.loop))[buffer]
        place = [self.analysis.expr(index) for index in reads[0].indices]
        for read in reads:
            for op in self.layout:
                if not is_inside(read, op):
                    refuse(WHO, op, f"a read of %{name} stands outside of it")
            self._check_guards(read, name, place)
            if [self.analysis.expr(index) for index in read.indices] != place:
                refuse(WHO, self.loop, f"%{name} is read at different places in it")
        for dim, index in enumerate(place):
            self._check(index, len(self.layout), f"dim {dim} of %{name} is read at a place")
        return place

    def _check_guards(self, read: Operation, name: str, place: Sequence[IndexExpr]) -> None:
        """Refuses a read that happens for some places only: the others need not be in the buffer."""
        around = read.parent_op()
        while around is not None and around is not self.loop:
            guards = isinstance(around, scf.IfOp | scf.WhileOp)
            if isinstance(around, sched.AxisOp | sched.ReduceOp) and around not in self.layout:
                guards = self._guards(around.count, place)
            if guards:
                refuse(WHO, around, f"whether %{name} is read depends on it, and it is not in the layout")
            around = around.parent_op()

    def _guards(self, count: SSAValue | None, place: Sequence[IndexExpr]) -> bool:
        """Returns whether a count depends on what a place does, or may always be 0."""
        if count is None:
            return False
        expr = self.analysis.expr(count)
        if expr.is_constant:
            return not is_at_least(expr.constant, 1)
        leaves = _leaves(expr)
        return any(leaf in leaves for index in place for leaf in _leaves(index))

    def _is_there(self, value: SSAValue, place: Operation) -> bool:
        """Returns whether a value is computed outside of the loop, or in its body before `place`."""
        op = value.owner
        if not isinstance(op, Operation):
            return op is self.loop.body.block
        if op.parent is not self.loop.body.block:
            return not is_inside(op, self.loop)
        return op in takewhile(lambda other: other is not place, self.loop.body.block.ops)

    def counts(self, place: Operation) -> list[SSAValue | IndexExpr | None]:
        """Returns the counts of the loops, for a copy at `place`: those that are there as they are."""
        found: list[SSAValue | IndexExpr | None] = []
        for number, op in enumerate(self.layout):
            if isinstance(op, scf.ForOp) or op.count is None:
                found.append(None)
                continue
            if self._is_there(op.count, place):
                found.append(op.count)
                continue
            found.append(self.analysis.expr(op.count))
            self._check(self.analysis.expr(op.count), number, f"{loop_name(op)} has a count")
        return found

    def _check(self, expr: IndexExpr, number: int, what: str) -> None:
        """Checks that an index depends on loops around and on the first `number` ones of the layout only."""
        known = [index_of(op) for op in self.layout[:number]]
        for leaf in _leaves(expr):
            value = self.analysis.loop(leaf).index if isinstance(leaf, Axis) else leaf.value
            if value not in known and not is_known_at(self.analysis, self.loop, leaf, with_scope=True):
                name = value_names(kernel_around(self.loop))[value]
                refuse(WHO, self.loop, f"{what} that depends on %{name}, which is not in the layout before")


def _leaves(expr: IndexExpr) -> list[Axis | Opaque]:
    found: list[Axis | Opaque] = []
    for atom in expr.terms:
        match atom:
            case Axis() | Opaque():
                found.append(atom)
            case FloorDiv(operand, _) | Mod(operand, _) | Clamp(operand, _):
                found += _leaves(operand)
            case Element():
                raise AssertionError(f"{atom} is no index of a kernel")
    return found


def _trips(op: scf.ForOp) -> int:
    """Returns how often a serial loop runs that counts up from 0."""
    bounds = [constant_integer(bound) for bound in (op.lb, op.ub, op.step)]
    if bounds[0] != 0 or bounds[1] is None or bounds[2] != 1:
        refuse(WHO, op, "it does not count from 0 to a number")
    return bounds[1]
