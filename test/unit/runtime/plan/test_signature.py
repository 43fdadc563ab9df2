import ml_dtypes
import numpy as np
import pytest
from tenon.errors import CallError, TenonError
from tenon.runtime.plan.signature import ArrayType, Signature
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    IntegerType,
    TensorType,
    bf16,
    f32,
    i1,
)

F32 = np.dtype(np.float32)

SIGNATURE = Signature(
    "f",
    ("image", "w1"),
    (ArrayType(F32, (2, 3)), ArrayType(np.dtype(np.int8), (-1,))),
    (ArrayType(F32, (2,)), ArrayType(F32, ())),
)
IMAGE = np.zeros((2, 3), np.float32)
W1 = np.zeros(5, np.int8)


def test_a_signature_is_made_of_a_function_type():
    made = Signature.of(
        "g", ("a",), FunctionType.from_lists([TensorType(bf16, [2, DYNAMIC_INDEX])], [TensorType(i1, [])])
    )
    assert made.argument_types == (ArrayType(np.dtype(ml_dtypes.bfloat16), (2, -1)),)
    assert made.result_types == (ArrayType(np.dtype(np.bool_), ()),)
    assert str(made.argument_types[0]) == "bfloat16[2, ?]"


def test_static_symbols_are_not_in_a_signature():
    types = [IndexType(), TensorType(f32, [2]), IndexType()]
    made = Signature.of("g", ("i", "a", "j"), FunctionType.from_lists(types, []))
    assert (made.argument_names, made.argument_types) == (("a",), (ArrayType(F32, (2,)),))


def test_only_tensors_are_arguments_and_results():
    with pytest.raises(TenonError, match=r"g: argument 'a': f32 is no tensor"):
        Signature.of("g", ("a",), FunctionType.from_lists([f32], []))
    with pytest.raises(TenonError, match=r"g: result 0: f32 is no tensor"):
        Signature.of("g", (), FunctionType.from_lists([], [f32]))


def test_only_element_types_of_tenon_have_arrays():
    odd = TensorType(IntegerType(4), [2])
    with pytest.raises(TenonError, match=r"g: argument 'a': there are no numpy arrays of i4"):
        Signature.of("g", ("a",), FunctionType.from_lists([odd], []))


@pytest.mark.parametrize(
    ("positional", "named"),
    [((IMAGE, W1), {}), ((), {"w1": W1, "image": IMAGE}), ((IMAGE,), {"w1": W1})],
)
def test_arguments_come_in_order_by_name_or_both(positional: tuple[object, ...], named: dict[str, object]):
    bound = SIGNATURE.bind(positional, named)
    assert bound[0] is IMAGE
    assert bound[1] is W1


