"""
Places that a loop steps along, one for all accesses that lie a known number of elements apart: a pointer that
the loop carries, or one from before the loop, to which its index is added.

LLVM's loop strength reduction finds such pointers too, in 13 to 42 % of the time of code generation for a
kernel with vectors. Where all loops have them already it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf, vector
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.low.constant_integer import constant_integer
from .emitter import Emitter

# By design: half of a processor's registers for addresses, as others have to be there too.
MOST_POINTERS = 6
"""The most pointers that a loop carries."""

_Terms = dict[SSAValue, int]
"""How often each value is in a sum."""


@dataclass(slots=True)
class SteppedPlace:
    """
    The element of a buffer at `terms` and `factor` times a loop's index. `accesses` are some elements behind
    it.
    """

    buffer: SSAValue
    terms: _Terms
    factor: int
    accesses: dict[Operation, int] = field(default_factory=dict[Operation, int])

    @property
    def is_carried(self) -> bool:
        """Whether a pointer steps along: an address takes an index as it is, but no multiple of it."""
        return self.factor != 1


def stepped_places(emitter: Emitter, op: scf.ForOp) -> list[SteppedPlace]:
    """
    Returns the places that a loop steps along, before its body is written. Where there may be others, or too
    many, the kernel needs LLVM's strength reduction.
    """
    if not emitter.steps_places:
        return []
    block = op.body.block
    found: dict[tuple[SSAValue, frozenset[tuple[SSAValue, int]], int], SteppedPlace] = {}
    for access in block.ops:
        if isinstance(access, scf.IfOp) and _accesses(access):
            emitter.needs_strength_reduction = True
        place = _place_of(access)
        if place is None:
            continue
        buffer, index = place
        terms: _Terms = {}
        offset = _add_terms(emitter, block, index, 1, terms) if buffer in emitter.values else None
        if offset is None:
            continue
        factor = terms.pop(block.args[0], 0)
        if factor == 0:
            continue
        key = buffer, frozenset(terms.items()), factor
        each = found.setdefault(key, SteppedPlace(buffer, terms, factor))
        each.accesses[access] = offset
    n_carried = sum(each.is_carried for each in found.values())
    if n_carried > MOST_POINTERS or (n_carried and constant_integer(op.step) is None):
        emitter.needs_strength_reduction = True
        return []
    return list(found.values())


def _accesses(branch: scf.IfOp) -> bool:
    """Returns whether a branch accesses something, but in loops inside of it, which step along that."""
    ops = [op for region in branch.regions for block in region.blocks for op in block.ops]
    return any(_accesses(op) if isinstance(op, scf.IfOp) else _place_of(op) is not None for op in ops)


def first_pointer(emitter: Emitter, op: scf.ForOp, place: SteppedPlace, element: str) -> str:
    """Writes, before a loop, the pointer that it carries at first, or adds its index to."""
    pointer = emitter.values[place.buffer]
    for value, factor in place.terms.items():
        pointer = _behind(emitter, element, pointer, value, factor)
    if place.is_carried:
        pointer = _behind(emitter, element, pointer, op.lb, place.factor)
    return pointer


def next_pointer(emitter: Emitter, op: scf.ForOp, place: SteppedPlace, element: str, pointer: str) -> str:
    """Writes the pointer that a loop carries on to its next iteration."""
    return _behind(emitter, element, pointer, op.step, place.factor)


def pointer_at(emitter: Emitter, element: str, pointer: str, index: str) -> str:
    """Writes the address of an element, not `inbounds`: the pointer may lie outside of the buffer."""
    return emitter.emit(f"getelementptr {element}, ptr {pointer}, i64 {index}", "at")


def _behind(emitter: Emitter, element: str, pointer: str, value: SSAValue, factor: int) -> str:
    """Writes the address of the element that many times a value behind one."""
    number = constant_integer(value)
    if number is not None:
        return pointer_at(emitter, element, pointer, str(number * factor)) if number * factor else pointer
    name = emitter.values[value]
    amount = name if factor == 1 else emitter.emit(f"mul i64 {name}, {factor}")
    return pointer_at(emitter, element, pointer, amount)


def _place_of(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """Returns the buffer and the index of an access, None for other ops."""
    if isinstance(op, memref.LoadOp | vector.LoadOp):
        buffer, index = op.operands
    elif isinstance(op, memref.StoreOp | vector.StoreOp):
        _, buffer, index = op.operands
    else:
        return None
    return buffer, index


def _add_terms(emitter: Emitter, block: Block, index: SSAValue, factor: int, terms: _Terms) -> int | None:
    """
    Adds what an index is a sum of, that many times: values from before the loop, and its index. Returns the
    number that is to be added, None where it is no such sum.
    """
    number, owner = constant_integer(index), index.owner
    if number is not None:
        return factor * number
    is_here = isinstance(owner, Operation) and owner.parent is block
    if index is block.args[0] or (index in emitter.values and not is_here):
        terms[index] = terms.get(index, 0) + factor
        return 0
    if isinstance(owner, arith.AddiOp | arith.SubiOp):
        first = _add_terms(emitter, block, owner.lhs, factor, terms)
        sign = 1 if isinstance(owner, arith.AddiOp) else -1
        second = _add_terms(emitter, block, owner.rhs, sign * factor, terms)
        return None if first is None or second is None else first + second
    if isinstance(owner, arith.MuliOp):
        number = constant_integer(owner.rhs)
        if number is not None:
            return _add_terms(emitter, block, owner.lhs, factor * number, terms)
        # As far apart as an extent says that varies from call to call.
        emitter.needs_strength_reduction = True
    return None
