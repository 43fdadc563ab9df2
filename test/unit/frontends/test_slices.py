"""Slices with traced ends, against numpy's: what they compute, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.tracing.slice_ends import MOST_OPS_COMPARED

N = 13
RNG = np.random.default_rng(7)
A, X, Y = RNG.standard_normal((N, N)), RNG.standard_normal(N), RNG.standard_normal(N)
# What lies outside of a slice must not count, whatever it is.
WILD = np.where(np.indices((N, N))[0] < np.indices((N, N))[1], np.nan, A)
COUNTS = RNG.integers(-50, 50, N)


def each_index(function: Callable[..., Any], *arrays: Any, count: int = N) -> Any:
    """Returns what a function of an index and arrays gives in a loop, for each index."""

    def looped(*arrays: Any) -> Any:
        return tenon.scan(lambda i, _: (i + 1, function(tnp, i, *arrays)), 0, length=count)[1]

    return tenon.jit(looped)(*arrays)


def check(
    function: Callable[..., Any], *arrays: Any, count: int = N, rtol: float = 1e-12, is_any: bool = True
) -> None:
    expected = np.stack([np.asarray(function(np, i, *arrays)) for i in range(count)])
    by_counter = _in_fori(function, *arrays, count=count)
    for found in ((np.asarray(each_index(function, *arrays, count=count)),) if is_any else ()) + (
        by_counter,
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-13)


def _in_fori(function: Callable[..., Any], *arrays: Any, count: int) -> Any:
    """Returns the same with an index whose bounds are known."""
    first = np.asarray(function(np, 0, *arrays))

    def looped(*arrays: Any) -> Any:
        out = tnp.zeros((count, *first.shape), dtype=first.dtype)
        return tenon.fori_loop(0, count, lambda i, out: out.at[i].set(function(tnp, i, *arrays)), out)

    return np.asarray(tenon.jit(looped)(*arrays))


@pytest.mark.parametrize(
    "function",
    [
        lambda np, i, a, x, y: np.sum(x[:i]),
        lambda np, i, a, x, y: np.sum(x[i:]),
        lambda np, i, a, x, y: np.sum(x[i + 1 :]),
        lambda np, i, a, x, y: np.sum(x[-i:]),
        lambda np, i, a, x, y: np.sum(x[i - 5 : i + 3]),
        lambda np, i, a, x, y: np.sum(x[2 : i + 20]),
        lambda np, i, a, x, y: np.sum(x[i:4]),
        lambda np, i, a, x, y: np.prod(x[i:] * 2 + y[i:]),
        lambda np, i, a, x, y: np.mean(x[: i + 1]),
        lambda np, i, a, x, y: np.max(x[: i + 1]) - np.min(x[i:]),
        lambda np, i, a, x, y: np.argmax(x[: i + 1]) + np.argmin(x[i:]),
        lambda np, i, a, x, y: np.all(x[:i] > -1) + 2 * np.any(x[i:] > 1),
        lambda np, i, a, x, y: a[i, :i] @ x[:i],
        lambda np, i, a, x, y: np.dot(a[i:, i], y[i:]),
        lambda np, i, a, x, y: np.dot(x[:i], y[:i][::-1]),
        lambda np, i, a, x, y: np.dot(np.flip(x[i:]), y[i:]),
        lambda np, i, a, x, y: np.sum(x[i:] * 2.0, axis=0),
        lambda np, i, a, x, y: np.sum(a[i:, :i], axis=1).sum(),
        lambda np, i, a, x, y: (a[i:, :i] @ a[:i, i:]).sum(),
        lambda np, i, a, x, y: (x[:i] @ a[:i, 2:]).sum(),
        lambda np, i, a, x, y: a[:, :i] @ x[:i],
        lambda np, i, a, x, y: np.sum(np.outer(x[i:], y[:i]), axis=(0, 1)),
        lambda np, i, a, x, y: np.sum(a[i:, :i].T[:, ::-1] * 2.0),
        lambda np, i, a, x, y: np.sum(np.where(x[:i] > 0, x[:i], y[:i])),
        lambda np, i, a, x, y: np.sum(a[:, : i + 1][:, None, :] * a[None, :, : i + 1]),
        lambda np, i, a, x, y: x[i:][0] + x[: i + 1][-1] + x[i:][::-1][0] + np.clip(x[i:], -1, 1)[0],
        lambda np, i, a, x, y: np.sum(x[:i].astype(np.float32).astype(np.float64)) * 1e-3,
        lambda np, i, a, x, y: x[:i].shape[0] + a[i:, 1:].shape[0] * 100 + a[i:, 1:].shape[1],
        lambda np, i, a, x, y: x[: i + 1].size * x[i:].ndim,
    ],
)
def test_results_are_those_of_numpy(function: Callable[..., Any]) -> None:
    check(function, A, X, Y, rtol=1e-7)


@pytest.mark.parametrize(
    "function",
    [
        lambda np, i, a, x, c: np.sum(x[c[:i]]),
        lambda np, i, a, x, c: np.sum(x[:i] * x[c[:i]]),
        lambda np, i, a, x, c: x[:i] @ a[c[:i]],
        lambda np, i, a, x, c: np.sum(a[c[i:]], axis=0),
        lambda np, i, a, x, c: np.sum(a[c[i:] // 2][:, 1]),
        lambda np, i, a, x, c: x[c[i:][::-1]][0] + x[c[c[:i]]].sum(),
    ],
)
def test_elements_that_a_slice_names(function: Callable[..., Any]) -> None:
    """As in sparse rows: `x[columns[start:stop]]`."""
    places = RNG.integers(-N, N, N)
    check(function, A, X, places)


def test_rows_of_a_sparse_matrix() -> None:
    lengths = RNG.integers(0, 5, N)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns, values = RNG.integers(0, N, starts[-1]), RNG.standard_normal(starts[-1])

    def row(np: Any, i: Any, starts: Any, columns: Any, values: Any, x: Any) -> Any:
        part = slice(starts[i], starts[i + 1])
        return np.sum(values[part] * x[columns[part]])

    check(row, starts, columns, values, X)

    def written_twice(np: Any, i: Any, starts: Any, columns: Any, values: Any, x: Any) -> Any:
        found = x[columns[starts[i] : starts[i + 1]]]
        return np.sum(values[starts[i] : starts[i + 1]] * found)

    check(written_twice, starts, columns, values, X)


STARTS = np.arange(N + 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda i, s, x: x[s[i] : s[i + 1]] + x[s[i + 1] : s[i + 1] + s[i]],
        lambda i, s, x: x[: s[i]] + x[: s[i + 1]],
        lambda i, s, x: x[: s[i]] + x[: tnp.flip(s)[i]],
        lambda i, s, x: x[: s[i]] + x[: tnp.max(s[: i + 1])],
        lambda i, s, x: x[: (s * 2)[i]] + x[: (s * 3)[i]],
    ],
)
def test_ends_that_are_computed_in_other_ways_are_others(function: Callable[..., Any]) -> None:
    with pytest.raises(tenon.TracingError, match="add: slices whose lengths are not known to be equal"):
        each_index(lambda np, i, s, x: np.sum(function(i, s, x)), STARTS, X)


def test_an_end_may_be_read_of_what_is_computed_twice() -> None:
    def doubled(i: Any, s: Any, x: Any) -> Any:
        return tnp.sum(x[: (s // 2)[i]] * x[: (s // 2)[i]])

    found = each_index(lambda np, i, s, x: doubled(i, s, x), STARTS, X)
    np.testing.assert_allclose(found, [np.sum(X[: i // 2] ** 2) for i in range(N)], rtol=1e-12)


def test_ends_far_behind_are_what_they_are() -> None:
    """Of so many ops, what is behind is not looked at: the two are told apart."""

    def end(i: Any, s: Any) -> Any:
        for _ in range(MOST_OPS_COMPARED):
            s = tnp.sqrt(s)
        return s.astype(np.int64)[i]

    with pytest.raises(tenon.TracingError, match="add: slices whose lengths are not known to be equal"):
        each_index(lambda np, i, s, x: np.sum(x[: end(i, s)] + x[: end(i, s)]), STARTS * 1.0, X)


def test_what_lies_outside_does_not_count() -> None:
    check(lambda np, i, a, x: a[i, : i + 1] @ x[: i + 1], WILD, X)
    check(lambda np, i, a, x: np.max(a[i, : i + 1]), WILD, X)


def test_lengths_that_the_bounds_of_a_loop_tell() -> None:
    check(lambda np, i, c: np.sum(c[i:] * c[: N - i]), COUNTS, is_any=False)
    check(lambda np, i, x, y: np.sum((x[i:] * y[: N - i])[::-1] * y[i:]), X, Y, is_any=False)
    check(lambda np, i, x: x[i : i + 3] * 2, X, count=N - 2, is_any=False)


def test_one_of_two_slices_is_known_to_be_empty() -> None:
    check(lambda np, i, a, x: np.sum(x[i - 2 : 0] @ a[i - 2 : 0, i:]), A, X, is_any=False)
    check(lambda np, i, a: np.sum(a[i:, i + 1 : 0] @ a[i + 1 : 0, 1:]), A, is_any=False)


def test_integers() -> None:
    check(lambda np, i, c: np.max(c[i:]) - np.min(c[: i + 1]), COUNTS)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3"])
def test_floats_of_few_bits_with_infinities_and_without(dtype: str) -> None:
    values = np.array([-3, 2, -1, 5, 4], np.float32).astype(getattr(tnp, dtype))

    def step(stop: Any, results: Any) -> Any:
        part = tnp.asarray(values)[:stop]
        found = (tnp.max(part), tnp.min(part), tnp.argmax(part), tnp.argmin(part))
        return results.at[stop].set(tnp.stack([tnp.astype(each, tnp.float32) for each in found]))

    found = tenon.jit(lambda: tenon.fori_loop(1, 6, step, tnp.zeros((6, 4), dtype=tnp.float32)))()
    heads = [np.asarray(values, np.float32)[:stop] for stop in range(1, 6)]
    expected = [(head.max(), head.min(), head.argmax(), head.argmin()) for head in heads]
    np.testing.assert_array_equal(np.asarray(found)[1:], expected)


def test_infinite_elements_have_a_place() -> None:
    lowest = np.full(N, -np.inf)
    check(lambda np, i, x: np.argmax(x[i:]), lowest)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (lambda a, i: a.at[i, :i].set(1.5), "a[i, :i] = 1.5"),
        (lambda a, i: a.at[i:, i].add(a[i:, 0]), "a[i:, i] += a[i:, 0].copy()"),
        (lambda a, i: a.at[:i, i + 1 :].multiply(2.0), "a[:i, i+1:] *= 2.0"),
        (lambda a, i: a.at[i, i:].set(a[i, i:][::-1]), "a[i, i:] = a[i, i:][::-1].copy()"),
        (lambda a, i: a.at[i:, i:].subtract(tnp.outer(a[i:, 1], a[2, i:])),
         "a[i:, i:] -= np.outer(a[i:, 1].copy(), a[2, i:].copy())"),
        (lambda a, i: a.at[1:, i].set(a[: N - 1, i]), "a[1:, i] = a[:N-1, i].copy()"),
        (lambda a, i: a.at[i:, ::2].max(0.25), "a[i:, ::2] = np.maximum(a[i:, ::2], 0.25)"),
        (lambda a, i: a.at[i, :i].min(a[0, N - i : N]),
         "a[i, :i] = np.minimum(a[i, :i], a[0, N-i:N].copy())"),
        (lambda a, i: a.at[3, 40:].set(1.0).at[i - 7 :, 0].set(0.5), "a[i-7:, 0] = 0.5"),
    ],
)  # fmt: skip
def test_updates_are_those_of_numpy(update: Callable[..., Any], expected: str) -> None:
    found = tenon.jit(lambda a: tenon.fori_loop(0, N, lambda i, a: update(a, i), a))(A)
    a = A.copy()
    for i in range(N):
        exec(expected, {"a": a, "i": i, "np": np, "N": N})
    np.testing.assert_allclose(np.asarray(found), a, rtol=1e-9)


def test_ends_of_a_loop_with_traced_bounds() -> None:
    def suffixes(x: Any, n: Any) -> Any:
        return tenon.fori_loop(0, n, lambda i, total: total + tnp.sum(x[i:n]), 0.0)

    np.testing.assert_allclose(tenon.jit(suffixes)(X, 9), sum(X[i:9].sum() for i in range(9)))


def test_a_named_dim() -> None:
    @tenon.jit(dynamic={"x": {0: tenon.Dim("n", 1, 64)}})
    def prefixes(x: Any) -> Any:
        return tenon.fori_loop(0, x.shape[0], lambda i, y: y.at[i].set(tnp.sum(x[:i])), tnp.zeros_like(x))

    for n in (1, 5, 40):
        x = np.arange(n) + 0.5
        np.testing.assert_allclose(prefixes(x), np.concatenate([[0.0], np.cumsum(x)[:-1]]))


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (lambda a, i: a.at[:, 1].max(0.25), "a[:, 1] = np.maximum(a[:, 1], 0.25)"),
        (lambda a, i: a.at[i, 1:].add(1.0), "a[i, 1:] += 1.0"),
        (lambda a, i: a.at[:i, i].set(1.5), "a[:i, i] = 1.5"),
    ],
)
def test_updates_within_named_dims(update: Callable[..., Any], expected: str) -> None:
    dim = tenon.Dim("n", 2, 32)

    @tenon.jit(dynamic={"a": {0: dim, 1: dim}})
    def updated(a: Any) -> Any:
        return tenon.fori_loop(0, a.shape[0], lambda i, a: update(a, i), a)

    for n in (2, 5, N):
        a = A[:n, :n].copy()
        found = np.asarray(updated(a.copy()))
        for i in range(n):
            exec(expected, {"a": a, "i": i, "np": np})
        np.testing.assert_array_equal(found, a)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda i, x: x[:i] + x[i:], "add: slices whose lengths are not known to be equal"),
        (lambda i, x: x[:i] + x, "add: slices whose lengths are not known to be equal"),
        (lambda i, x: x[:i] @ x, "matmul: slices whose lengths are not known to be equal"),
        (lambda i, x: x.at[:i].set(x[1:i]), "at: slices whose lengths are not known to be equal"),
        (lambda i, x: tnp.sort(x[:i]), "sort.*takes no slice whose ends are traced"),
        (lambda i, x: tnp.reshape(x[:i], (-1,)), "reshape.*takes no slice whose ends are traced"),
        (lambda i, x: tnp.concat([x[:i], x[i:]]), "concat.*takes no slice whose ends are traced"),
        (lambda i, x: tnp.zeros_like(x[:i]), "zeros_like.*takes no slice whose ends are traced"),
        (lambda i, x: x[:i].at[0].set(1.0), "at.*takes no slice|at: a slice with traced ends is not updated"),
        (lambda i, x: x[:i], "takes no slice whose ends are traced"),
        (lambda i, x: bool(x[:i]), "bool: takes no slice"),
        (lambda i, x: int(x[:i]), "int: takes no slice"),
        (lambda i, x: float(x[:i]), "float: takes no slice"),
        (lambda i, x: np.asarray(x[:i]), "numpy: takes no slice"),
        (lambda i, x: list(x[:i]), "takes no slice"),
        (lambda i, x: x[:i:2].sum(), "getitem: a slice with traced ends has step 1 and is not cut again"),
        (lambda i, x: x[:i][1:].sum(), "getitem: a slice with traced ends has step 1 and is not cut again"),
        (lambda i, x: x[:i][tnp.asarray([0, 1])], "getitem: an array of indices does not go"),
        (lambda i, x: x[:i][tnp.arange(N)[:i]], "getitem: an array of indices does not go"),
        (lambda i, x: tnp.argmax(x[: i + 1][::-1]), "argmax: takes no slices that are reversed"),
        (lambda i, x: tnp.argmax(tnp.outer(x[:i], x)), "argmax: goes along one axis"),
        (lambda i, x: tnp.outer(tnp.outer(x[:i], x), x), "outer: takes slices of rank 1"),
        (lambda i, x: tnp.vecdot(tnp.outer(x, x[:i]), x[:i]), "vecdot: takes slices of rank 1"),
        (lambda i, x: x[:i][:, None, None] @ x[:i][None, :, None], "matmul: takes slices"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(tenon.TracingError, match=message):
        tenon.jit(lambda x: tenon.scan(lambda i, _: (i + 1, function(i, x)), 0, length=N)[1])(X)


def test_an_end_is_an_integer() -> None:
    with pytest.raises(IndexError, match="getitem: an end of a slice is float64 of shape"):
        tenon.jit(lambda x: tnp.sum(x[: x[0]]))(X)


def test_a_slice_is_not_used_after_its_loop() -> None:
    kept: list[Any] = []

    def body(i: Any, total: Any) -> Any:
        kept.append(X_traced[:i])
        return total

    def leaking(x: Any) -> Any:
        global X_traced
        X_traced = x
        tenon.fori_loop(0, N, body, 0.0)
        return tnp.sum(kept[-1])

    with pytest.raises(tenon.TracingError):
        tenon.jit(leaking)(X)
    assert "traced slice" in repr(kept[-1])
