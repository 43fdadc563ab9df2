"""
Leaves loops that look for a first index once they have found it.

    %f = scf.for %j = %c0 to %n step %c16         %e = scf.while (%j = %c0) {
        iter_args(%a = %none) {                     %x = vector.load %v[%j]
      %x = vector.load %v[%j]                       %h = arith.cmpf oeq, %x, %m
      %h = arith.cmpf oeq, %x, %m                   %any = vector.reduction <or>, %h
      %s = low.select %h, %indices, %none   -->     %next = arith.addi %j, %c16
      %b = arith.minsi %a, %s                       %go = (not %any) and %next < %n
      scf.yield %b                                  scf.condition(%go) %next, %j
    }                                             } do { ... }
                                                  (the body on the left, of %e)

That is the second half of argmax: the first index of the elements that are the greatest. The indices of each
iteration are above those of the iterations before, so that those after the first hit change nothing. Until
then an iteration only compares, and afterwards the body runs once for what was found.

On a virtual AMD EPYC (Zen 4), argmax along 1000 rows of 1000 takes 0.76 of the time of f32, 0.87 of i64 and
0.55 of bytes.

Loops of vectors are rewritten; of scalars LLVM makes vectors, which it could not if they were left early.
All lanes of all that a loop carries must end up in one minimum: where each lane looks through a column of its
own, none is left before all have found theirs.

Requires: nothing; best after all that moves or merges loops. Ensures: what the module computes is unchanged,
bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, UnknownLoc, i1
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import low
from ...dialects.element_types import element_type_of, lanes_of
from ...dialects.low.constant_integer import constant_integer
from ...dialects.sched import CombineKind
from ..rewriting.op_effects import is_movable
from ..scalar.reduction_identity import identity

_HARMLESS = memref.LoadOp | vector.LoadOp | scf.YieldOp
"""What may run fewer times, besides what only computes: within its bounds, a loop reads what it may."""


@dataclass(frozen=True)
class ExitSearchesPass(ModulePass):
    """Leaves loops that look for a first index once they have found it."""

    name = "exit-searches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [each for each in op.walk() if isinstance(each, scf.ForOp)]:
            if (hits := _hits(loop)) is not None:
                _rewrite(loop, hits)


def _hits(loop: scf.ForOp) -> list[SSAValue] | None:
    """Returns what a loop of vectors that looks for a first index compares; None if it is no such loop."""
    lower, upper, step = map(constant_integer, (loop.lb, loop.ub, loop.step))
    if not loop.iter_args or lower is None or upper is None or step is None or not lower < upper:
        return None
    body, last = loop.body.block, _yield_of(loop)
    if any(op.regions or not (isinstance(op, _HARMLESS) or is_movable(op)) for op in body.ops):
        return None
    hits: list[SSAValue] = []
    for carried, start, given in zip(body.args[1:], loop.iter_args, last.operands, strict=True):
        hit = _hit(carried, start, given)
        if hit is None:
            return None
        span = _span(hit.on_true, body.args[0])
        if span is None or span[0] < 0 or span[1] >= step or upper + step > _none_of(given):
            return None
        hits.append(hit.condition)
    # Any of what ends up in one minimum is the end of the search; lanes may be searches of their own.
    sinks = {_sink(result) for result in loop.results}
    return hits if len(sinks) == 1 and _is_of_all_lanes(*sinks) else None


def _is_of_all_lanes(value: SSAValue) -> bool:
    """Returns whether the minimum of the lanes of a value is all that is made of it."""
    if not value.has_one_use():
        return False
    op = next(iter(value.uses)).operation
    return isinstance(op, vector.ReductionOp) and op.kind.data is vector.CombiningKindFlag.MINSI


def _yield_of(loop: scf.ForOp) -> scf.YieldOp:
    last = loop.body.block.last_op
    assert isinstance(last, scf.YieldOp), "scf.for: body ends in no scf.yield"
    return last


def _hit(carried: SSAValue, start: SSAValue, given: SSAValue) -> low.SelectOp | None:
    """Returns what chooses an index where there is a hit, of which a loop carries the minimum."""
    least = given.owner
    if not isinstance(least, arith.MinSIOp) or lanes_of(given.type) is None or not carried.has_one_use():
        return None
    others = [value for value in least.operands if value is not carried]
    if len(others) != 1 or not isinstance(chosen := others[0].owner, low.SelectOp):
        return None
    none = _none_of(given)
    if _numbers(start) != (none, none) or _numbers(chosen.on_false) != (none, none):
        return None
    return chosen if lanes_of(chosen.condition.type) is not None else None


def _none_of(value: SSAValue) -> int | float:
    """Returns what stands for no index: the greatest number, which changes no minimum."""
    return identity(CombineKind.MINSI, element_type_of(value.type))


def _span(value: SSAValue, index: SSAValue) -> tuple[int, int] | None:
    """Returns how far the least and the greatest lane of a value are above a loop's index, where known."""
    if value is index:
        return 0, 0
    match value.owner:
        case arith.IndexCastOp(input=source) | vector.BroadcastOp(source=source):
            return _span(source, index)
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            for first, second in ((lhs, rhs), (rhs, lhs)):
                span, added = _span(first, index), _numbers(second)
                if span is not None and added is not None:
                    return span[0] + added[0], span[1] + added[1]
            return None
        case _:
            return None


