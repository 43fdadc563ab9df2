"""
Puts loops that stand right inside of one another in another order.

    sched.axis %i = 4 {                      sched.axis %j = 8 {
      sched.axis %j = 8 {          -->         sched.axis %i = 4 {
        ...                                      ...
      }                                        }
    }                                        }

Ops between the loops that no count needs are computed in the innermost loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import sched
from ....indices.nests import interchange
from ....scalar.builder import INDEX
from ..loop_nests.dependences import accesses_in, carried_dependence, overwritten
from ..loop_nests.errors import refuse
from ..loop_nests.loops import KernelLoop, index_of, loop_name
from ..loop_nests.nest import code_between, nest_of
from ..loop_nests.reassociation import rounds
from ..recipe import note

WHO = "reorder-axes"


def reorder(loops: Sequence[KernelLoop], allow_reorder: bool = False) -> list[KernelLoop]:
    """
    Puts `loops`, which are erased, in the order given, the first the outermost, and returns the new ones.

    Axes run their iterations in any order, so they may change places with one another and move into a serial
    loop; out of one only where no iteration of the axis touches what another one stores. Dims of one
    reduction change the order in which it combines: what rounds asks for `allow_reorder`.

    Raises:
        ScheduleError: the loops are not perfectly nested, one carries values, the count of one depends on one
            that would come to stand inside of it, iterations of an axis store the same element, or a
            dependence or the order of a sum forbids it.
    """
    nest = nest_of(WHO, loops)
    if list(loops) == nest:
        return list(loops)
    for op in nest:
        if isinstance(op, scf.ForOp) and op.iter_args:
            refuse(WHO, op, "it carries values from one iteration to the next")
    code = [op for outer, inner in pairwise(nest) for op in code_between(WHO, outer, inner)]
    _check_kinds(nest, allow_reorder)
    for op in nest:
        if isinstance(op, sched.AxisOp) and (found := overwritten(op)) is not None:
            refuse(WHO, op, found)
    _check_serial(nest, loops)
    reordering = _Reordering(nest, loops, code)
    note(nest[0], "reorder", axes=loops, allow_reorder=allow_reorder and isinstance(nest[0], sched.ReduceOp))
    return reordering.run()


def reorder_nest(nest: Sequence[sched.AxisOp], order: Sequence[sched.AxisOp]) -> None:
    """Puts the axes of a nest, which are known to be independent, into another order, and keeps them."""
    if list(order) != list(nest):
        note(nest[0], "reorder", axes=order)
        interchange(list(nest), order)


def _check_kinds(nest: Sequence[KernelLoop], allow_reorder: bool) -> None:
    reductions = [op for op in nest if isinstance(op, sched.ReduceOp)]
    if not reductions:
        return
    for op in nest:
        if op not in reductions:
            refuse(WHO, op, f"it is no reduction, as {loop_name(reductions[0])} is")
    first = reductions[0]
    kind = first.kind.data.value
    for other in reductions:
        if other.kind != first.kind:
            other_kind = other.kind.data.value
            refuse(WHO, first, f"it combines by {kind}, and {loop_name(other)} by {other_kind}")
        if other.init is not None and other is not first:
            refuse(WHO, other, f"it starts from a value in each iteration of {loop_name(first)}")
    if rounds(first) and not allow_reorder:
        refuse(WHO, first, f"the order in which it combines by {kind} would change (hint: allow_reorder)")


def _check_serial(nest: Sequence[KernelLoop], wanted: Sequence[KernelLoop]) -> None:
    """Checks that serial loops keep their order, and that what moves out of one has no dependence there."""
    for number, outer in enumerate(nest):
        if not isinstance(outer, scf.ForOp):
            continue
        for op in nest[number + 1 :]:
            if wanted.index(op) > wanted.index(outer):
                continue
            if not isinstance(op, sched.AxisOp):
                refuse(WHO, op, f"it is serial, and so is {loop_name(outer)} around it")
            accesses = accesses_in([op])
            if (found := carried_dependence(op, outer, accesses, accesses)) is not None:
                refuse(WHO, op, f"it cannot move out of {loop_name(outer)}, which is serial: {found}")


class _Reordering:
    """
    `nest` are the loops as they are, `wanted` as they are to be, `code` is what stands between them. What the
    counts and bounds are made of stands where all of it is first known; the rest in the innermost loop.
    """

    def __init__(self, nest: Sequence[KernelLoop], wanted: Sequence[KernelLoop], code: Sequence[Operation]):
        self.nest, self.wanted, self.code = nest, wanted, code
        self.levels: dict[Operation, int] = {}
        """The loop that each op of the code depends on, the innermost in the new order; -1 for none."""
        for op in code:
            self.levels[op] = max((self._level(operand) for operand in op.operands), default=-1)
        self.is_header: set[Operation] = set()
        for number, op in enumerate(wanted):
            for operand in op.operands:
                self._check(op, operand, number)
                self._collect(operand)

    def _level(self, value: SSAValue) -> int:
        for number, loop in enumerate(self.wanted):
            if value is index_of(loop):
                return number
        return self.levels.get(value.owner, -1) if isinstance(value.owner, Operation) else -1

    def _check(self, op: KernelLoop, operand: SSAValue, number: int) -> None:
        level = self._level(operand)
        if level >= number:
            what = "its bounds depend" if isinstance(op, scf.ForOp) else "its count depends"
            refuse(WHO, op, f"{what} on {loop_name(self.wanted[level])}, which would be inside of it")

    def _collect(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.levels and owner not in self.is_header:
            self.is_header.add(owner)
            for operand in owner.operands:
                self._collect(operand)

    def run(self) -> list[KernelLoop]:
        outermost, innermost = self.nest[0], self.nest[-1]
        parent = outermost.parent
        assert parent is not None, f"{outermost.name}: stands in no block"
        body = [op for op in innermost.body.block.ops if not isinstance(op, scf.YieldOp)]
        init = outermost.init if isinstance(outermost, sched.ReduceOp) else None
        new = [_emptied(op, init if number == 0 else None) for number, op in enumerate(self.wanted)]
        for old, loop in zip(self.nest, new, strict=True):
            if isinstance(old, sched.ReduceOp):
                loop.results[0].name_hint = old.result.name_hint
        for op in self._header(-1):
            op.detach()
            parent.insert_op_before(op, outermost)
        parent.insert_op_before(new[0], outermost)
        for number, loop in enumerate(new):
            _append(loop.body.block, self._header(number), new[number + 1 : number + 2])
        rest = [op for op in self.code if op not in self.is_header]
        _append(new[-1].body.block, rest, body)
        for number, loop in enumerate(new):
            end = _terminator(loop, new[number + 1 : number + 2])
            if end is not None:
                end.location = loop.location
                loop.body.block.add_op(end)
        for old, loop in zip(self.wanted, new, strict=True):
            index_of(old).replace_all_uses_with(index_of(loop))
        if isinstance(outermost, sched.ReduceOp):
            outermost.result.replace_all_uses_with(new[0].results[0])
        outermost.detach()
        outermost.erase()
        return new

    def _header(self, level: int) -> list[Operation]:
        return [op for op in self.code if op in self.is_header and self.levels[op] == level]


def _append(block: Block, *groups: Sequence[Operation]) -> None:
    for ops in groups:
        for op in ops:
            if op.parent is not None:
                op.detach()
            block.add_op(op)


def _terminator(loop: KernelLoop, inner: Sequence[KernelLoop]) -> Operation | None:
    """Returns what a loop around `inner` ends in; the innermost reduction has it already."""
    if isinstance(loop, scf.ForOp):
        return scf.YieldOp.create()
    return sched.YieldOp(*inner[0].results) if inner and isinstance(loop, sched.ReduceOp) else None


def _emptied(op: KernelLoop, init: SSAValue | None) -> KernelLoop:
    """Returns a loop like `op` without a body."""
    region = Region(Block(arg_types=[INDEX]))
    new: KernelLoop
    match op:
        case sched.AxisOp():
            new = sched.AxisOp(op.extent, op.mapping, region, op.count)
        case sched.ReduceOp():
            kind, type = op.kind.data, op.result.type
            rest = op.fastmath, op.count, init, op.tile_shape
            new = sched.ReduceOp(kind, op.extent, type, op.mapping, region, *rest)
        case scf.ForOp():
            new = scf.ForOp.create(operands=op.operands, regions=[region])
    new.attributes.update(op.attributes)
    new.location = op.location
    index, old = index_of(new), index_of(op)
    index.name_hint, index.location = old.name_hint, old.location
    return new
