"""
Splits a loop in two: an outer one over parts of `factor` iterations, and an inner one over the part.

    sched.axis %i = 20 {                     sched.axis %i_outer = 3 {
      ...                                      %base = arith.muli %i_outer, %c8 : index
    }                                          %left = arith.subi %c20, %base : index
                                    -->        sched.axis %i_inner = 8 count %left {
                                                 %i = arith.addi %base, %i_inner : index
                                                 ...
                                               }
                                             }

There is a count only where the parts do not divide the loop.
"""

from __future__ import annotations

from typing import overload

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import Extent, exact_quotient
from .....dialects.sched import Scope
from ....indices.analysis import IndexAnalysis
from ....scalar.builder import INDEX, ScalarBuilder
from ....scalar.reduction_identity import identity
from ..loop_nests.code import add, least, multiply, subtract, writer_at_front, writer_before
from ..loop_nests.errors import refuse
from ..loop_nests.loops import KernelLoop, fresh_hint, index_of, kernel_around, loop_name
from ..loop_nests.reassociation import rounds
from ..recipe import note

WHO = "split-axis"


@overload
def split(
    op: sched.AxisOp, factor: int, allow_reorder: bool = False, serial: bool = False
) -> tuple[sched.AxisOp, sched.AxisOp]: ...
@overload
def split(
    op: KernelLoop, factor: int, allow_reorder: bool = False, serial: bool = False
) -> tuple[KernelLoop, KernelLoop]: ...
def split(
    op: KernelLoop, factor: int, allow_reorder: bool = False, serial: bool = False
) -> tuple[KernelLoop, KernelLoop]:
    """
    Splits `op`, which is erased, and returns the outer and the inner loop.

    A reduction combines its elements in the same order. One by `fma` becomes two dims of one sum; one of
    integers, of extrema or of bits combines the results of its parts, which is the same. A sum or product of
    floats becomes a serial loop, `scf.for`, around reductions that each start from what the last one left in
    a local buffer; such a loop runs neither below vectors nor unrolled axes. With `allow_reorder` it combines
    the results of its parts instead: another order, and other last bits. With `serial` any reduction becomes
    a serial loop, which then can come to stand around other axes.

    Raises:
        ScheduleError: the loop is mapped or serial, the factor is below 1 or above its extent, or it is a dim
            of a sum that another reduction goes on with.
    """
    if isinstance(op, scf.ForOp):
        refuse(WHO, op, "it is serial already, expected an axis or a reduction")
    if words := op.mapping.words():
        refuse(WHO, op, f"it is mapped to {words}, expected a serial one (split before mapping)")
    if factor < 1:
        refuse(WHO, op, f"factor {factor} is not 1 or more")
    extent = IndexAnalysis().extent(op)
    if isinstance(extent, int) and factor > extent:
        refuse(WHO, op, f"factor {factor} is more than the extent {extent}")
    splitting = _Splitting(op, extent, factor)
    if isinstance(op, sched.AxisOp):
        note(op, "split", axis=op, factor=factor)
        return splitting.axis(op)
    if serial or (rounds(op) and not op.kind.data.adds_products and not allow_reorder):
        around = op.parent_op()
        if isinstance(around, sched.ReduceOp) and around.continued is op:
            refuse(
                WHO, op, f"it goes on with the sum of {loop_name(around)}, so it cannot begin a serial loop"
            )
        note(op, "split", axis=op, factor=factor, serial=serial)
        return splitting.in_order(op)
    note(op, "split", axis=op, factor=factor, allow_reorder=allow_reorder)
    return splitting.reduction(op)


