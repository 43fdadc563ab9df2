"""
Makes one loop of two that read the same buffer, beside one another, the same number of times.

    %s = scf.for %i = %c0 to %n step %c16             %s, %m = scf.for %i = %c0 to %n step %c16
        iter_args(%a = %zero) {                           iter_args(%a = %zero, %b = %least) {
      %x = vector.load %v[%i]                           %x = vector.load %v[%i]
      %t = arith.addf %a, %x                   -->      %t = arith.addf %a, %x
      scf.yield %t                                      %u = arith.maxsi %b, %x
    }                                                   scf.yield %t, %u
    %m = scf.for %j = %c0 to %n step %c16             }
        iter_args(%b = %least) {
      %y = vector.load %v[%j]
      %u = arith.maxsi %b, %y
      scf.yield %u
    }

So a sum and a greatest element, which are two reductions, read what they share once. (LLVM fuses no loops
unless it is asked to, and then none whose results are used between them.)

The later loop moves up, with what it needs of what stands between. Neither stores anything, nor does what is
between them, and the later one needs nothing of the earlier. Loops in fused loops are fused likewise. A loop
stays where it is if the partial results of both do not fit into the vector registers, of which `SPARE` are
for what is loaded and computed.

Requires: nothing; it is best after eliminate-common-subexpressions, as what both compute is one value then.
Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import low
from ...dialects.element_types import NBYTES, element_type_of, lanes_of
from ...dialects.low.constant_integer import constant_integer
from ...dialects.low.prefetch import copy_prefetch
from ..machine.target import VECTOR_NBYTES, check_positive, usual_registers
from ..rewriting.op_effects import Effects, effects_of, is_movable

SPARE = 4
"""The vector registers that partial results leave to what is loaded and computed."""

_LOADS = memref.LoadOp | vector.LoadOp


@dataclass(frozen=True)
class FuseSiblingLoopsPass(ModulePass):
    """Makes one loop of two that read the same buffer, beside one another, the same number of times."""

    name = "fuse-sibling-loops"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes")
        most = (self.vector_registers or usual_registers(self.vector_nbytes)) - SPARE
        for kernel in op.ops:
            if isinstance(kernel, low.KernelOp):
                self._visit(kernel.body.block, most)

    def _visit(self, block: Block, most: int) -> None:
        """Fuses the loops of a block, then those inside of its ops."""
        if sum(isinstance(op, scf.ForOp) for op in block.ops) > 1:
            _Siblings(block, self.vector_nbytes, most).fuse()
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    self._visit(inner, most)


class _Siblings:
    """The loops of a block, and where its ops stand; what moves up to a loop stands right before it."""

    def __init__(self, block: Block, vector_nbytes: int, most: int):
        self.block, self.vector_nbytes, self.most = block, vector_nbytes, most
        self.places: dict[Operation, float] = {op: place for place, op in enumerate(block.ops)}

    def fuse(self) -> None:
        heads: list[scf.ForOp] = []
        for op in list(self.block.ops):
            if not _only_reads(op):
                # What is loaded after it may be something else.
                heads = []
                continue
            if not isinstance(op, scf.ForOp) or not op.results:
                continue
            for number, head in enumerate(heads):
                needed = self._needed(head, op)
                if needed is not None:
                    heads[number] = self._join(head, op, needed)
                    break
            else:
                heads.append(op)

    def _needed(self, head: scf.ForOp, op: scf.ForOp) -> list[Operation] | None:
        """Returns what has to move up for a loop to be fused with an earlier one; None if that cannot be."""
        if not all(map(_is_same, (head.lb, head.ub, head.step), (op.lb, op.ub, op.step))):
            return None
        if _loaded_buffers(head).isdisjoint(_loaded_buffers(op)):
            return None
        if sum(map(self._registers, (*head.result_types, *op.result_types))) > self.most:
            return None
        found: dict[Operation, None] = {}
        values = [operand for inner in op.walk() for operand in inner.operands]
        return [*found] if self._collect(values, self.places[head], op, found) else None

    def _collect(
        self, values: Sequence[SSAValue], place: float, loop: scf.ForOp, found: dict[Operation, None]
    ) -> bool:
        """
        Adds the ops of the block from `place` on that values are computed by, after what these need. Returns
        whether all of them may move to there.
        """
        for value in values:
            op = value.owner
            if not isinstance(op, Operation) or op.parent is not self.block or op is loop or op in found:
                continue
            if self.places[op] < place:
                continue
            if op.regions or not (isinstance(op, _LOADS) or is_movable(op)):
                return False
            if not self._collect(op.operands, place, loop, found):
                return False
            found[op] = None
        return True

    def _registers(self, type: Attribute) -> int:
        """Returns how many registers a value takes."""
        nbytes = NBYTES.get(element_type_of(type), 8)
        return -(-nbytes * (lanes_of(type) or 1) // self.vector_nbytes)

    def _join(self, head: scf.ForOp, op: scf.ForOp, needed: Sequence[Operation]) -> scf.ForOp:
        """Replaces two loops by one, in the place of the earlier; returns it."""
        for each in needed:
            each.detach()
            self.block.insert_op_before(each, head)
            self.places[each] = self.places[head] - 0.5
        body, other = head.body.block, op.body.block
        other.args[0].replace_all_uses_with(body.args[0])
        for argument in other.args[1:]:
            new = body.insert_arg(argument.type, len(body.args))
            new.name_hint, new.location = argument.name_hint, argument.location
            argument.replace_all_uses_with(new)
        _append(body, other)
        loop = scf.ForOp.create(
            operands=(*head.operands, *op.iter_args),
            result_types=(*head.result_types, *op.result_types),
            regions=[Region(head.body.detach_block(0))],
            properties=head.properties,
            attributes=head.attributes,
        )
        loop.location = head.location
        self.block.insert_op_before(loop, head)
        for old, result in zip((*head.results, *op.results), loop.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        self.places[loop] = self.places[head]
        for old in (head, op):
            old.detach()
            old.erase()
        return loop


def _append(body: Block, other: Block) -> None:
    """Moves the ops of a loop's body behind those of another one; what is there already stays one op."""
    known = {_key(inner): inner for inner in body.ops if _is_shared(inner)}
    last = body.last_op
    assert isinstance(last, scf.YieldOp), "scf.for: body ends in no scf.yield"
    for inner in list(other.ops):
        if isinstance(inner, scf.YieldOp):
            last.operands = (*last.operands, *inner.operands)
            continue
        key = _key(inner)
        same = known.get(key) if _is_shared(inner) else None
        if same is None:
            inner.detach()
            body.insert_op_before(inner, last)
            continue
        copy_prefetch(inner, same)
        for old, result in zip(inner.results, same.results, strict=True):
            old.replace_all_uses_with(result)
        inner.detach()
        inner.erase()


def _only_reads(op: Operation) -> bool:
    """Returns whether an op, and what is in it, does nothing but read and compute."""
    if isinstance(op, scf.ForOp):
        return all(map(_only_reads, op.body.block.ops))
    # Those of xDSL's vector do not say so.
    return isinstance(op, _LOADS | vector.ReductionOp | scf.YieldOp) or effects_of(op) is Effects.NONE


def _is_shared(op: Operation) -> bool:
    """Returns whether an op need not be there twice where nothing is stored."""
    return not op.regions and (isinstance(op, _LOADS) or is_movable(op))


def _key(op: Operation) -> tuple[object, ...]:
    return (op.name, op.operands, *sorted(op.properties.items()), *op.result_types)


def _is_same(value: SSAValue, other: SSAValue) -> bool:
    """Returns whether two indices are one, or the same number."""
    number = constant_integer(value)
    return value is other or (number is not None and number == constant_integer(other))


def _loaded_buffers(loop: scf.ForOp) -> set[SSAValue]:
    return {op.operands[0] for op in loop.walk() if isinstance(op, _LOADS)}
