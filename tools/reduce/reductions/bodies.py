"""Reductions of what stands in kernels: stores, loops, branches, and how axes run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from ....dialects import low, sched
from ....dialects.modules.kernel_access import kernels_of
from ....dialects.sched import MappingAttr
from ..search import Edit, Edits
from .surgery import erase, erase_all, move_body


def _ops_in(module: ModuleOp) -> list[Operation]:
    """Returns the ops in kernels, last ones first."""
    found = [op for kernel in kernels_of(module).values() for op in kernel.walk() if op is not kernel]
    return found[::-1]


class EraseEffects(Edits):
    """
    Erases ops of kernels that have no results, stores, barriers, loops, and updates whose results nobody
    uses. With `cascades` what was there for them only goes too.
    """

    def __init__(self, cascades: bool) -> None:
        self.name = "erase stores and loops" + (" with their operands" if cascades else "")
        self._cascades = cascades

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(op: Operation) -> None:
            if op.parent is None:
                return
            dead = erase(op)
            if self._cascades:
                erase_all(dead)

        return [lambda op=op: drop(op) for op in _ops_in(module) if _is_for_effects(op)]


def _is_for_effects(op: Operation) -> bool:
    if isinstance(op, low.AtomicRmwOp):
        return op.result.first_use is None
    return not op.results and not op.has_trait(IsTerminator)


class UnwrapLoops(Edits):
    """Puts one iteration, the first one, in the place of a loop, or one region in that of a branch."""

    name = "unwrap loops"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda op=op: _unwrap(op)
            for op in _ops_in(module)
            if isinstance(op, sched.AxisOp | sched.ReduceOp | scf.ForOp | scf.IfOp | scf.WhileOp)
        ]


def _unwrap(op: Operation) -> None:
    block = op.parent
    if block is None:
        return
    match op:
        case sched.AxisOp() | sched.ReduceOp():
            zero = arith.ConstantOp(IntegerAttr(0, IndexType()))
            block.insert_op_before(zero, op)
            values = move_body(op.body.block, [zero.result], op)
            if isinstance(op, sched.ReduceOp):
                values = values[:1]
        case scf.ForOp():
            values = move_body(op.body.block, [op.lb, *op.iter_args], op)
        case scf.IfOp():
            values = move_body(op.true_region.block, [], op)
        case scf.WhileOp():
            values = move_body(op.before_region.block, list(op.arguments), op)[1:]
        case _:
            return
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    erase(op)


_MAPPING_FIELDS = tuple(field.name for field in fields(MappingAttr))


class DropMappings(Edits):
    """Lets axes run serially; with a `word` (`vector`, `unroll`, ...) only that is taken off."""

    def __init__(self, word: str | None = None) -> None:
        self.name = f"drop {word or 'mappings'}"
        self._word = word

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        serial = MappingAttr.get()
        word = self._word
        names = _MAPPING_FIELDS if word is None else ("level", "chunk") if word == "level" else (word,)

        def drop(op: sched.AxisOp | sched.ReduceOp) -> None:
            op.mapping = MappingAttr(
                *(getattr(serial if name in names else op.mapping, name) for name in _MAPPING_FIELDS)
            )

        return [
            lambda op=op: drop(op)
            for op in _ops_in(module)
            if isinstance(op, sched.AxisOp | sched.ReduceOp)
            and any(getattr(op.mapping, name) != getattr(serial, name) for name in names)
        ]


MAPPING_WORDS = ("prefetch", "tile", "items", "vector", "unroll", "level")


class SmallBlocks(Edits):
    """Gives kernels work-groups of one work-item."""

    name = "work-groups of 1"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        one = low.DimsAttr((1, 1, 1))

        def shrink(kernel: low.KernelOp) -> None:
            kernel.block_dims = one

        return [
            lambda kernel=kernel: shrink(kernel)
            for kernel in kernels_of(module).values()
            if isinstance(kernel, low.KernelOp) and kernel.block_dims != one
        ]
