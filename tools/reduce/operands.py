"""Reductions of single ops, at every level: what a result may be replaced by, and what nobody needs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from .search import Edit, Edits
from .surgery import constant_of, erase_all, is_constant, is_dead


def _inner_ops(module: ModuleOp) -> list[Operation]:
    """Returns the ops that stand in functions, programs and kernels, last ones first, without terminators."""
    found = [
        op for top in module.body.ops for op in top.walk() if op is not top and not op.has_trait(IsTerminator)
    ]
    return found[::-1]


class EraseDeadOps(Edits):
    """Erases ops whose results nobody uses."""

    name = "erase dead ops"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [lambda op=op: erase_all([op]) for op in _inner_ops(module) if is_dead(op)]


class BypassOps(Edits):
    """Uses an operand of an op, the first one of the type from `first` on, in the place of its result."""

    def __init__(self, first: int) -> None:
        self.name = f"use operand {first} instead"
        self._first = first

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def bypass(op: Operation, operand: SSAValue) -> None:
            if op.parent is not None and op.operands:
                op.results[0].replace_all_uses_with(operand)
                erase_all([op])

        return [
            lambda op=op, operand=operand: bypass(op, operand)
            for op in _inner_ops(module)
            if (operand := self._operand(op)) is not None
        ]

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
