"""Elements at indices, and copies with other elements there, against numpy's own indexing."""

from typing import Any

import numpy as np
import pytest
import tenon.numpy as tnp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tenon.compiler import compile as driver
from tenon.frontends.arrays.concrete import ConcreteArray
from tenon.frontends.calls import compiled_trace
from tenon.frontends.calls.dispatch import EagerFunction
from tenon.frontends.jit.jit import jit

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)

KEYS: tuple[Any, ...] = (
    1,
    -1,
    (0, -1, 2),
    slice(1, None),
    (slice(None), slice(None, None, -2)),
    (slice(2, 0, -1), ..., 1),
    (None, ..., None, 2),
    (),
    ...,
    [1, 0, 1],
    ([0, 1], slice(None), [3, -4]),
    (slice(None), [2, 0]),
    (slice(None), [[0], [2]], slice(1, 3)),
    (0, slice(None), [1, 1]),
    ([[0], [1]], [1, 2]),
    (..., [0, 3], None),
    ([], slice(None)),
)


def given_to(key: Any) -> Any:
    """Returns a key with arrays where it has lists, as numpy takes them."""
    parts = key if isinstance(key, tuple) else (key,)
    made = tuple(np.array(part, dtype=np.int64) if isinstance(part, list) else part for part in parts)
    return made if isinstance(key, tuple) else made[0]


def changed(x: np.ndarray, key: Any, values: Any, kind: str) -> np.ndarray:
    copy = x.copy()
    ufuncs = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
    if kind == "set":
        copy[key] = values
    elif kind == "subtract":
        np.subtract.at(copy, key, values)
    else:
        ufuncs[kind].at(copy, key, values)
    return copy


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch):
    """Programs are interpreted."""
    for function in EagerFunction.FUNCTIONS:
        function.clear()
    monkeypatch.setattr(
        compiled_trace, "compile_own", lambda module, **options: driver.compile(module, backend="reference")
    )
    yield
    for function in EagerFunction.FUNCTIONS:
        function.clear()


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_an_index_picks_what_numpy_picks(key: Any):
    expected = X[given_to(key)]
    x = tnp.asarray(X)
    for found in (x[key], x[given_to(key)], jit(lambda x: x[key])(x)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("kind", ["set", "add", "subtract", "multiply", "max", "min"])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_updates_are_those_of_numpy(key: Any, kind: str, interpreted: None):
    picked = X[given_to(key)]
    for values in (np.float32(5), (np.arange(picked.size, dtype=np.float32) * 2).reshape(picked.shape)):
        expected = changed(X, given_to(key), values, kind)
        eager = getattr(tnp.asarray(X).at[key], kind)(values)
        traced = jit(lambda x, v: getattr(x.at[key], kind)(v))(tnp.asarray(X), values)
        np.testing.assert_array_equal(np.asarray(eager), expected)
        np.testing.assert_array_equal(np.asarray(traced), expected)


@settings(max_examples=60)
@given(st.data())
def test_any_index_of_any_shape_picks_what_numpy_picks(data: st.DataObject):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4))
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    x = np.arange(np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(np.asarray(tnp.asarray(x)[key]), x[key])


def test_any_index_in_a_trace_picks_what_numpy_picks(interpreted: None):
    @settings(max_examples=60)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
        basic = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
        arrays = data.draw(hnp.integer_array_indices(shape))
        x = np.arange(np.prod(shape)).reshape(shape)
        found = jit(lambda x: (x[basic], x[arrays], x.at[basic].set(-1), x.at[arrays].set(-1)))(x)
        expected = (x[basic], x[arrays], changed(x, basic, -1, "set"), changed(x, arrays, -1, "set"))
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(ours), theirs)

    check()


def test_masks_change_the_elements_where_they_are_true(interpreted: None):
    mask, rows = X > 7, np.array([True, False])
    x = tnp.asarray(X)
    values = np.arange(mask.sum(), dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(x.at[mask].set(0)), changed(X, mask, 0, "set"))
    np.testing.assert_array_equal(np.asarray(x.at[mask].set(values)), changed(X, mask, values, "set"))
    np.testing.assert_array_equal(np.asarray(x.at[rows].add(X[0])), changed(X, rows, X[0], "add"))
    np.testing.assert_array_equal(np.asarray(x[mask]), X[mask])
    traced = jit(lambda x: x.at[x > 7].multiply(2))(x)
    np.testing.assert_array_equal(np.asarray(traced), np.where(X > 7, X * 2, X))


def test_a_mask_with_values_is_static_in_a_trace(interpreted: None):
    mask = tnp.asarray(X[0] > 5)
    np.testing.assert_array_equal(np.asarray(jit(lambda x: x[:, mask])(tnp.asarray(X))), X[:, X[0] > 5])


def test_traced_indices_out_of_range_are_moved_into_it_and_updates_dropped(interpreted: None):
    read = jit(lambda x, i: (x[i], tnp.take(x, i, axis=0)))
    index = np.array([-9, -1, 0, 9])
    for found in read(X[0], index):
        np.testing.assert_array_equal(np.asarray(found), X[0][[0, 2, 0, 2]])
    written = jit(lambda x, i: x.at[i].set(-1))(X[0], index)
    np.testing.assert_array_equal(np.asarray(written), changed(X[0], [-1, 0], -1, "set"))


