"""Row kernels whose rows are too long for a local buffer keep what they read twice in the result's memory."""

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp

LONG = 8200
"""Floats of a row that are more than a local buffer may have."""


def softmax(x):
    e = tnp.exp(x - tnp.max(x, axis=-1, keepdims=True))
    return e / tnp.sum(e, axis=-1, keepdims=True)


def scaled(x, z):
    e = tnp.exp(x)
    return e / tnp.sum(e, axis=-1, keepdims=True) * z


def narrowed(x):
    return tnp.astype(softmax(x), tnp.float16)


def expected(x: np.ndarray) -> np.ndarray:
    e = np.exp(x.astype("f8") - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rows(n_rows: int, n: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n_rows, n)).astype("f4")


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("n", [LONG, LONG + 1, LONG + 17])
def test_softmax_of_long_rows(backend: str, n: int):
    x = rows(9, n)
    got = np.asarray(tenon.jit(softmax, backend=backend)(x))
    np.testing.assert_allclose(got, expected(x), rtol=3e-6)


def test_exponentials_are_computed_once_and_lie_in_the_result():
    text = tenon.jit(softmax).lower(rows(9, LONG)).text("sched")
    assert text.count("math.exp") == 1
    assert text.count("sched.kernel") == 1
    assert "sched.alloc" not in text
    assert text.count("memref.store") == 2


def test_short_rows_have_a_local_buffer():
    text = tenon.jit(softmax).lower(rows(9, 1000)).text("sched")
    assert "sched.alloc local : memref<1000xf32>" in text


def test_a_result_of_another_type_holds_no_row():
    # Where exponentials are dear they lie in a buffer of their own.
    for target, times in (("x86-64-v4", 2), ("x86-64-v3", 1)):
        text = tenon.jit(narrowed, target=target).lower(rows(9, LONG)).text("sched")
        assert text.count("math.exp") == times
        assert text.count("sched.kernel @") == 3 - times


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
def test_what_is_donated_is_not_stored_over_too_early(backend: str):
    x, z = rows(9, LONG), rows(9, LONG) + 1
    plain = np.asarray(tenon.jit(scaled, backend=backend)(x, z))
    donating = np.asarray(tenon.jit(scaled, backend=backend, donate_argnums=(1,))(x, tnp.asarray(z)))
    np.testing.assert_array_equal(donating, plain)
    e = np.exp(x.astype("f8"))
    np.testing.assert_allclose(plain, e / e.sum(-1, keepdims=True) * z, rtol=3e-6)
