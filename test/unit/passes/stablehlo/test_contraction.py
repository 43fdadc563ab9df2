"""`chlo.ragged_dot`, as programs for other devices have it."""

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
