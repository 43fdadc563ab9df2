"""Splats that are too large to be folded to constants are seen all the same."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.passes.graph.rules.folding import SPLAT_ELEMENTS_LIMIT


@pytest.mark.parametrize("extent", [8, SPLAT_ELEMENTS_LIMIT, SPLAT_ELEMENTS_LIMIT + 1, 1 << 22])
def test_rules_about_a_number_see_it_in_arrays_of_any_size(extent: int):
    lowered = tenon.jit(lambda x: (x * 1.0) ** 2.0).lower(np.ones(extent, np.float32))
    text = lowered.text("graph")
    assert "graph.pow" not in text and text.count("graph.mul") == 1 and "graph.broadcast" not in text


@pytest.mark.parametrize("extent", [8, SPLAT_ELEMENTS_LIMIT + 1])
def test_arithmetic_with_numbers_is_the_same_in_arrays_of_any_size(extent: int):
    x = np.linspace(-2, 2, extent, dtype=np.float32)
    result = np.asarray(tenon.jit(lambda x: tnp.where(x > 0.5, x * 3.0, 1.5 - x) + 2.0)(x))
    assert np.array_equal(result, np.where(x > 0.5, x * np.float32(3), np.float32(1.5) - x) + np.float32(2))


def test_a_program_has_no_large_constants_for_numbers():
    text = tenon.jit(lambda x: x * 3.0 + 1.5).lower(np.ones((1 << 11, 1 << 11), np.float32)).text("graph")
    assert "tensor<f32>" in text
    assert not any("graph.constant" in line and "2048" in line for line in text.splitlines())
