"""Windows of signals: weights of samples that fall off to both ends."""

from __future__ import annotations

import numpy as np

from ...arrays.array import Array
from ..arguments.axes import integer_of
from ..creation import asarray

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def bartlett(M: int, /) -> Array:
    """A triangle of `M` samples in f64; none for less than one."""
    return asarray(np.bartlett(integer_of("bartlett", "M", M)))


def blackman(M: int, /) -> Array:
    """0.42 - 0.5 cos a + 0.08 cos 2a over one turn of `M` samples in f64; else as `bartlett`."""
    return asarray(np.blackman(integer_of("blackman", "M", M)))


def hamming(M: int, /) -> Array:
    """0.54 - 0.46 cos over one turn of `M` samples in f64; else as `bartlett`."""
    return asarray(np.hamming(integer_of("hamming", "M", M)))


def hanning(M: int, /) -> Array:
    """0.5 - 0.5 cos over one turn of `M` samples in f64; else as `bartlett`."""
    return asarray(np.hanning(integer_of("hanning", "M", M)))


def kaiser(M: int, beta: float, /) -> Array:
    """The Bessel function I0 of `beta` over half an ellipse of `M` samples in f64; else as `bartlett`."""
    return asarray(np.kaiser(integer_of("kaiser", "M", M), float(beta)))
