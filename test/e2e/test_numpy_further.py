"""What numpy has beyond the Array API: each call against numpy's, called as it is and in a `jit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from numpy.exceptions import AxisError
from tenon.errors import TracingError

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def doubles(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) * 3


def numbers(*shape: int, low: int = -9, high: int = 9) -> np.ndarray:
    return RNG.integers(low, high, shape)


def with_nan(*shape: int) -> np.ndarray:
    values = doubles(*shape)
    values[RNG.random(shape) < 0.3] = np.nan
    return values


def rows_of_nan() -> np.ndarray:
    values = with_nan(4, 5)
    values[1] = np.nan
    return values


SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-310, 27.0, -8.0, 1e300, 0.5, -2.5])
EMPTY = np.zeros((0, 3))
RISING = np.sort(doubles(9))

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("around", lambda xp, x: xp.around(x, 1), (doubles(7),)),
    *[
        ("gcd", lambda xp, x, y: (xp.gcd(x, y), xp.lcm(x, y)), arguments)
        for arguments in (
            (numbers(300, low=-500, high=500), numbers(300, low=-500, high=500)),
            (numbers(40, 1).astype(np.int16), numbers(7).astype(np.int16)),
            (numbers(50, low=0, high=200).astype(np.uint8), numbers(50, low=0, high=9).astype(np.uint8)),
            (np.array([0, 0, 5, -5, 7919 * 7907]), np.array([0, -3, 0, 15, 7907 * 6])),
            (np.zeros(0, np.int32), np.zeros(0, np.int32)),
        )
    ],
    ("lexsort", lambda xp, x, y: xp.lexsort((x, y)), (numbers(200, low=0), numbers(200, low=0))),
    (
        "lexsort",
        lambda xp, x, y, z: xp.lexsort((x, y, z), axis=0),
        (numbers(61, 3, low=0), numbers(61, 3, low=0, high=3), with_nan(61, 3).round()),
    ),
    ("lexsort", lambda xp, x: xp.lexsort(x), (numbers(4, 33, low=0, high=3),)),
    ("lexsort", lambda xp, x: xp.lexsort([x]), (SPECIAL,)),
    ("diagflat", lambda xp, x: (xp.diagflat(x), xp.diagflat(x, -2)), (doubles(2, 3),)),
    ("insert", lambda xp, x: xp.insert(x, 1, 7), (numbers(5),)),
    ("insert", lambda xp, x: xp.insert(x, 1, 7), (numbers(2, 3),)),
    ("insert", lambda xp, x: xp.insert(x, -1, [7, 8, 9]), (numbers(5),)),
    ("insert", lambda xp, x: xp.insert(x, [3, 0, 3], [7, 8, 9]), (numbers(5),)),
    ("insert", lambda xp, x: xp.insert(x, slice(1, 5, 2), 0.75), (numbers(6),)),
    ("insert", lambda xp, x, y: xp.insert(x, 2, y, axis=1), (doubles(4, 3), doubles(4))),
    ("insert", lambda xp, x, y: xp.insert(x, [2], y, axis=1), (doubles(4, 3), doubles(4, 2))),
    ("insert", lambda xp, x, y: xp.insert(x, [0, 3], y, axis=0), (doubles(4, 3), doubles(3))),
    ("insert", lambda xp, x: xp.insert(x, slice(2, 3), [7, 8]), (numbers(6),)),
    ("insert", lambda xp, x: xp.insert(x, -5, [7, 8]), (numbers(5),)),
    ("insert", lambda xp, x: xp.insert(x, [], 1.0), (doubles(4),)),
    ("matvec", lambda xp, x, y: xp.matvec(x, y), (doubles(5, 3, 4), doubles(4))),
    ("matvec", lambda xp, x, y: xp.matvec(x, y), (numbers(3, 4), numbers(6, 1, 4))),
    ("vecmat", lambda xp, x, y: xp.vecmat(x, y), (doubles(3), doubles(5, 3, 4))),
    ("vecmat", lambda xp, x, y: xp.vecmat(x, y), (floats(6, 1, 3), floats(3, 4))),
    *[
        ("multi_dot", lambda xp, *x: xp.linalg.multi_dot(list(x)), arguments)
        for arguments in (
            (doubles(4, 30), doubles(30, 2)),
            (doubles(10, 100), doubles(100, 5), doubles(5, 50), doubles(50, 3)),
            (doubles(3), doubles(3, 17), doubles(17, 2), doubles(2)),
            (doubles(7, 3), doubles(3, 4), doubles(4)),
        )
    ],
    ("polyfit", lambda xp, x, y: xp.polyfit(x, y, 3), (RISING, doubles(9))),
    ("polyfit", lambda xp, x, y: xp.polyfit(x, y, 2), (RISING, doubles(9, 4))),
    ("polyfit", lambda xp, x, y, w: xp.polyfit(x, y, 1, w=w), (RISING, doubles(9), RISING**2 + 1)),
    ("polyfit", lambda xp, x, y, w: xp.polyfit(x, y, 0, w=w), (numbers(9), doubles(9, 2), RISING**2)),
    ("cbrt", lambda xp, x: xp.cbrt(x), (SPECIAL,)),
    ("cbrt", lambda xp, x: xp.cbrt(x), (doubles(100) * 1e5,)),
    ("cbrt", lambda xp, x: xp.cbrt(x), (floats(100),)),
    ("degrees", lambda xp, x: xp.degrees(x), (floats(5),)),
    ("degrees", lambda xp, x: xp.rad2deg(x), (numbers(5),)),
    ("radians", lambda xp, x: (xp.radians(x), xp.deg2rad(x)), (doubles(5),)),
    ("divmod", lambda xp, x, y: xp.divmod(x, y), (numbers(20), numbers(20, low=1))),
    ("fabs", lambda xp, x: xp.fabs(x), (numbers(5),)),
    ("float_power", lambda xp, x: xp.float_power(x, -2), (numbers(5, low=1),)),
    ("fmax", lambda xp, x, y: (xp.fmax(x, y), xp.fmin(x, y)), (with_nan(40), with_nan(40))),
    ("fmax", lambda xp, x, y: (xp.fmax(x, y), xp.fmin(x, y)), (numbers(6), numbers(6))),
    ("heaviside", lambda xp, x: xp.heaviside(x, 0.25), (SPECIAL,)),
    ("isneginf", lambda xp, x: (xp.isneginf(x), xp.isposinf(x)), (SPECIAL,)),
    ("logaddexp2", lambda xp, x, y: xp.logaddexp2(x, y), (doubles(9), doubles(9))),
    ("modf", lambda xp, x: xp.modf(x), (SPECIAL,)),
    ("rint", lambda xp, x: xp.rint(x), (SPECIAL,)),
    ("rint", lambda xp, x: xp.rint(x), (numbers(4),)),
    ("select", lambda xp, x: xp.select([x > 2, x > 0], [x * 2, x + 1], -7), (doubles(9),)),
    ("select", lambda xp, x: xp.select([x > 2, x > 0], [x, -x]), (numbers(9),)),
    ("sinc", lambda xp, x: xp.sinc(x), (doubles(9),)),
    ("sinc", lambda xp, x: xp.sinc(x), (np.array([0.0, -0.0, 1.0, np.inf])[:3],)),
    *[
        (name, lambda xp, x, name=name, axis=axis: getattr(xp, name)(x, axis), (rows_of_nan(),))
        for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian")
        for axis in (None, 0, 1)
    ],
    *[
        (
            name,
            lambda xp, x, name=name: getattr(xp, name)(x, axis=(0, 2), keepdims=True),
            (with_nan(3, 2, 5),),
        )
        for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian")
    ],
    *[
        (name, lambda xp, x, name=name: getattr(xp, name)(x, axis=1), (numbers(3, 4),))
        for name in ("nansum", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanargmax", "nanmedian")
    ],
    ("nanvar", lambda xp, x: (xp.nanvar(x, ddof=1), xp.nanstd(x, axis=1, ddof=3)), (rows_of_nan(),)),
    ("nanmean", lambda xp, x: xp.nanmean(x, axis=0), (with_nan(9, 4).astype(np.float32),)),
    ("nanmean", lambda xp, x: xp.nanmean(x, dtype=np.float32), (numbers(5),)),
    ("nanargmax", lambda xp, x: (xp.nanargmax(x), xp.nanargmin(x)), (with_nan(30),)),
    ("nanargmax", lambda xp, x: (xp.nanargmax(x, 1), xp.nanargmin(x, 1)), (with_nan(3, 30),)),
    ("nancumsum", lambda xp, x: (xp.nancumsum(x), xp.nancumprod(x, 1)), (with_nan(3, 4),)),
    *[
        ("median", lambda xp, x, axis=axis: xp.median(x, axis=axis), (values,))
        for axis in (None, 0, -1)
        for values in (doubles(4, 5), numbers(3, 4), floats(5, 6), with_nan(3, 7))
    ],
    ("median", lambda xp, x: xp.median(x, axis=(0, 2), keepdims=True), (doubles(3, 4, 2),)),
    *[
        (
            "quantile",
            lambda xp, x, method=method: xp.quantile(x, [0, 0.1, 0.5, 0.77, 1], axis=1, method=method),
            (values,),
        )
        for method in ("linear", "lower", "higher", "midpoint", "nearest")
        for values in (doubles(3, 8), numbers(3, 8), with_nan(3, 4))
    ],
    ("quantile", lambda xp, x: xp.quantile(x, 0.3), (doubles(3, 8),)),
    ("quantile", lambda xp, x, q: xp.quantile(x, q, axis=0), (doubles(5, 2), np.array([[0.2, 0.9]]))),
    ("quantile", lambda xp, x: xp.quantile(x, [0.25, 0.5], axis=(0, 1), keepdims=True), (doubles(3, 8, 2),)),
    ("percentile", lambda xp, x: xp.percentile(x, [5, 50, 99.5], axis=-1), (doubles(3, 41),)),
    ("nanquantile", lambda xp, x: xp.nanquantile(x, 0.3, axis=1), (rows_of_nan(),)),
    ("nanpercentile", lambda xp, x: xp.nanpercentile(x, [10, 90], axis=0), (with_nan(30, 3),)),
    ("ptp", lambda xp, x: (xp.ptp(x), xp.ptp(x, axis=0, keepdims=True)), (doubles(3, 4),)),
    ("amax", lambda xp, x: (xp.amax(x, 0), xp.amin(x)), (doubles(3, 4),)),
    ("average", lambda xp, x: xp.average(x), (numbers(3, 4),)),
    ("average", lambda xp, x, w: xp.average(x, axis=1, weights=w), (doubles(3, 4), np.arange(1.0, 5))),
    ("average", lambda xp, x, w: xp.average(x, weights=w, returned=True), (doubles(6), np.arange(1, 7))),
    ("average", lambda xp, x: xp.average(x, axis=0, returned=True), (doubles(3, 4),)),
    ("digitize", lambda xp, x, b: xp.digitize(x, b), (doubles(50), RISING)),
    ("digitize", lambda xp, x, b: xp.digitize(x, b, right=True), (numbers(50), np.array([7, 3, 1, -2]))),
    ("digitize", lambda xp, x, b: xp.digitize(x, b), (numbers(50), np.array([7, 3, 1, -2]))),
    ("digitize", lambda xp, x, b: xp.digitize(x, b), (numbers(5), np.array([2]))),
    ("ediff1d", lambda xp, x: xp.ediff1d(x), (numbers(3, 3),)),
    ("gradient", lambda xp, x: xp.gradient(x), (doubles(7),)),
    ("gradient", lambda xp, x: xp.gradient(x, 0.5), (numbers(7),)),
    ("gradient", lambda xp, x: xp.gradient(x), (doubles(5, 6),)),
    ("gradient", lambda xp, x: xp.gradient(x, 2.0, 3.0, edge_order=2), (doubles(5, 6),)),
    ("gradient", lambda xp, x, at: xp.gradient(x, at), (doubles(9), RISING)),
    ("gradient", lambda xp, x, at: xp.gradient(x, at, axis=1, edge_order=2), (doubles(3, 9), RISING)),
    ("gradient", lambda xp, x: xp.gradient(x, axis=(0, 2)), (floats(3, 4, 5),)),
    ("trapezoid", lambda xp, y: (xp.trapezoid(y), xp.trapezoid(y, dx=0.5, axis=0)), (doubles(4, 5),)),
    ("trapezoid", lambda xp, y, x: xp.trapezoid(y, x), (doubles(4, 9), RISING)),
    ("trapezoid", lambda xp, y, x: xp.trapezoid(y, x, axis=0), (doubles(9, 4), RISING)),
    ("trapezoid", lambda xp, y, x: xp.trapezoid(y, x, axis=0), (doubles(9, 4), doubles(9, 4))),
    ("interp", lambda xp, x, a, b: xp.interp(x, a, b), (doubles(4, 50) * 3, RISING, doubles(9))),
    (
        "interp",
        lambda xp, x, a, b: xp.interp(x, a, b, -1, 5.5),
        (np.append(RISING, np.nan), RISING, numbers(9)),
    ),
    ("interp", lambda xp, a, b: xp.interp(0.5, a, b), (RISING[:1], doubles(1))),
    ("polyval", lambda xp, p, x: xp.polyval(p, x), (doubles(4), doubles(3, 2))),
    ("polyval", lambda xp, p: xp.polyval(p, 3), (numbers(4),)),
    ("vander", lambda xp, x: (xp.vander(x), xp.vander(x, 2), xp.vander(x, 5, True)), (doubles(4),)),
    ("vander", lambda xp, x: xp.vander(x, 0), (doubles(4),)),
    ("unwrap", lambda xp, x: (xp.unwrap(x), xp.unwrap(x, axis=0)), (doubles(5, 6) * 3,)),
    ("unwrap", lambda xp, x: xp.unwrap(x, discont=4, period=7), (numbers(30),)),
    ("cov", lambda xp, x: (xp.cov(x), xp.cov(x, rowvar=False), xp.cov(x, bias=True)), (doubles(3, 8),)),
    ("cov", lambda xp, x, y: (xp.cov(x, y), xp.cov(x, ddof=3)), (doubles(8), numbers(8))),
    ("cov", lambda xp, x, y: (xp.cov(x, y), xp.corrcoef(x, y)), (floats(8), doubles(8))),
    ("corrcoef", lambda xp, x: xp.corrcoef(x), (doubles(3, 8),)),
    ("corrcoef", lambda xp, x: xp.corrcoef(x), (doubles(8),)),
    *[
        (name, lambda xp, a, v, name=name, mode=mode: getattr(xp, name)(a, v, mode), values)
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for values in ((doubles(9), doubles(4)), (numbers(3), numbers(8)), (floats(5), floats(5)))
    ],
    ("convolve", lambda xp, a, v: (xp.convolve(a, v), xp.correlate(a, v)), (doubles(300), doubles(31))),
    ("cross", lambda xp, a, b: xp.cross(a, b), (doubles(4, 3), doubles(3))),
    ("vdot", lambda xp, a, b: xp.vdot(a, b), (doubles(2, 3), doubles(3, 2))),
    ("histogram", lambda xp, x: xp.histogram(x), (doubles(200),)),
    ("histogram", lambda xp, x: xp.histogram(x, 7, (-2, 2), density=True), (doubles(10, 20),)),
    ("histogram", lambda xp, x, b: xp.histogram(x, b), (np.append(doubles(99), np.nan), RISING)),
    ("histogram", lambda xp, x, w: xp.histogram(x, 5, weights=w), (numbers(60), doubles(60))),
    ("histogram", lambda xp, x: xp.histogram(x, 3), (np.full(4, 2.5),)),
    ("histogram", lambda xp, x: xp.histogram(x, 3), (EMPTY,)),
    ("histogram", lambda xp, x: xp.histogram(x, np.int64(4), (np.float32(-1), 2)), (doubles(20),)),
    ("histogram_bin_edges", lambda xp, x: xp.histogram_bin_edges(x, 4), (numbers(9),)),
    ("isin", lambda xp, x, y: (xp.isin(x, y), xp.isin(x, y, invert=True)), (numbers(4, 5), numbers(3))),
    ("isin", lambda xp, x, y: xp.isin(x, y), (with_nan(9), np.array([np.nan, 1.0]))),
    ("isin", lambda xp, x, y: xp.isin(x, y), (numbers(3), np.zeros(0, np.int64))),
    ("append", lambda xp, x, y: (xp.append(x, y), xp.append(x, y, axis=1)), (numbers(2, 3), numbers(2, 1))),
    ("array_equiv", lambda xp, x: (xp.array_equiv(x, x[:1]), xp.array_equiv(x, x[0])), (np.ones((3, 2)),)),
    ("array_equiv", lambda xp, x: xp.array_equiv(x, x[:2]), (np.ones((3, 2)),)),
    (
        "atleast_3d",
        lambda xp, x: [xp.atleast_3d(y) for y in (x, x[0], x[0, 0], x[0, 0, 0])],
        (doubles(2, 3, 4),),
    ),
    ("block", lambda xp, a, b: xp.block([[a, b], [b, a]]), (doubles(2, 2), doubles(2, 2))),
    ("block", lambda xp, a: xp.block([a, a * 2, 3]), (doubles(2),)),
    ("delete", lambda xp, x: (xp.delete(x, 1), xp.delete(x, [0, -1], axis=1)), (numbers(2, 3),)),
    ("delete", lambda xp, x: xp.delete(x, slice(None, None, 2), axis=0), (numbers(5, 3),)),
    ("hsplit", lambda xp, x: (*xp.hsplit(x, 2), *xp.vsplit(x, 3), *xp.hsplit(x[0], [1])), (numbers(3, 4),)),
    ("dsplit", lambda xp, x: xp.dsplit(x, [1, 3]), (numbers(2, 1, 4),)),
    (
        "rollaxis",
        lambda xp, x: [xp.rollaxis(x, a, b) for a in range(3) for b in range(4)],
        (numbers(2, 3, 4),),
    ),
    ("row_stack", lambda xp, x: xp.row_stack([x, x]) if xp is tnp else np.vstack([x, x]), (numbers(3),)),
    ("tri", lambda xp, x: x * xp.tri(3, 4, 1), (doubles(3, 4),)),
    ("tri", lambda xp, x: x[xp.tril_indices(4, -1)], (doubles(4, 4),)),
    ("tri", lambda xp, x: x[xp.triu_indices(3, 1, 4)], (doubles(4, 4),)),
    ("diag_indices", lambda xp, x: x[xp.diag_indices(4)], (doubles(4, 4),)),
    ("indices", lambda xp, x: xp.indices((2, 3)) * x, (numbers(3),)),
    ("indices", lambda xp, x: [part + x for part in xp.indices((2, 3), sparse=True)], (numbers(3),)),
    ("ix_", lambda xp, x: x[xp.ix_(np.array([0, 2]), np.array([True, False, True]))], (doubles(3, 3),)),
    ("logspace", lambda xp, x: (xp.logspace(0, 2, 5) + x, xp.logspace(0, 3, 4, base=2.0)), (doubles(5),)),
    ("geomspace", lambda xp, x: (xp.geomspace(1, 1000, 4) * x, xp.geomspace(-2, -32, 5)), (doubles(4),)),
    ("unravel_index", lambda xp, i: xp.unravel_index(i, (3, 4, 5)), (numbers(9, low=0, high=60),)),
    (
        "ravel_multi_index",
        lambda xp, i, j: xp.ravel_multi_index((i, j), (3, 4)),
        (numbers(9, low=0, high=3), numbers(9, low=0, high=4)),
    ),
    ("sizes", lambda xp, x: x * xp.size(x) + xp.ndim(x) + xp.size(x, 1) + xp.shape(x)[0], (numbers(3, 4),)),
    ("copy", lambda xp, x: xp.copy(x), (numbers(3),)),
    ("positions", lambda xp, x: (xp.sum(x, 0, np.float64), xp.cumsum(x, 0, np.int32)), (numbers(3, 4),)),
    ("positions", lambda xp, x: x + xp.zeros(4, np.float32) + xp.full((3, 1), 2, np.int8), (numbers(3, 4),)),
    ("positions", lambda xp, x: (xp.tril(x, 1), xp.diff(x, 2, 0), xp.eye(3, 4, 1) * x), (doubles(3, 4),)),
    ("positions", lambda xp, x: xp.searchsorted(xp.linspace(-2, 2, 5), x, "right"), (doubles(3, 4),)),
    ("ddof", lambda xp, x: (xp.std(x, ddof=1), xp.var(x, axis=0, ddof=2)), (doubles(5, 4),)),
    ("mean in another dtype", lambda xp, x: xp.mean(x, 0, np.float32), (numbers(5, 4),)),
    ("var in another dtype", lambda xp, x: xp.var(x, 1, np.float32), (numbers(5, 4),)),
]


def leaves(tree: Any) -> list[np.ndarray]:
    if isinstance(tree, list | tuple):
        return [leaf for each in tree for leaf in leaves(each)]
    return [np.asarray(tree)]


def check(found: Any, expected: Any) -> None:
    ours, theirs = leaves(found), leaves(expected)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        if one.dtype.kind != "f":
            np.testing.assert_array_equal(one, other)
            continue
        bound = 2e-5 if one.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound)


def check_call(call: Callable[..., Any], values: Sequence[Any]) -> None:
    """Checks that a call gives what numpy's gives, of arrays and in a trace."""
    expected = call(np, *values)
    check(call(tnp, *[tnp.asarray(each) for each in values]), expected)
    check(tenon.jit(lambda *arrays: call(tnp, *arrays))(*values), expected)


