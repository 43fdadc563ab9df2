"""
Functions of `chlo` that no op of `graph` is: the gamma function's family, what belongs to the error function,
and a Bessel function.

Narrow floats are computed in f32. Methods, with their sources:

* lgamma and digamma: Lanczos, A Precision Approximation of the Gamma Function (1964), with 9 coefficients for
  g = 7; below 1/2 by reflection (Abramowitz and Stegun 6.1.17 and 6.3.7)
* zeta: Euler and Maclaurin's sum (Abramowitz and Stegun 23.2.3), and polygamma by it (6.4.10)
* erfc: 1 - erf near 0, beyond the continued fraction of Abramowitz and Stegun 7.1.14
* erf_inv: Giles, Approximating the erfinv function (2012), and steps of Halley's method
* bessel_i1e: the power series (Abramowitz and Stegun 9.6.10), far out the asymptotic one (9.7.1)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from ....algorithms.emitter import Emitter
from ....dialects import graph
from ....dialects.stablehlo import chlo
from ..conversion import Conversion, Rule
from ..elementwise import of_one, unified, widened

_LANCZOS_G = 7.0

_LANCZOS = (
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)

_LANCZOS_FIRST = 0.99999999999980993227684700473478


def _add(c: Emitter, x: SSAValue, y: SSAValue | float) -> SSAValue:
    return c.binary(graph.AddOp, x, y)


def _sub(c: Emitter, x: SSAValue, y: SSAValue | float) -> SSAValue:
    return c.binary(graph.SubOp, x, y)


def _mul(c: Emitter, x: SSAValue, y: SSAValue | float) -> SSAValue:
    return c.binary(graph.MulOp, x, y)


def _div(c: Emitter, x: SSAValue | float, y: SSAValue) -> SSAValue:
    return c.binary(graph.DivOp, x if isinstance(x, SSAValue) else c.like(x, y), y)


def _polynomial(c: Emitter, x: SSAValue, coefficients: Sequence[float]) -> SSAValue:
    """Returns a polynomial by Horner's rule, the highest power first."""
    total = c.like(coefficients[0], x)
    for coefficient in coefficients[1:]:
        total = _add(c, _mul(c, total, x), coefficient)
    return total


def lgamma(c: Emitter, x: SSAValue) -> SSAValue:
    """The logarithm of the absolute value of the gamma function: inf at 0 and the negative integers."""
    needs_reflection = c.binary(graph.LtOp, x, 0.5)
    z = c.select(needs_reflection, c.unary(graph.NegOp, x), _sub(c, x, 1.0))
    series = c.like(_LANCZOS_FIRST, z)
    for number, coefficient in enumerate(_LANCZOS):
        series = _add(c, series, _div(c, coefficient, _add(c, z, number + 1.0)))
    # t = z + g + 1/2, whose logarithm is that of a constant and of one and a little.
    base = _LANCZOS_G + 0.5
    t = _add(c, z, base)
    log_t = _add(c, c.unary(graph.Log1pOp, _mul(c, z, 1.0 / base)), math.log(base))
    first = _mul(c, _sub(c, _add(c, z, 0.5), _div(c, t, log_t)), log_t)
    above = _add(c, _add(c, first, 0.5 * math.log(2.0 * math.pi)), c.unary(graph.LogOp, series))
    # log(pi) - log|sin(pi x)| - lgamma(1 - x), of what is left of x beside an integer.
    magnitude = c.unary(graph.AbsOp, x)
    rest = _sub(c, magnitude, c.unary(graph.FloorOp, magnitude))
    rest = c.select(c.binary(graph.GtOp, rest, 0.5), c.binary(graph.SubOp, c.like(1.0, x), rest), rest)
    sine = c.unary(graph.LogOp, c.unary(graph.SinOp, _mul(c, rest, math.pi)))
    below = _sub(c, c.binary(graph.SubOp, c.like(math.log(math.pi), x), sine), above)
    below = c.select(c.unary(graph.IsfiniteOp, sine), below, c.unary(graph.NegOp, sine))
    found = c.select(needs_reflection, below, above)
    return c.select(c.unary(graph.IsinfOp, x), c.like(math.inf, x), found)


