"""`tenon.numpy.linalg` beside numpy's, called by itself and in a jit: of few, many and no matrices."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

EPSILON = {np.float64: 2.0**-52, np.float32: 2.0**-23}

SHAPES = [(1, 1), (5, 5), (4, 7), (9, 3), (0, 0), (0, 3), (3, 0)]

BATCHES = [(), (2, 3), (2, 0)]

SIZES_OF_BLOCKS = [95, 96, 97, 131]
"""Around the least size that is eliminated by blocks, with and without rows that make up no block."""


def drawn(*shape, dtype=np.float64):
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def positive(*shape, dtype=np.float64):
    """Returns symmetric matrices that are positive definite."""
    a = drawn(*shape, dtype=dtype)
    return (a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(dtype)


EAGER, JITTED = (lambda function: function,), (tenon.jit,)


def check(function, want, factor=200.0, modes=(*EAGER, *JITTED)):
    """Checks what a function of no arguments gives, called and jitted, within a multiple of epsilon."""
    wanted = [np.asarray(each) for each in (want if isinstance(want, tuple) else (want,))]
    for mode in modes:
        got = mode(function)()
        found = [np.asarray(each) for each in (got if isinstance(got, tuple) else (got,))]
        assert [each.shape for each in found] == [each.shape for each in wanted]
        assert [each.dtype for each in found] == [each.dtype for each in wanted]
        for one, other in zip(found, wanted, strict=True):
            scale = np.max(np.abs(other), initial=0) or 1
            bound = factor * EPSILON.get(other.dtype.type, 0) * scale
            np.testing.assert_allclose(one, other, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", EPSILON, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reflections(dtype, batch, shape):
    a = drawn(*batch, *shape, dtype=dtype)
    check(lambda: tnp.linalg.qr(a), tuple(np.linalg.qr(a)))
    check(lambda: tnp.linalg.qr(a, mode="complete"), tuple(np.linalg.qr(a, mode="complete")), modes=EAGER)
    check(lambda: tnp.linalg.qr(a, mode="r"), np.linalg.qr(a, mode="r"), modes=EAGER)


@pytest.mark.parametrize(
    ("batch", "shape", "dtype", "full"),
    [
        ((), (5, 5), np.float64, True),
        ((2, 3), (4, 7), np.float64, True),
        ((), (9, 3), np.float32, False),
        ((2, 0), (4, 7), np.float64, False),
        ((), (0, 0), np.float64, True),
        ((2,), (0, 3), np.float64, True),
        ((), (3, 0), np.float32, False),
    ],
)
def test_singular_values(batch, shape, dtype, full):
    a = drawn(*batch, *shape, dtype=dtype)
    least = min(shape)

    def parts(a):
        u, s, vh = tnp.linalg.svd(a, full_matrices=full)
        return (u[..., :least] * s[..., None, :]) @ vh[..., :least, :], s, u[..., :0], vh[..., :0, :]

    u, s, vh = np.linalg.svd(a, full_matrices=full)
    check(lambda: parts(a), (a, s, u[..., :0], vh[..., :0, :]), modes=JITTED)
    check(lambda: tnp.linalg.svd(a, compute_uv=False), s, modes=EAGER)


@pytest.mark.parametrize("dtype", EPSILON, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("n", [0, 1, 6])
def test_square_matrices(dtype, batch, n):
    a, s = drawn(*batch, n, n, dtype=dtype), positive(*batch, n, n, dtype=dtype)
    b = drawn(*batch, n, 4, dtype=dtype)
    check(lambda: tnp.linalg.solve(s, b), np.linalg.solve(s, b))
    check(lambda: tnp.linalg.solve(s, np.ones(n, dtype)), np.linalg.solve(s, np.ones(n, dtype)))
    check(lambda: tnp.linalg.inv(s), np.linalg.inv(s))
    check(lambda: tnp.linalg.det(a), np.linalg.det(a))
    check(lambda: tnp.linalg.slogdet(a), tuple(np.linalg.slogdet(a)))
    check(lambda: tnp.linalg.cholesky(s), np.linalg.cholesky(s))
    check(lambda: tnp.linalg.cholesky(s, upper=True), np.linalg.cholesky(s, upper=True))
    check(lambda: tnp.linalg.eigvalsh(s), np.linalg.eigvalsh(s))
    check(lambda: tnp.linalg.matrix_power(s, -2), np.linalg.matrix_power(s, -2))

    def restored(uplo):
        values, vectors = tnp.linalg.eigh(s, uplo)
        return (vectors * values[..., None, :]) @ tnp.matrix_transpose(vectors)

    check(lambda: restored("L"), s)
    check(lambda: restored("U"), s)


@pytest.mark.parametrize("n", SIZES_OF_BLOCKS)
def test_elimination_by_blocks(n):
    a, b = drawn(n, n), drawn(n, 3)
    bound = 4 * np.linalg.cond(a)
    check(lambda: tnp.linalg.solve(a, b), np.linalg.solve(a, b), bound)
    check(lambda: tnp.linalg.slogdet(a), tuple(np.linalg.slogdet(a)))
    several = np.stack([a, a.T])
    check(lambda: tnp.linalg.inv(several), np.linalg.inv(several), bound)


@pytest.mark.parametrize("n", [255, 256, 259])
def test_cholesky_by_blocks(n):
    s = positive(n, n)
    # One triangle is read.
    below = np.tril(s) + np.triu(np.full_like(s, 7), 1)
    check(lambda: tnp.linalg.cholesky(below), np.linalg.cholesky(s))
    check(lambda: tnp.linalg.cholesky(below.T, upper=True), np.linalg.cholesky(s, upper=True))


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
def test_the_same_on_other_processors(target):
    a, b = drawn(131, 131), drawn(131, 5)
    made = tenon.jit(lambda a, b: tnp.linalg.solve(a, b), target=target)
    found = np.asarray(made(a, b))
    bound = 4 * np.linalg.cond(a) * EPSILON[np.float64] * np.max(np.abs(found))
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=0, atol=bound)


@pytest.mark.parametrize("backend", ["reference", "opencl"])
def test_the_same_on_other_backends(backend):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    a = drawn(7, 7)

    def program(a):
        q, r = tnp.linalg.qr(a)
        values, _ = tnp.linalg.eigh(a @ a.T)
        return tnp.linalg.solve(a, q @ r), tnp.linalg.cholesky(a @ a.T + tnp.eye(7)), values

    found = tenon.jit(program, backend=backend)(a)
    square = a @ a.T
    wanted = np.eye(7), np.linalg.cholesky(square + np.eye(7)), np.linalg.eigvalsh(square)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, atol=1e-10)


def test_pivots_are_the_largest_of_their_columns():
    a = np.array([[0.0, 1.0, 2.0], [1e-20, 3.0, 1.0], [4.0, 1.0, 1.0]])
    check(lambda: tnp.linalg.solve(a, np.arange(3.0)), np.linalg.solve(a, np.arange(3.0)))
    # An odd number of rows is exchanged.
    check(lambda: tnp.linalg.det(a), np.linalg.det(a))


def test_integers_are_of_float64_and_mixed_floats_too():
    a = np.array([[2, 1], [1, 3]])
    check(lambda: tnp.linalg.solve(a, np.array([1, 2])), np.linalg.solve(a, np.array([1, 2])))
    check(lambda: tnp.linalg.inv(a > 1), np.linalg.inv((a > 1).astype(float)))
    b = np.ones((2, 1), np.float32)
    check(lambda: tnp.linalg.solve(a.astype(float), b), np.linalg.solve(a.astype(float), b))


@pytest.mark.parametrize("shape", [(4, 7), (2, 5, 3)], ids=str)
def test_what_singular_values_say(shape):
    a = drawn(*shape)
    check(lambda: tnp.linalg.pinv(a), np.linalg.pinv(a), 4e3, modes=EAGER)
    check(lambda: tnp.linalg.matrix_rank(a), np.asarray(np.linalg.matrix_rank(a)), modes=EAGER)
    check(lambda: tnp.linalg.cond(a), np.asarray(np.linalg.cond(a)), 4e3, modes=EAGER)
    check(lambda: tnp.linalg.cond(a, -2), np.asarray(np.linalg.cond(a, -2)), 4e3, modes=EAGER)
    for ord in ("nuc", 2, -2):
        want = np.linalg.norm(a, ord, axis=(-2, -1), keepdims=True)
        check(lambda ord=ord: tnp.linalg.norm(a, ord, axis=(-2, -1), keepdims=True), want, modes=EAGER)


def test_ranks_that_are_less():
    a = np.outer(np.arange(1.0, 5), np.arange(1.0, 4))
    check(lambda: tnp.linalg.matrix_rank(a), np.asarray(1), modes=EAGER)
    check(lambda: tnp.linalg.matrix_rank(a + 1e-9 * np.eye(4, 3), rtol=1e-6), np.asarray(1), modes=EAGER)
    check(lambda: tnp.linalg.matrix_rank(np.eye(3), tol=2.0), np.asarray(0), modes=EAGER)
    check(lambda: tnp.linalg.matrix_rank(np.zeros(4)), np.asarray(0), modes=EAGER)
    check(lambda: tnp.linalg.matrix_rank(np.ones((3, 0))), np.asarray(0), modes=EAGER)
    check(lambda: tnp.linalg.pinv(a), np.linalg.pinv(a), 4e3, modes=EAGER)
    check(lambda: tnp.linalg.pinv(a, rtol=1e-3), np.linalg.pinv(a, rtol=1e-3), 4e3, modes=EAGER)
    check(lambda: tnp.linalg.pinv(np.ones((0, 3))), np.ones((3, 0)))


@pytest.mark.parametrize("shape", [(9, 3), (4, 7)], ids=str)
def test_least_squares(shape):
    a, b = drawn(*shape), drawn(shape[0], 2)
    x, residuals, rank, s = np.linalg.lstsq(a, b)
    check(lambda: tnp.linalg.lstsq(a, b), (x, residuals, np.asarray(rank, np.int32), s), 4e3, modes=EAGER)
    check(lambda: tnp.linalg.lstsq(a, b[:, 0]).x, np.linalg.lstsq(a, b[:, 0])[0], 4e3, modes=EAGER)
    check(
        lambda: tnp.linalg.lstsq(a, b, rcond=0.9).rank,
        np.asarray(np.linalg.lstsq(a, b, rcond=0.9)[2], np.int32),
    )


def test_norms_and_condition_numbers():
    a = drawn(4, 4)
    check(lambda: tnp.linalg.norm(a), np.asarray(np.linalg.norm(a)))
    check(lambda: tnp.linalg.norm(a[0], 3), np.asarray(np.linalg.norm(a[0], 3)))
    check(lambda: tnp.linalg.norm(a, axis=0, keepdims=True), np.linalg.norm(a, axis=0, keepdims=True))
    check(lambda: tnp.linalg.norm(a, 1), np.asarray(np.linalg.norm(a, 1)))
    check(lambda: tnp.linalg.cond(a, 1), np.asarray(np.linalg.cond(a, 1)), 4e3)
    check(lambda: tnp.linalg.cond(np.zeros((2, 2)), 1), np.asarray(np.linalg.cond(np.zeros((2, 2)), 1)))


def test_tensors_as_matrices():
    a, b = drawn(6, 4, 8, 3), drawn(6, 4)
    check(lambda: tnp.linalg.tensorinv(a), np.linalg.tensorinv(a), 4e4)
    check(lambda: tnp.linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b), 4e4)
    a, b = drawn(2, 6, 3), drawn(6)
    check(lambda: tnp.linalg.tensorsolve(a, b, axes=(0,)), np.linalg.tensorsolve(a, b, axes=(0,)), 4e4)


def test_singular_matrices_raise_nothing():
    zeros = np.zeros((3, 3))
    assert not np.isfinite(np.asarray(tnp.linalg.inv(zeros))).any()
    assert np.asarray(tnp.linalg.det(zeros)) == 0
    sign, logarithm = tnp.linalg.slogdet(zeros)
    assert (float(sign), float(logarithm)) == (0.0, float("-inf"))
    assert np.isnan(np.asarray(tnp.linalg.cholesky(-np.eye(3)))).any()
    assert np.isnan(np.asarray(tnp.linalg.eigvalsh(np.full((2, 2), np.nan)))).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: tnp.linalg.solve(np.eye(3), np.ones(2)),
            ValueError,
            "solve: the right sides have not as many",
        ),
        (
            lambda: tnp.linalg.inv(np.ones((2, 3))),
            ValueError,
            "inv: last 2 dimensions of the array must be sq",
        ),
        (lambda: tnp.linalg.det(np.ones(3)), ValueError, "det: the array must have 2 dimensions or more"),
        (
            lambda: tnp.linalg.inv(np.eye(2, dtype=np.float16)),
            TypeError,
            r"inv: not supported .*cast to float32",
        ),
        (lambda: tnp.linalg.qr(np.eye(2), mode="raw"), ValueError, "qr: mode is 'raw', expected"),
        (lambda: tnp.linalg.eigh(np.eye(2), "X"), ValueError, "eigh: UPLO is 'X', expected 'L' or 'U'"),
        (lambda: tnp.linalg.matrix_power(np.ones((2, 3)), 2), ValueError, "matrix_power: last 2 dimensions"),
        (
            lambda: tnp.linalg.matrix_rank(np.eye(2), tol=1.0, rtol=1.0),
            ValueError,
            "matrix_rank: tol and rtol",
        ),
        (lambda: tnp.linalg.pinv(np.eye(2), 1.0, rtol=1.0), ValueError, "pinv: rcond and rtol are given"),
        (lambda: tnp.linalg.lstsq(np.eye(3), np.ones(2)), ValueError, "lstsq: arrays of shapes"),
        (
            lambda: tnp.linalg.lstsq(np.ones((2, 0)), np.ones(2)),
            ValueError,
            "lstsq: the matrix has no elements",
        ),
        (
            lambda: tnp.linalg.matrix_norm(np.ones((0, 2)), ord=2),
            ValueError,
            "matrix_norm: no singular values",
        ),
        (lambda: tnp.linalg.norm(np.ones((2, 2, 2)), 1), ValueError, "norm: 3 axes of shape"),
        (
            lambda: tnp.linalg.norm(np.ones(2), "fro"),
            ValueError,
            "norm: there is no norm of vectors of ord 'fro'",
        ),
        (lambda: tnp.linalg.cond(np.ones((0, 0))), ValueError, "cond: the array must be of matrices with el"),
        (lambda: tnp.linalg.tensorinv(np.eye(2), 0), ValueError, "tensorinv: ind is 0, expected 1 or more"),
        (lambda: tnp.linalg.tensorsolve(np.eye(2), np.ones((1, 2))), ValueError, "tensorsolve"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(error, match=message):
        tenon.jit(call)()


def test_extents_that_are_known_at_a_call_only_are_an_error():
    inverted = tenon.jit(lambda x: tnp.linalg.inv(x), dynamic={"x": {0: tenon.Dim("n", 1, 9)}})
    with pytest.raises(ValueError, match="inv: the shape must be known when tracing"):
        inverted(np.ones((3, 3)))
