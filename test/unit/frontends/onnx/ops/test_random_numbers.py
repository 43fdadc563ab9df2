"""Random numbers: the same for a seed, spread as they should be, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.random as trandom
from onnx import TensorProto
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import model_of
from tenon.test.unit.frontends.onnx.single_node import run

X = np.zeros((50, 80), np.float32)


@pytest.mark.parametrize("seed", [{}, {"seed": 7.5}, {"seed": -0.0}])
def test_numbers_are_spread_as_they_should_be(seed: dict[str, float]):
    uniform = run("RandomUniform", [], shape=[50, 80], low=-1.0, high=3.0, **seed)
    assert uniform.dtype == np.float32 and uniform.min() >= -1 and uniform.max() < 3
    assert abs(uniform.mean() - 1) < 0.1
    normal = run("RandomNormalLike", [X], mean=2.0, scale=3.0, **seed)
    assert normal.shape == X.shape and abs(normal.mean() - 2) < 0.2 and abs(normal.std() - 3) < 0.2
    wide = run("RandomNormal", [], shape=[4], dtype=TensorProto.DOUBLE, **seed)
    assert wide.dtype == np.float64 and len(np.unique(wide)) == 4
    like = run("RandomUniformLike", [X], dtype=TensorProto.FLOAT16, **seed)
    assert like.dtype == np.float16 and like.shape == X.shape
    drawn = run("Bernoulli", [np.full((50, 80), 0.25, np.float32)], dtype=TensorProto.BOOL, **seed)
    assert drawn.dtype == np.bool_ and abs(drawn.mean() - 0.25) < 0.05
    shares = np.array([[0.5, 0.25, 0.25, 0], [0, 0, 0, 1]], np.float32)
    with np.errstate(divide="ignore"):
        classes = run("Multinomial", [np.log(shares)], sample_size=2000, **seed)
    assert classes.dtype == np.int32 and (classes[1] == 3).all()
    counts = np.bincount(classes[0], minlength=4) / 2000
    np.testing.assert_allclose(counts, shares[0], atol=0.05)


def test_a_seed_says_which_numbers_and_nodes_without_one_differ():
    text = """
    agraph () => (float[9] a, float[9] b, float[9] c, float[9] d) {
        a = RandomUniform<shape = [9], seed = 3.0>()
        b = RandomUniform<shape = [9], seed = 3.0>()
        c = RandomUniform<shape = [9]>()
        d = RandomUniform<shape = [9]>()
    }
    """
    first, again = (tenon.from_onnx(model_of(text))() for _ in range(2))
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    a, b, c, d = first
    np.testing.assert_array_equal(a, b)
    assert (a != c).any() and (c != d).any()
    # Which numbers these are is a promise.
    key = trandom.key(int(np.float32(3).view(np.uint32)))
    np.testing.assert_array_equal(a, np.asarray(trandom.uniform(key, (9,), np.float32)))


def test_training_drops_a_share():
    x = np.full((40, 50), 3, np.float32)
    given: list[Any] = [x, np.float32(0.25), np.array(True)]
    y, mask = run("Dropout", given, n_outputs=2, seed=5)
    np.testing.assert_array_equal(y, np.where(mask, np.float32(4), 0))
    assert abs(mask.mean() - 0.75) < 0.05
    np.testing.assert_array_equal(run("Dropout", given, seed=5), y)
    assert (run("Dropout", given) != y).any()
    np.testing.assert_array_equal(run("Dropout", [x, np.float32(0.25), np.array(False)]), x)


@pytest.mark.parametrize(
    ("op", "inputs", "options", "message"),
    [
        ("RandomNormal", [], {"shape": [2, -1]}, "the shape [2, -1] has a negative extent"),
        ("RandomUniform", [], {"shape": [2], "dtype": 7}, "random numbers of int64 are not supported"),
        ("RandomNormalLike", [X.astype(np.int32)], {}, "random numbers of int32 are not supported"),
        ("Multinomial", [X[0]], {}, "1 samples of int32 from shape (80,)"),
        ("Multinomial", [X], {"dtype": 1}, "1 samples of float32"),
        ("Multinomial", [X], {"sample_size": 0}, "0 samples of int32"),
        ("Dropout", [X, np.float32(1), np.array(True)], {}, "the ratio is 1.0, expected one from 0"),
    ],
)
def test_what_is_refused(op: str, inputs: Any, options: Any, message: str):
    with pytest.raises(TenonError) as caught:
        run(op, inputs, **options)
    assert message in str(caught.value)
