"""
Distributes an axis over two parts of its body, which get an axis each.

    sched.axis %i = 20 {                     %row = sched.alloc local : memref<20x30xf32>
      %row = sched.alloc local               sched.axis %i = 20 {
      sched.axis %j = 30 {                     sched.axis %j = 30 {
        ... %row[%j] ...                         ... %row[%i, %j] ...
      }                            -->         }
      %s = sched.reduce addf %k = 30 {       }
        ... %row[%k] ...                     sched.axis %i_a = 20 {
      }                                        %s = sched.reduce addf %k = 30 {
      ...                                        ... %row[%i_a, %k] ...
    }                                          }
                                               ...
                                             }

What the first part hands to the second is kept in local buffers with an element for each iteration; indices
and conditions are computed again, and so is what is loaded from a local buffer that neither part stores to.
With `innermost`, the dim for the iterations is the last one of each buffer, so that they can be lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import sched
from .....dialects.element_types import element_type_of
from .....dialects.sched import Scope
from ....indices.analysis import IndexAnalysis
from ....scalar.builder import INDEX
from ..loop_nests.code import writer_before
from ..loop_nests.dependences import Access, accesses_in, carried_dependence, is_inside
from ..loop_nests.errors import refuse
from ..loop_nests.local_buffer import refuse_lanes
from ..loop_nests.loops import KernelLoop, fresh_hint, kernel_around, loop_name
from ..loop_nests.nest import is_movable
from ..recipe import note

WHO = "distribute-axis"

_BOOL = IntegerType(1)


def distribute(
    axis: KernelLoop, at: KernelLoop, after: bool = False, innermost: bool = False
) -> tuple[sched.AxisOp, sched.AxisOp]:
    """
    Distributes an axis over what stands in its body before the loop `at` and the rest, or with `after` over
    what stands up to that loop and what comes after it. Returns the two axes, of which the first is `axis`.
    With `innermost`, buffers that are handed on get the dim for the iterations as their last.

    All iterations of the first part then run before those of the second. So no iteration of the second may
    touch what another one of the first stores, nor the other way round.

    Raises:
        ScheduleError: it is no axis, or a mapped one; the loop does not stand right inside of it; a part
            would do nothing; an iteration depends on another one; or a value can be neither kept nor computed
            again.
    """
    if not isinstance(axis, sched.AxisOp):
        refuse(WHO, axis, "it is no axis, whose iterations may run in any order")
    if at.parent is not axis.body.block:
        refuse(WHO, at, f"it does not stand right inside of {loop_name(axis)}")
    if words := axis.mapping.words():
        refuse(WHO, axis, f"it is mapped to {words}, expected a serial one (distribute before mapping)")
    refuse_lanes(WHO, axis)
    ops = list(axis.body.block.ops)
    cut = ops.index(at) + int(after)
    first, second = ops[:cut], ops[cut:]
    for part, where in ((first, "before"), (second, "after")):
        if not any(op.regions or isinstance(op, memref.StoreOp) for op in part):
            refuse(WHO, at, f"nothing is done {where} it in {loop_name(axis)}")
    for here, there in ((first, second), (second, first)):
        found = carried_dependence(axis, axis, accesses_in(here), accesses_in(there))
        if found is not None:
            refuse(WHO, axis, found)
    distribution = _Distribution(axis, first, second, innermost)
    note(axis, "distribute", axis=axis, at=at, after=after, innermost=innermost)
    return distribution.run()


class _Distribution:
    def __init__(
        self, op: sched.AxisOp, first: Sequence[Operation], second: Sequence[Operation], innermost: bool
    ):
        self.op, self.second, self.innermost = op, second, innermost
        self.first = set(first)
        self.kernel = kernel_around(op)
        self.crossing = [
            result
            for defining in first
            for result in defining.results
            if any(is_inside(use.operation, later) for use in result.uses for later in second)
        ]
        for value in self.crossing:
            self._check(value)

    def _check(self, value: SSAValue) -> None:
        """Checks that the second part can have a value of the first."""
        op = value.owner
        if not isinstance(op, Operation) or op not in self.first:
            return
        if isinstance(op, sched.AllocOp):
            if op.scope.data is not Scope.LOCAL:
                refuse(WHO, op, "only a local buffer can have elements for each iteration")
        elif _must_be_computed(value):
            if isinstance(op, memref.LoadOp) or not is_movable(op):
                refuse(WHO, op, f"its {value.type} can be neither kept nor computed again")
            for operand in op.operands:
                self._check(operand)

    def run(self) -> tuple[sched.AxisOp, sched.AxisOp]:
        op = self.op
        new = sched.AxisOp(op.extent, op.mapping, Region(Block(arg_types=[INDEX])), op.count)
        new.attributes.update(op.attributes)
        new.location, new.index.location = op.location, op.index.location
        assert op.parent is not None, f"{op.name}: stands in no block"
        op.parent.insert_op_after(new, op)
        new.index.name_hint = fresh_hint(self.kernel, op.index.name_hint or "i")
        for moved in self.second:
            moved.detach()
            new.body.block.add_op(moved)
        handing = _Handing(op, new, self.first, self.second[0], self.innermost)
        for value in self.crossing:
            if isinstance(value.owner, sched.AllocOp):
                handing.expand(value.owner)
        for value in self.crossing:
            if not isinstance(value.owner, sched.AllocOp):
                handing.available(value)
        for value, replacement in handing.replaced.items():
            value.replace_uses_with_if(replacement, lambda use: is_inside(use.operation, new))
        return op, new


def _must_be_computed(value: SSAValue) -> bool:
    """Returns whether a value has no buffers of its type, or is as cheap to compute as to load."""
    return (
        isinstance(value.type, IndexType) or value.type == _BOOL or isinstance(value.owner, arith.ConstantOp)
    )


class _Handing:
    """Hands values of the first part, in the axis `old`, to the second, which is in `new` from `place` on."""

    def __init__(
        self,
        old: sched.AxisOp,
        new: sched.AxisOp,
        first: set[Operation],
        place: Operation,
        innermost: bool,
    ):
        self.old, self.new, self.first, self.innermost = old, new, first, innermost
        self.outside, self.inside = writer_before(old), writer_before(place)
        self.extent = IndexAnalysis().most(old)
        self.replaced: dict[SSAValue, SSAValue] = {old.index: new.index}

    def available(self, value: SSAValue) -> SSAValue:
        """Returns what a value of the first part is in the second."""
        known = self.replaced.get(value)
        op = value.owner
        if known is not None or not isinstance(op, Operation) or op not in self.first:
            return value if known is None else known
        if not _must_be_computed(value) and not self._is_kept(op):
            return self._kept(value)
        operands = {operand: self.available(operand) for operand in op.operands}
        copy = op.clone(operands)
        copy.location = op.location
        self.inside.insert(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            new.name_hint = old.name_hint
            self.replaced[old] = new
        return self.replaced[value]

    def _is_kept(self, op: Operation) -> bool:
        """Returns whether an op loads from a local buffer that neither part stores to."""
        if not isinstance(op, memref.LoadOp) or not isinstance(op.memref.owner, sched.AllocOp):
            return False
        parts = (self.old, self.new)
        return not any(
            isinstance(use.operation, memref.StoreOp) and is_inside(use.operation, part)
            for use in op.memref.uses
            for part in parts
        )

    def _kept(self, value: SSAValue) -> SSAValue:
        op = value.owner
        assert isinstance(op, Operation) and op.parent is not None, "a result of the first part"
        name = value.name_hint or "value"
        kept = self._alloc(MemRefType(value.type, [self.extent]), f"{name}_kept")
        after = op.next_op
        store = memref.StoreOp.create(operands=(value, kept, self.old.index))
        store.location = op.location
        if after is None:
            op.parent.add_op(store)
        else:
            op.parent.insert_op_before(store, after)
        loaded = self.inside.op(
            memref.LoadOp, kept, self.new.index, result_type=value.type, hint=value.name_hint
        )
        self.replaced[value] = loaded
        return loaded

    def _alloc(self, type: MemRefType, hint: str) -> SSAValue:
        fresh = fresh_hint(kernel_around(self.old), hint)
        return self.outside.insert(sched.AllocOp(Scope.LOCAL, type), fresh).results[0]

    def expand(self, op: sched.AllocOp) -> None:
        """Gives a local buffer a dim more, with an element for each iteration."""
        buffer = op.result
        own = [*buffer.type.get_shape()]
        shape = [*own, self.extent] if self.innermost else [self.extent, *own]
        type = MemRefType(element_type_of(buffer.type), shape)
        expanded = self._alloc(type, buffer.name_hint or "buffer")
        for use in list(buffer.uses):
            access = use.operation
            assert isinstance(access, Access), f"{access.name}: uses a local buffer"
            index = self.old.index if is_inside(access, self.old) else self.new.index
            before = 1 if isinstance(access, memref.StoreOp) else 0
            operands = list(access.operands)
            at = operands[before + 1 :]
            access.operands = [
                *operands[:before],
                expanded,
                *([*at, index] if self.innermost else [index, *at]),
            ]
        expanded.name_hint = buffer.name_hint
        op.detach()
        op.erase()
