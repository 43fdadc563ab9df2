"""What the functions of tenon.numpy say to arguments that are none, and that they warn of nothing."""

import warnings

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

X = tnp.reshape(tnp.arange(6.0), (2, 3))


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: tnp.add(X, None), TypeError, "add: argument 'x2' is None, expected an array or a number"),
        (lambda: tnp.where(None, X, X), TypeError, "where: argument 'condition' is None"),
        (lambda: tenon.jit(lambda x: tnp.add(x, None))(X), TypeError, "add: argument 'x2' is None"),
        (lambda: tnp.ones_like("a"), TypeError, "ones_like: argument 'x' is of type str, expected an array"),
        (lambda: tnp.pad(None, 1), TypeError, "pad: argument 'x' is of type NoneType, expected an array"),
        (lambda: tnp.transpose(X, 1), ValueError, r"transpose: axes don't match array \(axes 1, shape"),
        (lambda: tnp.expand_dims(X, None), TypeError, "expand_dims: axis is None, expected an integer"),
        (lambda: tnp.isclose(X, X, atol=np.ones(7)), ValueError, "isclose: shapes .* cannot be broadcast"),
        (
            lambda: tenon.jit(lambda x: x)(np.ma.array([1])),
            TypeError,
            "argument 'x': cannot take MaskedArray",
        ),
        (lambda: X[["a"]], IndexError, "arrays used as indices must be of integer"),
        (lambda: X.at[0].set("a"), TypeError, "argument 'values' is 'a', of type str"),
    ],
)
def test_what_is_no_array_is_an_error_that_names_the_argument(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_numbers_are_arrays_of_rank_0_for_functions_of_a_shape_alone():
    assert tnp.ones_like(2).dtype == np.int64 and tnp.zeros_like(2.5).dtype == np.float64
    assert tnp.full_like(True, 1).dtype == np.bool_ and int(tnp.pad(2, 1)) == 2


def test_permute_dims_without_axes_reverses_them():
    assert np.array_equal(tnp.permute_dims(X, None), np.asarray(X).T)


def test_tolerances_of_isclose_broadcast():
    values, tolerances = np.array([1.0, 1.1]), np.array([[0.0], [0.2]])
    expected = np.isclose(values, 1, rtol=0, atol=tolerances)
    assert np.array_equal(tnp.isclose(tnp.asarray(values), 1, rtol=0, atol=tolerances), expected)


def test_scalars_that_a_dtype_cannot_hold_give_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        half = np.ones(2, dtype=np.float16)
        assert np.isinf(np.asarray(tenon.jit(lambda x: x * 1e300)(half))).all()
        small = np.ones(2, dtype=np.int8)
        assert np.array_equal(tenon.jit(lambda x: x == np.inf)(small), [False, False])
        assert np.array_equal(tenon.jit(lambda x: x + np.array(float("inf")))(small), [np.inf, np.inf])


def test_a_python_integer_beside_booleans_is_an_int64_for_functions_that_give_floats():
    flags = np.array([True, False])
    for function, reference in ((tnp.hypot, np.hypot), (tnp.atan2, np.arctan2), (tnp.divide, np.divide)):
        ours, expected = function(tnp.asarray(flags), 300), reference(flags, 300)
        assert ours.dtype == expected.dtype and np.allclose(ours, expected, rtol=1e-14)
