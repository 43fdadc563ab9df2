import ml_dtypes
import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.passes.instruments.random_inputs import random_inputs
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
)


def inputs(*types, seed=0):
    return random_inputs(FunctionType.from_lists(types, []), seed)


def test_every_element_type_gets_its_dtype():
    ui8 = IntegerType(8, Signedness.UNSIGNED)
    arrays = inputs(*(TensorType(type_, [2, 3]) for type_ in (f64, f32, f16, bf16, i32, i8, ui8, i1)))
    expected = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int8, np.uint8, np.bool_]
    assert [array.dtype for array in arrays] == expected
    assert all(array.shape == (2, 3) for array in arrays)


def test_the_same_seed_gives_the_same_values():
    (first,), (again,), (other,) = (inputs(TensorType(f32, [8]), seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_dynamic_dims_agree():
    (array,) = inputs(TensorType(f32, [DYNAMIC_INDEX, 2, DYNAMIC_INDEX]))
    assert array.shape[0] == array.shape[2]


def test_a_tensor_of_rank_zero_is_an_array():
    (array,) = inputs(TensorType(f32, []))
    assert (type(array), array.shape) == (np.ndarray, ())


def test_other_types_are_errors():
    with pytest.raises(TenonError, match=r"^random inputs: f32 is no tensor$"):
        inputs(f32)
    with pytest.raises(TenonError, match=r"^random inputs: no values of index$"):
        inputs(TensorType(IndexType(), [2]))


def test_what_no_memory_holds_is_an_error():
    with pytest.raises(TenonError, match=r"^random inputs: cannot make tensor<99999999999999xf32> \("):
        inputs(TensorType(f32, [99999999999999]))
