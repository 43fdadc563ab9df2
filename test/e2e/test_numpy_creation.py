"""
Arrays from extents and values, eager and in traces, against numpy; dtypes and what the namespace says of
itself.
"""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon.numpy as tnp
from tenon.frontends.jit.jit import jit

CALLS: tuple[Any, ...] = (
    lambda xp: xp.zeros(3),
    lambda xp: xp.zeros((2, 0), dtype=xp.int8),
    lambda xp: xp.ones((), dtype=xp.bool),
    lambda xp: xp.ones((2, 3), dtype="float16"),
    lambda xp: xp.full((2, 2), 7),
    lambda xp: xp.full(2, 0.5),
    lambda xp: xp.full(2, True),
    lambda xp: xp.full((2, 3), xp.asarray([1, 2, 3])),
    lambda xp: xp.full(3, np.float32(2.5)),
    lambda xp: xp.zeros_like(xp.ones((2, 3), dtype=xp.int16)),
    lambda xp: xp.ones_like(xp.zeros(2), dtype=xp.uint32),
    lambda xp: xp.full_like(xp.zeros(2, dtype=xp.int8), 5),
    lambda xp: xp.arange(5),
    lambda xp: xp.arange(2, 11, 3),
    lambda xp: xp.arange(5, 0, -2),
    lambda xp: xp.arange(3, 0),
    lambda xp: xp.arange(0.0, 1.0, 0.25),
    lambda xp: xp.arange(1, 2, 0.1),
    lambda xp: xp.arange(4, dtype=xp.float32),
    lambda xp: xp.arange(0, 3, 1, dtype=xp.uint8),
    lambda xp: xp.linspace(0, 1, 5),
    lambda xp: xp.linspace(-2.0, 3.0, 7, endpoint=False),
    lambda xp: xp.linspace(1, 4, 1),
    lambda xp: xp.linspace(1, 4, 0),
    lambda xp: xp.linspace(0, 10, 4, dtype=xp.int32),
    lambda xp: xp.linspace(0, 1, 3, dtype=xp.float32),
    lambda xp: xp.eye(3),
    lambda xp: xp.eye(2, 4, k=1, dtype=xp.int64),
    lambda xp: xp.eye(3, 2, k=-1, dtype=xp.bool),
    lambda xp: xp.eye(2, k=9),
    lambda xp: xp.identity(3, dtype=xp.float32),
    lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2)),
    lambda xp: xp.meshgrid(xp.arange(3), xp.asarray(2.0), xp.arange(2), indexing="ij"),
    lambda xp: xp.meshgrid(xp.arange(2)),
    lambda xp: xp.asarray([[1, 2], [3, 4]]),
    lambda xp: xp.asarray([1.5, 2]),
    lambda xp: xp.asarray([True, False]),
    lambda xp: xp.asarray([]),
    lambda xp: xp.asarray(3),
    lambda xp: xp.asarray([1, 2], dtype=xp.float32),
    lambda xp: xp.asarray((np.int8(1), np.int8(2))),
    lambda xp: xp.asarray([xp.ones(2), xp.zeros(2)]),
)


def compare(found: Any, expected: Any) -> None:
    if isinstance(expected, list | tuple):
        for ours, theirs in zip(found, expected, strict=True):
            compare(ours, theirs)
        return
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-15 if expected.itemsize == 8 else 1e-6)


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_what_is_made_is_what_numpy_makes(call: Any):
    compare(call(tnp), call(np))


def test_what_is_made_in_a_trace_is_what_numpy_makes():
    found = jit(lambda: [call(tnp) for call in CALLS])()
    for ours, call in zip(found, CALLS, strict=True):
        compare(ours, call(np))


def test_extents_and_values_may_be_traced_values_of_rank_0():
    found = jit(lambda x: (tnp.full((2,), x), tnp.linspace(x, 2 * x, 3), tnp.asarray([x, 1.0, [x][0]])))(2.0)
    compare(found, (np.full(2, 2.0), np.linspace(2.0, 4.0, 3), np.array([2.0, 1.0, 2.0])))


def test_asarray_copies_what_may_change_unless_told_otherwise():
    values = np.arange(3.0)
    own, shared, copied = tnp.asarray(values), tnp.asarray(values, copy=False), tnp.asarray(values, copy=True)
    values[0] = 9
    assert [float(x[0]) for x in (own, shared, copied)] == [0.0, 9.0, 0.0]
    assert tnp.asarray(own) is own
    assert tnp.asarray(own, copy=True).values is not own.values


def test_from_dlpack_shares_memory_and_copies_when_asked_to():
    values = np.arange(3, dtype=np.int16)
    shared, own = tnp.from_dlpack(values), tnp.from_dlpack(values, copy=True)
    values[0] = 9
    assert (int(shared[0]), int(own[0])) == (9, 0)
    assert np.from_dlpack(shared).ctypes.data == values.ctypes.data


def test_narrow_floats_are_converted_and_computed_with():
    for dtype in (tnp.bfloat16, tnp.float8_e5m2, tnp.float8_e4m3fn, tnp.float8_e4m3):
        x = tnp.asarray([0.1, 1.0, -3.0, 100.0], dtype=dtype)
        expected = np.array([0.1, 1.0, -3.0, 100.0]).astype(dtype)
        for ours, theirs in ((x, expected), (x + x, (expected + expected).astype(dtype))):
            assert ours.dtype == dtype
            np.testing.assert_array_equal(np.asarray(ours).astype(np.float32), theirs.astype(np.float32))
        assert tnp.astype(x, tnp.float32).dtype == np.float32
    assert tnp.arange(3, dtype=tnp.bfloat16).dtype == ml_dtypes.bfloat16


