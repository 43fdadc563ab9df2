"""Sums of columns by pieces of rows: the bits of the sums in order, on every backend."""

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp

SHAPES = [(64, 16384), (72, 3, 5, 1024), (128, 12288)]


def in_order(x: np.ndarray) -> np.ndarray:
    total = np.zeros(x.shape[1:], x.dtype)
    for row in x:
        total = total + row
    return total


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_summed_in_the_order_of_the_rows(shape: tuple[int, ...], dtype: str):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    lowered = tenon.jit(lambda x: tnp.sum(x, axis=0)).lower(x)
    assert "columns at once, row by row" in lowered.text("sched")
    program = tenon.compile(lowered.module)
    found = program(x)
    assert found.tobytes() == in_order(x).tobytes()
    for threads in (1, 2):
        with tenon.num_threads(threads):
            assert program(x).tobytes() == found.tobytes()
    assert tenon.compile(lowered.module, backend="opencl")(x).tobytes() == found.tobytes()
    interpreted = tenon.compile(str(program.stages["sched"]), backend="reference")
    assert interpreted(x).tobytes() == found.tobytes()


def test_what_follows_the_sum_is_computed_once():
    x = np.random.default_rng(1).standard_normal((64, 16384)).astype("f4")
    scale = np.random.default_rng(2).standard_normal(16384).astype("f4")
    lowered = tenon.jit(lambda x, scale: tnp.sqrt(tnp.sum(x * x, axis=0)) * scale).lower(x, scale)
    text = lowered.text("sched")
    assert "columns at once, row by row" in text
    assert text.count("math.sqrt") == 1
    found = tenon.compile(lowered.module)(x, scale)
    np.testing.assert_array_equal(found, np.sqrt(in_order(x * x)) * scale)


def test_zeros_keep_the_sign_that_a_sum_in_order_has():
    x = np.full((64, 16384), -0.0, "f4")
    found = tenon.compile(tenon.jit(lambda x: tnp.sum(x, axis=0)).lower(x).module)(x)
    assert found.tobytes() == in_order(x).tobytes()
