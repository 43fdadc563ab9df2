"""Functions of complex numbers that jax traces give in Tenon what they give in jax."""

import numpy as np
import pytest
import tenon

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def complex_numbers(*shape: int) -> np.ndarray:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(np.complex64)


def check(function, *arguments, rtol: float = 3e-5) -> None:
    """Compares the leaves of results, within a part of the largest element of each."""
    found, wanted = tenon.from_jax(function, *arguments)(*arguments), jax.jit(function)(*arguments)
    for each, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        other = np.asarray(other)
        assert (each.shape, each.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(each, other, rtol=rtol, atol=rtol * np.abs(other).max(initial=0))


def recurrence(z):
    return jax.lax.scan(lambda c, x: (0.9j * c + x, c * x), jnp.zeros(z.shape[1:], z.dtype), z)


def escape(c):
    def step(_, state):
        z, count = state
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + c, z), count + inside

    return jax.lax.fori_loop(0, 30, step, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


def spectral_step(u):
    frequencies = 2 * jnp.pi * jnp.fft.fftfreq(u.shape[-1])
    return jnp.fft.ifft(jnp.fft.fft(u) * jnp.exp(-0.1j * frequencies**2))


def states(a, b):
    def combine(p, q):
        return p[0] * q[0], q[0] * p[1] + q[1]

    return jax.lax.associative_scan(combine, (a, b))


FUNCTIONS = {
    "spectra": (
        lambda x: (jnp.fft.rfft(x), jnp.fft.fft2(x), jnp.fft.irfft(jnp.fft.rfft(x), 45)),
        real(6, 45),
    ),
    "step": (lambda u: jax.lax.fori_loop(0, 10, lambda _, v: spectral_step(v), u), complex_numbers(128)),
    "convolution": (jax.scipy.signal.fftconvolve, real(30, 31), real(5, 6)),
    "short time": (lambda x: jax.scipy.signal.stft(x, nperseg=64)[2], real(500)),
    "recurrence": (recurrence, complex_numbers(40, 5)),
    "states": (states, 0.3 * complex_numbers(65, 4), complex_numbers(65, 4)),
    "escape": (escape, complex_numbers(20, 21)),
    "branches": (
        lambda z: jax.lax.cond(z[0].real > 0, lambda z: z * 1j, lambda z: z - 1, z),
        complex_numbers(5),
    ),
    "products": (
        lambda a, b: jnp.einsum("bij,bkj->bik", a, b.conj()),
        complex_numbers(3, 5, 7),
        real(3, 4, 7),
    ),
    "sums": (lambda z: (z.sum(0), z.prod(1), jnp.cumsum(z, 0), z.mean(), jnp.var(z)), complex_numbers(9, 5)),
    "order": (lambda z: (jnp.sort(z), jnp.max(z), z == z[::-1]), complex_numbers(41)),
    "updates": (lambda z: z.at[jnp.array([1, 1, 3])].add(z[:3]).at[0].set(2j), complex_numbers(6, 6)),
    "movement": (lambda z: jnp.pad(jnp.roll(z, 2, 0)[::-1, 1::2].T, 1), complex_numbers(6, 7)),
    "constants": (lambda z: z * np.exp(1j * np.arange(300)).astype(np.complex64), complex_numbers(300)),
    "polar": (lambda z: (jnp.abs(z), jnp.angle(z), z**3, z**0.5, 1 / z), complex_numbers(7, 8)),
    "derivative": (
        jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.fft(x * jnp.hanning(64))) ** 2)),
        real(64),
    ),
    "random": (lambda z: z + jax.random.normal(jax.random.key(1), z.shape, z.dtype), complex_numbers(5, 3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_what_jax_does(name: str):
    function, *arguments = FUNCTIONS[name]
    check(function, *arguments)


def test_arrays_of_jax_are_taken_and_given():
    z = jnp.asarray(complex_numbers(4, 5))
    found = tenon.jax_compile(lambda z, s: (z * s, z.real))(z, 2.0 + 1.0j)
    assert isinstance(found[0], jax.Array) and found[0].dtype == jnp.complex64
    np.testing.assert_allclose(found[0], z * (2.0 + 1.0j), rtol=1e-6)
    np.testing.assert_array_equal(found[1], z.real)


def test_rows_may_be_open():
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 48"), np.complex64)
    function = tenon.from_jax(lambda z: jnp.fft.fft(z) * jnp.conj(z), shape)
    for rows in (1, 6):
        z = complex_numbers(rows, 48)
        wanted = np.fft.fft(z.astype(np.complex128)) * np.conj(z)
        np.testing.assert_allclose(function(z), wanted, atol=1e-5 * np.abs(wanted).max())