WRONG_CALLS = {
    "too few": ((IMAGE,), {}, r"f: takes 2 arguments \(image, w1\), found 1"),
    "too many": ((IMAGE, W1, W1), {}, r"f: takes 2 arguments \(image, w1\), found 3"),
    "too many with names": ((IMAGE, W1, W1), {"w1": W1}, r"f: takes 2 arguments \(image, w1\), found 4"),
    "unknown": (
        (IMAGE,),
        {"w2": W1},
        r"f: there is no argument 'w2' \(arguments: image, w1\), did you mean 'w1'\?",
    ),
    "quite unknown": ((IMAGE,), {"bias": W1}, r"f: there is no argument 'bias' \(arguments: image, w1\)$"),
    "twice": ((IMAGE,), {"image": IMAGE}, r"f: argument 'image' is given twice"),
    "missing": ((), {"w1": W1}, r"f: argument 'image' is missing"),
    "dtype": (
        (IMAGE.astype(np.float64), W1),
        {},
        r"argument 'image': dtype float64, expected float32",
    ),
    "byte order": (
        (IMAGE.astype(">f4"), W1),
        {},
        r"argument 'image': dtype >f4, expected float32 \(the byte order is not the machine's\)",
    ),
    "shape": ((IMAGE.T, W1), {}, r"argument 'image': shape \[3, 2\], expected \[2, 3\]"),
    "rank": ((IMAGE, np.zeros((1, 5), np.int8)), {}, r"argument 'w1': shape \[1, 5\], expected \[\?\]"),
    "list": (
        ([[0.0] * 3] * 2, W1),
        {},
        r"argument 'image': expected a numpy array, found list \(hint: np.asarray\(..., dtype=float32\)\)",
    ),
    "scalar": ((IMAGE, 3), {}, r"argument 'w1': expected a numpy array, found int"),
    "none": ((None, W1), {}, r"argument 'image': expected a numpy array, found None"),
    "mask": (
        (np.ma.masked_array(IMAGE), W1),
        {},
        r"argument 'image': expected a numpy array, found MaskedArray",
    ),
    "objects": ((IMAGE.astype(object), W1), {}, r"argument 'image': dtype object, expected float32"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_says_what_is_wrong(name: str):
    positional, named, message = WRONG_CALLS[name]
    with pytest.raises(CallError, match=message):
        SIGNATURE.bind(positional, named)


def test_a_call_without_arguments_is_checked_too():
    with pytest.raises(CallError, match=r"f: takes 0 arguments, found 1"):
        Signature("f", (), (), ()).bind((IMAGE,), {})
    with pytest.raises(CallError, match=r"f: there is no argument 'x' \(arguments: none\)"):
        Signature("f", (), (), ()).bind((), {"x": IMAGE})


def test_any_extent_fits_a_dim_that_is_not_known():
    assert SIGNATURE.bind((IMAGE, np.zeros(0, np.int8)), {})[1].shape == (0,)


def test_what_is_not_contiguous_is_copied():
    image = np.arange(6, dtype=np.float32).reshape(3, 2).T
    bound = SIGNATURE.bind((image, W1), {})[0]
    assert bound.flags.c_contiguous
    np.testing.assert_array_equal(bound, image)


def test_what_is_not_aligned_is_copied():
    image = np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float32).reshape(2, 3)
    assert not image.flags.aligned
    assert SIGNATURE.bind((image, W1), {})[0].flags.aligned


def test_a_numpy_scalar_is_an_array_of_rank_0():
    scalar = Signature("f", ("x",), (ArrayType(F32, ()),), ())
    assert scalar.bind((np.float32(2),), {})[0].shape == ()
    with pytest.raises(CallError, match=r"argument 'x': dtype float64, expected float32"):
        scalar.bind((np.float64(2),), {})


def overlapping() -> tuple[object, object]:
    memory = np.zeros(3, np.float32)
    return memory[:2], memory[1:2].reshape(())


WRONG_OUTS = {
    "no array": (3, r"f: out is int, expected a numpy array or a tuple of them"),
    "number": (np.zeros(2, np.float32), r"f: out has 1 array, expected 2"),
    "list in it": (([0, 0], np.float32(0)), r"out 0: expected a numpy array, found list"),
    "dtype": ((np.zeros(2), np.zeros((), np.float32)), r"out 0: dtype float64, expected float32"),
    "shape": ((np.zeros(3, np.float32), np.zeros((), np.float32)), r"out 0: shape \[3\], expected \[2\]"),
    "strides": (
        (np.zeros(4, np.float32)[::2], np.zeros((), np.float32)),
        r"out 0: the array is not contiguous and aligned",
    ),
    "read only": (
        (np.broadcast_to(np.float32(0), (1,)).repeat(2), np.broadcast_to(np.float32(0), ())),
        r"out 1: the array is not writeable",
    ),
    "overlap": (overlapping(), r"out 1: the array overlaps out 0"),
}


@pytest.mark.parametrize("name", WRONG_OUTS)
def test_a_wrong_out_says_what_is_wrong(name: str):
    out, message = WRONG_OUTS[name]
    with pytest.raises(CallError, match=message):
        SIGNATURE.bind_out(out)


def test_out_is_one_array_or_a_sequence():
    one = Signature("f", (), (), (ArrayType(F32, (2,)),))
    array = np.zeros(2, np.float32)
    assert one.bind_out(array)[0] is array
    assert one.bind_out([array])[0] is array


def test_an_instance_of_a_subclass_is_taken_as_a_plain_array_without_a_copy():
    class Own(np.ndarray):
        pass

    image = IMAGE.copy()
    (bound, _) = SIGNATURE.bind((image.view(Own), W1), {})
    assert type(bound) is np.ndarray
    assert np.may_share_memory(bound, image)
