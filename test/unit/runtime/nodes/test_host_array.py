from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects.buffer_size import ALIGNMENT
from tenon.errors import TenonError
from tenon.runtime.memory.aligned_arrays import (
    GROUP_NBYTES,
    LARGE_PAGE_NBYTES,
    aligned_empty,
    aligned_side_by_side,
    aligned_zeros,
)
from tenon.runtime.nodes.host_array import (
    aligned_copy,
    converted,
    padded_zeros,
    plain_array,
    reshaped,
)
from tenon.runtime.nodes.padding import Padding

BF16 = np.dtype(ml_dtypes.bfloat16)
F32 = np.dtype(np.float32)


@pytest.mark.parametrize("dims", [(), (0, 3), (5,), (3, 4)])
@pytest.mark.parametrize("dtype", [BF16, F32, np.dtype(np.bool_)])
def test_zeros_are_aligned_and_contiguous(dims: tuple[int, ...], dtype: np.dtype[Any]):
    array = aligned_zeros(dims, dtype)
    assert (array.shape, array.dtype) == (dims, dtype)
    assert array.size == 0 or array.ctypes.data % ALIGNMENT == 0
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert not array.any()


@pytest.mark.parametrize("dims", [(), (0, 3), (5,), (70, 41)])
def test_what_is_to_be_filled_is_aligned_and_contiguous(dims: tuple[int, ...]):
    array = aligned_empty(dims, F32)
    assert (array.shape, array.dtype) == (dims, F32)
    assert array.size == 0 or array.ctypes.data % ALIGNMENT == 0
    assert array.flags.c_contiguous and array.flags.writeable


def test_arrays_side_by_side_are_apart_and_aligned():
    types = [((3, 5), F32), ((), F32), ((0, 4), BF16), ((7,), BF16), ((2, 2), np.dtype(np.bool_))]
    arrays = aligned_side_by_side(types)
    assert [(each.shape, each.dtype) for each in arrays] == types
    for number, each in enumerate(arrays):
        assert each.ctypes.data % ALIGNMENT == 0 and each.flags.c_contiguous and each.flags.writeable
        each[...] = number % 2
    for number, each in enumerate(arrays):
        assert (each.astype(np.float32) == number % 2).all()
    assert len({id(each.base) for each in arrays}) == 1
    assert aligned_side_by_side([]) == []


def test_arrays_side_by_side_have_groups_of_some_size():
    count = GROUP_NBYTES // 4 // 4
    arrays = aligned_side_by_side([((count,), F32)] * 9)
    assert len({id(each.base) for each in arrays[:4]}) == len({id(each.base) for each in arrays[4:8]}) == 1
    assert len({id(each.base) for each in arrays}) == 3
    assert all(arrays[number].ctypes.data % LARGE_PAGE_NBYTES == 0 for number in (0, 4, 8))
    (large,) = aligned_side_by_side([((2 * GROUP_NBYTES // 4,), F32)])
    assert large.nbytes == 2 * GROUP_NBYTES


def test_margins_hold_the_value_of_the_padding():
    array = padded_zeros((3, 4), Padding.of((1, 0), (1, 1), value=7), np.dtype(np.int8))
    assert array.tolist() == [[7, 7, 7, 7], [7, 0, 0, 7], [7, 0, 0, 7]]
    assert not padded_zeros((3, 4), None, F32).any()


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=">f4").reshape(3, 4),
        np.arange(12, dtype=np.float32).reshape(4, 3).T,
        np.arange(24, dtype=np.float32).reshape(3, 8)[:, ::2],
        np.float32(2) * np.ones(()),
    ],
)
def test_a_copy_is_aligned_and_in_c_order_and_the_hosts_byte_order(array: np.ndarray[Any, Any]):
    copy = aligned_copy(array)
    assert np.array_equal(copy, array)
    assert copy.flags.c_contiguous
    assert copy.dtype.isnative
    assert copy.ctypes.data % ALIGNMENT == 0


def test_without_margins_to_add_reshaping_shares_memory():
    array = np.arange(6, dtype=np.float32)
    assert np.shares_memory(reshaped(array, (2, 3), None, False, "w"), array)
    assert np.shares_memory(reshaped(array, (2, 3), Padding.of((1, 0), (0, 0)), True, "w"), array)


def test_margins_are_added_around_the_elements():
    array = np.arange(1, 5, dtype=np.float32)
    padded = reshaped(array, (2, 4), Padding.of((0, 0), (1, 1), value=9), False, "w")
    assert padded.tolist() == [[9, 1, 2, 9], [9, 3, 4, 9]]


@pytest.mark.parametrize("from_padded", [False, True])
def test_another_number_of_elements_is_an_error(from_padded: bool):
    message = r"w: the array \[5\] has 5 elements, \[2, (2\] has 4|4\] has 8)"
    with pytest.raises(TenonError, match=message):
        reshaped(np.zeros(5), (2, 4), Padding.of((0, 0), (1, 1)), from_padded, "w")


@pytest.mark.parametrize("found", [[1.0], np.float32(1), np.ma.masked_array([1.0])])
def test_what_is_no_array_is_an_error(found: object):
    with pytest.raises(TenonError, match=f"w: expected a numpy array, found {type(found).__name__}"):
        plain_array(found, "w")


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, 2.5], F32, [1, 2.5]),
        ([1, 2], BF16, [1, 2]),
        ([300.0, 1 + 2.0**-4 + 2.0**-40], np.dtype("float8_e4m3fn"), [288, 1.125]),
        (2**16 + 2**8 + 1, BF16, 2**16 + 2**9),
        (True, np.dtype(np.int8), 1),
        ([True, False], np.dtype(np.bool_), [True, False]),
        ([-128, 127], np.dtype(np.int8), [-128, 127]),
        (255, np.dtype(np.uint8), 255),
        (1e300, F32, float("inf")),
        (np.array([1, 2], ">f4"), F32, [1, 2]),
        (np.float32(3), F32, 3),
        ([], np.dtype(np.int8), []),
        (2**63 - 1, np.dtype(np.int64), 2**63 - 1),
        (np.array([1.5, -1.5, 1e300, np.nan]), np.dtype(np.int8), [1, -1, 127, 0]),
        (np.array([1 + 2.0**-24 + 2.0**-40], ">f8"), F32, [1 + 2.0**-23]),
        (np.float16(0.5), np.dtype(np.bool_), True),
        (-1.5, np.dtype(np.uint8), 0),
    ],
)
def test_values_that_fit_are_converted(values: Any, dtype: np.dtype[Any], expected: Any):
    array = converted(values, dtype, "w")
    assert array.astype(dtype).tolist() == expected


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        (np.ones(2, np.int64), "float32", "w: the values are int64, expected float32"),
        (np.int8(1), "float32", "w: the values are int8, expected float32"),
        ([1, 0], "bool", "w: the values are int64, expected bool"),
        (2**70, "int64", "w: the values are object, expected int64"),
        (1j, "float32", "w: the values are complex128, expected float32"),
        ("one", "float32", "w: the values are <U3, expected float32"),
        ([200], "int8", r"w: a value is out of the range of int8 \(-128 to 127\)"),
        (-1, "uint8", r"w: a value is out of the range of uint8 \(0 to 255\)"),
        (2**63, "int64", "w: a value is out of the range of int64"),
        ([[1], [1, 2]], "float32", r"w: the values are no array \(.*inhomogeneous"),
    ],
)
def test_values_that_do_not_fit_are_an_error(values: Any, dtype: str, message: str):
    with pytest.raises(TenonError, match=message):
        converted(values, np.dtype(dtype), "w")
