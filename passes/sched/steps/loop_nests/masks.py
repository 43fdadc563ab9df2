"""
Masks of what loops do: the comparisons of a loop's index that hold wherever it combines or stores anything.

What a loop does has a mask where a `low.select` chooses it: a reduction its identity otherwise, an axis what
it loaded from where it stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue

from .....dialects import low, sched
from .....dialects.element_types import width_of
from .....dialects.sched import CombineKind
from ....indices.analysis import Loop
from ....scalar.reduction_identity import identity

_TURNED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}
"""Each comparison with its sides exchanged."""


@dataclass(frozen=True, slots=True)
class Bound:
    """
    A part of a mask that does not change in a loop, or a comparison of the loop's index with what does not:
    `predicate` is the comparison, None for what does not change.
    """

    op: Operation
    predicate: str | None
    limit: SSAValue


def masks_of(loop: Loop) -> list[Bound] | None:
    """Returns what all that a loop does depends on, None where it does something without a mask."""
    if isinstance(loop, sched.ReduceOp):
        masking = choices_of(loop)
        return None if masking is None else common_bounds(masking, loop)
    choices: list[low.SelectOp] = []
    for op in loop.walk():
        if isinstance(op, sched.AllocOp | scf.IfOp | scf.ForOp | scf.WhileOp):
            return None
        if isinstance(op, memref.StoreOp):
            choice = op.value.owner
            if not isinstance(choice, low.SelectOp) or not _is_stored_back(op, choice.on_false):
                return None
            choices.append(choice)
    return common_bounds(choices, loop)


def choices_of(loop: sched.ReduceOp) -> list[low.SelectOp] | None:
    """Returns what chooses between elements of a reduction and its identity, None where it does more."""
    choices: list[low.SelectOp] = []
    for value in loop.yielded:
        choice = value.owner
        if not isinstance(choice, low.SelectOp) or not _is_identity(loop, choice.on_false):
            return None
        choices.append(choice)
    if any(isinstance(op, memref.StoreOp | scf.IfOp | scf.ForOp | scf.WhileOp) for op in loop.walk()):
        return None
    return choices


def common_bounds(choices: Sequence[low.SelectOp], loop: Loop) -> list[Bound]:
    """Returns what the conditions of all choices have in common, each time that it is written."""
    bounds: list[Bound] = []
    each = [_bounds_in(choice.condition, loop) for choice in choices]
    for bound in each[0] if each else ():
        same = [[other for other in others if _is_same(bound, other)] for others in each[1:]]
        if all(same):
            bounds.append(bound)
            bounds.extend(other for others in same for other in others if other.op is not bound.op)
    return bounds


def _is_same(bound: Bound, other: Bound) -> bool:
    return (bound.predicate, bound.limit) == (other.predicate, other.limit)


def _is_identity(loop: sched.ReduceOp, value: SSAValue) -> bool:
    """Returns whether what a reduction combines leaves its result as it is: 0 on both sides of a product."""
    owner, kind = value.owner, loop.kind.data
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr | FloatAttr):
        return False
    expected = 0 if kind is CombineKind.FMA else identity(kind, loop.result.type)
    return owner.value.value.data == expected


def _is_stored_back(store: memref.StoreOp, value: SSAValue) -> bool:
    """Returns whether a store stores what was there, and no other one stores to its buffer."""
    load = value.owner
    if not isinstance(load, memref.LoadOp) or load.memref is not store.memref:
        return False
    if list(load.indices) != list(store.indices) or load.parent is not store.parent:
        return False
    stores = [use for use in store.memref.uses if isinstance(use.operation, memref.StoreOp)]
    return len(stores) == 1


def _bounds_in(condition: SSAValue, loop: Loop) -> list[Bound]:
    """Returns the comparisons of a loop's index that hold wherever a condition does."""
    owner = condition.owner
    if isinstance(owner, arith.AndIOp):
        return [*_bounds_in(owner.lhs, loop), *_bounds_in(owner.rhs, loop)]
    if not isinstance(owner, arith.CmpiOp):
        return []
    predicate = arith.CMPI_COMPARISON_OPERATIONS[owner.predicate.value.data]
    if predicate in _TURNED and _is_index_of(owner.lhs, loop):
        return [Bound(owner, predicate, owner.rhs)]
    if predicate in _TURNED and _is_index_of(owner.rhs, loop):
        return [Bound(owner, _TURNED[predicate], owner.lhs)]
    return [Bound(owner, None, condition)]


def _is_index_of(value: SSAValue, loop: Loop) -> bool:
    """Returns whether a value is the index of a loop, in a type that has room for it."""
    if value is loop.index:
        return True
    cast = value.owner
    if not isinstance(cast, arith.IndexCastOp) or cast.input is not loop.index:
        return False
    assert isinstance(loop.extent, int), f"{loop.name}: varies"
    return loop.extent <= 1 << (width_of(value.type) - 1)