def test_limits_are_those_of_numpy():
    for name in ("float16", "float32", "float64"):
        ours, theirs = tnp.finfo(name), np.finfo(name)
        for what in ("bits", "eps", "max", "min", "smallest_normal", "dtype"):
            assert getattr(ours, what) == getattr(theirs, what)
        assert type(ours.eps) is float
    for name in ("int8", "uint64"):
        ours, theirs = tnp.iinfo(tnp.zeros(1, dtype=name)), np.iinfo(name)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert tnp.finfo(tnp.bfloat16).bits == 16


def test_kinds_of_dtypes_are_those_of_the_standard():
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric")
    for dtype in ("bool", "int8", "uint16", "float64"):
        for kind in kinds:
            assert tnp.isdtype(dtype, kind) == np.isdtype(np.dtype(dtype), kind)
    assert tnp.isdtype(tnp.int8, (tnp.int16, "integral"))
    assert not tnp.isdtype(tnp.float32, ("integral", tnp.float64))
    assert not tnp.isdtype(tnp.float32, "complex floating")


def test_dtypes_promote_as_numpy_does():
    names = ("bool", "int8", "int64", "uint8", "uint64", "float16", "float32", "float64")
    for first in names:
        for second in names:
            assert tnp.result_type(first, second) == np.result_type(first, second)
            assert tnp.result_type(tnp.zeros(1, dtype=first), second, 1) == np.result_type(first, second, 1)
            assert tnp.result_type(tnp.zeros(1, dtype=first), 1.0) == np.result_type(first, 1.0)
            assert tnp.can_cast(first, second) == np.can_cast(first, second), (first, second)


def test_astype_converts_and_returns_the_array_itself_where_it_may():
    x = tnp.asarray([1.9, -1.9, np.nan, 1e10, -np.inf])
    expected = [1, -1, 0, 2**31 - 1, -(2**31)]
    np.testing.assert_array_equal(np.asarray(tnp.astype(x, tnp.int32)), expected)
    assert tnp.astype(x, tnp.float64, copy=False) is x
    assert tnp.astype(x, tnp.float64) is not x
    np.testing.assert_array_equal(np.asarray(tnp.astype(x, bool)), [True] * 5)


def test_the_namespace_says_what_it_is():
    info = tnp.__array_namespace_info__()
    assert tnp.__array_api_version__ == "2024.12"
    assert tnp.zeros(1).__array_namespace__() is not None
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.devices() == [info.default_device()] == ["cpu"]
    assert info.default_dtypes()["integral"] == np.int64
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    assert info.dtypes(kind="complex floating") == {}
    assert len(info.dtypes()) == 11


def test_sets_and_nonzero_are_those_of_numpy():
    values = np.array([[3, 1, 3], [2, 1, 0]])
    x = tnp.asarray(values)
    compare(tuple(tnp.unique_all(x)), tuple(np.unique_all(values)))
    compare(tuple(tnp.unique_counts(x)), tuple(np.unique_counts(values)))
    compare(tuple(tnp.unique_inverse(x)), tuple(np.unique_inverse(values)))
    compare(tnp.unique_values(x), np.sort(np.unique_values(values)))
    compare(tnp.nonzero(x), np.nonzero(values))


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0, np.float32),
        np.zeros((0, 3), np.int32),
        np.array(3.0),
        np.ones(7),
        np.arange(6)[::-1].reshape(2, 3),
        np.arange(10, dtype=np.uint8)[::-2],
        np.array([True, False, True]),
        np.array([0.0, 1.0, -0.0, 2.0]),
        np.random.default_rng(0).integers(0, 5, (3, 40, 5)),
    ],
    ids=lambda values: f"{values.dtype}-{values.shape}",
)
def test_distinct_elements_of_every_shape(values: npt.NDArray[Any]) -> None:
    x = tnp.asarray(values.copy())
    compare(tuple(tnp.unique_all(x)), tuple(np.unique_all(values)))
    compare(tuple(tnp.unique_counts(x)), tuple(np.unique_counts(values)))
    compare(tuple(tnp.unique_inverse(x)), tuple(np.unique_inverse(values)))
    compare(tnp.unique_values(x), np.unique(values))


def test_each_nan_is_an_element_of_its_own_in_the_order_of_its_place() -> None:
    values = np.array([np.nan, 1.0, -0.0, 0.0, np.nan, 1.0] * 50)
    found, indices, inverse, counts = (np.asarray(part) for part in tnp.unique_all(tnp.asarray(values)))
    places = np.flatnonzero(np.isnan(values))
    np.testing.assert_array_equal(found[:3], [0.0, 1.0, np.nan])
    np.testing.assert_array_equal(indices, [2, 1, *places])
    np.testing.assert_array_equal(counts, [100, 100, *[1] * 100])
    np.testing.assert_array_equal(inverse[places], np.arange(2, 102))
    np.testing.assert_array_equal(np.asarray(tnp.unique_inverse(tnp.asarray(values))[1]), inverse)


def test_top_k_gives_the_first_of_equal_ones():
    values = np.array([[3.0, 5.0, 5.0, 1.0], [0.0, 0.0, 2.0, 1.0]])
    best, where = tnp.top_k(tnp.asarray(values), 2)
    compare(best, np.array([[5.0, 5.0], [2.0, 1.0]]))
    compare(where, np.array([[1, 2], [2, 3]]))


def test_products_without_a_sum_keep_the_sign_of_zeros():
    x, y = np.array([0.0, -0.0]), np.array([1.0, -1.0])
    for ours, theirs in (
        (tnp.outer(x, y), np.outer(x, y)),
        (tnp.kron(x, y), np.kron(x, y)),
        (tnp.einsum("i,i->i", x, y), x * y),
    ):
        np.testing.assert_array_equal(np.signbit(np.asarray(ours)), np.signbit(theirs))
