"""
`graph.contract` against plain numpy: matrix products, convolutions, pooling, and other accumulations.

Every case is computed by the interpreter, at every level and by every backend. The elements are small whole
numbers, so that sums of their products are exact in every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.reference.graph import run_graph
from tenon.dialects import graph
from tenon.dialects.graph import linear_index
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics import contraction
from tenon.semantics.errors import InterpreterError
from tenon.semantics.numpy_types import dtype_of
from tenon.test.unit.contractions import (
    EXACT,
    IDS,
    PRODUCT,
    Contraction,
    assert_same,
    conv2d,
)
from xdsl.dialects.builtin import f16
from xdsl.ir.affine import AffineExpr, AffineMap

Array = np.ndarray[Any, np.dtype[Any]]

WAYS: dict[str, dict[str, Any]] = {
    "graph": {"backend": "reference"},
    "canonical": {"backend": "reference", "level": "graph"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}

UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def by_points(case: Contraction, inputs: Sequence[Array]) -> Array:
    """Returns the contraction point by point, in a loop."""
    module = parse_module(case.text)
    (op,) = (op for op in module.walk() if isinstance(op, graph.ContractOp))
    extents = graph.iteration_extents(op)
    dtype = dtype_of(case.type)
    wide = np.dtype(np.float32) if case.type == f16 else dtype
    identity = {"max": -np.inf, "min": np.inf, "mul": 1, "and": -1}.get(case.accumulate, 0)
    if wide.kind in "iu" and case.accumulate in ("max", "min"):
        identity = getattr(np.iinfo(wide), "min" if case.accumulate == "max" else "max")
    result = np.full(case.shapes[-1], identity).astype(wide)
    accumulate, combine = UFUNCS[case.accumulate], UFUNCS[case.combine]
    for point in np.ndindex(*[int(extent) for extent in extents]):  # pyright: ignore[reportArgumentType]

        def at(map: AffineMap, point: tuple[int, ...] = point) -> tuple[int, ...]:
            return tuple(expr.eval(point, ()) for expr in map.results)

        elements = [x.astype(wide)[at(m)] for x, m in zip(inputs, op.operand_maps, strict=True)]
        value = elements[0] if len(elements) == 1 else combine(*elements)
        result[at(op.result_map)] = accumulate(result[at(op.result_map)], value)
    return result.astype(dtype)


@pytest.mark.parametrize("case", EXACT, ids=IDS)
def test_interpreter_is_numpy(case: Contraction):
    inputs = case.inputs()
    (found,) = run_graph(parse_module(case.text), "main", inputs)
    with np.errstate(all="ignore"):
        assert_same(found, by_points(case, inputs))
        if case.expected is not None:
            assert_same(found, np.asarray(case.expected(*inputs), found.dtype))


@pytest.mark.parametrize("case", EXACT, ids=IDS)
@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_every_level_and_backend_agrees(case: Contraction, way: str):
    inputs = case.inputs()
    (wanted,) = run_graph(parse_module(case.text), "main", inputs)
    found = tenon.compile(case.text, **WAYS[way])(*inputs)
    assert_same(np.asarray(found), wanted)


PADDED = """
func.func @main(%x: tensor<2x9x10x3xf32>, %w: tensor<3x3x3x20xf32>) -> tensor<2x5x5x20xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [0, 1, 1, 0] high [0, 1, 1, 0] : tensor<2x9x10x3xf32>
  %y = graph.contract %p, %w maps [
    affine_map<(n, i, j, o, k, l, c) -> (n, i * 2 + k, j * 2 + l, c)>,
    affine_map<(n, i, j, o, k, l, c) -> (k, l, c, o)>, affine_map<(n, i, j, o, k, l, c) -> (n, i, j, o)>]
    : tensor<2x11x12x3xf32>, tensor<3x3x3x20xf32> -> tensor<2x5x5x20xf32>
  func.return %y : tensor<2x5x5x20xf32>
}"""

TRANSPOSED = """
func.func @main(%x: tensor<5x6x3xf32>, %w: tensor<3x4x3x2xf32>) -> tensor<11x14x2xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [2, 3, 0] high [2, 3, 0] interior [1, 1, 0] : tensor<5x6x3xf32>
  %y = graph.contract %p, %w maps [affine_map<(i, j, o, k, l, c) -> (i + k, j + l, c)>,
    affine_map<(i, j, o, k, l, c) -> (2 - k, 3 - l, c, o)>, affine_map<(i, j, o, k, l, c) -> (i, j, o)>]
    bounds [11, 14, 2, 3, 4, 3] : tensor<13x17x3xf32>, tensor<3x4x3x2xf32> -> tensor<11x14x2xf32>
  func.return %y : tensor<11x14x2xf32>
}"""

SAME_MAX = """
func.func @main(%x: tensor<4x9x9xf32>) -> tensor<4x5x5xf32> {
  %least = graph.constant dense<0xFF800000> : tensor<f32>
  %p = graph.pad %x, %least low [0, 1, 1] high [0, 1, 1] : tensor<4x9x9xf32>
  %y = graph.contract %p maps [affine_map<(c, i, j, k, l) -> (c, i * 2 + k, j * 2 + l)>,
    affine_map<(c, i, j, k, l) -> (c, i, j)>] bounds [4, 5, 5, 3, 3] accumulate max
    : tensor<4x11x11xf32> -> tensor<4x5x5xf32>
  func.return %y : tensor<4x5x5xf32>
}"""


def whole_numbers(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(np.float32)


@pytest.mark.parametrize("way", WAYS)
def test_padded_convolution(way: str):
    x, w = whole_numbers(2, 9, 10, 3), whole_numbers(3, 3, 3, 20)
    wanted = conv2d(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), w, 2, 1)
    assert_same(tenon.compile(PADDED, **WAYS[way])(x, w), wanted)


@pytest.mark.parametrize("way", WAYS)
def test_transposed_convolution(way: str):
    """Each element of the source adds a kernel's worth to the result, two apart."""
    x, w = whole_numbers(5, 6, 3), whole_numbers(3, 4, 3, 2)
    wanted = np.zeros((11, 14, 2), np.float32)
    for i, j in np.ndindex(5, 6):
        wanted[2 * i : 2 * i + 3, 2 * j : 2 * j + 4] += np.einsum("c,klco->klo", x[i, j], w)
    assert_same(tenon.compile(TRANSPOSED, **WAYS[way])(x, w), wanted)


