"""Arithmetic of whole arrays of real and complex numbers, written as formulas that put ops of `graph`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

from xdsl.ir import Attribute, SSAValue

from ....algorithms.emitter import Emitter
from ....dialects import graph

RealLike: TypeAlias = Union["Real", float]


@dataclass(frozen=True)
class Real:
    """An array of floats, or of booleans: what a comparison gives."""

    c: Emitter
    value: SSAValue

    def __add__(self, other: RealLike) -> Real:
        return self._with(graph.AddOp, other)

    def __sub__(self, other: RealLike) -> Real:
        return self._with(graph.SubOp, other)

    def __rsub__(self, other: float) -> Real:
        return self.like(other) - self

    def __mul__(self, other: RealLike) -> Real:
        return self._with(graph.MulOp, other)

    def __rmul__(self, other: float) -> Real:
        return self * other

    def __truediv__(self, other: RealLike) -> Real:
        return self._with(graph.DivOp, other)

    def __neg__(self) -> Real:
        return self.apply(graph.NegOp)

    def __lt__(self, other: RealLike) -> Real:
        return self._with(graph.LtOp, other)

    def __le__(self, other: RealLike) -> Real:
        return self._with(graph.LeOp, other)

    def __gt__(self, other: RealLike) -> Real:
        return self._with(graph.GtOp, other)

    def __ge__(self, other: RealLike) -> Real:
        return self._with(graph.GeOp, other)

    def __and__(self, other: Real) -> Real:
        return self._with(graph.AndOp, other)

    def __or__(self, other: Real) -> Real:
        return self._with(graph.OrOp, other)

    def is_equal(self, other: RealLike) -> Real:
        return self._with(graph.EqOp, other)

    def is_unequal(self, other: RealLike) -> Real:
        return self._with(graph.NeOp, other)

    def is_infinite(self) -> Real:
        return self.apply(graph.IsinfOp)

    def abs(self) -> Real:
        return self.apply(graph.AbsOp)

    def max(self, other: RealLike) -> Real:
        return self._with(graph.MaxOp, other)

    def min(self, other: RealLike) -> Real:
        return self._with(graph.MinOp, other)

    def with_sign_of(self, other: Real) -> Real:
        return self._with(graph.CopysignOp, other)

    def hypot(self, other: Real) -> Real:
        """`sqrt(self**2 + other**2)`, where the squares are too large or too small too."""
        return self._with(graph.HypotOp, other)

    def atan2(self, other: Real) -> Real:
        """The angle of the point `(other, self)`."""
        return self._with(graph.Atan2Op, other)

    def where(self, condition: Real, other: RealLike) -> Real:
        """These elements where a condition holds, others elsewhere."""
        return Real(self.c, self.c.select(condition.value, self.value, self.like(other).value))

    def apply(self, op: type[graph.UnaryOp] | type[graph.PredicateOp]) -> Real:
        return Real(self.c, self.c.unary(op, self.value))

    def like(self, other: RealLike) -> Real:
        """Returns a number for each element, and arrays as they are."""
        return other if isinstance(other, Real) else Real(self.c, self.c.like(other, self.value))

    @property
    def element(self) -> Attribute:
        """The element type."""
        return self.c.element(self.value)

    def cast(self, element: Attribute) -> Real:
        return Real(self.c, self.c.cast(self.value, element))

    def _with(self, op: type[graph.BinaryOp] | type[graph.CompareOp], other: RealLike) -> Real:
        return Real(self.c, self.c.binary(op, self.value, self.like(other).value))


@dataclass(frozen=True)
class Complex:
    """An array of complex numbers by its parts."""

    re: Real
    im: Real

    def __add__(self, other: Complex) -> Complex:
        return Complex(self.re + other.re, self.im + other.im)

    def __neg__(self) -> Complex:
        return Complex(-self.re, -self.im)

    def __mul__(self, other: Complex) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im,
            self.re * other.im + self.im * other.re,
        )

    def __truediv__(self, other: Complex) -> Complex:
        """
        Smith, Algorithm 116: Complex division (1962): the larger part of the divisor is divided by, so that
        no square overflows. What is divided by 0 is divided part by part.
        """
        is_real = other.re.abs() >= other.im.abs()
        large, small = other.re.where(is_real, other.im), other.im.where(is_real, other.re)
        is_zero = large.is_equal(0.0)
        ratio = (small / large).where(large.is_unequal(0.0), 0.0)
        scale = (large + small * ratio).where(large.is_unequal(0.0), large.abs())
        straight = Complex(self.re + self.im * ratio, self.im - self.re * ratio)
        turned = Complex(self.re * ratio + self.im, self.im * ratio - self.re)
        above = straight.where(is_real | is_zero, turned)
        return Complex(above.re / scale, above.im / scale)

    def conjugate(self) -> Complex:
        return Complex(self.re, -self.im)

    def abs(self) -> Real:
        return self.re.hypot(self.im)

    def where(self, condition: Real, other: Complex) -> Complex:
        """These numbers where a condition holds, others elsewhere."""
        return Complex(self.re.where(condition, other.re), self.im.where(condition, other.im))

    def times_i(self) -> Complex:
        return Complex(-self.im, self.re)

    def divided_by_i(self) -> Complex:
        return Complex(self.im, -self.re)

    def scaled(self, factor: RealLike) -> Complex:
        return Complex(self.re * factor, self.im * factor)

    def cast(self, element: Attribute) -> Complex:
        return Complex(self.re.cast(element), self.im.cast(element))