def digamma(c: Emitter, x: SSAValue) -> SSAValue:
    """The derivative of lgamma: NaN at the negative integers, -inf at 0 and inf at -0."""
    needs_reflection = c.binary(graph.LtOp, x, 0.5)
    z = c.select(needs_reflection, c.unary(graph.NegOp, x), _sub(c, x, 1.0))
    numerator, denominator = c.like(0.0, z), c.like(_LANCZOS_FIRST, z)
    for number, coefficient in enumerate(_LANCZOS):
        term = _add(c, z, number + 1.0)
        numerator = _sub(c, numerator, _div(c, coefficient, _mul(c, term, term)))
        denominator = _add(c, denominator, _div(c, coefficient, term))
    base = _LANCZOS_G + 0.5
    t = _add(c, z, base)
    log_t = _add(c, c.unary(graph.Log1pOp, _mul(c, z, 1.0 / base)), math.log(base))
    above = _sub(c, _add(c, log_t, _div(c, numerator, denominator)), _div(c, _LANCZOS_G, t))
    # pi / tan(pi x), of what x is beside the nearest integer.
    rest = _mul(c, _sub(c, x, c.unary(graph.FloorOp, _add(c, x, 0.5))), math.pi)
    cotangent = _mul(c, _div(c, c.unary(graph.CosOp, rest), c.unary(graph.SinOp, rest)), math.pi)
    found = c.select(needs_reflection, _sub(c, above, cotangent), above)
    is_pole = c.binary(
        graph.AndOp, c.binary(graph.LeOp, x, 0.0), c.binary(graph.EqOp, x, c.unary(graph.FloorOp, x))
    )
    at_zero = c.binary(graph.CopysignOp, c.like(math.inf, x), c.unary(graph.NegOp, x))
    pole = c.select(c.binary(graph.EqOp, x, 0.0), at_zero, c.like(math.nan, x))
    return c.select(is_pole, pole, found)


_ERFC_SPLIT = 2.0
_ERFC_STEPS = 60


def erfc(c: Emitter, x: SSAValue) -> SSAValue:
    """One less the error function, as exact where that is near 1."""
    magnitude = c.unary(graph.AbsOp, x)
    near = _sub(c, c.like(1.0, x), c.unary(graph.ErfOp, x))
    far = c.binary(graph.MaxOp, magnitude, _ERFC_SPLIT)
    # exp(-x^2) / (x sqrt(pi)) times the fraction 1 / (1 + k/2 / x^2 / (1 + ...)), from the inside.
    fraction = far
    for step in range(_ERFC_STEPS, 0, -1):
        fraction = _add(c, far, _div(c, step / 2.0, fraction))
    tail = _div(c, _mul(c, _exp_of_square(c, far), 1.0 / math.sqrt(math.pi)), fraction)
    tail = c.select(c.binary(graph.LtOp, x, 0.0), c.binary(graph.SubOp, c.like(2.0, x), tail), tail)
    return c.select(c.binary(graph.LtOp, magnitude, _ERFC_SPLIT), near, tail)


def _exp_of_square(c: Emitter, x: SSAValue) -> SSAValue:
    """`exp(-x**2)`, of the square of x rounded to few bits, and what is left of it."""
    few = _mul(c, c.unary(graph.FloorOp, _mul(c, x, 16.0)), 1.0 / 16.0)
    rest = _mul(c, _sub(c, x, few), _add(c, x, few))
    first = c.unary(graph.ExpOp, c.unary(graph.NegOp, _mul(c, few, few)))
    found = _mul(c, first, c.unary(graph.ExpOp, c.unary(graph.NegOp, rest)))
    return c.select(c.binary(graph.EqOp, first, 0.0), first, found)


_ERF_INV_CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)

_ERF_INV_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def erf_inv(c: Emitter, x: SSAValue) -> SSAValue:
    """The inverse of the error function: inf and -inf at 1 and -1, NaN beyond."""
    inside = c.binary(graph.MulOp, _sub(c, c.like(1.0, x), x), _add(c, x, 1.0))
    w = c.unary(graph.NegOp, c.unary(graph.LogOp, inside))
    is_centre = c.binary(graph.LtOp, w, 5.0)
    centre = _polynomial(c, _sub(c, w, 2.5), _ERF_INV_CENTRE)
    tail = _polynomial(c, _sub(c, c.unary(graph.SqrtOp, w), 3.0), _ERF_INV_TAIL)
    found = _mul(c, c.select(is_centre, centre, tail), x)
    for _ in range(2 if c.element(x) == f64 else 1):
        found = _halley(c, found, x)
    is_end = c.binary(graph.EqOp, c.unary(graph.AbsOp, x), 1.0)
    return c.select(is_end, _mul(c, x, math.inf), found)


def _halley(c: Emitter, y: SSAValue, x: SSAValue) -> SSAValue:
    """A step to where erf(y) is x: of the difference of the complements, as both are near 1 far out."""
    magnitude = c.unary(graph.AbsOp, y)
    missing = c.binary(graph.SubOp, c.like(1.0, x), c.unary(graph.AbsOp, x))
    far = _sub(c, missing, erfc(c, magnitude))
    near = _sub(c, c.unary(graph.ErfOp, magnitude), c.unary(graph.AbsOp, x))
    error = c.select(c.binary(graph.LtOp, magnitude, 0.5), near, far)
    slope = _mul(c, _exp_of_square(c, magnitude), 2.0 / math.sqrt(math.pi))
    ratio = _div(c, error, slope)
    step = _div(c, ratio, _add(c, _mul(c, magnitude, ratio), 1.0))
    better = _sub(c, magnitude, step)
    is_better = c.binary(graph.AndOp, c.unary(graph.IsfiniteOp, step), c.binary(graph.GtOp, missing, 0.0))
    return c.binary(graph.CopysignOp, c.select(is_better, better, magnitude), x)


_BESSEL_SPLIT = 20.0
_BESSEL_TERMS = 50
_BESSEL_TAIL = 22


