"""The large constants of a program of StableHLO, apart from its text."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.frontends.stablehlo.weights import program_with_weights

W = np.random.default_rng(0).normal(size=(20, 30)).astype(np.float32)

TEXT = f"""
func.func public @main(%x: tensor<?x20xf32>, %w_: tensor<30xf32>) -> tensor<?x30xf32> {{
  %w = stablehlo.constant dense<"0x{W.tobytes().hex()}"> : tensor<20x30xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<20x30xf32>
  %b = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %s = stablehlo.add %w, %ones : tensor<20x30xf32>
  %y = stablehlo.dot_general %x, %s, contracting_dims = [1] x [0]
    : (tensor<?x20xf32>, tensor<20x30xf32>) -> tensor<?x30xf32>
  return %y : tensor<?x30xf32>
}}
"""


def test_large_constants_are_arguments_that_do_not_change():
    module, weights = program_with_weights(TEXT, "m.mlir")
    assert list(weights) == ["w"]
    np.testing.assert_array_equal(weights["w"], W)
    assert "%w: tensor<20x30xf32> {tenon.frozen}" in str(module)
    assert len(str(module)) < 2000
    program = tenon.compile(str(module))
    for rows in (1, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 20)).astype(np.float32)
        found = program(x, np.zeros(30, np.float32), weights["w"])
        np.testing.assert_allclose(found, x @ (W + 1), rtol=1e-4, atol=1e-4)


def test_a_program_without_large_constants_has_no_weights():
    body = "%y = stablehlo.negate %x : tensor<4xf32>\n return %y : tensor<4xf32>"
    text = f"func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {{ {body} }}"
    module, weights = program_with_weights(text, "m.mlir")
    assert not weights and "tenon.frozen" not in str(module)
    assert tenon.compile(str(module), backend="reference")(np.ones(4, np.float32)).tolist() == [-1] * 4


def test_constants_of_several_functions_stay_in_the_text():
    module, weights = program_with_weights(TEXT + TEXT.replace("@main", "@other"), "m.mlir")
    assert not weights and str(module).count('"0x') == 2


def test_a_wrong_text_is_an_error_at_its_place():
    with pytest.raises(TenonError, match=r"m\.mlir:2:"):
        program_with_weights(TEXT.replace("tensor<30xf32>)", "tensor<30xf33>)"), "m.mlir")
