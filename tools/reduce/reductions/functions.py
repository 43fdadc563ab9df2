"""Reductions of functions: which ops there are, and what goes into them and comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from ....dialects import context
from ....passes.graph.inline_calls import InlineCallsPass
from ..search import Edit, Edits, NotApplicable
from .surgery import (
    add_argument,
    alike,
    drop_argument,
    erase,
    erase_all,
    free_functions,
    is_constant,
    return_of,
    set_results,
)


class DropSymbols(Edits):
    """Drops functions, kernels, nodes and whatever else stands in the module, last ones first."""

    name = "drop what stands in the module"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(op: Operation) -> None:
            op.detach()
            op.erase()

        return [lambda op=op: drop(op) for op in reversed(list(module.body.ops))]


class InlineCalls(Edits):
    """Puts functions in where they are called."""

    name = "inline calls"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        if not any(isinstance(op, func.CallOp) for op in module.walk()):
            return ()
        return [lambda: InlineCallsPass().apply(context(), module)]


def _ops_of(block: Block) -> Iterator[Operation]:
    """Yields the ops of a block and of the regions in it, last ones first, an op before what is in it."""
    for op in reversed(list(block.ops)):
        if not op.has_trait(IsTerminator):
            yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from _ops_of(inner)


class CutOps(Edits):
    """
    Erases ops of functions, from the end. What is made of their results is made of new arguments instead;
    with `keeps` what only they were made of is returned. With `together` equal ops are one place.
    """

    def __init__(self, keeps: bool, together: bool = False) -> None:
        self.name = "cut equal ops out" if together else "cut ops out"
        self._keeps = keeps
        self._together = together

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        edits: list[Edit] = []
        for function in reversed(free_functions(module)):
            ops = list(_ops_of(function.body.block))
            groups = alike(ops) if self._together else [[op] for op in ops]
            for group in groups:
                edits.append(lambda group=group, function=function: self._cut_all(group, function))
        return edits

    def _cut_all(self, ops: Sequence[Operation], function: func.FuncOp) -> None:
        for op in ops:
            self._cut(op, function)

    def _cut(self, op: Operation, function: func.FuncOp) -> None:
        if op.parent is None:
            return
        last = return_of(function)
        results = set(op.results)
        if any(value in results for value in last.operands):
            set_results(function, [value for value in last.operands if value not in results])
        for result in op.results:
            if result.uses:
                argument = add_argument(function, result.type, result.name_hint)
                result.replace_all_uses_with(argument)
        is_outermost = op.parent is function.body.block
        dead = erase(op)
        if self._keeps and is_outermost:
            kept = [owner for owner in dead if owner.parent is function.body.block]
            values = [value for owner in kept if not is_constant(owner) for value in owner.results]
            set_results(function, [*last.operands, *values])
            dead = [owner for owner in dead if owner not in kept or is_constant(owner)]
        erase_all(dead)


class DropResults(Edits):
    """Drops results of functions, and what only they are made of."""

    name = "drop results"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(function: func.FuncOp, value: SSAValue) -> None:
            kept = [each for each in return_of(function).operands if each is not value]
            erase_all(set_results(function, kept))

        return [
            lambda function=function, value=value: drop(function, value)
            for function in free_functions(module)
            for value in dict.fromkeys(reversed(return_of(function).operands))
        ]


class DropArguments(Edits):
    """Drops arguments of functions that nobody uses."""

    name = "drop arguments"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda function=function, argument=argument: drop_argument(function, argument)
            for function in free_functions(module)
            for argument in reversed(function.body.block.args)
            if not argument.uses
        ]


class MergeArguments(Edits):
    """Uses one argument of a function in the place of others of its type."""

    name = "merge arguments"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda function=function, argument=argument: self._merge(function, argument)
            for function in free_functions(module)
            for argument in reversed(function.body.block.args)
        ]

    def _merge(self, function: func.FuncOp, argument: BlockArgument) -> None:
        for other in function.body.block.args[: argument.index]:
            if other.type == argument.type:
                argument.replace_all_uses_with(other)
                drop_argument(function, argument)
                return
        raise NotApplicable("it is the first of its type")
