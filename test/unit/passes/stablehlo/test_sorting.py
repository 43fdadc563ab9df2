"""The call that jax writes for the approximately greatest or least elements: Tenon's are exact."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError

ELEMENTS = {"f32": np.float32, "f16": np.float16, "f64": np.float64}

KEYED = """
      %0 = stablehlo.compare {direction}, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>"""


def text(
    shape: tuple[int, ...] = (3, 20),
    result: tuple[int, ...] = (3, 4),
    axis: int = 1,
    direction: str = "GT",
    element: str = "f32",
    comparator: str = KEYED,
    config: str = "{{reduction_dim = {axis} : i64, top_k = 4 : i64}}",
    computations: str = "[@before]",
) -> str:
    """Returns a program as jax writes it."""
    x, places = ("x".join([*map(str, shape), each]) for each in (element, "i32"))
    found, at = ("x".join([*map(str, result), each]) for each in (element, "i32"))
    body = comparator.format(direction=direction, element=element)
    return f"""module @top {{
    func.func @before(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<i32>, %d: tensor<i32>)
        -> tensor<i1> {{{body}
    }}
    func.func public @main(%x: tensor<{x}>) -> (tensor<{found}>, tensor<{at}>) {{
      %places = stablehlo.iota dim = {axis} : tensor<{places}>
      %none = stablehlo.constant dense<-1> : tensor<i32>
      %least = stablehlo.constant dense<0.0> : tensor<{element}>
      %r:2 = stablehlo.custom_call @ApproxTopK(%x, %places, %least, %none)
        {{called_computations = {computations}, mhlo.backend_config = {config.format(axis=axis)}}}
        : (tensor<{x}>, tensor<{places}>, tensor<{element}>, tensor<i32>) -> (tensor<{found}>, tensor<{at}>)
      return %r#0, %r#1 : tensor<{found}>, tensor<{at}>
    }} }}"""


def expected(x: np.ndarray, k: int, axis: int, direction: str) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-x if direction == "GT" else x, axis=axis, kind="stable")
    order = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, order, axis=axis), order


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("direction", ["GT", "LT"])
@pytest.mark.parametrize(("k", "axis"), [(1, 1), (4, 1), (2, 0), (3, 0), (17, 1), (20, 1)])
def test_elements_are_exact_and_of_equal_ones_the_first(
    backend: str, element: str, direction: str, k: int, axis: int
):
    # Of 1 to 16 elements one is looked for after the other, of more all are sorted.
    x = np.random.default_rng(k).normal(size=(3, 20)).round(1).astype(ELEMENTS[element])
    x[:, :4] = [-0.0, 0.0, np.inf, -np.inf]
    result = (3, k) if axis else (k, 20)
    run = tenon.from_stablehlo(
        text(result=result, axis=axis, direction=direction, element=element), backend=backend
    )
    for found, wanted in zip(run(x), expected(x, k, axis, direction), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("direction", ["GT", "LT"])
def test_nan_comes_last(k: int, direction: str):
    x = np.full((1, 20), np.nan, np.float32)
    x[0, 7], x[0, 11], x[0, 12] = -np.inf, 3, np.inf
    x[0, 0] = -np.nan
    found, places = tenon.from_stablehlo(text((1, 20), (1, k), direction=direction))(x)
    order = [12, 11, 7] if direction == "GT" else [7, 11, 12]
    assert places[0, :5].tolist() == [*order, 0, 1]
    np.testing.assert_array_equal(found[0], x[0, places[0]])


def test_any_comparator_is_asked():
    # That are nearest to 1: by keys that it computes, and in a network where no keys are told from it.
    by_distance = """
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %p = stablehlo.subtract %a, %one : tensor<f32>
      %q = stablehlo.subtract %b, %one : tensor<f32>
      %r = stablehlo.abs %p : tensor<f32>
      %s = stablehlo.abs %q : tensor<f32>
      %0 = stablehlo.compare LT, %r, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>"""
    x = np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    found, places = tenon.from_stablehlo(text(comparator=by_distance))(x)
    wanted = np.argsort(np.abs(x - 1), axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(found, np.take_along_axis(x, wanted, 1))
    without_keys = by_distance.replace("%0 = ", "%u = ").replace(
        "stablehlo.return %0", "%0 = stablehlo.and %u, %u : tensor<i1>\n stablehlo.return %0"
    )
    np.testing.assert_array_equal(tenon.from_stablehlo(text(comparator=without_keys))(x)[1], wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"computations": "[]"}, "@ApproxTopK has 4 operands and 2 results"),
        ({"config": "{{top_k = 4 : i64}}"}, "@ApproxTopK has reduction_dim None, expected an integer"),
        ({"axis": 2, "config": "{{reduction_dim = 2 : i64}}"}, "axis 2 is out of range for rank 2"),
        ({"result": (3, 21)}, "axis 1 is read up to 21 of 20"),
        ({"result": (4,)}, "@ApproxTopK has operands and results of several shapes"),
    ],
)
def test_a_wrong_call_is_an_error_that_names_it(options: dict[str, object], message: str):
    wrong = text(**options)
    wrong = wrong.replace("iota dim = 2", "iota dim = 1")
    with pytest.raises(TenonError) as caught:
        tenon.from_stablehlo(wrong)(np.zeros((3, 20), np.float32))
    assert message in str(caught.value) and "stablehlo.custom_call" in str(caught.value)


def test_a_function_that_is_called_as_well_stays():
    both = (
        text()
        .replace(
            "return %r#0, %r#1",
            """%z = stablehlo.constant dense<1.0> : tensor<f32>
      %w = func.call @before(%z, %z, %none, %none)
        : (tensor<f32>, tensor<f32>, tensor<i32>, tensor<i32>) -> tensor<i1>
      return %r#0, %r#1""",
        )
        .replace("stablehlo.return %0", "func.return %0")
    )
    x = np.arange(60, dtype=np.float32).reshape(3, 20)
    assert tenon.from_stablehlo(both)(x)[1].tolist() == [[19, 18, 17, 16]] * 3
