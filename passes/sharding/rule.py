"""
What an op lets be split: its factors.

Each dim of an operand or a result belongs to a factor, as in Shardy's `sdy.op_sharding_rule`. All dims of one
factor are split alike. A dim of no factor is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from ...dialects.graph import ReduceKind
from ...dialects.sharding import Sharding


class FactorKind(Enum):
    """What splitting a factor means."""

    PARALLEL = auto()
    """Each rank computes its part of the result."""
    REDUCTION = auto()
    """Each rank computes a partial result, which are combined."""
    EXCHANGED = auto()
    """Each rank has its part of the result of what ranks exchange: split where the operand is."""
    WHOLE = auto()
    """It cannot be split."""


@dataclass(frozen=True)
class Factor:
    """A factor, and how the partial results are combined if it is a reduction."""

    kind: FactorKind = FactorKind.PARALLEL
    reduction: ReduceKind | None = None


PARALLEL = Factor()
WHOLE = Factor(FactorKind.WHOLE)
EXCHANGED = Factor(FactorKind.EXCHANGED)


def reduction(kind: ReduceKind) -> Factor:
    return Factor(FactorKind.REDUCTION, kind)


Dims = tuple[int | None, ...]
"""The factor of each dim."""


def split_by(axes: Sequence[tuple[int, ...]], dims: Dims) -> Sharding:
    """Returns how a value whose dims belong to these factors is split, of the axes that split each factor."""
    return Sharding(tuple(() if factor is None else axes[factor] for factor in dims))


@dataclass(frozen=True)
class Rule:
    """
    The factors of an op, and those of the dims of its operands and results. A dim of an operand that is
    `loose`, an (operand, dim), may be split in any way: what the op needs of it is fetched, as rows at the
    border of a convolution's image are.
    """

    factors: tuple[Factor, ...]
    operands: tuple[Dims, ...]
    results: tuple[Dims, ...]
    loose: frozenset[tuple[int, int]] = field(default_factory=frozenset[tuple[int, int]])

    def whole_dims(self) -> Iterator[tuple[int, int]]:
        """Yields the dims of operands that must be whole, as (operand, dim)."""
        for number, dims in enumerate(self.operands):
            for dim, factor in enumerate(dims):
                is_whole = factor is not None and self.factors[factor].kind is FactorKind.WHOLE
                if is_whole and (number, dim) not in self.loose:
                    yield number, dim


class RuleBuilder:
    """Numbers factors as they are made."""

    def __init__(self) -> None:
        self.factors: list[Factor] = []

    def new(self, factor: Factor = PARALLEL) -> int:
        """Returns the number of a new factor."""
        self.factors.append(factor)
        return len(self.factors) - 1

    def dims(self, count: int, factor: Factor = PARALLEL) -> Dims:
        """Returns so many dims, each of a new factor."""
        return tuple(self.new(factor) for _ in range(count))

    def rule(
        self, operands: Sequence[Dims], results: Sequence[Dims], loose: Sequence[tuple[int, int]] = ()
    ) -> Rule:
        return Rule(tuple(self.factors), tuple(operands), tuple(results), frozenset(loose))
