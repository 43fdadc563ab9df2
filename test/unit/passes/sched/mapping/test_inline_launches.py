"""Loops of small kernels as one kernel: the bits of the kernels one after the other."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.passes.sched.mapping.inlining import inline_launches, loop_cost


def recurrence(v: Any) -> Any:
    def body(i: Any, carried: Any) -> Any:
        y, s = carried
        s = tnp.where(s > 1, s * 0.5, s + v[i])
        return y.at[i].set(s), s

    return tenon.fori_loop(0, v.shape[0], body, (tnp.zeros_like(v), np.float32(0)))


def crc(v: Any) -> Any:
    numbers = tnp.abs(v * 100).astype(np.int64)

    def bit(_: Any, c: Any) -> Any:
        return tnp.where((c & 1) == 1, (c >> 1) ^ 0x8408, c >> 1)

    return tenon.fori_loop(
        0, v.shape[0], lambda i, c: tenon.fori_loop(0, 8, bit, c ^ numbers[i]), np.int64(0xFFFF)
    )


def gauss_seidel(v: Any) -> Any:
    x = tnp.reshape(v[:81], (9, 9))

    def column(i: Any, j: Any, x: Any) -> Any:
        around = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]
        return x.at[i + 1, j + 1].set(around * 0.25)

    return tenon.fori_loop(0, 7, lambda i, x: tenon.fori_loop(0, 7, lambda j, x: column(i, j, x), x), x)


def branches(v: Any) -> Any:
    def body(i: Any, s: Any) -> Any:
        return tenon.cond(v[i] > 0, lambda s: s + v[i], lambda s: s * 0.5, s)

    return tenon.fori_loop(0, v.shape[0], body, np.float32(1))


def sums(v: Any) -> Any:
    """Each of the rows, of the last of which there is one more, divided by its sum."""
    rows = tnp.reshape(v[:96], (6, 16))

    def body(i: Any, y: Any) -> Any:
        return y.at[i].set(y[i] / (2 + tnp.sum(y[i] * y[i])))

    return tenon.fori_loop(0, 6, body, rows)


def stacked(v: Any) -> Any:
    return tenon.scan(lambda c, x: (c * 0.5 + x, tnp.stack([c, x])), np.float32(0), v, reverse=True)


PROGRAMS = (recurrence, crc, gauss_seidel, branches, sums, stacked)


MUST_PAUSE = {(1, program) for program in PROGRAMS} | {(500, crc)}
"""With so few steps at once; others may take less."""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_inlined_launches_give_the_same_bits(
    program: Callable[[Any], Any], backend: str, monkeypatch: pytest.MonkeyPatch
):
    v = np.random.default_rng(0).standard_normal(100).astype("f4")
    lowered = tenon.jit(program).lower(v)
    inlined = tenon.compile(lowered.module, backend=backend)
    assert "_loop_0" in str(inlined.stages["sched"]) and "sched.for" not in str(inlined.stages["sched"])
    found = inlined(v)
    interpreted = tenon.compile(str(inlined.stages["sched"]), backend="reference")(v)
    monkeypatch.setattr(loop_cost, "MOST_ELEMENTS", 0)
    apart = tenon.compile(lowered.module, backend=backend)
    assert "sched.for" in str(apart.stages["sched"])
    for results in (apart(v), interpreted):
        for one, other in zip(leaves(found), leaves(results), strict=True):
            assert one.tobytes() == other.tobytes()


def leaves(results: Any) -> list[Any]:
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("most_steps", [1, 30, 500])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_loops_that_count_far_pause(
    program: Callable[[Any], Any], most_steps: int, backend: str, monkeypatch: pytest.MonkeyPatch
):
    v = np.random.default_rng(0).standard_normal(100).astype("f4")
    module = tenon.jit(program).lower(v).module
    with tenon.compile(module, backend=backend) as at_once:
        assert "sched.while" not in str(at_once.stages["sched"])
        expected = [result.tobytes() for result in leaves(at_once(v))]
    monkeypatch.setattr(loop_cost, "MOST_STEPS", most_steps)
    with tenon.compile(module, backend=backend) as pausing:
        text = str(pausing.stages["sched"])
        assert "sched.for" not in text
        assert "sched.while %paused" in text or (most_steps, program) not in MUST_PAUSE
        assert [result.tobytes() for result in leaves(pausing(v))] == expected
    with tenon.compile(text, backend="reference") as interpreted:
        assert [result.tobytes() for result in leaves(interpreted(v))] == expected


@pytest.mark.parametrize(
    ("extent", "is_inlined"),
    [(200, True), (loop_cost.MOST_OF_ONE, False), (loop_cost.MOST_OF_ONE + 1, False)],
)
def test_a_large_kernel_may_stand_among_small_ones(extent: int, is_inlined: bool):
    rows = np.random.default_rng(0).integers(-9, 9, (5, extent)).astype("f8")
    assert is_in_one_kernel(rows) == is_inlined


def test_each_kernel_is_limited_whatever_stands_beside_it(monkeypatch: pytest.MonkeyPatch):
    rows = np.random.default_rng(0).integers(-9, 9, (5, 200)).astype("f8")
    monkeypatch.setattr(loop_cost, "MOST_OF_ONE", 256)
    assert is_in_one_kernel(rows)
    monkeypatch.setattr(loop_cost, "MOST_OF_ONE", 199)
    assert not is_in_one_kernel(rows)


def is_in_one_kernel(rows: Any) -> bool:
    """
    Returns whether a recurrence of numbers, and of a row for each, is one kernel; it is right either way.
    """

    def step(i: Any, state: Any) -> Any:
        a, b, rows = state
        a, b = b + i, a - b
        return a, b, rows.at[i].set(rows[i] * b)

    module = tenon.jit(lambda x: tenon.fori_loop(0, 5, step, (1.0, 2.0, x))).lower(rows).module
    with tenon.compile(module) as compiled:
        a, b, expected = 1.0, 2.0, rows.copy()
        for i in range(5):
            a, b = b + i, a - b
            expected[i] *= b
        np.testing.assert_array_equal(leaves(compiled(rows))[2], expected)
        return "sched.for" not in str(compiled.stages["sched"])


def test_a_loop_of_many_ops_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop_cost, "MOST_OPS", 3)
    with tenon.compile(tenon.jit(recurrence).lower(np.zeros(9, "f4")).module) as apart:
        assert "sched.for" in str(apart.stages["sched"])


def collatz(v: Any) -> Any:
    """Counts the steps from each number to 1; the steps of each are another number."""
    start = tnp.abs(v * 1000).astype(np.int64) + 1

    def following(state: Any) -> Any:
        n, count = state
        return tnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

    def steps(i: Any, counts: Any) -> Any:
        return counts.at[i].set(
            tenon.while_loop(lambda state: state[0] > 1, following, (start[i], np.int64(0)))[1]
        )

    return tenon.fori_loop(0, v.shape[0], steps, tnp.zeros(v.shape, dtype=np.int64))


def compressed_rows(v: Any) -> Any:
    """A matrix in compressed rows, some of them empty, times a vector; and then the other way around."""
    n = v.shape[0]
    lengths = tnp.abs(v * 3).astype(np.int64)
    starts = tnp.concatenate([tnp.zeros(1, dtype=np.int64), tnp.cumsum(lengths)])

    def row(i: Any, y: Any) -> Any:
        def add(p: Any, total: Any) -> Any:
            return total * 0.5 + v[p * 7 % n] * v[p % n]

        forth = tenon.fori_loop(starts[i], starts[i + 1], add, np.float32(0))
        back = tenon.fori_loop(starts[n - 1 - i], starts[n - i], add, y[i])
        return y.at[i].set(forth - back)

    return tenon.fori_loop(0, n, row, v)


def branches_with_loops(v: Any) -> Any:
    """Loops in both branches, one of which changes what the condition is made of, in two counted loops."""

    def halve(s: Any) -> Any:
        return tenon.while_loop(lambda t: t > 0.01, lambda t: t * 0.5 - 0.001, s)

    def double(s: Any) -> Any:
        return tenon.while_loop(lambda t: t < 3, lambda t: tnp.abs(t) * 1.5 + 0.1, s)

    def inner(j: Any, s: Any) -> Any:
        return tenon.cond(s > 1, halve, double, s + v[j] * 0.25)

    def outer(i: Any, carried: Any) -> Any:
        y, s = carried
        s = tenon.fori_loop(0, 3, inner, s + v[i])
        return y.at[i].set(s), s

    return tenon.fori_loop(0, v.shape[0], outer, (v, np.float32(0.5)))


def loops_in_loops(v: Any) -> Any:
    """Of each number: while it is large, it is divided until it is small, and grows."""

    def grow(state: Any) -> Any:
        s, count = state
        s = tenon.while_loop(lambda t: t > 1, lambda t: t / 3, s)
        return s + count.astype(np.float32) * 0.3, count + 1

    def each(carried: Any, x: Any) -> Any:
        s, count = tenon.while_loop(lambda state: state[1] < 9, grow, (carried + x, np.int64(0)))
        return s, tnp.stack([s, count.astype(np.float32)])

    return tenon.scan(each, np.float32(1), v, reverse=True)


@pytest.mark.parametrize("most_steps", [1, 50, 397, 1000, loop_cost.MOST_STEPS])
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize(
    "program",
    [collatz, compressed_rows, branches_with_loops, loops_in_loops],
    ids=lambda each: each.__name__,
)
def test_loops_with_conditions(
    program: Callable[[Any], Any], backend: str, most_steps: int, monkeypatch: pytest.MonkeyPatch
):
    v = np.random.default_rng(0).standard_normal(30).astype("f4")
    lowered = tenon.jit(program).lower(v)
    with monkeypatch.context() as patch:
        patch.setattr(loop_cost, "MOST_ELEMENTS", 0)
        with tenon.compile(lowered.module, backend=backend) as apart:
            text = str(apart.stages["sched"])
            assert "scf.while" not in text and "sched.for" in text
            expected = [result.tobytes() for result in leaves(apart(v))]
    with monkeypatch.context() as patch:
        patch.setattr(loop_cost, "MOST_STEPS", most_steps)
        with tenon.compile(lowered.module, backend=backend) as inlined:
            text = str(inlined.stages["sched"])
            assert "scf.while" in text and "sched.for" not in text and "sched.while %paused" in text
            assert [result.tobytes() for result in leaves(inlined(v))] == expected
            # What an earlier run left in the buffers does not count.
            assert [result.tobytes() for result in leaves(inlined(v))] == expected
        with tenon.compile(text, backend="reference") as interpreted:
            assert [result.tobytes() for result in leaves(interpreted(v))] == expected


def condition_of_a_loop(v: Any) -> Any:
    """Goes on while a sum is small, which a counted loop makes anew."""

    def total(s: Any) -> Any:
        return tenon.fori_loop(0, v.shape[0], lambda i, t: t * 0.5 + tnp.abs(v[i]) * s, np.float32(0))

    def is_small(state: Any) -> Any:
        return (total(state[0]) < 2) & (state[1] < 20)

    step = (np.float32(0.125), np.int64(1))
    initial = (np.float32(0.1), np.int64(0))
    return tenon.while_loop(is_small, lambda state: (state[0] + step[0], state[1] + step[1]), initial)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("most_steps", [1, 20, 1000])
def test_a_condition_is_made_before_the_kernel_goes_on(
    most_steps: int, backend: str, monkeypatch: pytest.MonkeyPatch
):
    v = np.random.default_rng(0).standard_normal(30).astype("f4")
    lowered = tenon.jit(condition_of_a_loop).lower(v)
    with tenon.compile(lowered.module, backend="reference") as interpreted:
        expected = [result.tobytes() for result in leaves(interpreted(v))]
    monkeypatch.setattr(loop_cost, "MOST_STEPS", most_steps)
    with tenon.compile(lowered.module, backend=backend) as compiled:
        # Where the loop in the condition may pause, the loop around it is left alone.
        text = str(compiled.stages["sched"])
        assert (text.count("sched.while ") > text.count("sched.while %paused")) is (most_steps < 1000)
        assert [result.tobytes() for result in leaves(compiled(v))] == expected


def slow_steps(v: Any) -> Any:
    """Adds sines until the sum is large, for each element."""

    def body(i: Any, y: Any) -> Any:
        s = tenon.while_loop(lambda s: s < 9, lambda s: s + tnp.sqrt(tnp.sin(s) + 2) / (v[i] + 3), v[i])
        return y.at[i].set(s)

    return tenon.fori_loop(0, v.shape[0], body, v)


def work_of(program: Callable[[Any], Any]) -> int:
    """Returns what an iteration of the innermost loop of a program counts for."""
    text = tenon.jit(program).lower(np.zeros(30, "f4")).text("sched")
    (found,) = re.findall(r"memref\.load %done\[\].*\n.*arith\.addi %\S+, %c(\d+) :", text)
    return int(found)


def test_what_takes_long_counts_for_more():
    """A sine is 32, a division and a square root are 8 each; the quick ones are 5 to 15 all in all."""
    assert 32 + 8 + 8 + 5 <= work_of(slow_steps) <= 32 + 8 + 8 + 15
    # Two divisions by numbers, which are remainders and quotients of integers.
    assert 10 <= work_of(collatz) < 48


def test_a_loop_with_many_others_inside_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    lowered = tenon.jit(compressed_rows).lower(np.ones(30, "f4"))
    monkeypatch.setattr(inline_launches, "MOST_PAUSES", 1)
    with tenon.compile(lowered.module) as apart:
        text = str(apart.stages["sched"])
        assert "sched.for" in text and text.count("sched.while %paused") == 2


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_a_loop_may_store_into_a_row_of_the_loop_around_it(backend: str):
    text = """
    func.func @f(%a: tensor<5xi32>, %rows: tensor<3x5xi32>) -> tensor<3x5xi32> {
      %ys = graph.scan %i = 3 () over (%x = %rows) : (tensor<3x5xi32>) -> (tensor<3x5xi32>) {
        %zero = graph.constant dense<0> : tensor<i32>
        %one = graph.constant dense<1> : tensor<i32>
        %n = graph.reduce max %x axes [0] : tensor<5xi32> -> tensor<i32>
        %m, %r = graph.while (%k = %zero, %c = %a) : (tensor<i32>, tensor<5xi32>) {
          %more = graph.lt %k, %n : tensor<i32>
          graph.condition %more
        } do (%k, %c) {
          %next = graph.add %k, %one : tensor<i32>
          %d = graph.add %c, %x : tensor<5xi32>
          graph.yield %next, %d : tensor<i32>, tensor<5xi32>
        }
        graph.yield %r : tensor<5xi32>
      }
      func.return %ys : tensor<3x5xi32>
    }"""
    a = np.arange(5, dtype=np.int32)
    rows = np.array([[3, 1, 0, 2, 1], [0, 0, 0, -1, 0], [1, 0, 4, 0, 2]], np.int32)
    right = [a + max(row.max(), 0) * row for row in rows]
    found = tenon.compile(text, backend=backend)(a, rows)
    assert found.tolist() == np.array(right).tolist()


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("way", ["", " reverse"])
def test_a_loop_may_give_its_counter(backend: str, way: str):
    text = f"""
    func.func @f() -> (tensor<5xi64>, tensor<5x3xi64>) {{
      %ks, %js = graph.scan %k = 5{way} () : () -> (tensor<5xi64>, tensor<5x3xi64>) {{
        %inner = graph.scan %j = 3 () : () -> (tensor<3xi64>) {{
          graph.yield %j : tensor<i64>
        }}
        graph.yield %k, %inner : tensor<i64>, tensor<3xi64>
      }}
      func.return %ks, %js : tensor<5xi64>, tensor<5x3xi64>
    }}"""
    ks, js = tenon.compile(text, backend=backend)()
    assert ks.tolist() == [0, 1, 2, 3, 4]
    assert js.tolist() == [[0, 1, 2]] * 5
