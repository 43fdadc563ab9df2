"""Weights of four bits, two in a byte: packed, unpacked and multiplied, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from numpy.exceptions import AxisError

Array = npt.NDArray[Any]


def numbers(shape: tuple[int, ...], seed: int = 0) -> Array:
    """Returns numbers of four bits."""
    return np.random.default_rng(seed).integers(-8, 8, shape, np.int8)


def packed_by_numpy(x: Array, axis: int) -> Array:
    bits = np.moveaxis(x, axis, 0).view(np.uint8) & 15
    return np.ascontiguousarray(np.moveaxis(bits[0::2] | bits[1::2] << 4, 0, axis))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_neighbours_lie_in_one_byte_the_first_in_the_lower_bits(axis: int) -> None:
    x = numbers((6, 14, 10))
    packed = np.asarray(tnp.pack_int4(x, axis=axis))
    assert packed.dtype == np.uint8
    np.testing.assert_array_equal(packed, packed_by_numpy(x, axis))
    for bytes in (packed, packed.view(np.int8)):
        unpacked = np.asarray(tnp.unpack_int4(bytes, axis=axis))
        assert unpacked.dtype == np.int8
        np.testing.assert_array_equal(unpacked, x)


def test_no_numbers_are_no_bytes() -> None:
    assert tnp.pack_int4(np.zeros((0, 3), np.int8), axis=0).shape == (0, 3)
    assert tnp.unpack_int4(np.zeros((0, 3), np.uint8), axis=0).shape == (0, 3)


def test_a_trace_takes_the_lower_bits_of_numbers_that_do_not_fit() -> None:
    x = np.array([8, -9, 127, 0], np.int8)
    found = tenon.jit(lambda x: tnp.unpack_int4(tnp.pack_int4(x, axis=0), axis=0))(x)
    np.testing.assert_array_equal(np.asarray(found), [-8, 7, -1, 0])


@pytest.mark.parametrize("wrong", [8, -9])
def test_numbers_that_do_not_fit_are_an_error(wrong: int) -> None:
    x = np.array([7, -8, wrong, 0], np.int8)
    with pytest.raises(ValueError, match=f"^pack_int4: {wrong} is out of bounds for four bits"):
        tnp.pack_int4(x, axis=0)


def test_so_are_other_dtypes_axes_and_odd_extents() -> None:
    with pytest.raises(TypeError, match=r"^pack_int4: dtype int16, expected int8$"):
        tnp.pack_int4(np.zeros((4, 4), np.int16), axis=0)
    with pytest.raises(TypeError, match=r"^unpack_int4: dtype int32, expected uint8$"):
        tnp.unpack_int4(np.zeros((4, 4), np.int32), axis=0)
    with pytest.raises(ValueError, match=r"^pack_int4: 3 numbers along axis 1, expected an even number$"):
        tnp.pack_int4(np.zeros((4, 3), np.int8), axis=1)
    for function, dtype in ((tnp.pack_int4, np.int8), (tnp.unpack_int4, np.uint8)):
        with pytest.raises(AxisError, match="axis 2 is out of bounds"):
            function(np.zeros((4, 4), dtype), axis=2)


def weighted(x: Any, packed: Any, scale: Any) -> Any:
    return (x @ tnp.unpack_int4(packed, axis=0).astype(tnp.float32)) * scale


@pytest.mark.parametrize("rows", [1, 3, 8, 16, 17, 40])
@pytest.mark.parametrize(("depth", "columns"), [(400, 333), (2, 64), (66, 1), (256, 512)])
def test_products_are_those_of_the_unpacked_weights(rows: int, depth: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    x, scale = rng.integers(-99, 99, (rows, depth)).astype(np.float32), rng.random(columns, np.float32)
    weights = numbers((depth, columns))
    found = np.asarray(tenon.jit(weighted)(x, packed_by_numpy(weights, 0), scale))
    np.testing.assert_array_equal(found, (x @ weights.astype(np.float32)) * scale)


@pytest.mark.parametrize("rows", [1, 8])
def test_sums_are_rounded_as_those_of_unpacked_weights_are(rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, 400), np.float32)
    weights, scale = numbers((400, 333)), np.ones(333, np.float32)
    plain = tenon.jit(lambda x, weights, scale: (x @ weights.astype(tnp.float32)) * scale)
    found = np.asarray(tenon.jit(weighted)(x, packed_by_numpy(weights, 0), scale))
    assert found.tobytes() == np.asarray(plain(x, weights, scale)).tobytes()


@pytest.mark.parametrize("target", ["native", "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("rows", [1, 8])
def test_every_processor_unpacks_in_registers(rows: int, target: str) -> None:
    x = np.random.default_rng(0).integers(-8, 8, (rows, 400)).astype(np.float32)
    weights, scale = numbers((400, 333)), np.full(333, 0.5, np.float32)
    packed = packed_by_numpy(weights, 0)
    jitted = tenon.jit(weighted, target=target)
    expected = (x @ weights.astype(np.float32)) * scale
    np.testing.assert_array_equal(np.asarray(jitted(x, packed, scale)), expected)
    low = jitted.lower(x, packed, scale).text("low")
    assert "nibbles" in low and "400x333" not in low


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
@pytest.mark.parametrize("rows", [1, 8])
def test_sums_of_other_dtypes_are_exact(rows: int, dtype: Any) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (rows, 300)).astype(np.int8)
    weights = numbers((300, 130))
    product = tenon.jit(
        lambda x, packed: tnp.matmul(x, tnp.unpack_int4(packed, axis=0), preferred_element_type=dtype)
    )
    if dtype == np.float64:
        x = x.astype(np.float64)
        product = tenon.jit(lambda x, packed: x @ tnp.unpack_int4(packed, axis=0).astype(tnp.float64))
    found = np.asarray(product(x, packed_by_numpy(weights, 0)))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, x.astype(np.int64) @ weights.astype(np.int64))


def test_frozen_weights_stay_two_in_a_byte() -> None:
    x = np.ones((8, 400), np.float32)
    weights = numbers((400, 333))
    packed, scale = tenon.freeze((packed_by_numpy(weights, 0), np.ones(333, np.float32)))
    frozen = tenon.jit(lambda x: weighted(x, packed, scale))
    np.testing.assert_array_equal(np.asarray(frozen(x)), x @ weights.astype(np.float32))
    assert "400x333" not in str(tenon.explain(frozen, x))


def test_groups_have_scales_of_their_own() -> None:
    groups, depth, columns = 5, 64, 96
    x = np.random.default_rng(0).integers(-8, 8, (3, groups * depth)).astype(np.float32)
    weights = numbers((groups * depth, columns))
    scales = np.arange(groups * columns, dtype=np.float32).reshape(groups, columns)

    @tenon.jit
    def product(x: Any, packed: Any, scales: Any) -> Any:
        parts = x.reshape(-1, groups, depth).transpose(1, 0, 2)
        unpacked = tnp.unpack_int4(packed.reshape(groups, depth // 2, columns), axis=1)
        return tnp.sum((parts @ unpacked.astype(tnp.float32)) * scales[:, None, :], axis=0)

    whole = weights.reshape(groups, depth, columns) * scales[:, None, :]
    packed = packed_by_numpy(weights, 0)
    np.testing.assert_array_equal(np.asarray(product(x, packed, scales)), x @ whole.reshape(-1, columns))


@pytest.mark.parametrize("axis", [0, 1])
def test_transposed_weights_and_either_axis_give_the_same(axis: int) -> None:
    x, weights = np.random.default_rng(0).integers(-8, 8, (3, 40)).astype(np.float32), numbers((40, 66))
    turned = np.ascontiguousarray(weights.T)
    expected = x @ weights.astype(np.float32)
    straight = tenon.jit(lambda x, p: x @ tnp.unpack_int4(p, axis=axis).astype(tnp.float32))
    np.testing.assert_array_equal(np.asarray(straight(x, packed_by_numpy(weights, axis))), expected)
    back = tenon.jit(lambda x, p: x @ tnp.unpack_int4(p, axis=axis).astype(tnp.float32).T)
    np.testing.assert_array_equal(np.asarray(back(x, packed_by_numpy(turned, axis))), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_a_product_of_a_matrix_and_itself(dtype: type) -> None:
    weights = numbers((6, 6))
    unpacked = weights.astype(dtype)

    @tenon.jit
    def products(packed: Any) -> Any:
        w = tnp.unpack_int4(packed, axis=0).astype(dtype)
        return w @ w, w.T @ w, w @ w.T

    expected = unpacked @ unpacked, unpacked.T @ unpacked, unpacked @ unpacked.T
    for found, each in zip(products(packed_by_numpy(weights, 0)), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(found), each)
