"""Products of matrices with named dims get the schedules that numbers get, and the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.nn as nn
import tenon.numpy as tnp

Array = npt.NDArray[Any]

BATCH, LENGTH = tenon.Dim("b", 1, 8), tenon.Dim("s", 1, 128)
BACKENDS = ("llvm", "opencl", "reference")
WIDTH, HEADS = 64, 2


def named(function: Any, *names: str, backend: str = "llvm") -> Any:
    return tenon.jit(function, dynamic={name: {0: BATCH, 1: LENGTH} for name in names}, backend=backend)


def normal(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def projected(x: Any, weights: Any, bias: Any) -> Any:
    return nn.relu(x @ weights + bias)


def attention(query: Any, key: Any, value: Any) -> Any:
    batch, length, width = query.shape

    def heads(x: Any) -> Any:
        return tnp.transpose(tnp.reshape(x, (batch, length, HEADS, width // HEADS)), (0, 2, 1, 3))

    scores = heads(query) @ tnp.transpose(heads(key), (0, 1, 3, 2))
    mixed = nn.softmax(scores) @ heads(value)
    return tnp.reshape(tnp.transpose(mixed, (0, 2, 1, 3)), (batch, length, width))


def layer(x: Any, weights: Any) -> Any:
    query, key, value, output = (x @ weights[number] for number in range(4))
    return attention(query, key, value) @ weights[4] + output


def axes_of(function: Any, *arguments: Array) -> list[str]:
    lines = function.lower(*arguments).text("sched").splitlines()
    return [line.strip() for line in lines if "sched.axis" in line or "sched.reduce" in line]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("batch", "length"), [(1, 1), (1, 3), (1, 4), (1, 6), (2, 7), (1, 13), (3, 9), (1, 28), (2, 33), (2, 64)]
)
def test_a_product_over_two_named_dims(backend: str, batch: int, length: int) -> None:
    function = named(projected, "x", backend=backend)
    x, weights, bias = normal(batch, length, 40), normal(40, 48), normal(48)
    expected = np.maximum(x @ weights + bias, 0)
    np.testing.assert_allclose(function(x, weights, bias), expected, rtol=1e-4, atol=1e-4)


def test_two_named_dims_are_one_axis_of_a_product() -> None:
    found = axes_of(named(projected, "x"), normal(2, 64, 256), normal(256, 512), normal(512))
    assert len(found) == 3
    assert found[0].startswith("sched.axis %i_j = b * s block")
    assert "tile(" in found[0] and "tile(" in found[1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("batch", "length"), [(1, 1), (2, 7), (1, 40), (3, 64)])
def test_a_layer_gives_what_its_static_program_gives(backend: str, batch: int, length: int) -> None:
    x, weights = normal(batch, length, WIDTH), normal(5, WIDTH, WIDTH) / 8
    found = named(layer, "x", backend=backend)(x, weights)
    np.testing.assert_allclose(found, tenon.jit(layer)(x, weights), rtol=1e-4, atol=1e-4)


def test_scores_of_named_lengths_are_tiles_of_columns_in_a_row() -> None:
    arguments = normal(2, 64, WIDTH), normal(5, WIDTH, WIDTH)
    function = named(layer, "x")
    assert '"its columns in a row"' in function.lower(*arguments).text("graph")
    tiles = [line for line in axes_of(function, *arguments) if " = s " in line and "tile(" in line]
    # The rows of the keys, the rows and columns of the scores, and the rows of what they mix.
    assert len(tiles) == 4


def test_a_batch_that_varies_is_no_rows_beside_a_longer_axis() -> None:
    found = axes_of(named(layer, "x"), normal(2, 64, WIDTH), normal(5, WIDTH, WIDTH))
    assert not any("tile(" in line for line in found if " = b " in line and "b * s" not in line)
