"""`chlo.scan`, as programs for other devices have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError


def random(*shape: int) -> Any:
    return np.random.default_rng(shape).normal(size=shape)


SCAN = """func.func @f(%x: tensor<3x4xf64>, %y: tensor<1x{second}xi64>, %z: tensor<3xf64>)
    -> (tensor<3x4xf64>, tensor<1x4xi64>, tensor<3xf64>) {{
  %r:3 = chlo.scan(%x, %y) inits(%z) dimension = {dimension} attributes {{is_reverse = {reverse}}} {{
  ^bb0(%row: tensor<3xf64>, %number: tensor<1xi64>, %sum: tensor<3xf64>):
    %half = stablehlo.constant dense<0.5> : tensor<3xf64>
    %less = stablehlo.multiply %sum, %half : tensor<3xf64>
    %next = stablehlo.add %less, %row : tensor<3xf64>
    %twice = stablehlo.add %number, %number : tensor<1xi64>
    stablehlo.return %next, %twice, %next : tensor<3xf64>, tensor<1xi64>, tensor<3xf64>
  }} : (tensor<3x4xf64>, tensor<1x{second}xi64>, tensor<3xf64>)
    -> (tensor<3x4xf64>, tensor<1x4xi64>, tensor<3xf64>)
  return %r#0, %r#1, %r#2 : tensor<3x4xf64>, tensor<1x4xi64>, tensor<3xf64>
}}"""


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_carry_values_along_a_dim(reverse: bool, backend: str):
    text = SCAN.format(second=4, dimension=1, reverse=str(reverse).lower())
    x, y, z = random(3, 4), np.arange(4)[None], random(3)
    rows, numbers, last = tenon.from_stablehlo(text, backend=backend)(x, y, z)
    wanted, carried = np.empty_like(x), z
    for place in reversed(range(4)) if reverse else range(4):
        carried = carried * 0.5 + x[:, place]
        wanted[:, place] = carried
    np.testing.assert_allclose(rows, wanted, rtol=1e-12)
    np.testing.assert_allclose(last, carried, rtol=1e-12)
    np.testing.assert_array_equal(numbers, 2 * y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("second=4", "second=5"), "chlo.scan: inputs are tensor<3x4xf64>, tensor<1x5xi64>"),
        (("dimension=1", "dimension=2"), "chlo.scan: axis 2 is out of range"),
        (
            ("%sum: tensor<3xf64>", "%sum: tensor<3xf64>, %more: i1"),
            "chlo.scan: the region takes 4 values, expected 3",
        ),
    ],
)
def test_wrong_scans_are_errors(change: tuple[str, str], message: str):
    said = {"second": 4, "dimension": 1, "reverse": "false"}
    name = change[0].partition("=")[0]
    if name in said:
        said[name] = int(change[1].partition("=")[2])
        text = SCAN.format(**said)
    else:
        text = SCAN.format(**said).replace(*change)
    with pytest.raises(TenonError) as caught:
        tenon.from_stablehlo(text)
    assert message in str(caught.value)


def test_scans_say_how_many_values_they_carry():
    text = """func.func @f(%x: tensor<4xf64>, %z: tensor<f64>) -> tensor<f64> {
      %r = "chlo.scan"(%x, %z) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 2>}> ({
      ^bb0(%row: tensor<f64>, %sum: tensor<f64>):
        stablehlo.return %row : tensor<f64>
      }) : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
      return %r : tensor<f64> }"""
    with pytest.raises(TenonError, match=r"chlo.scan: 2 operands and 1 results, of which 2 are carried"):
        tenon.from_stablehlo(text)
    found = tenon.from_stablehlo(text.replace("1, 2>", "1, 1>"))(random(4), np.array(0.0))
    assert found == random(4)[3]
