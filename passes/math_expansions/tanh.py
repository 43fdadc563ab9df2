"""The hyperbolic tangent: a rational function of x^2 times x (see `rational.py`)."""

from __future__ import annotations

from .arithmetic import Float, T
from .float_format import F32, F64, FloatFormat
from .rational import SaturatingRational, saturating_rational

_TABLES: dict[FloatFormat, SaturatingRational] = {
    F32: SaturatingRational(
        bound=9.02,
        numerator=(
            1.0,
            0.13785207,
            0.0040083122,
            3.158496e-05,
            5.0748813e-08,
        ),
        denominator=(
            1.0,
            0.4711854,
            0.027736794,
            0.0004207058,
            1.6171778e-06,
            7.371853e-10,
        ),
    ),
    F64: SaturatingRational(
        bound=19.07,
        numerator=(
            1.0,
            0.15345680587881147,
            0.006224294235754887,
            0.00010330313195421914,
            8.313707650339754e-07,
            3.479467429604145e-09,
            7.651937838313455e-12,
            8.464719642876294e-15,
            4.186993959703155e-18,
            7.060250856743749e-22,
            1.7130561365608395e-26,
        ),
        denominator=(
            1.0,
            0.4867901392121448,
            0.03515434063980316,
            0.0008843187518565953,
            1.0084195497680045e-05,
            5.825567665129406e-08,
            1.7708058473539965e-10,
            2.7876191339524844e-13,
            2.1061923067878214e-16,
            6.398701121270135e-20,
            5.006563012244983e-24,
        ),
    ),
}


def tanh(x: Float[T]) -> Float[T]:
    """Returns tanh(x)."""
    return saturating_rational(x, _TABLES[x.arithmetic.format])
