"""
Prints the coefficient tables of `passes/low/math`; a development tool that needs mpmath.

    python benchmarks/accuracy/fit_polynomials.py [exp log sin cos atan asin tanh erf power constants]

Polynomials are minimax fits by Remez' exchange algorithm, for the error relative to the whole function.
Rational functions are fitted by least squares on Chebyshev nodes, linearised with the last denominator as
weight (Sanathanan and Koerner 1963) and reweighted by the error (Lawson 1961); the best iterate is kept.
Every line ends with the base-2 logarithm of the largest relative error before rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpmath import mp

Real = Any
"""An mpmath real; mpmath has no type stubs."""

Function = Callable[[Real], Real]

mp.dps = 60


def evaluate(coefficients: Sequence[Real], x: Real) -> Real:
    result = mp.mpf(0)
    for coefficient in reversed(coefficients):
        result = result * x + coefficient
    return result


def extrema(points: Sequence[Real], errors: Sequence[Real]) -> list[int]:
    """Returns the index of the largest error in each run of errors of one sign."""
    found: list[int] = []
    start = 0
    while start < len(points):
        end = best = start
        while end < len(points) and (errors[end] > 0) == (errors[start] > 0):
            best = end if abs(errors[end]) > abs(errors[best]) else best
            end += 1
        found.append(best)
        start = end
    return found


def fit_polynomial(
    function: Function, weight: Function, low: Real, high: Real, degree: int
) -> tuple[list[Real], Real]:
    """Returns the polynomial with the least largest `|weight * (function - polynomial)|`, and that error."""
    n_points, n_grid = degree + 2, 3000

    def chebyshev(k: int, n: int) -> Real:
        return (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * k / n)

    grid = [chebyshev(k, n_grid) for k in range(n_grid + 1)]
    values, weights = [function(x) for x in grid], [weight(x) for x in grid]
    points = [chebyshev(k, n_points - 1) for k in range(n_points)]
    coefficients: list[Real] = []
    largest = mp.inf
    for _ in range(20):
        matrix, right = mp.matrix(n_points, n_points), mp.matrix(n_points, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                matrix[i, j] = x**j
            matrix[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = function(x)
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        errors = [w * (v - evaluate(coefficients, x)) for x, v, w in zip(grid, values, weights, strict=True)]
        largest = max(abs(error) for error in errors)
        chosen = extrema(grid, errors)
        if largest - abs(solution[degree + 1]) < largest / 1000 or len(chosen) < n_points:
            break
        while len(chosen) > n_points:
            chosen.pop(0 if abs(errors[chosen[0]]) < abs(errors[chosen[-1]]) else -1)
        points = [grid[i] for i in chosen]
    return coefficients, largest


def fit_rational(
    function: Function,
    weight: Function,
    low: Real,
    high: Real,
    numerator_degree: int,
    denominator_degree: int,
) -> tuple[list[Real], list[Real], Real]:
    """Returns numerator and denominator (constant term 1), and the largest error times `weight`."""
    n_unknowns = numerator_degree + denominator_degree + 1
    n_points = 6 * n_unknowns
    points = [
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n_points))
        for k in range(n_points)
    ]
    values, weights = [function(x) for x in points], [weight(x) for x in points]
    denominators, emphasis = [mp.mpf(1)] * n_points, [mp.mpf(1)] * n_points
    best: tuple[list[Real], list[Real], Real] = ([], [], mp.inf)
    for iteration in range(16):
        matrix, right = mp.matrix(n_points, n_unknowns), mp.matrix(n_points, 1)
        for i, x in enumerate(points):
            scale = mp.sqrt(emphasis[i]) * weights[i] / denominators[i]
            for j in range(numerator_degree + 1):
                matrix[i, j] = scale * x**j
            for j in range(1, denominator_degree + 1):
                matrix[i, numerator_degree + j] = -scale * values[i] * x**j
            right[i] = scale * values[i]
        solution = list(mp.qr_solve(matrix, right)[0])
        numerator = solution[: numerator_degree + 1]
        denominator = [mp.mpf(1), *solution[numerator_degree + 1 :]]
        denominators = [evaluate(denominator, x) for x in points]
        errors = [
            w * abs(evaluate(numerator, x) / d - v)
            for x, w, d, v in zip(points, weights, denominators, values, strict=True)
        ]
        if max(errors) < best[2]:
            best = (numerator, denominator, max(errors))
        if iteration >= 3:
            emphasis = [w * error for w, error in zip(emphasis, errors, strict=True)]
            total = sum(emphasis)
            emphasis = [w / total * n_points for w in emphasis]
    return best


def literal(value: Real, width: int) -> str:
    """Returns the shortest decimal that reads back as `value` rounded to the format."""
    if width == 64:
        return repr(float(value))
    return repr(float(str(np.float32(mp.nstr(value, 30)))))


def show(title: str, width: int, coefficients: Sequence[Real], error: Real | None = None) -> None:
    note = "" if error is None else f"  # 2^{mp.nstr(mp.log(error, 2), 4)}"
    print(f"{title} f{width}:{note}")
    for coefficient in coefficients:
        print(f"    {literal(coefficient, width)},")


def fit_exp() -> None:
    """e^r = 1 + r + r^2 q(r) for |r| <= ln(2) / 2."""
    # The weight vanishes at 0. An interval that is not quite symmetric keeps 0 off the grid.
    bound = mp.log(2) / 2
    for width, degree in ((32, 4), (64, 9)):
        show(
            "exp",
            width,
            *fit_polynomial(
                lambda r: (mp.exp(r) - 1 - r) / r**2,
                lambda r: r**2 / mp.exp(r),
                -bound * mp.mpf("1.0001"),
                bound * mp.mpf("1.0002"),
                degree,
            ),
        )


S_SQUARED_BOUND = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2
"""The largest s^2 for s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)]."""

TINY = mp.mpf(10) ** -12
"""Stands for 0 where a function has a removable singularity."""


def atanh_ratio(z: Real) -> Real:
    return mp.atanh(mp.sqrt(z)) / mp.sqrt(z)


def fit_log() -> None:
    """2 atanh(s) = 2 s + s z q(z), z = s^2."""
    for width, degree in ((32, 2), (64, 6)):
        show(
            "log",
            width,
            *fit_polynomial(
                lambda z: 2 * (atanh_ratio(z) - 1) / z, lambda z: z / 2, TINY, S_SQUARED_BOUND, degree
            ),
        )


def fit_power() -> None:
    """atanh(s) = s + s z (1/3 + z q(z)), z = s^2."""
    for width, degree in ((32, 2), (64, 7)):
        show(
            "power",
            width,
            *fit_polynomial(
                lambda z: (atanh_ratio(z) - 1 - z / 3) / z**2, lambda z: z**2, TINY, S_SQUARED_BOUND, degree
            ),
        )


def fit_sin() -> None:
    """sin(r) = r + r z q(z), z = r^2, r <= pi / 4."""
    for width, degree in ((32, 2), (64, 5)):
        show(
            "sin",
            width,
            *fit_polynomial(
                lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
                lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)),
                TINY,
                (mp.pi / 4) ** 2 * mp.mpf("1.0001"),
                degree,
            ),
        )


def fit_cos() -> None:
    """cos(r) = 1 - z / 2 + z^2 q(z), z = r^2, r <= pi / 4."""
    for width, degree in ((32, 2), (64, 5)):
        show(
            "cos",
            width,
            *fit_polynomial(
                lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
                lambda z: z**2 / mp.cos(mp.sqrt(z)),
                TINY,
                (mp.pi / 4) ** 2 * mp.mpf("1.0001"),
                degree,
            ),
        )


def fit_atan() -> None:
    """atan(t) = t + t z q(z), z = t^2, t <= tan(pi / 8)."""
    for width, degree in ((32, 4), (64, 10)):
        show(
            "atan",
            width,
            *fit_polynomial(
                lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
                lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
                TINY,
                mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.0001"),
                degree,
            ),
        )


def fit_asin() -> None:
    """asin(t) = t + t z q(z), z = t^2, t <= 1/2."""
    for width, degree in ((32, 4), (64, 11)):
        show(
            "asin",
            width,
            *fit_polynomial(
                lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
                lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
                TINY,
                mp.mpf("0.25"),
                degree,
            ),
        )


def fit_tanh() -> None:
    """tanh(r) = r + r z q(z), z = r^2, r <= ln(2) / 4."""
    for width, degree in ((32, 2), (64, 5)):
        show(
            "tanh",
            width,
            *fit_polynomial(
                lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
                lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)),
                TINY,
                (mp.log(2) / 4 * mp.mpf("1.0001")) ** 2,
                degree,
            ),
        )


def fit_erf() -> None:
    """erf(x) = 1 - exp(-x (2 / sqrt(pi) + x q(x))), up to where it rounds to 1."""
    slope = 2 / mp.sqrt(mp.pi)

    def q(x: Real) -> Real:
        return (-mp.log(mp.erfc(x)) / x - slope) / x

    def weight(x: Real) -> Real:
        """Turns an error of q into the relative error of erf."""
        return x**2 * mp.erfc(x) / mp.erf(x)

    show("erf", 32, *fit_polynomial(q, weight, TINY, mp.mpf("3.93"), 7))
    numerator, denominator, error = fit_rational(q, weight, TINY, mp.mpf("5.93"), 8, 7)
    show("erf numerator", 64, numerator, error)
    show("erf denominator", 64, denominator)


def truncated(value: Real, n_bits: int) -> Real:
    """Returns `value` cut to its `n_bits` leading bits."""
    exponent = int(mp.floor(mp.log(abs(value), 2))) + 1 - n_bits
    return mp.floor(value / mp.mpf(2) ** exponent) * mp.mpf(2) ** exponent


def print_constants() -> None:
    """The constants that are split into parts: ln 2, 1/3, pi/2, and the bits of 2/pi."""
    for width, ln2_bits, half_bits, precision in ((32, 16, 12, 24), (64, 42, 26, 53)):
        ln2_high = truncated(mp.log(2), ln2_bits)
        show("log2(e), ln 2 high and low", width, [1 / mp.log(2), ln2_high, mp.log(2) - ln2_high])
        third_high = truncated(mp.mpf(1) / 3, precision)
        show("1/3 high and low", width, [third_high, mp.mpf(1) / 3 - third_high])
        for name, value in (
            ("log2(e)", 1 / mp.log(2)),
            ("log10(e)", 1 / mp.log(10)),
            ("pi", mp.pi),
            ("3 pi/4", 3 * mp.pi / 4),
        ):
            value_high = truncated(value, precision)
            show(f"{name} high and low", width, [value_high, value - value_high])
        half_pi_high = truncated(mp.pi / 2, half_bits)
        show("pi/2, high and low", width, [mp.pi / 2, half_pi_high, mp.pi / 2 - half_pi_high])
    with mp.workprec(1400):
        print("2/pi, 1280 bits:")
        digits = f"{int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280)):0320X}"
    for start in range(0, len(digits), 80):
        print(f"    {digits[start : start + 80]}")


FITS: dict[str, Callable[[], None]] = {
    "exp": fit_exp,
    "log": fit_log,
    "power": fit_power,
    "sin": fit_sin,
    "cos": fit_cos,
    "atan": fit_atan,
    "asin": fit_asin,
    "tanh": fit_tanh,
    "erf": fit_erf,
    "constants": print_constants,
}


def main(names: Sequence[str]) -> None:
    for name in names or FITS:
        FITS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
