"""Loops over those elements only that a mask lets count: what the whole loops compute, for any bounds."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.passes.pipeline import phases
from tenon.passes.sched.mapping.narrow_loops import NarrowLoopsPass

N = 133
BACKENDS = ("llvm", "opencl")
BOUNDS = (-(2**63), -5, 0, 1, 31, 32, 33, 100, N - 1, N, N + 1, 2**63 - 1)


def before(x: Any, n: Any) -> Any:
    return tnp.sum(tnp.where(tnp.arange(N) < n, x, 0.0))


def up_to(x: Any, n: Any) -> Any:
    return tnp.sum(tnp.where(n >= tnp.arange(N), x, 0.0))


def after(x: Any, n: Any) -> Any:
    return tnp.sum(tnp.where(tnp.arange(N) > n, x, 0.0))


def around(x: Any, n: Any) -> Any:
    index = tnp.arange(N)
    return tnp.sum(tnp.where((index >= n) & (index < n + 40) & (n != 7), x, 0.0))


def largest(x: Any, n: Any) -> Any:
    return tnp.max(tnp.where(tnp.arange(N) >= n, x, -np.inf))


def products(x: Any, n: Any) -> Any:
    masked = tnp.where(tnp.arange(N) < n, x, 0.0)
    return tnp.dot(masked, tnp.where(tnp.arange(N) < n, x + 1.0, 0.0))


def integers(x: Any, n: Any) -> Any:
    return tnp.min(tnp.where(tnp.arange(N) <= n, x.astype(np.int32), np.iinfo(np.int32).max))


def turned(x: Any, n: Any) -> Any:
    return tnp.sum(x[:n][::-1] * x[:n])


def turned_from(x: Any, n: Any) -> Any:
    return tnp.sum(x[n:][::-1] * x[n:])


@pytest.mark.parametrize("function", [turned, turned_from], ids=lambda each: each.__name__)
def test_reads_that_bounds_keep_within(function: Any):
    x = np.random.default_rng(0).integers(-9, 9, N).astype("f8")
    lowered = tenon.jit(function).lower(x, np.int64(0))
    with tenon.compile(lowered.module) as narrowed:
        text = str(narrowed.stages["sched"])
        loop = text.partition("sched.reduce")[2].partition("sched.yield")[0]
        assert "arith.maxsi" not in loop and "vector" in loop
        interpreted = tenon.compile(text, backend="reference")
        whole = tenon.compile(lowered.module, backend="reference", level="graph")
        for bound in BOUNDS[1:-1]:
            part = x[:bound] if function is turned else x[bound:]
            for each in (narrowed, interpreted, whole):
                assert np.asarray(each(x, np.int64(bound))) == np.sum(part[::-1] * part), bound


def reversed_before(x: Any, n: Any) -> Any:
    return x.at[:n].set(x[:n][::-1])


def reversed_after(x: Any, n: Any) -> Any:
    return x.at[n:].multiply(x[n:][::-1])


def reversed_within(x: Any, n: Any) -> Any:
    return x.at[n : n + 50].add(x[n : n + 50][::-1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("function", "n_loops"), [(reversed_before, 2), (reversed_after, 2)])
@pytest.mark.parametrize("extent", [1, 7, N, 20_000])
def test_what_is_stored_in_parts(function: Any, n_loops: int, extent: int, backend: str):
    x = np.random.default_rng(0).integers(-9, 9, extent).astype("f8")
    lowered = tenon.jit(function).lower(x, np.int64(0))
    with tenon.compile(lowered.module, backend=backend) as split:
        text = str(split.stages["sched"])
        # Longer axes are shared by threads, as they are.
        assert (" count " in text) is (1 < extent < 20_000)
        assert text.count(" count ") in (0, n_loops)
        interpreted = tenon.compile(text, backend="reference")
        for bound in (-(2**62), -5, 0, 1, 2, 31, 100, extent - 1, extent, extent + 1, 2**62):
            expected = x.copy()
            if function is reversed_before:
                expected[:bound] = x[:bound][::-1]
            else:
                expected[bound:] *= x[bound:][::-1]
            for each in (split, interpreted):
                assert np.asarray(each(x, np.int64(bound))).tobytes() == expected.tobytes(), bound


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_stored_between_bounds(backend: str):
    x = np.random.default_rng(0).integers(-9, 9, N).astype("f8")
    lowered = tenon.jit(reversed_within).lower(x, np.int64(0))
    with tenon.compile(lowered.module, backend=backend) as split:
        interpreted = tenon.compile(str(split.stages["sched"]), backend="reference")
        for bound in (0, 1, 60, N - 50, N - 49, N - 1, N, N + 5):
            expected = x.copy()
            expected[bound : bound + 50] += x[bound : bound + 50][::-1]
            for each in (split, interpreted):
                assert np.asarray(each(x, np.int64(bound))).tobytes() == expected.tobytes(), bound


def sums_of_rows(x: Any, n: Any) -> Any:
    """Rows from n on, each up to n; the others are 0 times what is there."""
    row, column = tnp.arange(21)[:, None], tnp.arange(21)
    sums = tnp.sum(tnp.where((row >= n) & (column < n), x, 0.0), axis=1)
    return tnp.sum(sums) * sums


def divided_after(x: Any, n: Any) -> Any:
    return tnp.where(tnp.arange(21) > n, x[:, 3] / x[3, 4], x[0])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [sums_of_rows, divided_after], ids=lambda each: each.__name__)
def test_rows_outside_of_a_mask_take_a_loop_of_their_own(function: Any, backend: str):
    x = np.random.default_rng(0).integers(1, 9, (21, 21)).astype("f8")
    lowered = tenon.jit(function).lower(x, np.int64(0))
    with tenon.compile(lowered.module, backend=backend) as split:
        text = str(split.stages["sched"])
        assert "sched.axis %i = 21 count" in text
        interpreted = tenon.compile(text, backend="reference")
        whole = tenon.compile(lowered.module, backend="reference", level="graph")
        for bound in (-(2**62), -1, 0, 1, 10, 20, 21, 22, 2**62):
            right = np.asarray(whole(x, np.int64(bound)))
            for each in (split, interpreted):
                assert np.asarray(each(x, np.int64(bound))).tobytes() == right.tobytes(), bound


def test_rows_of_sums_that_threads_may_share_are_one_loop():
    x = np.ones((200, 100))

    def sums(x: Any, n: Any) -> Any:
        return tnp.sum(tnp.where(tnp.arange(200)[:, None] < n, x, 0.0), axis=1)

    with tenon.compile(tenon.jit(sums).lower(x, np.int64(0)).module) as whole:
        assert "sched.axis %i = 200 count" not in str(whole.stages["sched"])
        assert np.asarray(whole(x, np.int64(7))).tolist() == [100.0] * 7 + [0.0] * 193


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function", [before, up_to, after, around, largest, products, integers], ids=lambda each: each.__name__
)
def test_bounds(function: Any, backend: str):
    x = np.random.default_rng(0).integers(-9, 9, N).astype("f8")
    lowered = tenon.jit(function).lower(x, np.int64(0))
    with tenon.compile(lowered.module, backend=backend) as narrowed:
        assert " count " in str(narrowed.stages["sched"])
        interpreted = tenon.compile(str(narrowed.stages["sched"]), backend="reference")
        whole = tenon.compile(lowered.module, backend="reference", level="graph")
        for bound in BOUNDS:
            given = x, np.int64(bound)
            results = [np.asarray(each(*given)) for each in (narrowed, interpreted, whole)]
            assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes(), bound


def triangle(lower: Any, b: Any) -> Any:
    index = tnp.arange(b.shape[0])

    def row(i: Any, x: Any) -> Any:
        known = tnp.sum(tnp.where(index < i, lower[i] * x, 0.0))
        return x.at[i].set((b[i] - known) / lower[i, i])

    return tenon.fori_loop(0, b.shape[0], row, tnp.zeros_like(b))


def eliminated(a: Any) -> Any:
    index = tnp.arange(a.shape[0])

    def step(k: Any, a: Any) -> Any:
        is_later = index > k
        factors = a[:, k] / a[k, k]
        return tnp.where(is_later[:, None] & is_later, a - tnp.outer(factors, a[k]), a)

    return tenon.fori_loop(0, a.shape[0], step, a)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [1, 2, 37, 150])
def test_triangles(backend: str, n: int):
    generator = np.random.default_rng(n)
    lower, b = generator.random((n, n)) + n * np.eye(n), generator.random(n)
    # What does not count is not read: no number there shows in the results.
    lower += np.where(np.arange(n) > np.arange(n)[:, None], np.nan, 0.0)
    lowered = tenon.jit(triangle).lower(lower, b)
    with tenon.compile(lowered.module, backend=backend) as narrowed:
        found = np.asarray(narrowed(lower, b))
        interpreted = tenon.compile(str(narrowed.stages["sched"]), backend="reference")(lower, b)
    assert found.tobytes() == np.asarray(interpreted).tobytes()
    np.testing.assert_allclose(np.tril(lower) @ found, b, rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_stored_over(backend: str):
    n = 61
    a = np.random.default_rng(0).random((n, n)) + n * np.eye(n)
    lowered = tenon.jit(eliminated).lower(a)
    expected = a.copy()
    for k in range(n):
        expected[k + 1 :, k + 1 :] -= np.outer(expected[k + 1 :, k] / expected[k, k], expected[k, k + 1 :])
    with tenon.compile(lowered.module, backend=backend) as narrowed:
        assert str(narrowed.stages["sched"]).count(" count ") == 1
        np.testing.assert_allclose(np.asarray(narrowed(a)), expected, rtol=1e-12)
        # Neither is the matrix copied in each iteration, nor are there two of them.
        assert "sched.transfer" not in str(narrowed.stages["sched"]).partition("sched.for")[2]


def test_no_narrow_loops_for_groups():
    from tenon.passes.machine.groups import GroupLimits
    from tenon.passes.machine.target import Target

    names = [each.name for each in phases(Target(groups=GroupLimits()))["sched"]]
    assert NarrowLoopsPass.name not in names


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
def test_an_end_that_wraps_around(type: str):
    """The mask is of `min(n, 9) - 1`, which is the greatest integer where `n` is the least one."""
    text = f"""