@pytest.mark.parametrize("way", WAYS)
def test_padded_max_pooling(way: str):
    x = whole_numbers(4, 9, 9)
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf), (3, 3), (1, 2)
    )
    assert_same(tenon.compile(SAME_MAX, **WAYS[way])(x), windows[:, ::2, ::2].max((-1, -2)))


NAMED = """
graph.dim @n min 1 max 64
func.func @main(%x: tensor<?x20xf32, #graph.dims<n, 20>>, %w: tensor<3xf32>)
    -> (tensor<?x9xf32, #graph.dims<n, 9>>, tensor<?xf32, #graph.dims<n>>) {
  %y = graph.contract %x, %w maps [affine_map<(n, i, k) -> (n, i * 2 + k)>, affine_map<(n, i, k) -> (k)>,
    affine_map<(n, i, k) -> (n, i)>]
    : tensor<?x20xf32, #graph.dims<n, 20>>, tensor<3xf32> -> tensor<?x9xf32, #graph.dims<n, 9>>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %p = graph.pad %x, %zero low [2, 0] high [2, 0] : tensor<?x20xf32, #graph.dims<n, 20>>
  %z = graph.contract %p maps [affine_map<(i, k, l) -> (i + k, l)>, affine_map<(i, k, l) -> (i)>]
    bounds [n, 5, 20] accumulate max
    : tensor<?x20xf32, #graph.dims<n + 4, 20>> -> tensor<?xf32, #graph.dims<n>>
  func.return %y, %z : tensor<?x9xf32, #graph.dims<n, 9>>, tensor<?xf32, #graph.dims<n>>
}"""


@pytest.mark.parametrize("way", ["graph", "low", "llvm"])
def test_windows_of_named_dims(way: str):
    executable, w = tenon.compile(NAMED, **WAYS[way]), whole_numbers(3)
    for count in (1, 2, 17):
        x = whole_numbers(count, 20)
        found, pooled = executable(x, w)
        windows = np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2]
        np.testing.assert_array_equal(found, windows @ w)
        rows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((2, 2), (0, 0))), 5, 0)
        np.testing.assert_array_equal(pooled, rows.max((-1, -2)))