def check_call_of_values(call: Callable[..., Any], values: Sequence[Any]) -> None:
    """Checks that a call gives what numpy's gives, of arrays, and is an error in a trace."""
    check(call(tnp, *[tnp.asarray(each) for each in values]), call(np, *values))
    with pytest.raises(TracingError, match="depends on the values"):
        tenon.jit(lambda *arrays: call(tnp, *arrays))(*values)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda number: f"{CALLS[number][0]}-{number}")
def test_a_call_gives_what_numpys_gives(number: int):
    _, call, values = CALLS[number]
    check_call(call, values)


OF_VALUES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (lambda xp, c, x: xp.compress(c, x, axis=1), (np.array([True, False, True]), numbers(3, 4))),
    (lambda xp, c, x: xp.compress(c, x), (numbers(5, low=0, high=2), numbers(3, 4))),
    (lambda xp, x: xp.extract(x > 0, x), (doubles(3, 4),)),
    (lambda xp, x, i: xp.insert(x, i, -1.0), (doubles(5), np.array([0, 2, 2]))),
    (lambda xp, x: xp.argwhere(x > 0), (numbers(3, 4),)),
    (lambda xp, x, i: xp.delete(x, i), (numbers(3, 4), np.array([0, 2]))),
    (lambda xp, x: xp.argwhere(x), (np.array(3),)),
    (lambda xp, x: xp.flatnonzero(x > 0), (numbers(3, 4),)),
    (lambda xp, x: xp.unique(x), (numbers(3, 4),)),
    (lambda xp, x: xp.unique(x, return_index=True, return_counts=True), (numbers(30),)),
    (lambda xp, x: xp.unique(x, return_inverse=True), (numbers(3, 4),)),
    (
        lambda xp, x, y: (xp.union1d(x, y), xp.intersect1d(x, y), xp.setdiff1d(x, y)),
        (numbers(9), numbers(2, 3)),
    ),
    (lambda xp, x: xp.bincount(x), (numbers(30, low=0),)),
    (lambda xp, x: xp.bincount(x, minlength=20), (numbers(5, low=0),)),
    (lambda xp, x, w: xp.bincount(x, w), (numbers(30, low=0), doubles(30))),
    (lambda xp, x: xp.bincount(x), (np.zeros(0, np.int64),)),
    (
        lambda xp, x, m: x[xp.ix_(xp.asarray([1]), xp.asarray(m))],
        (doubles(3, 3), np.array([True, False, True])),
    ),
]