func.func @main(%x: tensor<9xf64>, %n: tensor<{type}>) -> tensor<9xf64> {{
  %c9 = graph.constant dense<9> : tensor<{type}>
  %c1 = graph.constant dense<1> : tensor<{type}>
  %least = graph.min %n, %c9 : tensor<{type}>
  %end = graph.sub %least, %c1 : tensor<{type}>
  %last = graph.sub %end, %c1 : tensor<{type}>
  %k = graph.iota axis 0 : tensor<9x{type}>
  %ends = graph.broadcast %end : tensor<{type}> -> tensor<9x{type}>
  %lasts = graph.broadcast %last : tensor<{type}> -> tensor<9x{type}>
  %mask = graph.lt %k, %ends : tensor<9x{type}>
  %back = graph.sub %lasts, %k : tensor<9x{type}>
  %v = graph.gather %x[%back] axes [0] : tensor<9xf64>[tensor<9x{type}>] -> tensor<9xf64>
  %y = graph.select %mask, %v, %x : tensor<9xf64>
  func.return %y : tensor<9xf64>
}}
"""
    x, dtype = np.random.default_rng(0).standard_normal(9), np.dtype(type.replace("i", "int"))
    info = np.iinfo(dtype)
    with tenon.compile(text) as compiled, tenon.compile(text, backend="reference", level="graph") as whole:
        for n in (info.min, info.min + 1, info.min + 2, 0, 1, 5, 9, info.max):
            found, expected = (np.asarray(each(x, dtype.type(n))) for each in (compiled, whole))
            assert found.tobytes() == expected.tobytes(), n
