"""`chlo.ragged_dot` and `chlo.scan`, as programs for other devices have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError


def random(*shape: int) -> Any:
    return np.random.default_rng(shape).normal(size=shape)


def type_of(array: Any) -> str:
    element = {"float64": "f64", "int32": "i32", "int64": "i64"}[array.dtype.name]
    return f"tensor<{''.join(f'{extent}x' for extent in array.shape)}{element}>"


def ragged(result: str, numbers: dict[str, list[int]], *arrays: Any, backend: str = "llvm") -> Any:
    types = [type_of(each) for each in arrays]
    arguments = ", ".join(f"%a{number}: {each}" for number, each in enumerate(types))
    fields = ", ".join(f"{name} = {dims}" for name, dims in numbers.items())
    text = f"""func.func @f({arguments}) -> {result} {{
      %r = "chlo.ragged_dot"(%a0, %a1, %a2) <{{ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>,
        precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>]}}>
        : ({", ".join(types)}) -> {result}
      return %r : {result} }}"""
    return tenon.from_stablehlo(text, backend=backend)(*arrays)


def groups_of(sizes: Any, length: int) -> list[slice]:
    ends = np.cumsum(sizes)
    return [slice(int(end - size), min(int(end), length)) for end, size in zip(ends, sizes, strict=True)]


ROWS = {
    "lhs_batching_dimensions": [0],
    "rhs_batching_dimensions": [1],
    "lhs_contracting_dimensions": [2],
    "rhs_contracting_dimensions": [2],
    "lhs_ragged_dimensions": [1],
    "rhs_group_dimensions": [0],
}
PLAIN = {
    "lhs_batching_dimensions": [0],
    "rhs_batching_dimensions": [0],
    "lhs_contracting_dimensions": [2],
    "rhs_contracting_dimensions": [1],
}


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("sizes", [[3, 0, 4], [7, 0, 0], [1, 2, 1], [[3, 0, 4], [2, 5, 0]]])
def test_rows_are_multiplied_with_the_matrix_of_their_group(sizes: Any, backend: str):
    x, y = random(2, 7, 5), random(3, 2, 5, 4)
    found = ragged("tensor<2x7x4xf64>", ROWS, x, y, np.array(sizes, np.int32), backend=backend)
    wanted = np.zeros((2, 7, 4))
    for number in range(2):
        of_this = np.broadcast_to(np.array(sizes), (2, 3))[number]
        for group, rows in enumerate(groups_of(of_this, 7)):
            wanted[number, rows] = x[number, rows] @ y[group, number]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_groups_of_what_is_summed_have_a_product_each():
    x, y, sizes = random(2, 4, 7), random(2, 7, 5), np.array([3, 0, 2])
    found = ragged("tensor<3x2x4x5xf64>", PLAIN | {"lhs_ragged_dimensions": [2]}, x, y, sizes)
    wanted = [x[:, :, part] @ y[:, part] for part in groups_of(sizes, 7)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_is_in_no_group_of_the_batch_is_0():
    x, y, sizes = random(4, 3, 7), random(4, 7, 5), np.array([1, 2])
    found = ragged("tensor<4x3x5xf64>", PLAIN | {"lhs_ragged_dimensions": [0]}, x, y, sizes)
    np.testing.assert_allclose(found[:3], x[:3] @ y[:3], rtol=1e-12)
    assert not found[3].any()


@pytest.mark.parametrize(
    ("numbers", "sizes", "message"),
    [
        (PLAIN, [1, 2], "chlo.ragged_dot: 0 ragged dims and 0 dims of groups, expected one"),
        (
            PLAIN | {"lhs_ragged_dimensions": [1]},
            [1, 2],
            "chlo.ragged_dot: 1 ragged dims and 0 dims of groups",
        ),
        (PLAIN | {"lhs_ragged_dimensions": [3]}, [1, 2], "chlo.ragged_dot: axis 3 is out of range"),
        (
            PLAIN | {"lhs_ragged_dimensions": [2]},
            [[[1, 2]]],
            "chlo.ragged_dot: sizes of groups are tensor<1x1x2xi64>",
        ),
    ],
)
def test_wrong_groups_are_errors(numbers: dict[str, list[int]], sizes: Any, message: str):
    with pytest.raises(TenonError) as caught:
        ragged("tensor<4x3x5xf64>", numbers, random(4, 3, 7), random(4, 7, 5), np.array(sizes))
    assert message in str(caught.value)


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
