"""Floats at the edges of arithmetic, and errors in units of the last place."""

from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}
BITS: dict[str, Any] = {"f32": np.uint32, "f64": np.uint64}


def errors_in_ulps(computed: Array, exact: Array) -> Array:
    """Returns the errors in units in the last place; infinite where NaN, infinity or the sign of 0 differ."""
    information = np.finfo(computed.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(computed.dtype)
        exponent = np.frexp(np.abs(exact))[1]
        lowest = int(information.minexp) - int(information.nmant)
        unit = np.ldexp(np.ones_like(exact), np.maximum(exponent - information.nmant - 1, lowest))
        error = np.abs(computed.astype(exact.dtype) - exact) / unit
    agrees = (computed == rounded) & (np.signbit(computed) == np.signbit(rounded))
    agrees |= np.isnan(computed) & np.isnan(exact)
    special = ~np.isfinite(computed) | ~np.isfinite(rounded) | ((computed == 0) & (rounded == 0))
    return np.where(special, np.where(agrees, 0, np.inf), error)


needs_wide_reference = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than f64 here"
)


ELEMENT_TYPES = ["f32", pytest.param("f64", marks=needs_wide_reference)]


def edges(element_type: str) -> Array:
    """Zeros, infinities, NaN, the ends of the ranges of normal and subnormal floats, 1 and its neighbours."""
    dtype = DTYPES[element_type]
    information = np.finfo(dtype)
    one = dtype(1)
    positive = [
        *(
            0.0,
            np.inf,
            0.5,
            1.5,
            2,
            3,
            4,
            7,
            10,
            709.7,
            745.2,
            88.7,
            104,
            1e10,
            2.0**24 - 1,
            2.0**24,
            2.0**53 - 1,
        ),
        *(information.max, information.tiny, information.smallest_subnormal, 1.0),
        *(np.nextafter(one, dtype(0)), np.nextafter(one, dtype(2)), np.nextafter(information.tiny, dtype(0))),
    ]
    values = np.array(positive, dtype=dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype=dtype)])


def bit_patterns(element_type: str, n: int, seed: int) -> Array:
    bits = BITS[element_type]
    random = np.random.default_rng(seed)
    return random.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(DTYPES[element_type])
