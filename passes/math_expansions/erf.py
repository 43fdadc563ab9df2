"""The error function: a rational function of x^2 times x (see `rational.py`)."""

from __future__ import annotations

from .arithmetic import Float, T
from .float_format import F32, F64, FloatFormat
from .rational import SaturatingRational, saturating_rational

_TABLES: dict[FloatFormat, SaturatingRational] = {
    F32: SaturatingRational(
        bound=3.93,
        numerator=(
            1.1283792,
            0.19249001,
            0.05559495,
            0.0041969134,
            0.00040615906,
            6.6040616e-06,
        ),
        denominator=(
            1.0,
            0.50392324,
            0.11724357,
            0.0162193,
            0.0014085567,
            7.122152e-05,
            2.4987537e-07,
        ),
    ),
    F64: SaturatingRational(
        bound=5.93,
        numerator=(
            1.1283791670955126,
            0.222984197774709,
            0.06697670270893638,
            0.0071127432771784455,
            0.0008904386326919742,
            6.0843772762605784e-05,
            4.260491301470977e-06,
            1.9276853937389693e-07,
            8.082324900471278e-09,
            2.2204672969018897e-10,
            4.955678081317428e-12,
            4.509586160766343e-14,
            7.598111245802e-17,
        ),
        denominator=(
            1.0,
            0.5309479333517639,
            0.13633920176928405,
            0.022464635670224168,
            0.002655410235883143,
            0.00023824951245380444,
            1.6719187989296896e-05,
            9.296394767024464e-07,
            4.087836488421942e-08,
            1.3926973952358735e-09,
            3.4809011221287304e-11,
            5.584660979868851e-13,
            2.410062052580392e-15,
            1.0673484905665416e-18,
        ),
    ),
}


def erf(x: Float[T]) -> Float[T]:
    """Returns erf(x)."""
    return saturating_rational(x, _TABLES[x.arithmetic.format])
