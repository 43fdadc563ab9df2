"""The indices that affine maps give: sums of iteration dims with constant factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ..dims.expressions import Extent

__all__ = ["LinearIndex", "linear_index"]


@dataclass(frozen=True, slots=True)
class LinearIndex:
    """`constant` plus each dim times its factor; the dims ascend, no factor is 0."""

    factors: tuple[tuple[int, int], ...]
    constant: int

    @staticmethod
    def of(expr: AffineExpr) -> LinearIndex:
        """Returns an affine expression of a verified op, which is such a sum."""
        index = linear_index(expr)
        assert index is not None, f"index {expr} is no sum of dims with factors"
        return index

    @property
    def expr(self) -> AffineExpr:
        total = AffineExpr.constant(0)
        for dim, factor in self.factors:
            total = total + AffineExpr.dimension(dim) * factor
        return total + self.constant

    def factor(self, dim: int) -> int:
        """Returns what a dim is multiplied by, 0 for one that is not in it."""
        return next((factor for other, factor in self.factors if other == dim), 0)

    def moved(self, place: Mapping[int, int]) -> LinearIndex:
        """Returns the index with dim `place[dim]` in the place of each dim."""
        return LinearIndex(tuple(sorted((place[dim], factor) for dim, factor in self.factors)), self.constant)

    @property
    def plain_dim(self) -> int | None:
        """The dim that the index is, None if it is anything else than one dim."""
        if self.constant == 0 and len(self.factors) == 1 and self.factors[0][1] == 1:
            return self.factors[0][0]
        return None

    @property
    def is_stepped(self) -> bool:
        """Whether it goes over a window, or in steps of more than one: neither one dim nor a number."""
        return self.plain_dim is None and bool(self.factors)

    def range(self, extents: Sequence[Extent]) -> tuple[Extent, Extent]:
        """Returns the least and the greatest value, for dims of 1 or more elements."""
        low: Extent = self.constant
        high: Extent = self.constant
        for dim, factor in self.factors:
            last = (extents[dim] - 1) * factor
            if factor > 0:
                high = high + last
            else:
                low = low + last
        return low, high


@lru_cache(4096)
def linear_index(expr: AffineExpr) -> LinearIndex | None:
    """Returns an affine expression as a sum of dims with factors, None if it is no such sum."""
    terms = _terms(expr)
    if terms is None:
        return None
    constant = terms.pop(-1, 0)
    return LinearIndex(tuple(sorted((dim, factor) for dim, factor in terms.items() if factor)), constant)


def _terms(expr: AffineExpr) -> dict[int, int] | None:
    """Returns the factor of each dim, the constant as that of dim -1."""
    match expr:
        case AffineDimExpr():
            return {expr.position: 1}
        case AffineConstantExpr():
            return {-1: expr.value}
        case AffineBinaryOpExpr(AffineBinaryOpKind.Add, lhs, rhs):
            first, second = _terms(lhs), _terms(rhs)
            if first is None or second is None:
                return None
            return {dim: first.get(dim, 0) + second.get(dim, 0) for dim in {**first, **second}}
        case AffineBinaryOpExpr(AffineBinaryOpKind.Mul, lhs, AffineConstantExpr(factor)):
            terms = _terms(lhs)
            return None if terms is None else {dim: value * factor for dim, value in terms.items()}
        case _:
            return None