@pytest.mark.parametrize("number", range(len(OF_VALUES)))
def test_a_call_that_needs_values_gives_what_numpys_gives_and_is_an_error_in_a_trace(number: int):
    check_call_of_values(*OF_VALUES[number])


def test_bincount_of_a_length_is_traced_and_leaves_others_out():
    numbers = np.array([0, 3, -1, 3, 9])
    for way in (lambda f: f, tenon.jit):
        found = way(lambda x: tnp.bincount(x, length=4))(tnp.asarray(numbers))
        np.testing.assert_array_equal(np.asarray(found), [1, 0, 0, 2])


def test_products_of_open_extents_have_no_order():
    open_rows = tenon.jit(lambda x, y: tnp.linalg.multi_dot([x, y]), dynamic={"x": {0: tenon.Dim("n", 1, 9)}})
    with pytest.raises(ValueError, match=r"multi_dot: array 0 has an open extent"):
        open_rows(doubles(4, 3), doubles(3, 2))


@pytest.mark.parametrize("kth", [0, 5, -1, (3, 40)])
@pytest.mark.parametrize("axis", [-1, 0, None])
def test_a_partition_has_what_sorting_puts_at_its_places(kth: Any, axis: int | None):
    x = with_nan(41, 43)
    ordered = np.sort(x, axis=axis)
    along = -1 if axis is None else axis
    for way in (lambda f: f, tenon.jit):
        values = np.asarray(way(lambda x: tnp.partition(x, kth, axis=axis))(x))
        places = np.asarray(way(lambda x: tnp.argpartition(x, kth, axis=axis))(x))
        flat = x.reshape(-1) if axis is None else x
        np.testing.assert_array_equal(np.take_along_axis(flat, places, along), values)
        for place in kth if isinstance(kth, tuple) else (kth,):
            at = np.take(values, [place], along)
            np.testing.assert_array_equal(at, np.take(ordered, [place], along))
            before = np.take(values, np.arange(place % values.shape[along]), along)
            assert not np.any(before > at)


