"""Loops that swap elements, of one array or between two, store them in place and copy no array."""

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp

Array = npt.NDArray[np.float64]

RNG = np.random.default_rng(0)


def swapped(x, i, j):
    a, b = x[i], x[j]
    return x.at[i].set(b).at[j].set(a)


def ordered(j, x):
    a, b = x[j], x[j + 1]
    return x.at[j].set(tnp.minimum(a, b)).at[j + 1].set(tnp.maximum(a, b))


def shuffle(x, places, count):
    return tenon.fori_loop(0, count, lambda j, y: swapped(y, j, places[j]), x)


def shuffle_while(x, places, count):
    def step(state):
        j, y = state
        return j + 1, swapped(y, j, places[j])

    return tenon.while_loop(lambda state: state[0] < count, step, (count * 0, x))[1]


def crossed(x, y, count):
    return tenon.fori_loop(
        0, count, lambda j, s: (s[0].at[j].set(s[1][j] + 1), s[1].at[j + 1].set(s[0][j] * 0.5)), (x, y)
    )


def round_robin(x, y, z, count):
    return tenon.fori_loop(
        0,
        count,
        lambda j, s: (s[0].at[j].set(s[1][j] + 1), s[1].at[j + 1].set(s[2][j]), s[2].at[j].set(s[0][j])),
        (x, y, z),
    )


def copies_in_loops(function, *arguments) -> list[str]:
    """Returns the copies of arrays of more than an element that a loop makes in each iteration."""
    text = tenon.jit(function).lower(*arguments).text("sched")
    loop = text[min(at for word in ("sched.while", "sched.for") if (at := text.find(word)) >= 0) :]
    return [line for line in loop.splitlines() if "sched.transfer" in line and "memref<5001xf64>" in line]


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("function", [shuffle, shuffle_while])
def test_shuffles(function, backend: str):
    x, places = RNG.normal(size=1001), RNG.integers(0, 1001, 900)
    wanted = x.copy()
    for j, place in enumerate(places[:700]):
        wanted[j], wanted[place] = wanted[place], wanted[j]
    count = np.int64(700)
    np.testing.assert_array_equal(tenon.jit(function, backend=backend)(x, places, count), wanted)


def test_a_bubble_sort_whose_inner_loop_gets_shorter():
    x = RNG.normal(size=67)

    def sort(x):
        n = x.shape[0]
        return tenon.fori_loop(0, n - 1, lambda i, y: tenon.fori_loop(0, n - 1 - i, ordered, y), x)

    np.testing.assert_array_equal(tenon.jit(sort)(x), np.sort(x))


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("is_traced", [True, False])
def test_arrays_made_of_one_another(is_traced: bool, backend: str):
    x, y, z = RNG.normal(size=(3, 301))
    count = np.int64(250)
    u, v = x.copy(), y.copy()
    for j in range(count):
        u[j], v[j + 1] = v[j] + 1, u[j] * 0.5
    function = crossed if is_traced else lambda a, b: crossed(a, b, 250)
    found = tenon.jit(function, backend=backend)(x, y, *([count] if is_traced else []))
    np.testing.assert_array_equal(found, (u, v))
    a, b, c = x.copy(), y.copy(), z.copy()
    for j in range(count):
        a[j], b[j + 1], c[j] = b[j] + 1, c[j], a[j]
    function = round_robin if is_traced else lambda a, b, c: round_robin(a, b, c, 250)
    found = tenon.jit(function, backend=backend)(x, y, z, *([count] if is_traced else []))
    np.testing.assert_array_equal(found, (a, b, c))


def test_no_loop_copies_its_arrays():
    # More elements than a kernel has that becomes a part of the kernel of a loop, where copies are no steps.
    x, places, count = np.zeros(5001), np.zeros(900, np.int64), np.int64(3)
    for function in (shuffle, shuffle_while):
        assert copies_in_loops(function, x, places, count) == []
    assert copies_in_loops(crossed, x, x, count) == []
    assert copies_in_loops(round_robin, x, x, x, count) == []
    # All of an array that is stored over is needed where all of it is read.
    assert copies_in_loops(
        lambda x, n: tenon.fori_loop(0, n, lambda j, y: y.at[j].set(1.0) + y[::-1], x), x, count
    )