def bessel_i1e(c: Emitter, x: SSAValue) -> SSAValue:
    """The modified Bessel function of the first kind of order 1, times `exp(-|x|)`."""
    magnitude = c.unary(graph.AbsOp, x)
    near = c.binary(graph.MinOp, magnitude, _BESSEL_SPLIT)
    half = _mul(c, near, 0.5)
    square = _mul(c, half, half)
    total = c.like(1.0, x)
    for k in range(_BESSEL_TERMS, 0, -1):
        total = _add(c, _mul(c, _mul(c, total, square), 1.0 / (k * (k + 1))), 1.0)
    series = _mul(c, _mul(c, half, total), c.unary(graph.ExpOp, c.unary(graph.NegOp, near)))
    far = c.binary(graph.MaxOp, magnitude, _BESSEL_SPLIT)
    over = _div(c, 1.0, _mul(c, far, 8.0))
    tail = c.like(1.0, x)
    for k in range(_BESSEL_TAIL, 0, -1):
        tail = _sub(c, c.like(1.0, x), _mul(c, _mul(c, tail, over), (4.0 - (2 * k - 1) ** 2) / k))
    asymptotic = _div(c, tail, c.unary(graph.SqrtOp, _mul(c, far, 2.0 * math.pi)))
    found = c.select(c.binary(graph.LtOp, magnitude, _BESSEL_SPLIT), series, asymptotic)
    found = c.select(c.unary(graph.IsinfOp, x), c.like(0.0, x), found)
    return c.binary(graph.CopysignOp, found, x)


_ZETA_TERMS = 10

_BERNOULLI = (
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
)
"""The Bernoulli numbers of even index from 2 on."""


def zeta(c: Emitter, s: SSAValue, q: SSAValue) -> SSAValue:
    """Hurwitz's zeta function, for `s` above 1 and positive `q`; at poles inf, NaN for `s` below 1."""
    negative = c.unary(graph.NegOp, s)
    total = c.binary(graph.PowOp, q, negative)
    for k in range(1, _ZETA_TERMS):
        total = _add(c, total, c.binary(graph.PowOp, _add(c, q, float(k)), negative))
    a = _add(c, q, float(_ZETA_TERMS))
    power = c.binary(graph.PowOp, a, negative)
    total = _add(c, total, _div(c, _mul(c, power, a), _sub(c, s, 1.0)))
    total = _add(c, total, _mul(c, power, 0.5))
    factor, below = s, _div(c, power, a)
    square = _mul(c, a, a)
    for k, number in enumerate(_BERNOULLI, 1):
        total = _add(c, total, _mul(c, _mul(c, factor, below), number / math.factorial(2 * k)))
        factor = _mul(c, _mul(c, factor, _add(c, s, 2.0 * k - 1)), _add(c, s, 2.0 * k))
        below = _div(c, below, square)
    is_one = c.binary(graph.EqOp, s, 1.0)
    total = c.select(is_one, c.like(math.inf, s), total)
    total = c.select(c.binary(graph.LtOp, s, 1.0), c.like(math.nan, s), total)
    is_pole = c.binary(
        graph.AndOp, c.binary(graph.LeOp, q, 0.0), c.binary(graph.EqOp, q, c.unary(graph.FloorOp, q))
    )
    return c.select(is_pole, c.like(math.inf, s), total)


def polygamma(c: Emitter, n: SSAValue, x: SSAValue) -> SSAValue:
    """The derivative of order `n` of digamma: `(-1)**(n + 1) * n! * zeta(n + 1, x)`."""
    order = _add(c, n, 1.0)
    odd = _sub(c, n, _mul(c, c.unary(graph.FloorOp, _mul(c, n, 0.5)), 2.0))
    sign = _sub(c, _mul(c, odd, 2.0), 1.0)
    whole = _mul(c, _mul(c, sign, c.unary(graph.ExpOp, lgamma(c, order))), zeta(c, order, x))
    found = c.select(c.binary(graph.EqOp, n, 0.0), digamma(c, x), whole)
    is_order = c.binary(
        graph.AndOp, c.binary(graph.GeOp, n, 0.0), c.binary(graph.EqOp, n, c.unary(graph.FloorOp, n))
    )
    return c.select(is_order, found, c.like(math.nan, n))


def _of_two(function: Callable[[Emitter, SSAValue, SSAValue], SSAValue]) -> Rule:
    """Returns the rule of a function of two values, computed in f64."""

    def rule(c: Conversion, op: Operation) -> SSAValue:
        x, y = unified(c, c.operands(op))
        return c.cast(function(c, c.cast(x, f64), c.cast(y, f64)), c.element(x))

    return rule


RULES: dict[type[Operation], Rule] = {
    chlo.BesselI1eOp: of_one(widened(bessel_i1e)),
    chlo.DigammaOp: of_one(widened(digamma)),
    chlo.ErfInvOp: of_one(widened(erf_inv)),
    chlo.ErfcOp: of_one(widened(erfc)),
    chlo.LgammaOp: of_one(widened(lgamma)),
    chlo.PolygammaOp: _of_two(polygamma),
    chlo.ZetaOp: _of_two(zeta),
}