def _numbers(value: SSAValue) -> tuple[int, int] | None:
    """Returns the least and the greatest number of a constant, or of what is made of one."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data, number.value.data
        case arith.ConstantOp(value=DenseIntOrFPElementsAttr() as numbers):
            found = [number for number in numbers.get_values() if isinstance(number, int)]
            return (min(found), max(found)) if found else None
        case arith.IndexCastOp(input=source) | vector.BroadcastOp(source=source):
            return _numbers(source)
        case _:
            return None


def _sink(value: SSAValue) -> SSAValue:
    """Returns the last of the minima that a value goes into and nothing else, those of later loops too."""
    while value.has_one_use():
        use = next(iter(value.uses))
        match use.operation:
            case arith.MinSIOp(result=least):
                value = least
            case scf.ForOp(results=results) as loop if use.index >= 3 and _takes_minimum(loop, use.index - 3):
                value = results[use.index - 3]
            case _:
                break
    return value


def _takes_minimum(loop: scf.ForOp, number: int) -> bool:
    """Returns whether a value that a loop carries goes into minima only, the last of which is carried on."""
    least = _sink(loop.body.block.args[1 + number])
    return least.has_one_use() and least is _yield_of(loop).operands[number]


def _rewrite(loop: scf.ForOp, hits: Sequence[SSAValue]) -> None:
    block, body, last = loop.parent, loop.body.block, _yield_of(loop)
    assert block is not None, "scf.for: it stands in no block"
    search = _search(loop, hits)
    (end,) = search.results
    end.name_hint = body.args[0].name_hint
    # The iteration that the search ended in: of it and of those before there is no other hit.
    copies: dict[SSAValue, SSAValue] = dict(zip(body.args, (end, *loop.iter_args), strict=True))
    found = [op.clone(copies) for op in body.ops if op is not last]
    for op in (*search.walk(), *found):
        if isinstance(op.location, UnknownLoc):
            op.location = loop.location
    block.insert_ops_before([search, *found], loop)
    for result, given in zip(loop.results, last.operands, strict=True):
        result.replace_all_uses_with(copies[given])
    loop.detach()
    loop.erase()


def _search(loop: scf.ForOp, hits: Sequence[SSAValue]) -> scf.WhileOp:
    """Returns a loop that gives the index at which one of `hits` holds, or else the last one."""
    type = loop.lb.type
    before, after = Block(arg_types=[type]), Block(arg_types=[type])
    copies: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: before.args[0]}
    needed = _needed(loop, hits)
    ops = [op.clone(copies) for op in loop.body.block.ops if op in needed]

    def written(op: Operation) -> SSAValue:
        ops.append(op)
        return op.results[0]

    any_hit = copies[hits[0]]
    for hit in hits[1:]:
        any_hit = written(arith.OrIOp(any_hit, copies[hit]))
    properties = {"kind": vector.CombiningKindAttr(vector.CombiningKindFlag.OR)}
    is_hit = written(vector.ReductionOp.create(operands=[any_hit], result_types=[i1], properties=properties))
    is_miss = written(arith.XOrIOp(is_hit, written(arith.ConstantOp(IntegerAttr(1, i1)))))
    following = written(arith.AddiOp(before.args[0], loop.step))
    is_inside = written(arith.CmpiOp(following, loop.ub, "slt"))
    goes_on = written(arith.AndIOp(is_miss, is_inside))
    before.add_ops([*ops, scf.ConditionOp(goes_on, before.args[0])])
    moved = arith.AddiOp(after.args[0], loop.step)
    after.add_ops([moved, scf.YieldOp(moved.result)])
    for argument in (*before.args, *after.args):
        argument.name_hint, argument.location = loop.body.block.args[0].name_hint, loop.location
    return scf.WhileOp.create(
        operands=[loop.lb], result_types=[type], regions=[Region(before), Region(after)]
    )


def _needed(loop: scf.ForOp, hits: Sequence[SSAValue]) -> set[Operation]:
    """Returns the ops of a loop's body that what it compares is made of."""
    body, found = loop.body.block, set[Operation]()
    waiting = [hit.owner for hit in hits]
    while waiting:
        op = waiting.pop()
        if isinstance(op, Operation) and op.parent is body and op not in found:
            found.add(op)
            waiting += [operand.owner for operand in op.operands]
    return found
