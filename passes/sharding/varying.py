"""
Along which axes of a mesh values may differ from rank to rank, and which loops and branches that leaves.

A value differs along the axes that its operands differ along. Parts differ along the axes that split them,
`axis_index` along its own; what is reduced or gathered over axes is the same along these again. What differs
along no axis has the same bits on all ranks: all take the same branch of it, and as many rounds of a loop.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.collective import DIVERGENT
from ...dialects.modules.parsing import location_text
from ...dialects.sharding import Mesh, Sharding

Axes = frozenset[int]
"""Axes of a mesh, none of extent 1."""

SAME: Axes = frozenset()
"""Where a value is the same on all ranks."""


def varying_conditions(
    function: func.FuncOp, mesh: Mesh, arguments: Mapping[SSAValue, Iterable[int]]
) -> dict[Operation, Axes]:
    """
    Returns the branches and loops of a function whose conditions may differ, in the order in which they end,
    with the axes along which they may. `arguments` says along which those of the function differ; others are
    the same on all ranks, as the whole arrays of a program of all ranks are.
    """
    analysis = _Varying(mesh)
    for argument, axes in arguments.items():
        analysis.add(argument, analysis.of_axes(axes))
    analysis.settle(function.body.block)
    return analysis.conditions


def check_conditions(conditions: Mapping[Operation, Axes], mesh: Mesh) -> None:
    """As `check_condition`, for branches and loops in which collectives stand that ranks name themselves."""
    for op, axes in conditions.items():
        check_condition(op, op, axes, mesh)


def check_condition(op: Operation, written: Operation, axes: Axes, mesh: Mesh) -> None:
    """
    Marks the collectives in `written`, what became of a branch or a loop whose condition may differ along
    `axes`, as such that not all ranks begin.

    Raises:
        PassFailedException: ranks that exchange something in one of them may differ in the condition, so that
            some would wait for ever.
    """
    for inner in written.walk():
        if not isinstance(inner, graph.CollectiveOp):
            continue
        both = axes & set(inner.axes.data)
        if both:
            where = location_text(inner.location)
            other = ", or tnp.where of what both branches give" if isinstance(op, graph.IfOp) else ""
            raise PassFailedException(
                f"{op.name}: the condition may differ from rank to rank along "
                f"{mesh.axes_text(sorted(both))}, and ranks along {mesh.axes_text(inner.axes.data)} meet in "
                f"the {inner.name} in it"
                f"{f' ({where})' if where else ''}: some would wait for ever (hint: a psum, pmax or pmin of "
                f"it is the same on all{other})"
            )
        inner.attributes[DIVERGENT] = UnitAttr()


class _Varying:
    """What is known of the values of a function. It only grows until nothing changes."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._all = self.of_axes(range(len(mesh.shape)))
        self._axes: dict[SSAValue, Axes] = {}
        self._nodes: dict[str, Axes] = defaultdict(frozenset)
        self.conditions: dict[Operation, Axes] = {}
        self._has_changed = False

    def of_axes(self, axes: Iterable[int]) -> Axes:
        return frozenset(axis for axis in axes if self._mesh.shape[axis] > 1)

    def add(self, value: SSAValue, axes: Axes) -> None:
        """Notes that a value differs along some axes too."""
        before = self._axes.get(value, SAME)
        if not axes <= before:
            self._axes[value] = before | axes
            self._has_changed = True

    def settle(self, block: Block) -> None:
        """Visits the ops of a block until nothing changes: loops and nodes hand on what comes later."""
        while True:
            self._has_changed = False
            self._block(block)
            if not self._has_changed:
                return

    def _of(self, values: Iterable[SSAValue]) -> Axes:
        return SAME.union(*(self._axes.get(value, SAME) for value in values))

    def _block(self, block: Block) -> Sequence[SSAValue]:
        """Visits the ops of a block, and returns what it ends with."""
        for op in block.ops:
            self._op(op)
        last = block.last_op
        assert last is not None, "a region that ends in nothing"
        return last.operands

    def _op(self, op: Operation) -> None:
        match op:
            case graph.IfOp():
                self._if(op)
            case graph.WhileOp():
                self._while(op)
            case graph.ScanOp():
                self._scan(op)
            case graph.ManualComputationOp():
                self._manual(op)
            case graph.WriteOp():
                self._note(op.node_name, self._of(op.operands))
            case graph.ReadOp() | graph.MergeOp():
                self._give(op, self._nodes[op.node_name])
            case _:
                self._give(op, self._result(op))

    def _note(self, node: str, axes: Axes) -> None:
        if not axes <= self._nodes[node]:
            self._nodes[node] |= axes
            self._has_changed = True

    def _give(self, op: Operation, axes: Axes) -> None:
        for result in op.results:
            self.add(result, axes)

    def _result(self, op: Operation) -> Axes:
        """Returns along which axes the results of an op without regions of its own differ."""
        axes = self._of(op.operands)
        match op:
            case graph.AxisIndexOp():
                return self.of_axes([op.axis.data])
            case graph.AllReduceOp() | graph.AllGatherOp():
                return axes - set(op.axes.data)
            case graph.CollectivePermuteOp():
                own = self.of_axes(op.axes.data)
                all_get = len(op.pairs.data) == prod(op.group_parts)
                return axes if all_get and not axes & own else axes | own
            case graph.CollectiveOp():
                return axes | self.of_axes(op.axes.data)
            case _:
                # What is in regions that are not known may be anything.
                return self._all if op.regions else axes

    def _decided(self, op: Operation, condition: SSAValue) -> Axes:
        axes = self._of([condition])
        if axes:
            self.conditions[op] = axes
        return axes

    def _if(self, op: graph.IfOp) -> None:
        axes = self._decided(op, op.condition)
        branches = [self._block(region.block) for region in op.regions]
        for result, *values in zip(op.results, *branches, strict=True):
            self.add(result, axes | self._of(values))

    def _while(self, op: graph.WhileOp) -> None:
        before, body = op.before.block, op.body.block
        for argument, inner, initial in zip(before.args, body.args, op.initial, strict=True):
            self.add(argument, self._of([initial]))
            self.add(inner, self._of([argument]))
        self._block(before)
        axes = self._decided(op, op.condition)
        for argument, result, value in zip(before.args, op.results, self._block(body), strict=True):
            self.add(argument, self._of([value]))
            # Ranks that end after other rounds have other values, whatever the rounds make.
            self.add(result, axes | self._of([argument]))

    def _scan(self, op: graph.ScanOp) -> None:
        for argument, value in zip((*op.carried, *op.slices), (*op.initial, *op.inputs), strict=True):
            self.add(argument, self._of([value]))
        yielded = self._block(op.body.block)
        for argument, value in zip(op.carried, yielded, strict=False):
            self.add(argument, self._of([value]))
        for result, value in zip(op.results, yielded, strict=True):
            self.add(result, self._of([value]))
        for result, value in zip(op.results, op.initial, strict=False):
            self.add(result, self._of([value]))

    def _manual(self, op: graph.ManualComputationOp) -> None:
        splits = [Sharding(split).axes for split in op.in_splits.data]
        for argument, operand, split in zip(op.body.block.args, op.operands, splits, strict=True):
            self.add(argument, self._of([operand]) | self.of_axes(split))
        splits = [Sharding(split).axes for split in op.out_splits.data]
        for result, value, split in zip(op.results, self._block(op.body.block), splits, strict=True):
            # Parts that differ along the axes that split them are one whole array. One that is said to be
            # the same along an axis, and is not, differs as an array of all ranks too.
            self.add(result, self._of([value]) - set(split))
