"""
Carries in a register what every iteration of a loop reads and writes at one place of a buffer.

    scf.for %i = %c0 to %c8 step %c1 {         %x = memref.load %b[%c0]
      %x = memref.load %b[%c0]           -->   %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%v = %x) {
      %y = arith.addf %x, %x                     %y = arith.addf %v, %v
      memref.store %y, %b[%c0]                   scf.yield %y
    }                                          }
                                               memref.store %r, %b[%c0]

A value that goes through memory reaches the next iteration some cycles later, and recurrences do little else
than wait. Inner loops come first: what they load and store around themselves may be carried by the outer one.

An `scf.while` carries what its body reads and writes likewise. A loop is left alone for a buffer that it
reads or writes at other places too, or in a region of its own. As the element is touched where a loop never
runs, a loop whose bounds vary, or that has none, has to stand in a kernel of one work-item, with a place that
is always in the buffer.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import low
from ...dialects.low.constant_integer import constant_integer

Accesses = list[memref.LoadOp | memref.StoreOp]

_Loop = scf.ForOp | scf.WhileOp


@dataclass(frozen=True)
class PromoteScalarsPass(ModulePass):
    """Carries in a register what every iteration of a loop reads and writes at one place of a buffer."""

    name = "promote-scalars"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if not isinstance(kernel, low.KernelOp):
                continue
            is_alone = _runs_once(kernel)
            for loop in list(kernel.walk(region_first=True)):
                if isinstance(loop, _Loop):
                    _promote_in(loop, is_alone)


def _runs_once(kernel: low.KernelOp) -> bool:
    """Returns whether one work-item is all that there is of a kernel."""
    return all(extent == 1 for extent in (*kernel.grid.data, *kernel.block_dims.data))


def _promote_in(loop: _Loop, is_alone: bool) -> None:
    found = _carried_elements(loop)
    if found and not _runs(loop):
        found = [accesses for accesses in found if is_alone and _is_always_inside(accesses[0])]
    if found:
        _carry(loop, found)


def _body(loop: _Loop) -> Block:
    return loop.body.block if isinstance(loop, scf.ForOp) else loop.after_region.block


def _carried_elements(loop: _Loop) -> list[Accesses]:
    """Returns the accesses of each element that iterations hand on, if nothing else touches its buffer."""
    block = _body(loop)
    places: dict[SSAValue, Accesses] = {}
    for op in block.ops:
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            places.setdefault(op.memref, []).append(op)
    found = [accesses for accesses in places.values() if _is_handed_on(accesses, loop)]
    if not found:
        return []
    elsewhere: set[SSAValue] = set()
    for op in loop.walk():
        if op.parent is block and isinstance(op, memref.LoadOp | memref.StoreOp):
            continue
        if isinstance(op, low.BarrierOp):
            # Other work-items may read then what is stored.
            return []
        elsewhere.update(operand for operand in op.operands if isinstance(operand.type, MemRefType))
    return [accesses for accesses in found if accesses[0].memref not in elsewhere]


def _is_handed_on(accesses: Accesses, loop: _Loop) -> bool:
    """Returns whether a loop loads and stores, and at one place, which no iteration computes."""
    first, *others = accesses
    (at, *more) = first.indices
    return (
        not more
        and all(tuple(other.indices) == (at,) for other in others)
        and any(isinstance(access, memref.StoreOp) for access in accesses)
        and any(isinstance(access, memref.LoadOp) for access in accesses)
        and not _is_inside(at, loop)
    )


def _is_inside(value: SSAValue, loop: _Loop) -> bool:
    owner = value.owner
    return (owner.parent if isinstance(owner, Operation) else owner) is _body(loop)


def _runs(loop: _Loop) -> bool:
    """Returns whether a loop runs at least once, whatever its arguments are."""
    if isinstance(loop, scf.WhileOp):
        return False
    begin, end = constant_integer(loop.lb), constant_integer(loop.ub)
    return begin is not None and end is not None and begin < end


def _is_always_inside(access: memref.LoadOp | memref.StoreOp) -> bool:
    """Returns whether a place is in its buffer, whatever the arguments are."""
    at, type = constant_integer(access.indices[0]), access.memref.type
    assert isinstance(type, MemRefType)
    return at is not None and 0 <= at < type.get_shape()[0]


def _carry(loop: _Loop, found: Sequence[Accesses]) -> None:
    """Replaces a loop by one that carries the elements, loaded before it and stored after it."""
    around = loop.parent
    assert around is not None, f"{loop.name}: stands in no block"
    body = _body(loop)
    last = body.last_op
    assert isinstance(last, scf.YieldOp), f"{loop.name}: body ends in no scf.yield"
    starts: list[memref.LoadOp] = []
    for accesses in found:
        starts.append(_load_before(loop, around, accesses))
        value = _argument_for(starts[-1], body)
        # At once: what is stored here may be the load of another element, which is replaced next.
        handed_on = _forward(accesses, value)
        last.operands = (*last.operands, handed_on)
    if isinstance(loop, scf.WhileOp):
        # The condition hands them on to the body.
        before = loop.before_region.block
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp), f"{loop.name}: ends in no scf.condition"
        condition.operands = (*condition.operands, *[_argument_for(start, before) for start in starts])
    new = type(loop).create(
        operands=(*loop.operands, *[start.res for start in starts]),
        result_types=(*loop.result_types, *[start.res.type for start in starts]),
        regions=[Region(region.detach_block(0)) for region in loop.regions],
        properties=loop.properties,
        attributes=loop.attributes,
    )
    new.location = loop.location
    around.insert_op_before(new, loop)
    kept = len(loop.results)
    for old, after in zip(loop.results, new.results[:kept], strict=True):
        after.name_hint = old.name_hint
        old.replace_all_uses_with(after)
    for (access, *_), result, start in zip(found, new.results[kept:], starts, strict=True):
        result.name_hint = start.res.name_hint
        store = memref.StoreOp.create(operands=(result, access.memref, *access.indices))
        store.location = access.location
        around.insert_op_before(store, loop)
        _erase(access)
    _erase(loop)


def _argument_for(start: memref.LoadOp, block: Block) -> SSAValue:
    """Adds what a block takes for an element that `start` loads."""
    value = block.insert_arg(start.res.type, len(block.args))
    value.name_hint, value.location = start.res.name_hint, start.location
    return value


def _load_before(loop: _Loop, around: Block, accesses: Accesses) -> memref.LoadOp:
    """Loads what an element holds when the loop begins."""
    load = next(access for access in accesses if isinstance(access, memref.LoadOp))
    start = memref.LoadOp.create(
        operands=(load.memref, *load.indices), result_types=(load.res.type,), properties=load.properties
    )
    start.location, start.res.name_hint = load.location, load.res.name_hint
    around.insert_op_before(start, loop)
    return start


def _forward(accesses: Accesses, value: SSAValue) -> SSAValue:
    """Hands `value` and what is stored to the loads, and returns the last; only the first access remains."""
    for number, access in enumerate(accesses):
        if isinstance(access, memref.StoreOp):
            value = access.value
        else:
            access.res.replace_all_uses_with(value)
        if number:
            _erase(access)
    return value


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
