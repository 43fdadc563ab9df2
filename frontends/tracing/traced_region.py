"""A region of an op that is being traced: a branch, the body of a loop, what ranks compute of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Block, Region

from ...dialects import graph
from ..arrays.aval import Aval
from ..arrays.tree import Node, unflatten
from .source_lines import user_location
from .trace import Trace, TracedArray


class TracedRegion:
    """A region that is being traced: `with` makes it the place where ops go."""

    def __init__(self, trace: Trace, what: str, avals: Sequence[Aval] = ()):
        self.trace = trace
        self.location = user_location()
        self.block = Block(arg_types=[aval.type for aval in avals])
        for argument in self.block.args:
            argument.location = self.location
        self.scope = trace.new_scope(self.block, what)
        self.arguments = [
            TracedArray(trace, self.scope, argument, aval)
            for argument, aval in zip(self.block.args, avals, strict=True)
        ]

    def __enter__(self) -> TracedRegion:
        self.trace.scope = self.scope
        self.scope.is_open = True
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        assert self.scope.parent is not None, "a region outside of a function"
        self.trace.scope = self.scope.parent
        self.scope.is_open = False
        if kind is not None:
            self.drop()

    def tree(self, structure: Node | None) -> Any:
        """Returns the arguments as a tree."""
        return unflatten(structure, iter(self.arguments))

    def finish(self, values: Sequence[TracedArray], terminator: Any = None) -> None:
        """Ends the region; without another terminator it yields `values`."""
        last = graph.YieldOp([value.value for value in values]) if terminator is None else terminator
        last.location = self.location
        self.block.add_op(last)

    def detached(self) -> Region:
        return Region([self.block])

    def drop(self) -> None:
        """Erases what was traced."""
        for op in reversed(list(self.block.ops)):
            op.detach()
            op.erase(safe_erase=False)
