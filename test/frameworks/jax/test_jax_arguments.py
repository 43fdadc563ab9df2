"""What functions of jax are called with: static arguments, keys of random numbers, weights from outside."""

import shutil
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tenon
from jax import lax
from tenon import CallError, TenonError

X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def scaled(x, n=2, *, kind="times"):
    return x * n if kind == "times" else x - n


def test_each_static_value_has_a_program():
    f = tenon.jax_compile(scaled, static_argnames=("n", "kind"))
    for arguments, named in [
        ((X,), {}),
        ((X, 3), {}),
        ((X,), {"n": 3}),
        ((X, 4), {"kind": "minus"}),
        ((X, 3), {"kind": "minus"}),
    ]:
        np.testing.assert_allclose(f(*arguments, **named), scaled(*arguments, **named))


@pytest.mark.parametrize("static", [1, -1, (1,)])
def test_static_arguments_by_number(static):
    f = tenon.jax_compile(lambda x, n: x * n, static_argnums=static)
    assert all(np.array_equal(f(X, n), X * n) for n in (2, 3, 2))


def test_a_method_with_a_static_owner():
    class Model:
        weight = jnp.ones((3, 2))

        @partial(tenon.jax_compile, static_argnums=0)
        def scores(self, x):
            return x @ self.weight

    np.testing.assert_allclose(Model().scores(X), X @ np.ones((3, 2)), rtol=1e-6)
    assert isinstance(Model.scores, type(tenon.jax_compile(scaled)))


def test_static_arguments_that_only_jax_knows_are_an_error():
    f = tenon.jax_compile(jax.jit(lambda x, n: x * n, static_argnums=1))
    with pytest.raises(CallError, match="static arguments for it that are not known here"):
        f(X, 2)
    f = tenon.from_jax(jax.jit(lambda x, n: x * n, static_argnums=1), X, 2)
    np.testing.assert_array_equal(f(X), X * 2)


def test_a_string_that_is_not_static_is_what_it_is_to_jax():
    with pytest.raises(TypeError, match="static_argnames"):
        tenon.jax_compile(scaled)(X, kind="minus")


@pytest.mark.parametrize("order", [1, -1])
def test_weak_and_strong_numbers_have_programs_of_their_own(order):
    f = tenon.jax_compile(lambda x, n: x * n)
    x = jnp.asarray(X, jnp.bfloat16)
    for n in [jnp.asarray(2.0), jax.lax.convert_element_type(2, jnp.float32), 2.0, 3, np.float32(2)][::order]:
        assert f(x, n).dtype == (x * n).dtype


def test_a_program_is_of_the_settings_of_jax():
    f = tenon.jax_compile(lambda x: x * 2)
    assert f(X.astype(np.float64)).dtype == np.float32
    with jax.enable_x64(True):
        assert f(X.astype(np.float64)).dtype == np.float64


def test_keys_of_random_numbers():
    def draws(key, x):
        first, second = jax.random.split(key)
        return jax.random.normal(first, x.shape) + x, second, jax.random.split(key, 3)

    key = jax.random.key(7)
    expected = draws(key, X)
    for found in (tenon.jax_compile(draws)(key, X), tenon.from_jax(draws, key, X)(key, X)):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
        for keys, wanted in zip(found[1:], expected[1:], strict=True):
            assert keys.dtype == wanted.dtype
            assert np.array_equal(jax.random.key_data(keys), jax.random.key_data(wanted))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (3, 5), (3, 4, 2), (3, 0)])
@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
@pytest.mark.parametrize("algorithm", lax.RandomAlgorithm)
def test_random_bits_are_those_of_jax(algorithm, dtype, shape):
    def draw(state):
        return lax.rng_bit_generator(state, shape, dtype=dtype, algorithm=algorithm)

    state = np.array([1, 2, 2**32 - 1, 2**32 - 1], np.uint32)
    for found, expected in zip(tenon.from_jax(draw, state)(state), draw(state), strict=True):
        assert np.asarray(found).dtype == expected.dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
