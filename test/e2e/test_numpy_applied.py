"""Polynomials, windows, bits, histograms of several axes, functions of parts: all as numpy has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

from .test_numpy_further import check, check_call, check_call_of_values, doubles, numbers

POINTS = doubles(400)
COLUMNS = doubles(300, 3)
HEAVY = np.abs(doubles(300))

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("polyadd", lambda xp, a, b: (xp.polyadd(a, b), xp.polysub(b, a)), (doubles(5), doubles(3))),
    ("polyadd", lambda xp, a, b: xp.polyadd(a, b), (numbers(2), np.float32([1.5, 2, 0, 7]))),
    ("polysub", lambda xp, a: xp.polysub(a, a[:0]), (doubles(5),)),
    ("polymul", lambda xp, a, b: xp.polymul(a, b), (doubles(5), doubles(3))),
    ("polymul", lambda xp, a, b: xp.polymul(a, b), (numbers(4, low=1), numbers(6, low=1))),
    ("polyder", lambda xp, a: [xp.polyder(a, m) for m in range(7)], (doubles(5),)),
    ("polyder", lambda xp, a: xp.polyder(a), (numbers(6).astype(np.int32),)),
    ("polyder", lambda xp, a: xp.polyder(a), (doubles(6).astype(np.float32),)),
    ("polyint", lambda xp, a: (xp.polyint(a), xp.polyint(a, 3), xp.polyint(a, 0)), (doubles(5),)),
    ("polyint", lambda xp, a: (xp.polyint(a, 2, [7.0, -1.0]), xp.polyint(a, k=5.0)), (numbers(4),)),
    *[
        ("windows", lambda xp, x, m=m: xp.stack([each(xp, m) for each in WINDOWS]) * x, (doubles(m),))
        for m in (1, 2, 51)
    ],
    ("hanning", lambda xp, x: x * xp.sum(xp.hanning(0)), (doubles(2),)),
    *[
        ("bitwise_count", lambda xp, x: xp.bitwise_count(x), (arguments,))
        for arguments in (
            np.arange(-128, 128).astype(np.int8),
            np.arange(256).astype(np.uint8),
            numbers(300, low=-(2**31), high=2**31).astype(np.int32),
            np.array([-(2**63), 2**63 - 1, 0, -1, 12345678901], np.int64),
            np.array([2**64 - 1, 2**63, 5], np.uint64),
            np.array([-32768, 32767, 255], np.int16),
        )
    ],
    *[
        (
            "packbits",
            lambda xp, x, axis=axis, order=order: xp.packbits(x, axis=axis, bitorder=order),
            (arguments,),
        )
        for arguments in (numbers(3, 17, low=-1, high=2), numbers(16, 2) > 0, np.zeros((2, 0), np.uint8))
        for axis in (None, 0, -1)
        for order in ("big", "little")
    ],
    *[
        (
            "unpackbits",
            lambda xp, x, axis=axis, count=count, order=order: xp.unpackbits(x, axis, count, order),
            (numbers(5, 3, low=0, high=256).astype(np.uint8),),
        )
        for axis in (None, 0, 1)
        for count in (None, 0, 11, -3, 130, -24)
        for order in ("big", "little")
        if count != -24 or axis != 0
    ],
    ("histogramdd", lambda xp, x: xp.histogramdd(x, 4), (COLUMNS,)),
    ("histogramdd", lambda xp, x, w: xp.histogramdd(x, (3, 1, 5), weights=w), (COLUMNS, HEAVY)),
    (
        "histogramdd",
        lambda xp, x: xp.histogramdd(x, 6, range=[(-1, 1), (-9.0, 0.5), (0, 4)], density=True),
        (COLUMNS,),
    ),
    (
        "histogramdd",
        lambda xp, x, edges: xp.histogramdd([x[:, 0], x[:, 1]], [edges, 3]),
        (COLUMNS, np.array([-2.0, -0.5, 0, 3])),
    ),
    ("histogram2d", lambda xp, x: xp.histogram2d(x[:, 0], x[:, 1]), (COLUMNS,)),
    ("histogram2d", lambda xp, x: xp.histogram2d(x[:, 0], x[:, 1], [3, 7], density=True), (COLUMNS,)),
    ("histogram2d", lambda xp, x, e: xp.histogram2d(x[:, 0], x[:, 1], e), (COLUMNS, np.arange(-3.0, 4))),
    ("histogram2d", lambda xp, x: xp.histogram2d(x, x, 4), (numbers(60),)),
    ("resize", lambda xp, x: (xp.resize(x, (4, 5)), xp.resize(x, 2), xp.resize(x, (0, 3))), (numbers(2, 3),)),
    ("resize", lambda xp, x: xp.resize(x, (2, 2)), (np.zeros(0, np.float32),)),
    ("fix", lambda xp, x: xp.fix(x), (doubles(9),)),
    ("apply_along_axis", lambda xp, x: xp.apply_along_axis(lambda v: xp.sum(v * v), 0, x), (doubles(4, 3),)),
    (
        "apply_along_axis",
        lambda xp, x: [xp.apply_along_axis(lambda v, k: xp.sort(v)[:k], axis, x, 2) for axis in (0, 1, -1)],
        (doubles(4, 3, 5),),
    ),
    ("apply_along_axis", lambda xp, x: xp.apply_along_axis(xp.sum, 1, x), (np.zeros((3, 0)),)),
    (
        "apply_along_axis",
        lambda xp, x: xp.apply_along_axis(lambda v: xp.outer(v, v), 1, x),
        (numbers(2, 3, 4),),
    ),
    (
        "apply_along_axis",
        lambda xp, x: xp.apply_along_axis(lambda v, scale=1.0: v[::-1] * scale, 0, x, scale=2.5),
        (doubles(131),),
    ),
    (
        "apply_over_axes",
        lambda xp, x: (xp.apply_over_axes(xp.sum, x, (0, 2)), xp.apply_over_axes(xp.cumsum, x, 1)),
        (doubles(2, 3, 4),),
    ),
    (
        "choose",
        lambda xp, i, x, y: [xp.choose(i, (x, y, 7), mode=mode) for mode in ("wrap", "clip")],
        (numbers(3, 4), numbers(4), numbers(3, 1)),
    ),
    ("fromfunction", lambda xp, x: x * xp.fromfunction(lambda i, j: i * 10 + j, (3, 4)), (doubles(3, 4),)),
    (
        "fromfunction",
        lambda xp, x: x + xp.fromfunction(lambda i, k=1: i * k, (3,), dtype=np.int32, k=4),
        (numbers(3).astype(np.int32),),
    ),
    ("piecewise", lambda xp, x: xp.piecewise(x, [x < 0, x >= 0], [-1, 1]), (doubles(20),)),
    ("piecewise", lambda xp, x: xp.piecewise(x, [x < 0, x > 2], [lambda v: -v, xp.sqrt, 5]), (doubles(20),)),
    ("piecewise", lambda xp, x: xp.piecewise(x, [x > -1, x > 1], [3.9, 7]), (numbers(4, 5),)),
    ("piecewise", lambda xp, x: xp.piecewise(x, x > 0, [lambda v, k: v * k], 3), (doubles(7),)),
    ("piecewise", lambda xp, x: xp.piecewise(x, [True, False], [1, 2]), (doubles(2),)),
    ("piecewise", lambda xp, x: xp.piecewise(x, [x > 0], [2.0, -2.0]), (np.array(3.0),)),
]

WINDOWS: list[Callable[[Any, int], Any]] = [
    lambda xp, m: xp.bartlett(m),
    lambda xp, m: xp.blackman(m),
    lambda xp, m: xp.hamming(m),
    lambda xp, m: xp.hanning(m),
    lambda xp, m: xp.kaiser(m, 8.6),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda number: f"{CALLS[number][0]}-{number}")
def test_a_call_gives_what_numpys_gives(number: int):
    _, call, values = CALLS[number]
    check_call(call, values)


OF_VALUES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda xp, i, x: xp.choose(i, (x, -x)), (numbers(5, low=0, high=2), doubles(5))),
    (lambda xp, x, y: xp.setxor1d(x, y), (numbers(9), numbers(2, 3))),
]


@pytest.mark.parametrize("number", range(len(OF_VALUES)))
def test_a_call_that_needs_values_gives_what_numpys_gives_and_is_an_error_in_a_trace(number: int):
    check_call_of_values(*OF_VALUES[number])


def test_products_of_polynomials_keep_zeros_before_the_first_coefficient():
    found = tnp.polymul(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(np.asarray(found), [0, 2, 3])


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits_that_were_packed_are_those_before(order: Any):
    bits = numbers(7, 37, low=0, high=2).astype(np.uint8)
    there_and_back = tenon.jit(lambda x: tnp.unpackbits(tnp.packbits(x, 1, order), 1, 37, order))
    np.testing.assert_array_equal(np.asarray(there_and_back(bits)), bits)


OPEN: list[Callable[[Any, Any], Any]] = [
    lambda xp, x: (xp.polyder(x), xp.polyint(x)),
    lambda xp, x: xp.packbits(x > 0),
    lambda xp, x: xp.unpackbits(xp.packbits(x < 0)),
    lambda xp, x: xp.resize(x, (3, 7)),
    lambda xp, x: xp.histogramdd((x, x * 2), 3)[0],
    lambda xp, x: xp.apply_along_axis(lambda v: v * 2, 0, xp.stack([x, -x], axis=1)),
    lambda xp, x: xp.piecewise(x, [x > 0], [lambda v: v * 2, -1]),
]


@pytest.mark.parametrize("number", range(len(OPEN)))
def test_how_many_there_are_may_be_open(number: int):
    call = OPEN[number]
    compiled = tenon.jit(lambda x: call(tnp, x), dynamic={"x": {0: tenon.Dim("n", 1, 600)}})
    for extent in (8, 3, 531, 1):
        x = doubles(extent)
        check(compiled(x), call(np, x))


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        lambda x: tnp.polyadd(x, x[0]),
        ValueError,
        "polyadd: coefficients have shape (2, 3), expected one axis",
    ),
    (lambda x: tnp.polysub(x[0], x), ValueError, "polysub: coefficients have shape (2, 3)"),
    (lambda x: tnp.polymul(x, x), ValueError, "polymul: coefficients have shape (2, 3)"),
    (lambda x: tnp.polyder(x), ValueError, "polyder: coefficients have shape (2, 3)"),
    (lambda x: tnp.polyder(x[0], -1), ValueError, "polyder: m is -1"),
    (lambda x: tnp.polyint(x[0], -2), ValueError, "polyint: m is -2"),
    (lambda x: tnp.polyint(x), ValueError, "polyint: coefficients have shape (2, 3)"),
    (lambda x: tnp.polyint(x[0], 2, x[0]), ValueError, "polyint: constants of shape (3,), expected one or 2"),
    (lambda x: tnp.bitwise_count(x), TypeError, "bitwise_count: not supported for the input types (float64"),
    (lambda x: tnp.packbits(x), TypeError, "packbits: not supported for the input types (float64"),
    (lambda x: tnp.packbits(x > 0, axis=2), IndexError, "packbits: axis 2 is out of bounds"),
    (lambda x: tnp.packbits(x > 0, bitorder="middle"), ValueError, "packbits: bitorder is 'middle'"),
    (lambda x: tnp.unpackbits(x > 0), TypeError, "unpackbits: not supported for the input types (bool"),
    (
        lambda x: tnp.unpackbits(tnp.packbits(x > 0), count=-9),
        ValueError,
        "unpackbits: count is -9, of 8 bits",
    ),
    (lambda x: tnp.resize(x, (2, -1)), ValueError, "resize: (2, -1) has a negative extent"),
    (lambda x: tnp.histogramdd(x[0]), ValueError, "histogramdd: points have shape (3,), expected two axes"),
    (lambda x: tnp.histogramdd((x[0], x[0, :2])), ValueError, "histogramdd: coordinates have shapes"),
    (lambda x: tnp.histogramdd(x, (2, 3)), ValueError, "histogramdd: bins of 2 axes, of 3"),
    (lambda x: tnp.histogramdd(x, range=[(0, 1)]), ValueError, "histogramdd: range of 1 axes, of 3"),
    (lambda x: tnp.histogramdd(x, weights=x[0]), ValueError, "histogramdd: weights have shape (3,)"),
    (lambda x: tnp.histogram2d(x[0], x[0], 0), ValueError, "histogram: 0 bins"),
    (lambda x: tnp.apply_along_axis(tnp.sum, 2, x), IndexError, "apply_along_axis: axis 2 is out of bounds"),
    (
        lambda x: tnp.apply_over_axes(lambda a, _: tnp.sum(a), x, 0),
        ValueError,
        "apply_over_axes: the function made rank 0 of 2",
    ),
    (lambda x: tnp.choose(x, [x]), TypeError, "choose: not supported for the input types (float64"),
    (lambda x: tnp.choose([0, 1], []), ValueError, "choose: there are no choices"),
    (lambda x: tnp.choose([0, 2], [x, x]), ValueError, "choose: numbers from 0 to 2, of 2 choices"),
    (lambda x: tnp.choose([0], [x], mode="near"), ValueError, "choose: mode is 'near'"),
    (lambda x: tnp.piecewise(x, [x > 0], [1, 2, 3]), ValueError, "piecewise: 3 functions and 1 conditions"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_a_wrong_call_is_an_error(number: int):
    call, error, message = ERRORS[number]
    with pytest.raises(error) as raised:
        call(tnp.asarray(np.arange(6.0).reshape(2, 3)))
    assert message in str(raised.value)