def test_where_all_is_nan_there_is_no_index():
    x = tnp.asarray(np.array([[np.nan, np.nan], [np.nan, 2.0]]))
    np.testing.assert_array_equal(np.asarray(tnp.nanargmax(x, axis=1)), [-1, 1])
    np.testing.assert_array_equal(np.asarray(tnp.nanargmin(x, axis=1)), [-1, 1])


@pytest.mark.filterwarnings("ignore:All-NaN")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["nanmax", "nanmin"])
def test_extrema_without_nan_are_those_of_numbers_to_the_sign_of_zeros(name: str, dtype: Any):
    limits = np.finfo(dtype)
    pool = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, limits.max, limits.min, limits.tiny]
    x = RNG.choice(np.array(pool, dtype), (40, 3, 2))
    x[0], x[1, :, 0], x[2] = np.nan, -0.0, 0.0
    for axis in (None, 0, 1, (0, 2), -1):
        expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=True))
        found = np.asarray(getattr(tnp, name)(tnp.asarray(x), axis=axis, keepdims=True))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected)
    of_zeros = getattr(tnp, name)(tnp.asarray(np.array([[np.nan, -0.0], [0.0, np.nan]], dtype)), axis=1)
    np.testing.assert_array_equal(np.signbit(np.asarray(of_zeros)), [True, False])
    both = np.array([-0.0, 0.0, np.nan, -0.0], dtype)
    assert bool(np.signbit(np.asarray(getattr(tnp, name)(tnp.asarray(both))))) == (name == "nanmin")


