"""The memory effects of ops, found once for each class of ops where all of a class do the same."""

from __future__ import annotations

from enum import Enum, auto
from functools import cache

from xdsl.ir import Operation
from xdsl.traits import (
    AlwaysSpeculatable,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    MemoryReadEffect,
    NoMemoryEffect,
    SymbolOpInterface,
    get_effects,
    is_speculatable,
)


class Effects(Enum):
    """What an op does to memory: nothing, read it, or anything at all."""

    NONE = auto()
    READS = auto()
    OTHER = auto()


def effects_of(op: Operation) -> Effects:
    """Returns what an op and the ops in its regions do to memory; where that is not known, anything."""
    known = _effects_of_class(type(op))
    if known is not None:
        return known
    effects = get_effects(op)
    if effects is None:
        return Effects.OTHER
    if not effects:
        return Effects.NONE
    return Effects.READS if all(each.kind is MemoryEffectKind.READ for each in effects) else Effects.OTHER


def is_movable(op: Operation) -> bool:
    """Returns whether an op may run where it would not have run: it does nothing but compute its results."""
    if _is_always_movable(type(op)):
        return True
    return effects_of(op) is Effects.NONE and is_speculatable(op)


@cache
def is_removable(op_type: type[Operation]) -> bool:
    """Returns whether ops of a class are of no use without their results, as long as they write nothing."""
    return not (op_type.has_trait(IsTerminator) or op_type.has_trait(SymbolOpInterface))


@cache
def _effects_of_class(op_type: type[Operation]) -> Effects | None:
    """Returns what all ops of a class do, None where that depends on the op."""
    found = [trait for trait in op_type.traits.traits if isinstance(trait, MemoryEffect)]
    if not found:
        return Effects.OTHER
    if all(isinstance(trait, NoMemoryEffect) for trait in found):
        return Effects.NONE
    if all(isinstance(trait, NoMemoryEffect | MemoryReadEffect) for trait in found):
        return Effects.READS
    return None


@cache
def _is_always_movable(op_type: type[Operation]) -> bool:
    return _effects_of_class(op_type) is Effects.NONE and op_type.has_trait(AlwaysSpeculatable)
