"""Kernels that fetch the next row while they work on one: what they compute, and on what."""

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects.low.prefetch import PREFETCH

ROWS = np.random.default_rng(0).standard_normal((300, 1029)).astype("f4")


def centred(x):
    return x - tnp.mean(x, axis=-1, keepdims=True)


def test_rows_that_are_fetched_ahead_are_the_same_on_every_backend():
    program = tenon.compile(tenon.jit(centred).lower(ROWS).module)
    found = program(ROWS)
    assert found.tobytes() == np.asarray(tenon.jit(centred, backend="opencl")(ROWS)).tobytes()
    for level in ("sched", "low"):
        interpreted = tenon.compile(str(program.stages[level]), backend="reference")
        assert found.tobytes() == interpreted(ROWS).tobytes(), level
    np.testing.assert_allclose(found, ROWS - ROWS.mean(-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("level", ["sched", "low"])
def test_distances_are_in_the_text_of_every_level(level: str):
    assert f"{{{PREFETCH} = 1029 : index}}" in tenon.jit(centred).lower(ROWS).text(level)


def test_vectors_fetch_and_single_elements_do_not():
    text = tenon.jit(centred).lower(ROWS).text("low")
    assert PREFETCH in text
    assert all("vector.load" in line for line in text.splitlines() if PREFETCH in line)


def test_what_the_caches_hold_is_not_fetched_ahead():
    assert PREFETCH not in tenon.jit(centred).lower(ROWS[:200]).text("sched")


def test_rows_of_named_dims_are_fetched_ahead_by_their_greatest_number():
    text = """
    graph.dim @n min 1 max 4096
    func.func @f(%x: tensor<?x1024xf32, #graph.dims<n, 1024>>) -> tensor<?x1024xf32, #graph.dims<n, 1024>> {
      %s = graph.reduce add %x axes [1] keep : tensor<?x1024xf32, #graph.dims<n, 1024>>
        -> tensor<?x1xf32, #graph.dims<n, 1>>
      %b = graph.broadcast %s : tensor<?x1xf32, #graph.dims<n, 1>> -> tensor<?x1024xf32, #graph.dims<n, 1024>>
      %y = graph.sub %x, %b : tensor<?x1024xf32, #graph.dims<n, 1024>>
      func.return %y : tensor<?x1024xf32, #graph.dims<n, 1024>>
    }
    """
    program = tenon.compile(text)
    assert PREFETCH in str(program.stages["sched"])
    x = ROWS[:5, :1024].copy()
    np.testing.assert_allclose(program(x), x - x.sum(-1, keepdims=True), rtol=1e-4, atol=1e-4)