@pytest.mark.processor
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cube_roots_are_within_six_tenths_of_an_ulp(dtype: Any):
    bits = f"u{np.dtype(dtype).itemsize}"
    infinity = int(np.array(np.inf, dtype).view(bits))
    x = RNG.integers(1, infinity, 200_000, dtype=np.uint64).astype(bits).view(dtype)
    x[:100] = np.arange(1, 101, dtype=bits).view(dtype)
    x[100:200] = np.arange(infinity - 100, infinity, dtype=np.uint64).astype(bits).view(dtype)
    x[200:300] = np.arange(1, 101, dtype=dtype) ** 3
    exact = np.cbrt(x.astype(np.longdouble))
    found = np.asarray(tnp.cbrt(tnp.asarray(x)))
    assert np.max(np.abs(found - exact) / np.spacing(exact.astype(dtype))) < 0.6
    np.testing.assert_array_equal(found[200:300], np.arange(1, 101))
    np.testing.assert_array_equal(np.asarray(tnp.cbrt(tnp.asarray(-x))), -found)


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: tnp.select([], []), ValueError, "select: 0 conditions and 0 choices"),
    (lambda x: tnp.gcd(x, 1), TypeError, "gcd: not supported for the input types (float64"),
    (lambda x: tnp.lcm(x > 0, x > 0), TypeError, "lcm: not supported for the input types (bool"),
    (lambda x: tnp.gcd(np.ones((2, 3), int), np.ones(2, int)), ValueError, "gcd: "),
    (lambda x: tnp.partition(x, 3), ValueError, "partition: kth is 3, for 3 elements (axis 1)"),
    (lambda x: tnp.argpartition(x, (0, -4)), ValueError, "argpartition: kth is -4, for 3 elements"),
    (lambda x: tnp.partition(x, 0, axis=2), AxisError, "partition: axis 2 is out of bounds"),
    (lambda x: tnp.partition(x, 1.5), TypeError, "partition: "),
    (lambda x: tnp.lexsort(()), TypeError, "lexsort: there are no keys"),
    (lambda x: tnp.lexsort((x, x[0])), ValueError, "lexsort: keys have shapes (2, 3), (3,)"),
    (lambda x: tnp.lexsort((x, x), axis=2), AxisError, "lexsort: axis 2 is out of bounds"),
    (lambda x: tnp.compress(x, x), ValueError, "compress: the condition has shape (2, 3)"),
    (
        lambda x: tnp.compress([0, 0, 1], x, axis=0),
        IndexError,
        "compress: the condition holds for place 2 of 2 (axis 0)",
    ),
    (lambda x: tnp.insert(x, 8, 1), IndexError, "insert: 8 is not from -6 to 6"),
    (lambda x: tnp.insert(x, [1, -7], 1), IndexError, "insert: -7 is not from -6 to 6"),
    (lambda x: tnp.insert(x, [0.0, 1.0], 1), IndexError, "integer"),
    (lambda x: tnp.insert(x, [0, 1], [1, 2, 3]), ValueError, "broadcast"),
    (lambda x: tnp.insert(x, 0, 1, axis=2), AxisError, "insert: axis 2 is out of bounds"),
    (lambda x: tnp.matvec(x, x.T), ValueError, "matvec: matrices of shape (2, 3) and vectors of (3, 2)"),
    (lambda x: tnp.vecmat(x[0], x), ValueError, "vecmat: matrices of shape (2, 3) and vectors of (3,)"),
    (lambda x: tnp.linalg.multi_dot([x]), ValueError, "multi_dot: 1 arrays, expected 2 or more"),
    (lambda x: tnp.linalg.multi_dot([x, x]), ValueError, "arrays 0 and 1 do not fit: (2, 3) and (2, 3)"),
    (
        lambda x: tnp.linalg.multi_dot([x, x[0], x]),
        ValueError,
        "multi_dot: array 1 has shape (3,), expected two axes",
    ),
    (lambda x: tnp.polyfit(x[0], x[0], -1), ValueError, "polyfit: deg is -1"),
    (lambda x: tnp.polyfit(x, x, 1), ValueError, "polyfit: places and values have shapes (2, 3) and (2, 3)"),
    (lambda x: tnp.polyfit(x[0, :0], x[0, :0], 1), ValueError, "polyfit: there are no places"),
    (lambda x: tnp.polyfit(x[0], x[0], 1, w=x), ValueError, "polyfit: w has shape (2, 3), expected (3,)"),
    (lambda x: tnp.select([x > 0], [x, x]), ValueError, "select: 1 conditions and 2 choices"),
    (lambda x: tnp.quantile(x, 1.5), ValueError, "quantile: 1.5 is not from 0 to 1"),
    (lambda x: tnp.percentile(x, [-1]), ValueError, "percentile: [-1] is not from 0 to 100"),
    (
        lambda x: tnp.quantile(x, 0.5, method="best"),
        ValueError,
        "quantile: method is 'best', expected one of linear",
    ),
    (
        lambda x: tnp.average(x, weights=x[0]),
        ValueError,
        "average: weights have shape (3,), and the array (2, 3)",
    ),
    (lambda x: tnp.digitize(x, x), ValueError, "digitize: bins have shape (2, 3)"),
    (lambda x: tnp.median(x[:0]), ValueError, "median: there are no elements to choose from (shape (0, 3)"),
    (lambda x: tnp.gradient(x, edge_order=3), ValueError, "gradient: edge_order is 3"),
    (lambda x: tnp.gradient(x, 1, 2, 3), TypeError, "gradient: 3 distances for 2 axes"),
    (
        lambda x: tnp.gradient(x[:1], axis=0),
        ValueError,
        "gradient: 1 samples along axis 0, expected 2 or more",
    ),
    (lambda x: tnp.gradient(x[0], x), ValueError, "gradient: coordinates of shape (2, 3) for 3 samples"),
    (lambda x: tnp.interp(x, x[0], x[0, :2]), ValueError, "interp: points have shapes (3,) and (2,)"),
    (lambda x: tnp.polyval(x, 2), ValueError, "polyval: coefficients have shape (2, 3)"),
    (lambda x: tnp.vander(x), ValueError, "vander: the array has shape (2, 3)"),
    (lambda x: tnp.cov(x[None]), ValueError, "cov: the array has shape (1, 2, 3)"),
    (lambda x: tnp.bincount(x), ValueError, "bincount: the array has shape (2, 3)"),
    (
        lambda x: tnp.bincount(x[0], length=2),
        TypeError,
        "bincount: not supported for the input types (float64)",
    ),
    (lambda x: tnp.bincount(tnp.asarray([1, -2])), ValueError, "bincount: -2 is negative"),
    (lambda x: tnp.bincount(tnp.asarray([1]), x), ValueError, "bincount: weights have shape (2, 3)"),
    (lambda x: tnp.histogram(x, x), ValueError, "histogram: bins have shape (2, 3)"),
    (lambda x: tnp.histogram(x, 0), ValueError, "histogram: 0 bins"),
    (lambda x: tnp.histogram(x, 3, (2, 1)), ValueError, "histogram: the range (2, 1) ends before it begins"),
    (lambda x: tnp.percentile(x, 5, axis=7), AxisError, "percentile: axis 7 is out of bounds"),
    (lambda x: tnp.histogram(x, weights=x[0]), ValueError, "histogram: weights have shape (3,)"),
    (lambda x: tnp.convolve(x, x), ValueError, "convolve: sequences have shapes (2, 3) and (2, 3)"),
    (lambda x: tnp.convolve(x[0], x[0], "odd"), ValueError, "convolve: mode is 'odd'"),
    (lambda x: tnp.correlate(x[0] > 0, x[0]), TypeError, "correlate: not supported for the input types"),
    (lambda x: tnp.vdot(x, x[0, :1]), ValueError, "dot"),
    (lambda x: tnp.block([[x], x]), ValueError, "block: an array lies 1 lists deep, others 2"),
    (lambda x: tnp.block([[x], []]), ValueError, "block: a list is empty"),
    (lambda x: tnp.vsplit(x[0], 1), ValueError, "vsplit: the array must have 2 dimensions or more"),
    (lambda x: tnp.ix_(x), ValueError, "ix_: an index has shape (2, 3)"),
    (lambda x: tnp.unravel_index(x, (2, 3)), TypeError, "unravel_index: not supported for the input types"),
    (lambda x: tnp.ravel_multi_index((1,), (2, 3)), ValueError, "ravel_multi_index: 1 indices for 2 axes"),
    (lambda x: tnp.broadcast_shapes((2, 3), 2), ValueError, "broadcast_shapes: shapes (2, 3) (2,)"),
    (lambda x: tnp.delete(x, 7), IndexError, "index 7 is out of bounds"),
    (lambda x: tnp.std(x, ddof=1, correction=1), ValueError, "std: ddof=1 and correction=1 are given"),
    (lambda x: tnp.mean(x, dtype=np.int32), TypeError, "mean: dtype is int32, expected one of floats"),
    (lambda x: tnp.nanvar(x, ddof=1, correction=1), ValueError, "nanvar: ddof=1 and correction=1"),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_what_does_not_fit_is_an_error(number: int):
    call, kind, message = ERRORS[number]
    with pytest.raises(kind) as caught:
        call(tnp.asarray(np.arange(6.0).reshape(2, 3)))
    assert message in str(caught.value)


def test_arrays_of_another_byte_order_are_taken():
    big, places = doubles(2, 3).astype(">f4"), np.arange(3, dtype=">i8")
    native = big.astype(np.float32)
    found = tnp.asarray(big)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(found), native)
    np.testing.assert_array_equal(np.asarray(tnp.asarray(places, dtype=">f8")), [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(np.asarray(tnp.sum(places)), 3)
    for captured in (big, lambda: tnp.asarray(big)):
        added = tenon.jit(lambda x, captured=captured: x + (captured() if callable(captured) else captured))
        np.testing.assert_array_equal(np.asarray(added(native)), native + native)
    with pytest.raises(ValueError, match=r"copy=False, and an array of shape \(2, 3\).* must be copied"):
        tnp.asarray(big, copy=False)
    with pytest.raises(TypeError, match="there are no complex dtypes"):
        tnp.asarray(np.zeros(2, ">c8"))
