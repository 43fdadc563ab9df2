"""Positions of extrema of many elements are looked for in one part of them: the first one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.decompose_composites import DecomposeCompositesPass
from tenon.passes.graph.decompositions.arg_reduce import LEAST_ELEMENTS, LEAST_IN_PART
from tenon.passes.pass_manager import PassManager

Array = npt.NDArray[Any]

PRIME = 131_101
"""The parts leave something over."""


def text_of(shape: tuple[int, ...], axis: int) -> str:
    dims = "x".join(str(extent) for extent in (*shape, "f32"))
    rest = "x".join(str(extent) for number, extent in enumerate(shape) if number != axis)
    result = f"tensor<{rest + 'x' if rest else ''}i64>"
    return (
        f"func.func @f(%x: tensor<{dims}>) -> {result} {{\n"
        f"  %r = graph.arg_reduce max %x axis {axis} : tensor<{dims}> -> {result}\n"
        f"  func.return %r : {result}\n}}"
    )


@pytest.mark.parametrize(
    ("shape", "axis", "is_cut"),
    [
        ((LEAST_ELEMENTS,), 0, True),
        ((1, LEAST_ELEMENTS, 1), 1, True),
        ((LEAST_ELEMENTS - 1,), 0, False),
        ((2, LEAST_ELEMENTS), 1, False),
        ((LEAST_ELEMENTS, 1), 1, False),
    ],
)
def test_only_one_long_axis_is_cut(shape: tuple[int, ...], axis: int, is_cut: bool) -> None:
    module = parse_module(text_of(shape, axis))
    PassManager([DecomposeCompositesPass()]).run(context(), module)
    assert ("extrema of" in str(module)) == is_cut
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    (found,) = run_graph(module, "f", [x])
    np.testing.assert_array_equal(np.asarray(found), x.argmax(axis))


def drawn(case: str, dtype: str, size: int) -> Array:
    rng = np.random.default_rng(len(case))
    x = rng.integers(0, 2 if dtype == "bool" else 90, size).astype(dtype)
    match case:
        case "ties":
            return x
        case "first element":
            x[0] = 1 if dtype == "bool" else 99
        case "last element":
            x[:] = 0
            x[-1] = 1
        case "at the end of a part":
            x[:] = 0
            x[[LEAST_IN_PART - 1, 3 * LEAST_IN_PART]] = 1
        case _:
            x[:] = 1
    return x


CASES = ("ties", "first element", "last element", "at the end of a part", "all equal")


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("size", [LEAST_ELEMENTS, PRIME])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64"])
def test_the_first_of_equal_extrema_is_found(dtype: str, size: int, backend: str) -> None:
    greatest, least = (tenon.jit(each, backend=backend) for each in (tnp.argmax, tnp.argmin))
    for case in CASES:
        x = drawn(case, dtype, size)
        assert int(greatest(x)) == x.argmax(), case
        assert int(least(x)) == x.argmin(), case


@pytest.mark.parametrize("size", [LEAST_ELEMENTS, PRIME])
def test_the_first_nan_is_the_extremum(size: int) -> None:
    find = tenon.jit(lambda x: (tnp.argmax(x), tnp.argmin(x)))
    x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    for places in ([size - 1], [size // 2, size - 1], [0, 5000], []):
        held = x.copy()
        held[places] = np.nan
        assert [int(each) for each in find(held)] == [held.argmax(), held.argmin()]
    # A zero of either sign is the other's equal.
    zeros = np.full(size, -0.0, np.float32)
    zeros[9000] = 0.0
    assert [int(each) for each in find(zeros)] == [0, 0]


def test_what_is_computed_is_looked_at_again() -> None:
    x = np.random.default_rng(0).standard_normal((1, PRIME)).astype(np.float32)

    def function(x: Any) -> Any:
        return tnp.argmax(tnp.abs(x) * 2 + tnp.flip(x), axis=1, keepdims=True)

    expected = (np.abs(x) * np.float32(2) + np.flip(x)).argmax(axis=1, keepdims=True)
    np.testing.assert_array_equal(np.asarray(tenon.jit(function)(x)), expected)


ON_RANKS = """
shard.grid @mesh(shape = {ranks}) {{axis_names = ["x"]}}
func.func @f(%x: tensor<263x521xi32>) -> (tensor<i64>{more}) {{
  %flat = graph.reshape %x : tensor<263x521xi32> -> tensor<137023xi32>
  %r = graph.arg_reduce min %flat axis 0 : tensor<137023xi32> -> tensor<i64>
  func.return %r{also}
}}
"""


@pytest.mark.parametrize(
    ("ranks", "is_read", "is_of_parts", "keeps_reshape"),
    [(2, False, False, False), (2, True, False, True), (1, False, True, True)],
)
def test_where_ranks_have_parts_each_looks_at_its_own(
    ranks: int, is_read: bool, is_of_parts: bool, keeps_reshape: bool
) -> None:
    more = ", tensor<137023xi32>" if is_read else ""
    also = f", %flat : tensor<i64>{more}" if is_read else " : tensor<i64>"
    module = parse_module(ON_RANKS.format(ranks=ranks, more=more, also=also))
    PassManager([DecomposeCompositesPass()]).run(context(), module)
    text = str(module)
    assert ("extrema of" in text) == is_of_parts
    assert ("-> tensor<137023xi32>" in text) == keeps_reshape
    x = np.random.default_rng(0).integers(-99, 99, (263, 521)).astype(np.int32)
    assert np.asarray(run_graph(module, "f", [x])[0]) == x.argmin()


def test_the_program_of_one_rank_and_a_function_of_parts_look_at_parts() -> None:
    grid = 'shard.grid @mesh(shape = 2) {axis_names = ["x"]}\n'
    alone = "module attributes {tenon.rank = 0 : i64} {\n" + grid + text_of((PRIME,), 0) + "\n}"
    inside = grid + (
        f"func.func @f(%x: tensor<{PRIME}xf32>) -> tensor<i64> {{\n"
        f"  %r = graph.manual_computation on @mesh(%x) split [[[]]] to [[]]\n"
        f"    : (tensor<{PRIME}xf32>) -> tensor<i64> {{\n  ^bb0(%part: tensor<{PRIME}xf32>):\n"
        f"    %a = graph.arg_reduce max %part axis 0 : tensor<{PRIME}xf32> -> tensor<i64>\n"
        f"    graph.yield %a : tensor<i64>\n  }}\n"
        f"  func.return %r : tensor<i64>\n}}"
    )
    for text in (alone, inside):
        module = parse_module(text)
        PassManager([DecomposeCompositesPass()]).run(context(), module)
        assert "extrema of" in str(module)
