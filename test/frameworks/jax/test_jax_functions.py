"""Functions that jax traces give in Tenon what they give in jax."""

import inspect
import re

import numpy as np
import pytest
import tenon
from jax import lax
from tenon import CallError, TenonError

jax = pytest.importorskip("jax")
jnp = jax.numpy

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def check(function, *arguments, rtol: float = 2e-5, atol: float = 2e-5):
    found, expected = tenon.from_jax(function, *arguments)(*arguments), jax.jit(function)(*arguments)
    found_leaves, found_tree = jax.tree_util.tree_flatten(found)
    expected_leaves, expected_tree = jax.tree_util.tree_flatten(expected)
    assert found_tree == expected_tree
    for a, b in zip(found_leaves, expected_leaves, strict=True):
        assert isinstance(a, np.ndarray) and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def attention(weights, x):
    query, key, value = (x @ weights[name] for name in ("query", "key", "value"))
    scores = jax.nn.softmax(query @ key.T / jnp.sqrt(x.shape[-1]))
    return jax.nn.gelu(scores @ value, approximate=False)


def weights_of(n: int) -> dict[str, np.ndarray]:
    return {name: normal(n, n) for name in ("query", "key", "value")}


FUNCTIONS = {
    "attention": (attention, weights_of(32), normal(16, 32)),
    "convolution": (
        lambda x, k: jax.lax.conv_general_dilated(x, k, (2, 2), "SAME", feature_group_count=2),
        normal(2, 4, 9, 9),
        normal(6, 2, 3, 3),
    ),
    "pooling": (
        lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3), (1, 2, 2), "SAME"),
        normal(2, 9, 9),
    ),
    "indices": (
        lambda x, i: (x[i], x.at[i].add(1.0), x.at[i, 0].set(3.0)),
        normal(5, 3),
        np.array([3, 0, -1]),
    ),
    "order": (lambda x: (jnp.sort(x), jnp.argsort(-x), jnp.argmax(x, 1), jax.lax.top_k(x, 2)), normal(4, 7)),
    "approximate order": (
        lambda x: (
            jax.lax.approx_max_k(x, 3),
            jax.lax.approx_min_k(x, 2, reduction_dimension=0),
            jax.vmap(lambda y: jax.lax.approx_max_k(y, 20), in_axes=1, out_axes=1)(x.T),
        ),
        normal(4, 25),
    ),
    "derivative of approximate order": (
        jax.grad(lambda x: jnp.sum(jax.lax.approx_max_k(x, 3)[0] ** 2)),
        normal(4, 20),
    ),
    "loops": (
        lambda x: (
            jax.lax.fori_loop(0, 5, lambda i, s: s + i * x, x),
            jax.lax.scan(lambda c, r: (c + r, c * r), x[0], x),
            jax.lax.while_loop(lambda s: s.sum() < 100, lambda s: s * 2, jnp.abs(x)),
        ),
        normal(4, 3),
    ),
    "branches": (
        lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, lambda y: y * 2], x),
        np.int32(1),
        normal(5),
    ),
    "random": (lambda x: x + jax.random.normal(jax.random.key(3), (4, 5)), normal(4, 5)),
    "special": (
        lambda x: (jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x), jax.scipy.special.erf(x)),
        RNG.uniform(0.5, 5.0, 20).astype(np.float32),
    ),
    "dtypes": (lambda x: (x.astype(jnp.bfloat16) * 2, x > 0, (x * 9).astype(jnp.int8)), normal(6)),
    "sums": (lambda x: (jnp.cumsum(x, 1), jnp.prod(x, 0), jnp.any(x > 1, 1), x.std()), normal(4, 6)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_what_jax_does(name: str):
    check(*FUNCTIONS[name])


def test_a_pooled_derivative_gives_what_jax_does():
    def pooled(x):
        return (jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID") ** 2).sum()

    check(jax.grad(pooled), normal(8, 8))


def loss(weights, x, y):
    hidden = jnp.tanh(x @ weights["first"] + weights["bias"])
    return jnp.mean((hidden @ weights["second"] - y) ** 2)


def test_a_training_step_of_jax_trains_here():
    weights = {"first": normal(8, 16), "bias": np.zeros(16, np.float32), "second": normal(16, 1)}
    x, y = normal(32, 8), normal(32, 1)
    step = tenon.from_jax(jax.value_and_grad(loss), weights, x, y)
    first, _ = step(weights, x, y)
    for _ in range(50):
        value, gradient = step(weights, x, y)
        weights = {name: weights[name] - 0.1 * gradient[name] for name in weights}
    expected, expected_gradient = jax.value_and_grad(loss)(weights, x, y)
    value, gradient = step(weights, x, y)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    assert value < 0.3 * first
    for name in weights:
        np.testing.assert_allclose(gradient[name], expected_gradient[name], rtol=1e-3, atol=1e-5)


OPEN_IMAGES = {
    "strided convolution": lambda x: jax.lax.conv_general_dilated(
        x, np.ones((4, 2, 3, 3), np.float32), (2, 3), "SAME"
    ),
    "strided pooling": lambda x: jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, 1, 3, 2), (1, 1, 2, 3), "SAME"
    ),
    "roll": lambda x: jnp.roll(jnp.roll(x, 2, 2), -3, 3),
    "roll by a value": lambda x: jnp.roll(x, jnp.sum(x > 0), 2),
}