def test_keys_of_random_bits_give_the_numbers_of_jax(impl):
    def draws(key):
        return jax.random.normal(key, (7, 5)), jax.random.key_data(jax.random.fold_in(key, 5))

    key = jax.random.key(42, impl=impl)
    (found, folded), (expected, wanted) = tenon.from_jax(draws, key)(key), jax.jit(draws)(key)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.array_equal(folded, wanted)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_large_arrays_from_outside_are_frozen_arguments(dtype):
    weights = jnp.asarray(np.random.default_rng(1).integers(-8, 8, (64, 65)), dtype)
    small, key = jnp.arange(65, dtype=dtype), jax.random.key(3)

    def f(x):
        y = x @ weights + small + weights.sum(0)
        return y + jax.random.normal(key, (65,)).astype(dtype) * 0, weights

    x = jnp.asarray(np.random.default_rng(2).integers(-8, 8, (5, 64)), dtype)
    run = tenon.from_jax(f, x)
    # The weights, and what is made of them; none for the small ones.
    assert len(run.executable.argument_names) >= 2
    for _ in range(2):
        for found, wanted in zip(run(x), f(x), strict=True):
            np.testing.assert_allclose(
                np.asarray(found, np.float32), np.asarray(wanted, np.float32), rtol=2e-2, atol=1e-3
            )
    assert len(tenon.from_jax(lambda x: x + small, small).executable.argument_names) == 1


def test_a_program_without_ops():
    assert tenon.from_jax(lambda x: {"a": None}, X)(X) == {"a": None}
    assert tenon.from_jax(lambda x, y: (x, None), X, X)(X, X)[0].tolist() == X.tolist()


def test_what_jax_does_not_export_is_an_error():
    def f(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(TenonError, match=r"f: jax does not export it: .*callbacks"):
        tenon.from_jax(f, X)


def test_bounds_of_symbolic_shapes_are_those_of_dims():
    (n,) = jax.export.symbolic_shape("n", constraints=["n>=3", "2*n<=17"])
    f = tenon.from_jax(lambda x: x.sum(0), jax.ShapeDtypeStruct((n, 3), "float32"))
    for rows in (3, 8):
        x = np.resize(X, (rows, 3))
        np.testing.assert_allclose(f(x), x.sum(0), rtol=1e-5)
    for rows in (2, 9):
        with pytest.raises(CallError, match="n is from 3 to 8"):
            f(np.resize(X, (rows, 3)))


@pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")
@pytest.mark.parametrize("target", [None, "x86-64-v2"])
def test_an_exported_function_holds_its_weights(tmp_path, target):
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(3, 300)), "float32")
    f = tenon.from_jax(lambda d: jnp.tanh(d["x"] @ weights), {"x": X})
    tenon.export(f, tmp_path / "scores", target=target)
    loaded = tenon.load(tmp_path / "scores.so")
    assert len(loaded.argument_names) == 1
    np.testing.assert_allclose(loaded(X), f({"x": X}), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")
def test_a_compiled_function_is_exported_for_arguments_of_a_call(tmp_path):
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(3, 300)), "float32")

    @partial(tenon.jax_compile, static_argnames="scale")
    def scores(x, scale):
        return jnp.tanh(x @ weights) * scale

    (n,) = jax.export.symbolic_shape("n", constraints=["n <= 64"])
    tenon.export(scores, tmp_path / "scores", jax.ShapeDtypeStruct((n, 3), "float32"), scale=2)
    loaded = tenon.load(tmp_path / "scores.so")
    for rows in (1, 3, 64):
        x = np.resize(X, (rows, 3))
        np.testing.assert_allclose(loaded(x), scores(x, scale=2), rtol=1e-5, atol=1e-6)
    with pytest.raises(CallError, match="n is from 1 to 64"):
        loaded(np.resize(X, (65, 3)))
    with pytest.raises(TypeError, match="scale"):
        tenon.export(scores, tmp_path / "scores", X)