class _Splitting:
    def __init__(self, op: sched.AxisOp | sched.ReduceOp, extent: Extent, factor: int):
        kernel = kernel_around(op)
        hint = op.index.name_hint or "i"
        self.op, self.factor, self.extent = op, factor, extent
        self.outer_hint = fresh_hint(kernel, f"{hint}_outer")
        self.inner_hint = fresh_hint(kernel, f"{hint}_inner")
        self.hint, self.index_location = op.index.name_hint, op.index.location
        exact = exact_quotient(extent, factor)
        self.parts: Extent = (extent + (factor - 1)) // factor if exact is None else exact
        self.divides = exact is not None

    def axis(self, op: sched.AxisOp) -> tuple[sched.AxisOp, sched.AxisOp]:
        outer = sched.AxisOp(self.parts)
        self._put(outer)
        base, left = self._begin(outer.body.block, outer.index)
        inner = sched.AxisOp(self.factor, body=self._body(base), count=left)
        self._put_inside(inner, outer.body.block)
        inner.attributes.update(op.attributes)
        self._erase()
        return outer, inner

    def reduction(self, op: sched.ReduceOp) -> tuple[sched.ReduceOp, sched.ReduceOp]:
        kind, type = op.kind.data, op.result.type
        outer = sched.ReduceOp(
            kind, self.parts, type, fastmath=op.fastmath, init=op.init, tile_shape=op.tile_shape
        )
        self._put(outer)
        base, left = self._begin(outer.body.block, outer.index)
        body = self._body(base)
        inner = sched.ReduceOp(kind, self.factor, type, body=body, fastmath=op.fastmath, count=left)
        self._put_inside(inner, outer.body.block)
        inner.attributes.update(op.attributes)
        self._append(sched.YieldOp(inner.result), outer.body.block)
        inner.result.name_hint = outer.result.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(outer.result)
        self._erase()
        return outer, inner

    def in_order(self, op: sched.ReduceOp) -> tuple[scf.ForOp, sched.ReduceOp]:
        type, kind = op.result.type, op.kind.data
        kernel = kernel_around(op)
        before = writer_before(op)
        buffer_type = MemRefType(type, [])
        alloc = sched.AllocOp(Scope.LOCAL, buffer_type)
        hint = fresh_hint(kernel, f"{op.result.name_hint or 'total'}_so_far")
        sum_so_far = before.insert(alloc, hint).results[0]
        start = before.constant(identity(kind, type), type) if op.init is None else op.init
        before.insert(memref.StoreOp.create(operands=(start, sum_so_far)))
        block = Block(arg_types=[INDEX])
        bounds = (before.constant(0, INDEX), self._trips(before), before.constant(1, INDEX))
        outer = scf.ForOp.create(operands=bounds, regions=[Region(block)])
        self._put(outer)
        base, left = self._begin(block, block.args[0])
        inside = writer_at_front(block, op)
        inside.anchor = None
        loaded = inside.op(memref.LoadOp, sum_so_far, result_type=type, hint=op.result.name_hint)
        body = self._body(base)
        inner = sched.ReduceOp(
            kind,
            self.factor,
            type,
            body=body,
            fastmath=op.fastmath,
            count=left,
            init=loaded,
            tile_shape=op.tile_shape,
        )
        self._put_inside(inner, block)
        inner.attributes.update(op.attributes)
        inner.result.name_hint = op.result.name_hint
        inside.insert(memref.StoreOp.create(operands=(inner.result, sum_so_far)))
        self._append(scf.YieldOp.create(), block)
        total = before.op(memref.LoadOp, sum_so_far, result_type=type, hint=op.result.name_hint)
        op.result.replace_all_uses_with(total)
        self._erase()
        return outer, inner

    def _trips(self, writer: ScalarBuilder) -> SSAValue:
        """Returns how many parts there are."""
        return writer.constant(self.parts, INDEX)

    def _put(self, outer: KernelLoop) -> None:
        """Puts the outer loop where the old one is."""
        writer_before(self.op).insert(outer)
        index = index_of(outer)
        index.name_hint, index.location = self.outer_hint, self.index_location

    def _put_inside(self, inner: sched.AxisOp | sched.ReduceOp, block: Block) -> None:
        self._append(inner, block)
        inner.index.name_hint, inner.index.location = self.inner_hint, self.index_location

    def _append(self, op: Operation, block: Block) -> None:
        op.location = self.op.location
        block.add_op(op)

    def _begin(self, block: Block, number: SSAValue) -> tuple[SSAValue, SSAValue | None]:
        """Writes where a part begins, and how many iterations are left there, if that may be less."""
        writer = writer_at_front(block, self.op)
        writer.anchor = None
        base = multiply(writer, number, self.factor, "base")
        limit = self.op.count
        if not self.divides:
            end = writer.constant(self.extent, INDEX)
            limit = end if limit is None else least(writer, limit, end)
        return base, None if limit is None else subtract(writer, limit, base, "left")

    def _body(self, base: SSAValue) -> Region:
        """Returns the body of the old loop with its index made of the inner one's, which is its argument."""
        region = self.op.detach_region(self.op.body)
        block = region.block
        old = block.args[0]
        new = block.insert_arg(INDEX, 0)
        writer = ScalarBuilder(block, block.first_op, writer_before(self.op).constants)
        writer.location = self.op.location
        old.replace_all_uses_with(add(writer, base, new, self.hint))
        block.erase_arg(old)
        return region

    def _erase(self) -> None:
        self.op.detach()
        self.op.erase()
