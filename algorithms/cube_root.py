"""Cube roots of floats, without a division."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import Signedness, f32, f64
from xdsl.ir import Attribute, SSAValue

from ..dialects import graph
from .emitter import Emitter, with_sign


@dataclass(frozen=True, slots=True)
class _Format:
    """What differs between float32 and float64."""

    first: int
    """
    The bits of a first guess of x**(-1/3), less a third of those of x. Among numbers near one that is known
    (0x54a21d2a for float32) the one with the least error of the guess's cube, 0.102.
    """
    least: float
    """Smaller numbers are multiplied by the cube of `scale`: what is left over of them has too few bits."""
    scale: float
    has_second_step: bool


_FORMATS: dict[Attribute, _Format] = {
    f32: _Format(0x54A1F61A, 2.0**-60, 2.0**30, False),
    f64: _Format(0x553EE96DA89DD796, 2.0**-800, 2.0**300, True),
}


def cube_root(c: Emitter, x: SSAValue) -> SSAValue:
    """
    Returns the cube root of each element, an array of float32 or float64, negative of negative ones. The
    largest errors seen are 0.54 and 0.53 units in the last place, of one in seven of all float32 and of 10^7
    float64.

    A third of the bits as an integer gives a guess y of 1/cbrt(x) (W. Kahan's for cube roots; in this form
    C. Lomont, Fast inverse square root, 2003). With e = 1 - x y^3 it is x^(-1/3) (1 - e)^(1/3), of which the
    series (1 - e)^(-1/3) = 1 + e/3 + 2 e^2/9 + 14 e^3/81 is multiplied by it; then the root x y^2 has one
    step of Newton's method, in which x less its cube is exact.
    """
    element = c.element(x)
    of, unsigned = _FORMATS[element], with_sign(element, Signedness.UNSIGNED)

    def times(x: SSAValue, y: SSAValue | float) -> SSAValue:
        return c.binary(graph.MulOp, x, y)

    def fma(x: SSAValue, y: SSAValue, z: SSAValue | float) -> SSAValue:
        return c.add(graph.FmaOp(x, y, z if isinstance(z, SSAValue) else c.like(z, x)))

    size = c.unary(graph.AbsOp, x)
    is_small = c.binary(graph.LtOp, size, of.least)
    a = c.select(is_small, times(size, of.scale**3), size)

    third = c.binary(graph.ShrOp, c.bitcast(a, unsigned), 2)
    for distance in (2, 4, 8, 16):
        third = c.binary(graph.AddOp, third, c.binary(graph.ShrOp, third, distance))
    y = c.bitcast(c.binary(graph.SubOp, c.like(of.first, third), third), element)

    def missing(y: SSAValue) -> SSAValue:
        return c.binary(graph.SubOp, c.like(1.0, y), times(times(a, y), times(y, y)))

    e = missing(y)
    series = fma(fma(c.like(14 / 81, e), e, 2 / 9), e, 1 / 3)
    y = fma(times(y, e), series, y)
    if of.has_second_step:
        y = fma(times(y, missing(y)), c.like(1 / 3, y), y)
    root = times(times(a, y), y)
    square = times(root, root)
    negated = c.unary(graph.NegOp, square)
    left = c.binary(graph.SubOp, fma(negated, root, a), times(fma(root, root, negated), root))
    root = fma(times(left, times(y, y)), c.like(1 / 3, y), root)
    root = c.binary(graph.CopysignOp, c.select(is_small, times(root, 1 / of.scale), root), x)
    is_itself = c.unary(graph.NotOp, c.unary(graph.IsfiniteOp, x))
    return c.select(c.binary(graph.OrOp, is_itself, c.binary(graph.EqOp, x, 0.0)), x, root)
