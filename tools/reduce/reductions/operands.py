"""Reductions of single ops, at every level: what a result may be replaced by, and what nobody needs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from ..search import Edit, Edits
from .surgery import alike, constant_of, erase, erase_all, is_constant, is_dead


def _inner_ops(module: ModuleOp) -> list[Operation]:
    """Returns the ops that stand in functions, programs and kernels, last ones first, without terminators."""
    found = [
        op for top in module.body.ops for op in top.walk() if op is not top and not op.has_trait(IsTerminator)
    ]
    return found[::-1]


class EraseDeadOps(Edits):
    """Erases ops whose results nobody uses, each by itself: what it was made of may be what matters."""

    name = "erase dead ops"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(op: Operation) -> None:
            if op.parent is not None:
                erase(op)

        return [lambda op=op: drop(op) for op in _inner_ops(module) if is_dead(op)]


class BypassOps(Edits):
    """
    Uses an operand of an op, that with the number `first` of those of its type, in the place of its result.
    With `together` equal ops are one place: blocks that must stay equal get smaller only together.
    """

    def __init__(self, first: int, together: bool = False) -> None:
        self.name = f"use operand {first} instead" + (" of equal ops" if together else "")
        self._first = first
        self._together = together

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        ops = [op for op in _inner_ops(module) if self._operand(op) is not None]
        groups = alike(ops) if self._together else [[op] for op in ops]
        return [lambda group=group: self._bypass(group) for group in groups]

    def _bypass(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            operand = None if op.parent is None else self._operand(op)
            if operand is not None:
                op.results[0].replace_all_uses_with(operand)
                erase_all([op])

    def _operand(self, op: Operation) -> SSAValue | None:
        if len(op.results) != 1:
            return None
        same = [operand for operand in op.operands if operand.type == op.results[0].type]
        return same[self._first] if self._first < len(same) else None


class UseConstants(Edits):
    """Uses a constant, all of whose elements are `value`, in the place of each result of an op."""

    def __init__(self, value: int) -> None:
        self.name = f"use constants of {value} instead"
        self._value = value

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda op=op: self._replace(op)
            for op in _inner_ops(module)
            if not is_constant(op) and any(result.uses for result in op.results)
        ]

    def _replace(self, op: Operation) -> None:
        block = op.parent
        if block is None:
            return
        for result in op.results:
            if result.uses:
                constant = constant_of(result.type, self._value)
                block.insert_op_before(constant, op)
                result.replace_all_uses_with(constant.results[0])
        if is_dead(op):
            erase_all([op])
