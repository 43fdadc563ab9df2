"""How many partial results a reduction has: few where what is left over would be combined one by one."""

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.passes.machine.partial_results import FEW, LEAST, MANY, SEVERAL, partial_results


@pytest.mark.parametrize(
    ("extent", "usual", "best"),
    [
        (1, 4, 4),
        (7, 4, 4),
        (8, 8, 8),
        (12, 8, 4),
        (31, 8, 4),
        (32, 16, 16),
        (63, 16, 8),
        (64, 16, 16),
        (95, 16, 8),
        (96, 32, 32),
        (112, 32, 16),
        (120, 32, 8),
        (1000, 32, 32),
        (50257, 32, 32),
    ],
)
def test_what_is_left_over_decides(extent: int, usual: int, best: int) -> None:
    assert partial_results(extent) == usual
    assert partial_results(extent, LEAST) == best
    for least in (FEW, SEVERAL, MANY):
        found = partial_results(extent, least)
        assert found == usual if least >= usual else least <= found <= usual


def sums(x: Any) -> Any:
    return tnp.sum(x, axis=1)


def variances(x: Any) -> Any:
    return tnp.var(x, axis=1)


def products(x: Any) -> Any:
    return x @ x[0]


def softmax(x: Any) -> Any:
    return nn.softmax(x, axis=1)


@pytest.mark.parametrize("extent", [12, 63, 90, 120, 150])
@pytest.mark.parametrize("function", [sums, variances, products, softmax], ids=lambda each: each.__name__)
def test_the_width_of_vectors_changes_no_bit(function: Any, extent: int) -> None:
    x = np.random.default_rng(extent).standard_normal((7, extent)).astype(np.float32)
    module = tenon.jit(function).lower(x).module
    targets = ("x86-64-v2", "x86-64-v3", None)
    found = {np.asarray(tenon.compile(module, target=target)(x)).tobytes() for target in targets}
    assert len(found) == 1
    expected = np.asarray(tenon.compile(module, backend="reference", level="low")(x))
    assert found == {expected.tobytes()}


def test_a_maximum_keeps_wide_vectors() -> None:
    x = np.zeros((9, 120), np.float32)
    text = tenon.jit(lambda x: (tnp.max(x, axis=1), tnp.sum(x, axis=1))).lower(x).text("sched")
    assert "32 partial results for 120 elements" in text and "8 partial results for 120 elements" in text
    text = tenon.jit(lambda x: tnp.sum(tnp.exp(x), axis=1)).lower(x).text("sched")
    assert "16 partial results for 120 elements" in text