@pytest.mark.parametrize("name", OPEN_IMAGES)
def test_images_may_be_of_any_size(name: str):
    function = OPEN_IMAGES[name]
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 2, h, w"), np.float32)
    found = tenon.from_jax(function, shape)
    for height, width in ((1, 1), (2, 3), (5, 4), (6, 7), (8, 9)):
        x = normal(2, 2, height, width)
        np.testing.assert_allclose(found(x), jax.jit(function)(x), rtol=1e-5, atol=1e-5)


def test_symbolic_shapes_are_named_dims():
    shapes = jax.export.symbolic_shape("rows, 2*half")
    x = jax.ShapeDtypeStruct(shapes, jnp.float32)
    function = tenon.from_jax(lambda x: (x.reshape(-1, 2).sum(1), jax.nn.softmax(x), x.shape[0] * x), x)
    assert str(function.executable.argument_types[0].extents) == "(rows, 2 * half)"
    for rows, columns in ((1, 2), (3, 4), (17, 10)):
        x = normal(rows, columns)
        pairs, soft, scaled = function(x)
        np.testing.assert_allclose(pairs, x.reshape(-1, 2).sum(1), rtol=1e-6)
        np.testing.assert_allclose(soft, jax.nn.softmax(x), rtol=1e-5)
        np.testing.assert_allclose(scaled, rows * x, rtol=1e-6)


PADDING = (0, 0), (1, 1), (0, 1), (0, 0)
KERNEL = np.random.default_rng(5).standard_normal((3, 3, 4, 5)).astype(np.float32)


def convolved(x, strides, padding):
    return lax.conv_general_dilated(x, KERNEL, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.cumsum(x, 1),
        lambda x: lax.cummax(x, 2, reverse=True),
        lambda x: x.argmax(1),
        lambda x: x.argmin(0),
        lambda x: jnp.roll(x, (-2, 3), (1, 2)),
        lambda x: x[:, x.shape[1] // 2 :],
        lambda x: x[:, x.shape[1] // 2 : x.shape[1] // 2 + 2, x.shape[2] - 3 :],
        lambda x: jnp.nonzero(x[0, :, 0, 0] > 0, size=3, fill_value=-1)[0],
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "VALID"),
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2, 1), (1, 3, 2, 1), PADDING),
        lambda x: convolved(x, (2, 2), "VALID"),
        lambda x: jax.nn.relu(convolved(x, (2, 1), ((1, 1), (1, 1)))).mean((1, 2)),
    ],
    ids=[
        "sums",
        "maxima",
        "argmax",
        "argmin",
        "roll",
        "second-half",
        "parts",
        "nonzero",
        "pool",
        "padded-pool",
        "convolution",
        "net",
    ],
)
def test_functions_along_symbolic_dims_are_those_of_jax(f):
    shape = jax.export.symbolic_shape("n, h, w, 4", constraints=["h >= 4", "w >= 4"])
    function = tenon.from_jax(f, jax.ShapeDtypeStruct(shape, jnp.float32))
    for n, h, w in ((1, 4, 4), (2, 5, 7), (3, 17, 12)):
        x = normal(n, h, w, 4)
        found, expected = function(x), f(jnp.asarray(x))
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_one_dim_is_one_extent_in_all_arguments():
    scope = jax.export.SymbolicScope()
    a, b = (
        jax.ShapeDtypeStruct(jax.export.symbolic_shape(text, scope=scope), jnp.float32)
        for text in ("n, k", "k, m")
    )
    product = tenon.from_jax(jnp.matmul, a, b)
    np.testing.assert_allclose(product(normal(2, 3) * 0 + 1, np.ones((3, 4), np.float32)), np.full((2, 4), 3))
    with pytest.raises(CallError, match="axis 0 is 4, expected k = 3"):
        product(normal(2, 3), normal(4, 4))


def test_what_has_no_conversion_is_listed_at_the_line_of_the_function():
    def decomposed(x):
        return jax.scipy.linalg.schur(x)

    with pytest.raises(TenonError) as caught:
        tenon.from_jax(decomposed, normal(3, 3))
    line = inspect.getsourcelines(decomposed)[1] + 1
    assert re.search(r"stablehlo\.custom_call \(@lapack\w+\): 1", str(caught.value))
    assert f"{__file__}:{line}:" in str(caught.value)


def test_a_decorated_function_takes_and_gives_arrays_of_jax():
    traces = []

    @tenon.jax_compile
    def predict(weights, x, scale=1.0):
        traces.append(x.shape)
        return {"y": jax.nn.relu(x @ weights) * scale}

    weights, x = jnp.asarray(normal(4, 3)), jnp.asarray(normal(5, 4))
    for _ in range(3):
        found = predict(weights, x, scale=2.0)["y"]
    assert isinstance(found, jax.Array) and len(traces) == 1
    np.testing.assert_allclose(found, jax.nn.relu(x @ weights) * 2, rtol=1e-5, atol=1e-6)
    predict(weights, x[:2])
    assert len(traces) == 2
    slope = jax.grad(lambda x: predict(weights, x)["y"].sum())(x)
    assert slope.shape == x.shape


def test_a_decorator_takes_a_backend():
    @tenon.jax_compile(backend="reference")
    def double(x):
        return x + x

    np.testing.assert_array_equal(double(np.ones(3, np.float32)), np.full(3, 2, np.float32))


def test_arguments_in_other_containers_are_an_error():
    function = tenon.from_jax(lambda pair: pair[0] + pair[1], (normal(3), normal(3)))
    with pytest.raises(CallError, match="arguments are"):
        function([normal(3), normal(3)])
