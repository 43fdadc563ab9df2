"""
Functions of complex numbers, as formulas of their parts.

Sources, by number in the comments:

1. W. Kahan, Branch cuts for complex elementary functions, or much ado about nothing's sign bit (1987)
2. T. Hull, T. Fairgrieve, P. Tang, Implementing complex elementary functions using exception handling (1994)
3. M. Abramowitz, I. Stegun, Handbook of mathematical functions (1964), 4.3 and 4.5
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.builtin import f32

from ....dialects import graph
from .numbers import Complex, Real


def exp(z: Complex) -> Complex:
    """
    `e**re * (cos(im) + i sin(im))`. Where e**re may be too large, e**(re / 2) is multiplied in twice, as its
    product with a sine may be in range; what has no imaginary part gets none.
    """
    is_large = z.re > (80.0 if z.re.element == f32 else 700.0)
    size = _exp((z.re * 0.5).where(is_large, z.re))
    again = size.where(is_large, 1.0)
    sine = (size * _sin(z.im)) * again
    return _vanishing(z, 0.0, Complex((size * _cos(z.im)) * again, sine.where(z.im.is_unequal(0.0), z.im)))


def expm1(z: Complex) -> Complex:
    """The real part is `expm1(re) * cos(im) - 2 * sin(im / 2)**2`, which is exact near 0."""
    half = _sin(z.im * 0.5)
    real = z.re.apply(graph.Expm1Op) * _cos(z.im) - 2.0 * half * half
    return _vanishing(z, -1.0, Complex(real, _scaled(_sin(z.im), _exp(z.re))))


def log(z: Complex) -> Complex:
    """The real part is the logarithm of the size, near 1 that of one and the rest (2)."""
    return Complex(_log_size(z.re, z.im), z.im.atan2(z.re))


def log1p(z: Complex) -> Complex:
    """As the logarithm of `1 + z`, but that the real part is taken of what is left of 1."""
    rest = z.re * (z.re + 2.0) + z.im * z.im
    one_more = z.re + 1.0
    is_near = (rest > -0.5) & (rest < 2.0)
    near = _log1p(rest.where(is_near, 0.0)) * 0.5
    return Complex(near.where(is_near, _log_size(one_more, z.im)), z.im.atan2(one_more))


def sqrt(z: Complex) -> Complex:
    """The larger part by a root of the size and the real part, and the smaller one by a division (1)."""
    large = z.re.abs().max(z.im.abs())
    # Powers of 4, so that sizes and their halves stay in range.
    up, down = large < 2.0**-700, large > 2.0**700
    factor = large.like(2.0**500).where(up, large.like(2.0**-500).where(down, 1.0))
    back = large.like(2.0**-250).where(up, large.like(2.0**250).where(down, 1.0))
    x, y = z.re.abs() * factor, z.im.abs() * factor
    root = ((x + x.hypot(y)) * 0.5).apply(graph.SqrtOp)
    other = (y / (root * 2.0)).where(root.is_unequal(0.0), 0.0)
    is_right = z.re >= 0.0
    real, imaginary = root.where(is_right, other) * back, other.where(is_right, root) * back
    is_up = z.im.is_infinite()
    return Complex(
        real.like(math.inf).where(is_up, real),
        imaginary.like(math.inf).where(is_up, imaginary).with_sign_of(z.im),
    )


def rsqrt(z: Complex) -> Complex:
    root = sqrt(z)
    found = _one(z) / root
    is_zero = root.re.is_equal(0.0) & root.im.is_equal(0.0)
    return Complex(found.re, found.im.like(0.0).where(is_zero, found.im))


def sin(z: Complex) -> Complex:
    """`sin(re) cosh(im) + i cos(re) sinh(im)` (3)."""
    return Complex(_scaled(_sin(z.re), _cosh(z.im)), _scaled(_sinh(z.im), _cos(z.re)))


def cos(z: Complex) -> Complex:
    """`cos(re) cosh(im) - i sin(re) sinh(im)` (3)."""
    return Complex(_cos(z.re) * _cosh(z.im), -_scaled(_sin(z.re), _sinh(z.im)))


def tan(z: Complex) -> Complex:
    return tanh(z.times_i()).divided_by_i()


def sinh(z: Complex) -> Complex:
    return sin(z.times_i()).divided_by_i()


def cosh(z: Complex) -> Complex:
    return cos(z.times_i())


def tanh(z: Complex) -> Complex:
    """Of the tangent of one part and the hyperbolic sine of the other; far out 1 or -1, and a little (1)."""
    is_far = z.re.abs() > 25.0
    x = z.re.where(z.re.abs() <= 25.0, 0.0)
    tangent, sine = z.im.apply(graph.TanOp), _sinh(x)
    square = tangent * tangent + 1.0
    below = square * sine * sine + 1.0
    near = Complex(square * (sine * sine + 1.0).apply(graph.SqrtOp) * sine / below, tangent / below)
    tail = 4.0 * tangent / square * _exp(z.re.abs() * -2.0)
    far = Complex(z.re.like(1.0).with_sign_of(z.re), tail)
    return far.where(is_far, near)


def asin(z: Complex) -> Complex:
    """By the roots of `1 - z` and `1 + z`, whose signs are those of the branch (1)."""
    left, right = sqrt(_one_less(z)), sqrt(_one_more(z))
    return Complex(z.re.atan2((left * right).re), _asinh((left.conjugate() * right).im))


def acos(z: Complex) -> Complex:
    """As `asin` (1)."""
    left, right = sqrt(_one_less(z)), sqrt(_one_more(z))
    return Complex(left.re.atan2(right.re) * 2.0, _asinh((right.conjugate() * left).im))


def acosh(z: Complex) -> Complex:
    """By the roots of `z - 1` and `z + 1` (1)."""
    left, right = sqrt(Complex(z.re - 1.0, z.im)), sqrt(_one_more(z))
    return Complex(_asinh((left.conjugate() * right).re), left.im.atan2(right.re) * 2.0)


def asinh(z: Complex) -> Complex:
    return asin(z.times_i()).divided_by_i()


def atan(z: Complex) -> Complex:
    return atanh(z.times_i()).divided_by_i()


def atanh(z: Complex) -> Complex:
    """Half the logarithm of `(1 + z) / (1 - z)`, its size as that of one and what is left (1)."""
    x = z.re.abs()
    away = 1.0 - x
    size = _log1p(4.0 * x / (away * away + z.im * z.im)) * 0.25
    angle = (z.im * 2.0).atan2(away * (x + 1.0) - z.im * z.im) * 0.5
    return Complex(size.with_sign_of(z.re), angle)


def atan2(y: Complex, x: Complex) -> Complex:
    """`-i log((x + i y) / sqrt(x**2 + y**2))`."""
    return log((x + y.times_i()) / sqrt(x * x + y * y)).divided_by_i()


def power(z: Complex, exponent: Complex) -> Complex:
    """`exp(exponent * log(z))`; one where the exponent is 0, and 0 where only `z` is."""
    found = exp(exponent * log(z))
    is_zero = z.re.is_equal(0.0) & z.im.is_equal(0.0) & (exponent.re > 0.0)
    found = _one(z).scaled(0.0).where(is_zero, found)
    return _one(z).where(exponent.re.is_equal(0.0) & exponent.im.is_equal(0.0), found)


def cbrt(z: Complex) -> Complex:
    """The root whose angle is a third."""
    found = exp(log(z).scaled(1.0 / 3.0))
    return z.where(z.re.is_equal(0.0) & z.im.is_equal(0.0), found)


def logistic(z: Complex) -> Complex:
    """`1 / (1 + exp(-z))`, left of 0 `exp(z) / (1 + exp(z))`, so that no exponential is large."""
    is_left = z.re < 0.0
    small = exp(z.where(is_left, -z))
    one = _one(z)
    return small.where(is_left, one) / (one + small)


def sign(z: Complex) -> Complex:
    """What is of size 1 at the same angle; 0 of 0."""
    size = z.abs()
    found = Complex(z.re / size, z.im / size)
    return z.where(size.is_equal(0.0), found)


def _vanishing(z: Complex, limit: float, found: Complex) -> Complex:
    """Returns a real limit where e**re is 0, whatever the imaginary part."""
    return _one(z).scaled(limit).where(z.re.is_equal(-math.inf), found)


def _log_size(x: Real, y: Real) -> Real:
    large, small = x.abs().max(y.abs()), x.abs().min(y.abs())
    squares = large * large + small * small
    is_near = (squares > 0.5) & (squares < 3.0)
    rest = (large - 1.0) * (large + 1.0) + small * small
    near = _log1p(rest.where(is_near, 0.0)) * 0.5
    ratio = (small / large).where((large > 0.0) & (large < math.inf), 0.0)
    away = large.apply(graph.LogOp) + _log1p(ratio * ratio) * 0.5
    return near.where(is_near, away)


def _scaled(x: Real, factor: Real) -> Real:
    """Returns a product that is 0 where `x` is, of an infinite factor too."""
    return (x * factor).where(x.is_unequal(0.0), x)


def _one(z: Complex) -> Complex:
    return Complex(z.re.like(1.0), z.re.like(0.0))


def _one_more(z: Complex) -> Complex:
    return Complex(z.re + 1.0, z.im)


def _one_less(z: Complex) -> Complex:
    """Returns `1 - z`, whose imaginary part is -0.0 where that of `z` is 0.0."""
    return Complex(1.0 - z.re, -z.im)


def _of(op: type[graph.UnaryOp]) -> Callable[[Real], Real]:
    return lambda x: x.apply(op)


_sin, _cos, _exp, _log1p = _of(graph.SinOp), _of(graph.CosOp), _of(graph.ExpOp), _of(graph.Log1pOp)
_sinh, _cosh, _asinh = _of(graph.SinhOp), _of(graph.CoshOp), _of(graph.AsinhOp)