@pytest.mark.parametrize("way", WAYS)
def test_windows_that_may_be_none(way: str):
    text = """builtin.module {
      graph.dim @n min 0 max 40
      func.func @f(%x: tensor<?x3xf32, #graph.dims<n, 3>>) -> tensor<?x3xf32, #graph.dims<max(0, n - 4), 3>> {
        %y = graph.contract %x maps [affine_map<(i, k, j) -> (i + k, j)>, affine_map<(i, k, j) -> (i, j)>]
          bounds [max(0, n - 4), 5, 3]
          : tensor<?x3xf32, #graph.dims<n, 3>> -> tensor<?x3xf32, #graph.dims<max(0, n - 4), 3>>
        func.return %y : tensor<?x3xf32, #graph.dims<max(0, n - 4), 3>>
      }
    }"""
    executable = tenon.compile(text, **WAYS[way])
    for count in (0, 1, 4, 5, 6, 33):
        x = whole_numbers(count, 3)
        sums = [x[first : first + 5].sum(0) for first in range(count - 4)]
        found = executable(x)
        assert found.shape == (max(count - 4, 0), 3)
        np.testing.assert_array_equal(found, np.reshape(sums, (-1, 3)))


@pytest.mark.parametrize("way", WAYS)
def test_edges_of_floats(way: str):
    x = np.array([[np.nan, 1, np.inf], [-np.inf, np.inf, 0], [-0.0, 0.0, -0.0]], np.float32)
    case = Contraction("", "m, n, k", PRODUCT, ((3, 3), (3, 3), (3, 3)), None, "min", "add")
    with np.errstate(all="ignore"):
        wanted = (x[:, :, None] + x.T.T[None, :, :].transpose(0, 1, 2)).min(1)
    np.testing.assert_array_equal(tenon.compile(case.text, **WAYS[way])(x, x), wanted)
    pool = Contraction("", "i, k", ("i, k", "i"), ((3, 3), (3,)), (3, 3), "max")
    found = np.asarray(tenon.compile(pool.text, **WAYS[way])(x))
    np.testing.assert_array_equal(found, [np.nan, np.inf, 0.0])
    assert not np.signbit(found[2])


def test_large_spaces_are_taken_in_pieces(monkeypatch: pytest.MonkeyPatch):
    for limit in (1, 7, 64):
        monkeypatch.setattr(contraction, "PIECE_ELEMENTS", limit)
        for case in EXACT:
            if case.combine != "mul" or len(case.shapes) == 2:
                inputs = case.inputs()
                (found,) = run_graph(parse_module(case.text), "main", inputs)
                assert_same(found, by_points(case, inputs))


def test_what_an_operand_lacks_at_run_time_is_an_error():
    text = (
        "func.func @f(%x: tensor<?xf32>) -> tensor<4xf32> {\n"
        "  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>]"
        " bounds [4, 3] : tensor<?xf32> -> tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}"
    )
    module = parse_module(text)
    x = np.arange(6, dtype=np.float32)
    assert_same(run_graph(module, "f", [x])[0], np.array([3, 6, 9, 12], np.float32))
    with pytest.raises(InterpreterError, match=r"axis 0 is read from 0 to 5 of 5 at run time"):
        run_graph(module, "f", [x[:5]])


def test_extents_that_differ_at_run_time_are_an_error():
    text = (
        "func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<f32> {\n"
        "  %z = graph.contract %x, %y maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>,"
        " affine_map<(k) -> ()>]"
        " : tensor<?xf32>, tensor<?xf32> -> tensor<f32>\n  func.return %z : tensor<f32>\n}"
    )
    x = np.ones(6, np.float32)
    with pytest.raises(InterpreterError, match=r"dim d0 is both 6 and 5 at run time"):
        run_graph(parse_module(text), "f", [x, x[:5]])


def test_extent_that_nothing_tells_at_run_time_is_an_error():
    text = (
        "func.func @f(%x: tensor<?xf32>, %w: tensor<3xf32>) -> tensor<?xf32> {\n"
        "  %y = graph.contract %x, %w maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>,"
        " affine_map<(i, k) -> (i)>] : tensor<?xf32>, tensor<3xf32> -> tensor<?xf32>\n"
        "  func.return %y : tensor<?xf32>\n}"
    )
    x = np.ones(6, np.float32)
    with pytest.raises(InterpreterError, match=r"nothing tells the extent of dim d0 at run time"):
        run_graph(parse_module(text), "f", [x, x[:3]])


def test_linear_index_adds_up_factors():
    i, j = AffineExpr.dimension(0), AffineExpr.dimension(1)
    index = linear_index(2 * (i + 3) - j + i)
    assert index is not None
    assert (index.factors, index.constant) == (((0, 3), (1, -1)), 6)
    assert index.range((4, 5)) == (2, 15)
    assert index.plain_dim is None
    cancelled = linear_index(i - i + j)
    assert cancelled is not None and cancelled.plain_dim == 1
    assert linear_index(i % 2) is None
    assert linear_index((i // 2) + 1) is None
    assert linear_index(2 * (i // 2)) is None
