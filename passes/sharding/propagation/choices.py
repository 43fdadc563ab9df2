"""
Which factors of an op are split over which axes: the choice that sends the fewest bytes.

A choice costs what it takes to bring operands to where they are needed, to combine partial results, and to
bring the result to where it is annotated to be. Where these are equal, what computes less on each rank is
better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sharding import Mesh, Sharding
from ..networks import network_of
from ..reshard import local_elements, sent_between, sent_by_reduction
from ..rule import Dims, FactorKind, Rule, split_by
from ..rules import extents, points

Axes = tuple[int, ...]

MOST_CHOICES = 256
"""More are not compared: what the operands say first is taken."""

BYTES_A_POINT = 1 / 16
"""How many bytes are sent in the time that one element takes to compute, roughly."""


@dataclass(frozen=True)
class Choice:
    """The axes of each factor, how the result is split then, and the bytes that each rank sends for it."""

    axes: tuple[Axes, ...]
    result: Sharding | None
    nbytes: float
    cost: float

    def sharding(self, dims: Dims) -> Sharding:
        return split_by(self.axes, dims)


@dataclass(frozen=True)
class Chooser:
    """Compares the choices that there are for an op."""

    mesh: Mesh
    op: Operation
    rule: Rule
    homes: Sequence[Sharding]
    """How the operands are split."""
    hint: Sharding | None
    """How the result would be split, or must be."""
    is_pinned: bool
    """Whether it must be."""

    def choices(self) -> list[Choice]:
        """Returns all choices, the best first."""
        options = self._options()
        if prod(map(len, options)) > MOST_CHOICES:
            options = [each[:1] for each in options]
        found: list[Choice] = []
        for axes in product(*options):
            if self._is_possible(axes):
                found += self._costed(axes)
        # Equal ones stay in order: what is split as the operands are comes first.
        return sorted(found, key=lambda choice: choice.cost)

    def _options(self) -> list[list[Axes]]:
        """Returns the axes that each factor might be split over, as its dims are."""
        found: list[dict[Axes, None]] = [{} for _ in self.rule.factors]
        sources = list(zip(self.rule.operands, self.homes, strict=True))
        if self.hint is not None:
            sources.append((self.rule.results[0], self.hint))
        for dims, home in sources:
            for factor, axes in zip(dims, home.split, strict=True):
                if factor is not None and axes and self.rule.factors[factor].kind is not FactorKind.WHOLE:
                    found[factor][axes] = None
        if isinstance(self.op, graph.SortOp | graph.ArgsortOp):
            # What splits the dim along which it sorts may split another one instead.
            moved = self.rule.operands[0][self.op.axis.data]
            assert moved is not None, "a sort along a dim of no factor"
            for factor, each in enumerate(found):
                if factor != moved and not each:
                    each.update(found[moved])
        return [[*each, ()] for each in found]

    def _is_possible(self, axes: Sequence[Axes]) -> bool:
        used = [axis for each in axes for axis in each]
        if len(set(used)) < len(used):
            return False
        op = self.op
        values = [*zip(op.operands, self.rule.operands, strict=True)]
        values += zip(op.results, self.rule.results, strict=True)
        for number, (value, dims) in enumerate(values):
            for dim, (factor, extent) in enumerate(zip(dims, extents(value), strict=True)):
                if factor is None or not axes[factor] or (number, dim) in self.rule.loose:
                    continue
                if not isinstance(extent, int) or extent < self.mesh.count(axes[factor]):
                    return False
        return True

    def _costed(self, axes: tuple[Axes, ...]) -> list[Choice]:
        """Returns a choice for each way of splitting the result."""
        rule, op = self.rule, self.op
        nbytes = 0.0
        for value, dims, home in zip(op.operands, rule.operands, self.homes, strict=True):
            nbytes += _nbytes(value) * sent_between(self.mesh, home, split_by(axes, dims), extents(value))
        nbytes += self._merged(axes)
        count = self.mesh.count([axis for each in axes for axis in each])
        work = points(op) / count * BYTES_A_POINT
        if len(op.results) != 1:
            return [Choice(axes, None, nbytes, nbytes + work)]
        (result,) = op.results
        native = split_by(axes, rule.results[0])
        hint = native if self.hint is None else self.hint
        found: list[Choice] = []
        for target in dict.fromkeys((hint,) if self.is_pinned else (hint, native)):
            sent = nbytes + self._finished(result, axes, native, target)
            # What is not split as its readers want it is likely to be brought there.
            later = 0.5 * _nbytes(result) * sent_between(self.mesh, target, hint, extents(result))
            found.append(Choice(axes, target, sent, sent + later + work))
        return found

    def _merged(self, axes: tuple[Axes, ...]) -> float:
        """Returns how many bytes a rank sends to sort along a dim that is split."""
        op = self.op
        if not isinstance(op, graph.SortOp | graph.ArgsortOp):
            return 0.0
        dims, shape = self.rule.operands[0], extents(op.source)
        factor, extent = dims[op.axis.data], shape[op.axis.data]
        if factor is None or not axes[factor] or not isinstance(extent, int):
            return 0.0
        count = self.mesh.count(axes[factor])
        network = network_of(op, extent, count)
        elements = local_elements(self.mesh, split_by(axes, dims), shape)
        return network.sent(count) * elements * network.nbytes(element_type_of(op.source.type))

    def _finished(self, result: SSAValue, axes: Sequence[Axes], native: Sharding, target: Sharding) -> float:
        """Returns how many bytes a rank sends to combine partial results and bring them to their target."""
        shape, now = extents(result), native
        elements = local_elements(self.mesh, native, shape)
        left = [
            axis
            for factor, each in zip(self.rule.factors, axes, strict=True)
            if factor.kind is FactorKind.REDUCTION
            for axis in each
        ]
        sent = 0.0
        for dim, wanted in enumerate(target.split):
            more = wanted[len(now.split[dim]) :] if wanted[: len(now.split[dim])] == now.split[dim] else ()
            if more and set(more) <= set(left):
                count = self.mesh.count(more)
                sent += sent_by_reduction(elements, count, is_scattered=True)
                elements /= count
                left = [axis for axis in left if axis not in more]
                now = Sharding((*now.split[:dim], wanted, *now.split[dim + 1 :]))
        if left:
            sent += sent_by_reduction(elements, self.mesh.count(left), is_scattered=False)
        return _nbytes(result) * (sent + sent_between(self.mesh, now, target, shape))


def _nbytes(value: SSAValue) -> int:
    # An index has no element type, and is on every rank.
    return NBYTES.get(element_type_of(value.type), 8)
