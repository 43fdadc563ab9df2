"""Functions of jax.numpy.linalg, which jax calls LAPACK for, beside what jax gives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon

LINALG = jnp.linalg


def normal(*shape):
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


SQUARE, TALL, BATCH = normal(6, 6), normal(7, 4), normal(3, 5, 5)

POSITIVE = SQUARE @ SQUARE.T + np.eye(6, dtype=np.float32)

FUNCTIONS = {
    "solve": (LINALG.solve, SQUARE, SQUARE[:, :2]),
    "inv": (LINALG.inv, BATCH),
    "inv of no matrices": (LINALG.inv, normal(0, 5, 5)),
    "solve of no matrices": (LINALG.solve, normal(2, 0, 3, 3), normal(2, 0, 3, 1)),
    "eigh of no matrices": (LINALG.eigh, normal(0, 4, 4)),
    "svd of no matrices": (LINALG.svd, normal(0, 4, 3)),
    "qr of no matrices": (LINALG.qr, normal(0, 4, 3)),
    "cholesky of no matrices": (LINALG.cholesky, normal(0, 4, 4)),
    "det": (LINALG.det, SQUARE),
    "slogdet": (LINALG.slogdet, BATCH),
    "gradient of slogdet": (jax.grad(lambda x: LINALG.slogdet(x)[1]), SQUARE),
    "cholesky": (LINALG.cholesky, POSITIVE),
    "cholesky of none": (LINALG.cholesky, -POSITIVE),
    "cho_solve": (lambda a, b: jax.scipy.linalg.cho_solve((LINALG.cholesky(a), True), b), POSITIVE, SQUARE),
    "qr": (LINALG.qr, TALL),
    "complete qr": (lambda x: LINALG.qr(x, mode="complete"), TALL),
    "lu": (jax.scipy.linalg.lu, TALL),
    "eigvalsh": (LINALG.eigvalsh, BATCH + BATCH.transpose(0, 2, 1)),
    "singular values": (lambda x: LINALG.svd(x, compute_uv=False), TALL),
    "pinv": (LINALG.pinv, TALL),
    "lstsq": (lambda a, b: LINALG.lstsq(a, b)[0], TALL, TALL[:, 0]),
    "matrix_rank": (LINALG.matrix_rank, TALL),
    "solve of complex matrices": (LINALG.solve, BATCH + 1j * BATCH[::-1], normal(3, 5, 2) * 1j),
    "inv of complex matrices": (LINALG.inv, BATCH + 1j * BATCH[::-1]),
    "slogdet of complex matrices": (LINALG.slogdet, BATCH + 1j * BATCH[::-1]),
    "lu of complex matrices": (jax.scipy.linalg.lu, TALL + 1j * TALL[::-1]),
    "qr of complex matrices": (LINALG.qr, TALL + 1j * TALL[::-1]),
    "eigvalsh of complex matrices": (LINALG.eigvalsh, SQUARE + SQUARE.T + 1j * (SQUARE - SQUARE.T)),
    "pinv of complex matrices": (LINALG.pinv, TALL + 1j * TALL[::-1]),
    "cholesky of complex matrices": (LINALG.cholesky, POSITIVE + 1j * (SQUARE - SQUARE.T) / 4),
    "gradient of a complex determinant": (jax.grad(lambda x: jnp.abs(LINALG.det(x + 1j * x.T))), SQUARE),
    "tridiagonal_solve": (jax.lax.linalg.tridiagonal_solve, *BATCH, normal(5, 5, 2)),
    "tridiagonal_solve of a batch": (
        jax.vmap(jax.lax.linalg.tridiagonal_solve),
        BATCH[:, 0],
        BATCH[:, 1],
        BATCH[:, 2],
        normal(3, 5, 1),
    ),
    "gradient of tridiagonal_solve": (
        jax.grad(lambda *x: jnp.sum(jax.lax.linalg.tridiagonal_solve(*x) ** 2), argnums=(0, 1, 2, 3)),
        BATCH[0],
        BATCH[1] + 4,
        BATCH[2],
        normal(5, 5, 2),
    ),
    "expm": (jax.scipy.linalg.expm, SQUARE / 4),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_jax(name):
    function, *arguments = FUNCTIONS[name]
    found = tenon.from_jax(function, *arguments)(*arguments)
    wanted = jax.jit(function)(*arguments)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(
            one, other, rtol=2e-4, atol=2e-5 * (1 + np.max(np.abs(np.nan_to_num(other)), initial=0))
        )


def test_the_inverse_of_a_singular_matrix_has_no_finite_element():
    # Which are infinite depends on the order in which a library's code for the processor subtracts.
    ones = np.ones((4, 4), np.float32)
    assert not np.isfinite(tenon.from_jax(LINALG.inv, ones)(ones)).any()
    assert not np.isfinite(jax.jit(LINALG.inv)(ones)).any()


def test_eigenvectors_and_singular_vectors_give_the_matrix_again():
    symmetric = SQUARE + SQUARE.T

    def again(x, y):
        values, vectors = LINALG.eigh(x)
        u, s, v = LINALG.svd(y, full_matrices=False)
        return (vectors * values) @ vectors.T, (u * s) @ v

    found = tenon.jax_compile(again)(symmetric, TALL)
    np.testing.assert_allclose(found[0], symmetric, atol=1e-5)
    np.testing.assert_allclose(found[1], TALL, atol=1e-5)


def test_a_large_matrix():
    a = normal(120, 120)
    found = tenon.from_jax(LINALG.inv, a)(a)
    np.testing.assert_allclose(found @ a, np.eye(120), atol=1e-3)


def shifted(x):
    return x + 5 * jnp.eye(x.shape[-1])


OPEN_BATCHES = {
    "solve": (lambda x: LINALG.solve(shifted(x), x[..., :2]), (4, 4)),
    "inv and slogdet": (lambda x: (LINALG.inv(shifted(x)), LINALG.slogdet(shifted(x))), (4, 4)),
    "cholesky": (lambda x: LINALG.cholesky(x @ jnp.swapaxes(x, -1, -2) + shifted(0 * x)), (4, 4)),
    "eigvalsh": (lambda x: LINALG.eigvalsh(x + jnp.swapaxes(x, -1, -2)), (4, 4)),
    "qr": (LINALG.qr, (5, 3)),
    "singular values": (lambda x: LINALG.svd(x, compute_uv=False), (5, 3)),
    "pinv": (LINALG.pinv, (5, 3)),
    "tridiagonal_solve": (
        lambda x: jax.lax.linalg.tridiagonal_solve(x[..., 0], x[..., 1], x[..., 2], x),
        (5, 3),
    ),
    "solve of complex matrices": (lambda x: LINALG.solve(shifted(x) + 1j * x, x[..., :2]), (4, 4)),
    "qr of complex matrices": (lambda x: LINALG.qr(x + 1j * x[..., ::-1]), (5, 3)),
    "singular values of complex matrices": (
        lambda x: LINALG.svd(x + 1j * x[..., ::-1], compute_uv=False),
        (5, 3),
    ),
}


@pytest.mark.parametrize("name", OPEN_BATCHES)
def test_how_many_matrices_there_are_may_be_open(name):
    function, sizes = OPEN_BATCHES[name]
    shape = jax.export.symbolic_shape(f"a, b, {sizes[0]}, {sizes[1]}")
    run = tenon.from_jax(function, jax.ShapeDtypeStruct(shape, np.float32))
    for batch in ((1, 1), (2, 3), (5, 1)):
        x = normal(*batch, *sizes)
        for one, other in zip(jax.tree.leaves(run(x)), jax.tree.leaves(jax.jit(function)(x)), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=5e-5)
