"""
How values would be split if everything were split as what it is made of, and as what is made of it.

What is annotated stays. From there splits go along the factors of ops, forwards and backwards, until nothing
changes; the first that comes stays. Costs are compared afterwards, by `choices.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.shard import ShardOp
from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.sharding import Mesh, Sharding
from ..manual import shardings_of
from ..rule import PARALLEL, FactorKind, Rule
from ..rules import WITH_REGIONS, extents, rule_of
from ..ties import Tie, ties_of

Axes = tuple[int, ...]


class Hints:
    """How each value would be split; `pinned` are those that are annotated."""

    def __init__(self, mesh: Mesh, pinned: Mapping[SSAValue, Sharding]) -> None:
        self._mesh = mesh
        self._pinned = pinned
        self._split: dict[SSAValue, list[Axes]] = {}
        self._kept: set[tuple[SSAValue, int]] = set()
        """The dims that an op needs whole: nothing that is made of a value splits them."""

    def of(self, value: SSAValue) -> Sharding:
        """Returns how a value is split, or would be."""
        if value in self._pinned:
            return self._pinned[value]
        split = self._split.get(value)
        return Sharding.whole(len(extents(value))) if split is None else Sharding(tuple(split))

    def spread(self, ops: Sequence[Operation]) -> None:
        """Lets splits go along ops, which are all of a function, until nothing changes."""
        rules = [(op, None if isinstance(op, WITH_REGIONS) else _rule_of(op)) for op in ops]
        ties = {op: ties_of(op) for op, rule in rules if rule is None}
        for op, rule in rules:
            if rule is not None:
                self._keep(op, rule)
        for op in ops:
            if isinstance(op, graph.ManualComputationOp):
                self._read_manual(op)
        changed = True
        while changed:
            changed = False
            for order in (rules, reversed(rules)):
                for op, rule in order:
                    if rule is None:
                        found = [self._along_tie(tie) for tie in ties[op]]
                        changed |= any(found)
                    else:
                        changed |= self._along_rule(op, rule)

    def _read_manual(self, op: graph.ManualComputationOp) -> None:
        for value, sharding in zip(op.operands, shardings_of(op.in_splits, self._mesh), strict=True):
            for dim, axes in enumerate(sharding.split):
                if axes:
                    self._offer(value, dim, axes)

    def _keep(self, op: Operation, rule: Rule) -> None:
        for number, dim in rule.whole_dims():
            self._kept.add((op.operands[number], dim))

    def _along_rule(self, op: Operation, rule: Rule) -> bool:
        places: list[list[tuple[SSAValue, int]]] = [[] for _ in rule.factors]
        values = [*zip(op.operands, rule.operands, strict=False), *zip(op.results, rule.results, strict=True)]
        for value, dims in values:
            for dim, factor in enumerate(dims):
                if factor is not None and rule.factors[factor].kind is not FactorKind.WHOLE:
                    places[factor].append((value, dim))
        changed = False
        for where in places:
            axes = self._first(where)
            if axes:
                for value, dim in where:
                    if value.owner is op or (value, dim) not in self._kept:
                        changed |= self._offer(value, dim, axes)
        return changed

    def _along_tie(self, tie: Tie) -> bool:
        changed = False
        for dim in range(len(extents(tie.value))):
            where = [(tie.value, dim), (tie.other, dim + tie.offset)]
            axes = self._first(where)
            if axes:
                for value, at in where:
                    changed |= self._offer(value, at, axes)
        return changed

    def _first(self, where: Sequence[tuple[SSAValue, int]]) -> Axes:
        found: Axes = ()
        for value, dim in where:
            axes = self.of(value).split[dim]
            if axes and value in self._pinned:
                return axes
            found = found or axes
        return found

    def _offer(self, value: SSAValue, dim: int, axes: Axes) -> bool:
        """Splits a dim, if nothing is said of it yet and it can be; returns whether that is so."""
        if value in self._pinned:
            return False
        shape = extents(value)
        split = self._split.setdefault(value, [()] * len(shape))
        extent = shape[dim]
        if split[dim] or not isinstance(extent, int) or extent < self._mesh.count(axes):
            return False
        if any(axis in other for other in split for axis in axes):
            return False
        split[dim] = axes
        return True


def _rule_of(op: Operation) -> Rule:
    if isinstance(op, ShardOp):
        dims = tuple(range(len(extents(op.src))))
        return Rule((PARALLEL,) * len(dims), (dims,), (dims,))
    return rule_of(op)
