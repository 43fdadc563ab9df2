"""
`tenon.numpy` gives what numpy gives: the same dtype, shape and values, for every dtype and for odd shapes.

What hypothesis draws is interpreted, as each new dtype and shape would be compiled; then each function runs
once compiled, in a trace, on arrays of one shape.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tenon.compiler import compile as driver
from tenon.frontends.calls import compiled_trace
from tenon.frontends.calls.dispatch import EagerFunction
from tenon.frontends.jit.jit import jit

from .numpy_calls import CALLS, DTYPES_OF, PRODUCTS, REDUCTIONS, Call

SHAPES = ((), (0,), (1,), (3,), (2, 3), (1, 4), (2, 0), (0, 2), (3, 1, 2), (1, 1), (1, 37))
"""No dims, no elements, single ones, and one that is thin."""

TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}
"""How far single results may be off; sums, ten times as much, as numpy rounds float16 after each addition."""


def clear_caches() -> None:
    for function in EagerFunction.FUNCTIONS:
        function.clear()


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch):
    """Eager calls are interpreted."""
    clear_caches()
    monkeypatch.setattr(compiled_trace, "compile_own", partial(driver.compile_own, backend="reference"))
    yield
    clear_caches()


def elements_of(dtype: np.dtype[Any], kind: str) -> st.SearchStrategy[Any]:
    """Returns the values of a kind that an array of `dtype` may have."""
    if dtype.kind == "b":
        return st.just(True) if kind == "nonzero" else st.booleans()
    if dtype.kind == "f":
        width: Any = dtype.itemsize * 8
        usual = {"unit": (-1.0, 1.0), "positive": (1.0, 50.0), "small": (0.0, 7.0), "nonzero": (0.5, 9.0)}
        low, high = usual.get(kind, (-9.0, 9.0))
        floats = st.floats(low, high, width=width, allow_subnormal=False)
        special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]
        return floats | st.sampled_from(special) if kind == "any" else floats
    limits = np.iinfo(dtype)
    match kind:
        case "unit":
            return st.integers(max(-1, limits.min), 1)
        case "positive":
            return st.integers(1, 50)
        case "small":
            return st.integers(0, 7)
        case "nonzero":
            return st.integers(1, 9) | st.sampled_from([limits.max, max(-2, limits.min + 1) or 1])
        case _:
            return st.integers(max(-9, limits.min), 9) | st.sampled_from([limits.min, limits.max])


@st.composite
def arguments_of(draw: st.DrawFn, call: Call) -> list[np.ndarray]:
    """Draws arrays that a call takes: the first one's shape is any, the others broadcast with it."""
    shapes = [s for s in SHAPES if len(s) >= call.rank and not (call.is_nonempty and 0 in s)]
    shape = draw(st.sampled_from(shapes))
    names = [name for kind in call.kinds for name in DTYPES_OF[kind]]
    first = draw(st.sampled_from(names))
    arrays: list[np.ndarray] = []
    for number in range(call.arguments):
        dtype = np.dtype(first if not number or draw(st.booleans()) else draw(st.sampled_from(names)))
        part = shape if not number or draw(st.booleans()) else shape[1:]
        arrays.append(draw(hnp.arrays(dtype, part, elements=elements_of(dtype, call.elements[number]))))
    return arrays


def compare(found: Any, expected: Any, what: str, factor: int = 1) -> None:
    """Fails unless a result of tenon's is numpy's, of several results each."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            compare(ours, theirs, what, factor)
        return
    ours, theirs = np.asarray(found), np.asarray(expected)
    assert ours.dtype == theirs.dtype, f"{what}: {ours.dtype}, numpy {theirs.dtype}"
    assert ours.shape == theirs.shape, f"{what}: {ours.shape}, numpy {theirs.shape}"
    tolerance = TOLERANCE.get(theirs.dtype.name)
    if tolerance is None:
        np.testing.assert_array_equal(ours, theirs, err_msg=what)
    else:
        tolerance *= factor
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=what)


def factor_of(call: Call) -> int:
    return 10 if call in REDUCTIONS or call in PRODUCTS else 1


def by_numpy(call: Call, arrays: list[np.ndarray]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return call.apply(np, *arrays)


IDS = [f"{call.name} ({call.kinds})" for call in CALLS]


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_a_function_gives_what_numpy_gives(call: Call, interpreted: None):
    @settings(max_examples=8)
    @given(arguments_of(call))
    def check(arrays: list[np.ndarray]) -> None:
        what = f"{call.name} of {arrays}"
        given_to_tenon = [tnp.asarray(array) for array in arrays]
        try:
            expected = by_numpy(call, arrays)
        except (TypeError, ValueError) as error:
            with pytest.raises(TypeError if isinstance(error, TypeError) else ValueError):
                call.apply(tnp, *given_to_tenon)
            return
        compare(call.apply(tnp, *given_to_tenon), expected, what, factor_of(call))

    check()


def sample(call: Call, dtype: str, position: int) -> np.ndarray:
    kind = call.elements[position]
    values = {"unit": [-1, 0, 1, 1, 0, -1], "nonzero": [1, 2, 3, 4, 5, 6]}.get(kind, [1, 5, 2, 3, 0, 4])
    if kind == "positive":
        values = [1, 5, 2, 3, 4, 6]
    return (
        np.roll(np.abs(values) if np.dtype(dtype).kind in "ub" else values, position)
        .reshape(2, 3)
        .astype(dtype)
    )


@pytest.mark.parametrize("call", CALLS, ids=IDS)
def test_a_function_gives_what_numpy_gives_in_a_compiled_program(call: Call):
    if call.name == "mask":
        pytest.skip("the shape depends on the values")
    dtype = {"f": "float32", "i": "int32", "b": "bool"}[call.kinds[-1]]
    arrays = [sample(call, dtype, position) for position in range(call.arguments)]
    found = jit(lambda *traced: call.apply(tnp, *traced))(*map(tnp.asarray, arrays))
    compare(found, by_numpy(call, arrays), call.name, factor_of(call))


@pytest.mark.parametrize("decimals", [0, 1, 3, -1, -2])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "int64"])
def test_rounding_to_decimals_is_numpys(dtype: str, decimals: int):
    x = (np.random.default_rng(0).normal(size=99) * 300).astype(dtype)
    wanted = np.round(x, decimals)
    for found in (tnp.round(x, decimals), tenon.jit(lambda x: tnp.asarray(x).round(decimals=decimals))(x)):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_decimals_are_whole_numbers():
    with pytest.raises(TypeError, match="integer"):
        tnp.round(np.ones(3), 1.5)


def test_an_array_of_numpy_that_is_indexed_in_a_trace_is_an_error_that_says_what_to_do():
    k = np.array([1.0, 2.0])
    with pytest.raises(tenon.TracingError, match=r"tenon.numpy.asarray\(a\)\[i\]"):
        tenon.jit(lambda x: tenon.fori_loop(0, 2, lambda i, s: s + k[i], x))(np.ones(3))
