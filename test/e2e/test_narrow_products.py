"""Products of narrow numbers, added up in a wide dtype, against numpy: exact for integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp

Array = npt.NDArray[Any]

SHAPES = [(1, 300, 65), (3, 64, 48), (8, 257, 130), (37, 53, 41), (100, 101, 103), (64, 128, 200)]

TYPES = [
    (np.int8, np.int8, np.int32),
    (np.uint8, np.int8, np.int32),
    (np.int16, np.uint8, np.int32),
    (np.int8, np.uint16, np.int32),
    (np.uint8, np.uint8, np.uint32),
    (np.int8, np.int16, np.int64),
    (np.int8, np.uint8, np.float32),
    (np.int16, np.int32, np.float64),
]


def whole_numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    """Returns all numbers of a dtype, with its limits among them; of 32 bits those that f64 sums exactly."""
    limits = np.iinfo(dtype)
    least, most = max(limits.min, -(1 << 16)), min(limits.max, 1 << 16)
    numbers = np.random.default_rng(seed).integers(least, most, shape, np.int64, True)
    numbers.reshape(-1)[:2] = least, most
    return numbers.astype(dtype)


@pytest.mark.parametrize(("lhs", "rhs", "total"), TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_whole_numbers_are_added_up_in_the_preferred_dtype(
    shape: tuple[int, int, int], lhs: Any, rhs: Any, total: Any
) -> None:
    rows, depth, columns = shape
    x, y = whole_numbers((rows, depth), lhs), whole_numbers((depth, columns), rhs, 1)
    # Sums of f32 are exact up to 2^24.
    expected = (x.astype(np.int64) @ y.astype(np.int64)).astype(total)
    found = np.asarray(tnp.matmul(x, y, preferred_element_type=total))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_pairs_of_the_least_numbers_wrap_as_sums_do() -> None:
    least = np.full((40, 40), -(1 << 15), np.int16)
    expected = least.astype(np.int32) @ least.astype(np.int32)
    np.testing.assert_array_equal(tnp.matmul(least, least, preferred_element_type="int32"), expected)


CALLS: dict[str, Callable[..., Any]] = {
    "transposed": lambda xp, x, y, **wide: xp.matmul(y.T, x.T, **wide),
    "dot": lambda xp, x, y, **wide: xp.dot(x, y, **wide),
    "dot of scalars": lambda xp, x, y, **wide: xp.dot(x[0, 0], y[0, 0], **wide),
    "inner": lambda xp, x, y, **wide: xp.inner(x, y.T, **wide),
    "vecdot": lambda xp, x, y, **wide: xp.vecdot(x, y.T[:1], **wide),
    "tensordot": lambda xp, x, y, **wide: xp.tensordot(x, y, axes=((1,), (0,)), **wide),
    "chain": lambda xp, x, y, **wide: xp.einsum("ij,jk,kl->il", x, y, y.T, **wide),
    "sum": lambda xp, x, y, **wide: xp.einsum("ij->i", x, **wide),
    "sums": lambda xp, x, y, **wide: xp.einsum("ij,kl->il", x, y, **wide),
    "no sum": lambda xp, x, y, **wide: xp.einsum("ij,jk->ijk", x, y, **wide),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_function_adds_up_in_the_preferred_dtype(name: str) -> None:
    x, y = whole_numbers((6, 50), np.int8), whole_numbers((50, 70), np.int8, 1)
    expected = CALLS[name](np, x.astype(np.int64), y.astype(np.int64))
    found = np.asarray(CALLS[name](tnp, tnp.asarray(x), tnp.asarray(y), preferred_element_type="int64"))
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", [name for name in CALLS if " " not in name])
def test_a_dtype_that_does_not_hold_an_array_is_an_error(name: str) -> None:
    x, y = tnp.ones((6, 50), dtype="int16"), tnp.ones((50, 70), dtype="int16")
    who = {"chain": "einsum", "sum": "einsum", "sums": "einsum", "transposed": "matmul"}.get(name, name)
    why = rf"^{who}: preferred_element_type int8 does not hold what int16 does$"
    with pytest.raises(TypeError, match=why):
        CALLS[name](tnp, x, y, preferred_element_type="int8")


@pytest.mark.parametrize(("dtype", "wanted"), [("float32", "int64"), ("int8", "uint32"), ("int8", "bool")])
def test_neither_does_one_of_another_kind(dtype: str, wanted: str) -> None:
    x = tnp.ones((4, 4), dtype=dtype)
    with pytest.raises(TypeError, match=f"^matmul: preferred_element_type {wanted} does not hold"):
        tnp.matmul(x, x, preferred_element_type=wanted)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("uint8", "int8"),
        ("uint32", "int32"),
        ("uint64", "int64"),
        ("uint16", "float16"),
        ("bfloat16", "float16"),
        ("float16", "bfloat16"),
        ("float8_e5m2", "float8_e4m3"),
    ],
)
@pytest.mark.parametrize("name", ["transposed", "chain"])
def test_neither_does_one_as_wide_that_lacks_some_of_its_numbers(name: str, dtype: str, wanted: str) -> None:
    x = tnp.ones((4, 4), dtype=getattr(tnp, dtype))
    with pytest.raises(TypeError, match=f"preferred_element_type {wanted} does not hold what {dtype} does$"):
        CALLS[name](tnp, x, x, preferred_element_type=wanted)


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("uint8", "int16"),
        ("int16", "float16"),
        ("uint32", "float32"),
        ("float8_e4m3", "bfloat16"),
        ("bool", "int8"),
    ],
)
def test_one_that_holds_an_array_is_taken(dtype: str, wanted: str) -> None:
    x = tnp.ones((4, 4), dtype=getattr(tnp, dtype))
    found = tnp.matmul(x, x, preferred_element_type=wanted)
    assert found.dtype == getattr(tnp, wanted)
    np.testing.assert_array_equal(np.asarray(found).astype(np.float64), np.full((4, 4), 4.0))


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_narrow_floats_give_the_bits_of_wide_ones(shape: tuple[int, int, int], dtype: Any) -> None:
    rows, depth, columns = shape
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, depth)).astype(dtype)
    y = rng.standard_normal((depth, columns)).astype(dtype)
    found = np.asarray(tnp.matmul(x, y, preferred_element_type="float32"))
    # Small multiples of a power of two, whose sums are exact in any order.
    np.testing.assert_allclose(found, x.astype(np.float64) @ y.astype(np.float64), rtol=1e-4, atol=1e-4)
    x, y = ((each * 4).astype(np.int8).astype(dtype) for each in (x, y))
    exact = x.astype(np.float32) @ y.astype(np.float32)
    assert np.asarray(tnp.matmul(x, y, preferred_element_type="float32")).tobytes() == exact.tobytes()
    narrow = np.asarray(tnp.matmul(x, y))
    assert narrow.tobytes() == exact.astype(dtype).tobytes()


def weighted(x: Any, weights: Any, scale: Any) -> Any:
    return (x @ weights.astype(tnp.float32)) * scale


@pytest.mark.parametrize("rows", [1, 4, 9])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_weights_stay_as_narrow_as_they_are(rows: int, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (rows, 400)).astype(np.float32)
    weights, scale = whole_numbers((400, 333), dtype), np.float32(0.5) * np.ones(333, np.float32)
    expected = (x @ weights.astype(np.float32)) * scale
    jitted = tenon.jit(weighted)
    np.testing.assert_array_equal(np.asarray(jitted(x, weights, scale)), expected)
    assert "400x333xf32" not in str(tenon.explain(jitted, x, weights, scale))
    weights, scale = tenon.freeze((weights, scale))
    frozen = tenon.jit(lambda x: weighted(x, weights, scale))
    np.testing.assert_array_equal(np.asarray(frozen(x)), expected)
    assert "400x333xf32" not in str(tenon.explain(frozen, x))