def test_small_index_dtypes_reach_all_of_a_long_axis(interpreted: None):
    x = np.arange(300)
    index = np.array([-1, -128, 127], np.int8)
    np.testing.assert_array_equal(np.asarray(tnp.asarray(x)[tnp.asarray(index)]), x[index])
    unsigned = np.array([0, 255], np.uint8)
    np.testing.assert_array_equal(np.asarray(tnp.take(x, unsigned)), x[unsigned])


def test_positions_of_updates_are_no_reason_to_compile(interpreted: None):
    x = tnp.zeros(5)
    x.at[0].set(1.0)
    put = next(each for each in EagerFunction.FUNCTIONS if each.name == "put")
    before = len(put.entries)
    assert before > 0
    for position in range(1, 5):
        np.testing.assert_array_equal(np.asarray(x.at[position].set(1.0)), np.eye(5)[position])
    assert len(put.entries) == before


def test_parts_of_an_array_are_shown_without_compiling():
    x = tnp.asarray(X)
    part = x[1]
    assert isinstance(part, ConcreteArray)
    assert np.shares_memory(part.values, x.values)


def test_get_of_at_is_the_index_and_at_prints_what_it_is():
    x = tnp.asarray([1.0, 2.0])
    assert float(x.at[1].get()) == 2.0
    assert repr(x.at) == "<at of array([1., 2.])>"


def test_numpy_arrays_that_a_function_finds_outside_are_read_at_each_call(interpreted: None):
    x, index, mask = X[0], np.array([0, 1]), np.array([True, False, False])
    values = np.zeros(2)
    functions = (
        lambda x: x[index],
        lambda x: tnp.take(x, index, axis=0),
        lambda x: x.at[index].set(0.0),
        lambda x: x.at[mask].set(0.0),
        lambda x: x[0, :2] + tnp.asarray(values),
        lambda x: x[0, :2] + tnp.asarray(values, dtype=tnp.float32),
    )
    for function in functions:
        index[:], mask[:], values[:] = [0, 1], [True, False, False], 0
        jitted = jit(function)
        before = np.asarray(jitted(x))
        index[:], mask[:], values[:] = [2, 0], [False, True, True], 5
        after = np.asarray(jitted(x))
        assert not np.array_equal(before, after)
        np.testing.assert_array_equal(after, np.asarray(function(tnp.asarray(x))))


def test_a_copy_of_a_numpy_array_from_outside_is_made_again_when_that_has_changed():
    values = np.zeros(2)
    jitted = jit(lambda x: x + tnp.asarray(values, copy=True))
    np.testing.assert_array_equal(np.asarray(jitted(np.ones(2))), [1, 1])
    values[:] = 5
    np.testing.assert_array_equal(np.asarray(jitted(np.ones(2))), [6, 6])


def test_methods_are_the_functions():
    x = tnp.asarray(X)
    np.testing.assert_array_equal(np.asarray(x.cumsum()), X.cumsum())
    np.testing.assert_array_equal(np.asarray(x[0].diagonal()), X[0].diagonal())
    np.testing.assert_array_equal(np.asarray(x.swapaxes(0, 2)), X.swapaxes(0, 2))
    assert float(x[0].trace()) == X[0].trace()
    np.testing.assert_array_equal(np.asarray(x[0, 0].dot(x[1].T)), X[0, 0].dot(X[1].T))


def test_arrays_from_outside_that_decide_the_program_are_a_reason_to_trace_again(interpreted: None):
    x, mask, count, flag = X[0, 0], np.array([True, False, True, False]), tnp.asarray(2), tnp.asarray(True)
    table, plain = tnp.asarray(np.eye(4)), np.eye(4)
    functions = (
        lambda x: x[mask],
        lambda x: tnp.repeat(x, count),
        lambda x: x[count],
        lambda x: x * 2 if flag else x,
        lambda x: x * float(count),
        lambda x: tnp.nonzero(mask)[0] + x[:1],
        lambda x: x @ table[1],
        lambda x: x @ table.T,
        lambda x: x @ plain[1],
        lambda x: x * float(plain[1, 1]),
        lambda x: tnp.arange(count) + x[:1],
    )
    for function in functions:
        mask[:] = [True, False, True, False]
        count, flag, table, plain = tnp.asarray(2), tnp.asarray(True), tnp.asarray(np.eye(4)), np.eye(4)
        jitted = jit(function)
        before = np.asarray(jitted(x))
        np.testing.assert_array_equal(np.asarray(jitted(x)), before)
        mask[:] = [True, True, True, False]
        count, flag, table, plain = (
            tnp.asarray(3),
            tnp.asarray(False),
            tnp.asarray(np.eye(4) * 2),
            2 * np.eye(4),
        )
        after = np.asarray(jitted(x))
        np.testing.assert_array_equal(after, np.asarray(function(tnp.asarray(x))))
        assert not np.array_equal(before, after)
