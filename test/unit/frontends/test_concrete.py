"""Arrays with values: immutable, shared without copies, and printed as numpy prints."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.arrays.aval import Aval
from tenon.frontends.arrays.concrete import ConcreteArray, as_concrete


def array(*shape: int, dtype: Any = np.float32) -> ConcreteArray:
    return as_concrete(np.arange(np.prod(shape), dtype=dtype).reshape(shape))


def test_what_an_array_says_of_itself():
    x = array(2, 3)
    assert (x.dtype, x.shape, x.ndim, x.size, x.itemsize, x.nbytes) == (np.float32, (2, 3), 2, 6, 4, 24)
    assert (x.device, len(x), x.weak) == ("cpu", 2, False)
    assert x.to_device("cpu") is x
    np.testing.assert_array_equal(np.asarray(x.T), np.asarray(x).T)
    np.testing.assert_array_equal(np.asarray(x.mT), np.asarray(x).T)


def test_another_device_or_version_is_an_error():
    with pytest.raises(ValueError, match="to_device: device 'gpu' and stream None, expected 'cpu' and None"):
        array(2).to_device("gpu")
    assert array(2).__array_namespace__(api_version="2024.12") is tnp
    with pytest.raises(ValueError, match=r"__array_namespace__: version '1999.1' of the Array API"):
        array(2).__array_namespace__(api_version="1999.1")


@pytest.mark.parametrize(
    "values",
    [
        np.arange(3),
        np.float32(2.5),
        np.zeros((0, 3)),
        np.arange(2000).reshape(20, 100),
        np.array([1.5, np.nan, -np.inf]),
        np.array([[True], [False]]),
        np.array([1, 2], ml_dtypes.bfloat16),
    ],
)
def test_arrays_print_as_numpys(values: Any):
    x = as_concrete(values)
    assert str(x) == str(np.asarray(values))
    assert repr(x) == repr(np.asarray(values))


def test_scalars_format_as_numpys():
    assert f"{as_concrete(np.float32(2.5)):.3f}" == "2.500"


def test_conversions_to_python():
    assert float(as_concrete(2.5)) == 2.5 and int(as_concrete(3)) == 3 and complex(as_concrete(3)) == 3
    assert bool(as_concrete(np.array([[True]])))
    assert [10, 20, 30][as_concrete(np.int8(1))] == 20
    assert array(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert array(2, 2).item(3) == 3.0


def test_conversions_that_numpy_rejects_are_errors():
    with pytest.raises(ValueError, match=r"bool: the truth value of an array of shape \(2,\) is ambiguous"):
        bool(array(2))
    with pytest.raises(
        TypeError, match=r"float: only an array of rank 0 is a Python scalar \(shape \(1,\)\)"
    ):
        float(array(1))
    with pytest.raises(TypeError, match="index: only an integer array of rank 0 is an index"):
        range(as_concrete(2.5))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unhashable type"):
        hash(array(2))


def test_copies_of_dtypes_of_numpy_have_names_in_the_array_interface():
    copied = np.dtype(np.float64).newbyteorder("=")
    assert copied == np.float64 and copied.isbuiltin == 0
    x = ConcreteArray(np.arange(3.0), Aval(copied, (3,), False))
    assert x.__array_interface__["typestr"] == np.arange(3.0).__array_interface__["typestr"]


def test_arrays_share_memory_with_numpy_and_cannot_be_written_to():
    values = np.arange(4.0)
    x = as_concrete(values)
    for view in (np.asarray(x), x.numpy(), np.from_dlpack(x)):
        assert np.shares_memory(view, values)
        assert not view.flags.writeable
    assert x.__array_interface__["data"] == (values.ctypes.data, True)
    assert np.shares_memory(np.asarray(tnp.from_dlpack(values)), values)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    np.array(x)[0] = 5
    assert values[0] == 0


def test_dlpack_gives_device_and_copies_when_asked():
    x = array(4)
    assert x.__dlpack_device__() == (1, 0)
    assert not np.shares_memory(np.from_dlpack(x, copy=True), np.asarray(x))


def test_arrays_that_are_not_in_order_are_copied_unless_that_is_refused():
    values = np.arange(6.0).reshape(2, 3)
    for each in (values.T, values[:, ::2], values.astype(">f8")):
        x = as_concrete(each)
        np.testing.assert_array_equal(np.asarray(x), each)
        assert x.values.flags.c_contiguous and x.values.dtype.isnative
        with pytest.raises(ValueError, match=r"array: copy=False, and an array of shape .* must be copied"):
            as_concrete(each, copy=False)
    assert not np.shares_memory(as_concrete(values, copy=True).values, values)
    assert not np.shares_memory(as_concrete(as_concrete(values), copy=True).values, values)


@pytest.mark.parametrize("value", [np.ma.masked_array([1.0]), "text", [1, 2], None, object()])
def test_what_is_no_array_is_an_error(value: Any):
    with pytest.raises(TypeError, match=f"array: cannot take {type(value).__name__}, expected a numpy array"):
        as_concrete(value)


@pytest.mark.parametrize("dtype", [complex, "U3", "M8[s]", object])
def test_dtypes_that_tenon_has_not_are_errors(dtype: Any):
    with pytest.raises(TypeError, match=r"array: dtype .* is not supported"):
        as_concrete(np.zeros(2, dtype))


def test_copies_and_pickles():
    x = array(3)
    assert copy.copy(x) is x
    deep = copy.deepcopy(x)
    assert not np.shares_memory(deep.values, x.values)
    again = pickle.loads(pickle.dumps(x))
    assert isinstance(again, ConcreteArray)
    np.testing.assert_array_equal(np.asarray(again), np.asarray(x))


def test_operators_take_numpys_arrays_on_both_sides():
    x, values = array(3), np.arange(3, dtype=np.float32)
    for result in (x + values, values + x, x - np.float32(1), np.float32(1) - x, 2 - x, values < x):
        assert isinstance(result, ConcreteArray)
    np.testing.assert_array_equal(np.asarray(values - x), np.zeros(3))
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"  # type: ignore[operator]
    assert (x == "text") is False


def test_eager_calls_are_compiled_once_per_signature():
    tenon.clear_caches()
    entries = tnp.add.eager.entries  # type: ignore[attr-defined]
    for _ in range(2):
        array(3) + array(3)
        array(3) + 1
        array(3) + 2
    assert len(entries) == 2
    array(4) + array(4)
    array(3, dtype=np.int8) + array(3, dtype=np.int8)
    assert len(entries) == 4
    tenon.clear_caches()
    assert not entries


@pytest.mark.parametrize("name", ["stack", "concat", "hstack", "vstack", "dstack", "column_stack"])
def test_an_array_and_a_list_of_that_array_are_two_arguments(name: str):
    joined, numpys = getattr(tnp, name), getattr(np, name)
    x = tnp.asarray(np.arange(12.0).reshape(3, 4))
    for given in (x, [x], x, [x], (x,)):
        expected = numpys([np.asarray(x)] if given is not x else np.asarray(x))
        np.testing.assert_array_equal(np.asarray(joined(given)), expected)


def test_eager_calls_while_a_timeline_is_recorded_are_on_it():
    x = array(3)
    x + x
    with tenon.record_timeline() as timeline:
        y = x + x
    np.testing.assert_array_equal(np.asarray(y), 2 * np.asarray(x))
    assert any(span.name == "add" for span in timeline.spans)


def test_a_basic_index_is_a_view_where_it_can_be():
    x = array(4, 3)
    values = np.asarray(x)
    for index in (1, -1, slice(1, 3), (slice(None), 1), (1, 2), (..., 0), None, (slice(None, None, -2),), ()):
        found = x[index]
        assert isinstance(found, ConcreteArray)
        np.testing.assert_array_equal(np.asarray(found), values[index])
        assert found.values.flags.c_contiguous
    assert np.shares_memory(x[1:3].values, x.values)
    assert not np.shares_memory(x[:, 1].values, x.values)
    assert (x[1].dtype, x[1, 2].shape) == (np.float32, ())
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        x[4]


def test_scalars_on_either_side_are_told_apart_by_their_values():
    x = array(3, dtype=np.int8)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(5 - x), [5, 4, 3])
        np.testing.assert_array_equal(np.asarray(x - 5), [-5, -4, -3])
        np.testing.assert_array_equal(np.asarray(2.5 - x), [2.5, 1.5, 0.5])
        for value in (300, -300, 2**63, 2**70):
            with pytest.raises(OverflowError):
                value - x
            with pytest.raises(OverflowError):
                x - value
    np.testing.assert_array_equal(np.asarray(array(2) * float("nan")), [np.nan, np.nan])


def test_lists_nested_too_deeply_for_an_array_are_an_error() -> None:
    loop: list[Any] = [1.0]
    loop.append(loop)
    deep: Any = 1.0
    for _ in range(65):
        deep = [deep]
    assert tnp.asarray(deep[0]).ndim == 64
    for wrong in (loop, deep, [[deep] * 2]):
        with pytest.raises(ValueError, match="asarray: lists are nested more than 64 deep, or one contains"):
            tnp.asarray(wrong)
