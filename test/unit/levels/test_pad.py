"""`graph.pad` and `graph.pad_with` are numpy's padding, at every level and on every backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.reference.graph import run_graph
from tenon.dialects.graph import PadMode
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.indices.access import padded_index
from tenon.passes.indices.expressions import Axis, IndexExpr, constant, variable
from tenon.semantics.errors import InterpreterError

WAYS: dict[str, dict[str, Any]] = {
    "graph": {"backend": "reference"},
    "canonical": {"backend": "reference", "level": "graph"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}

PADS = (((0, 0), (0, 0)), ((1, 2), (3, 0)), ((2, 3), (4, 4)), ((0, 31), (27, 1)), ((40, 0), (0, 3)))


def text_of(op: str, shape: Sequence[int], result: Sequence[int]) -> str:
    types = [f"tensor<{''.join(f'{extent}x' for extent in each)}f32>" for each in (shape, result)]
    return (
        f"func.func @main(%x: {types[0]}, %v: tensor<f32>) -> {types[1]} {{\n"
        f"  %y = graph.{op} : {types[0]}\n  func.return %y : {types[1]}\n}}"
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", PadMode)
@pytest.mark.parametrize("shape", [(4, 7), (1, 2), (2, 1)], ids=str)
def test_pad_with_is_numpy_pad(mode: PadMode, shape: tuple[int, int], way: str):
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for pads in PADS if way in ("graph", "llvm") else PADS[1:4]:
        wanted = np.pad(x, pads, mode.value)  # pyright: ignore[reportCallIssue, reportArgumentType]
        low, high = ([pad[end] for pad in pads] for end in (0, 1))
        text = text_of(f"pad_with {mode.value} %x low {low} high {high}", shape, wanted.shape)
        found = tenon.compile(text, **WAYS[way])(x, np.zeros((), np.float32))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("interior", [(0, 1), (2, 0), (3, 2)], ids=str)
def test_interior_pads_between_elements(interior: tuple[int, int], way: str):
    for shape in ((4, 7), (1, 1), (0, 3)):
        x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
        spans = [
            max(extent - 1, 0) * (n + 1) + min(extent, 1) for extent, n in zip(shape, interior, strict=True)
        ]
        wanted = np.full((1 + spans[0] + 0, 2 + spans[1] + 3), np.float32(-1.5))
        inside = wanted[1 : 1 + spans[0], 2 : 2 + spans[1]]
        inside[:: interior[0] + 1, :: interior[1] + 1] = x
        text = text_of(f"pad %x, %v low [1, 2] high [0, 3] interior {list(interior)}", shape, wanted.shape)
        found = tenon.compile(text, **WAYS[way])(x, np.float32(-1.5))
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("way", WAYS)
def test_views_of_padded_views_fuse(way: str):
    x = np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32)
    text = """
    func.func @main(%x: tensor<4x6xf32>) -> tensor<9x11xf32> {
      %a = graph.pad_with reflect %x low [1, 2] high [2, 3] : tensor<4x6xf32>
      %b = graph.reshape %a : tensor<7x11xf32> -> tensor<77xf32>
      %c = graph.flip %b axes [0] : tensor<77xf32>
      %d = graph.reshape %c : tensor<77xf32> -> tensor<7x11xf32>
      %e = graph.pad_with wrap %d low [1, 0] high [1, 0] : tensor<7x11xf32>
      func.return %e : tensor<9x11xf32>
    }"""
    padded = np.pad(x, ((1, 2), (2, 3)), "reflect")
    wanted = np.pad(padded.reshape(-1)[::-1].reshape(7, 11), ((1, 1), (0, 0)), "wrap")
    executable = tenon.compile(text, **WAYS[way])
    np.testing.assert_array_equal(executable(x), wanted)


@pytest.mark.parametrize("mode", PadMode)
@pytest.mark.parametrize("extent", [1, 2, 3, 5])
@pytest.mark.parametrize("low", [0, 1, 4, 17])
def test_padded_index_is_where_numpy_reads(mode: PadMode, extent: int, low: int):
    axis = Axis(low + extent + 13)
    index = padded_index(mode, variable(axis) + -low, extent)
    assert index.low >= 0 and index.high < extent
    wanted = np.pad(np.arange(extent), (low, 13), mode.value)  # pyright: ignore[reportCallIssue, reportArgumentType]

    def at(place: int) -> IndexExpr:
        return index.substitute(lambda _: constant(place))

    assert [at(place).constant for place in range(axis.extent)] == wanted.tolist()
    assert all(at(place).is_constant for place in range(axis.extent))


def test_nothing_to_pad_with_at_run_time_is_an_error():
    text = (
        "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
        "  %y = graph.pad_with edge %x low [1] high [0] : tensor<?xf32>\n  func.return %y : tensor<?xf32>\n}"
    )
    module = parse_module(text)
    assert run_graph(module, "f", [np.array([3, 4], np.float32)])[0].tolist() == [3, 3, 4]
    with pytest.raises(InterpreterError, match=r"axis 0 has no elements to pad with at run time"):
        run_graph(module, "f", [np.array([], np.float32)])


@pytest.mark.parametrize("way", [WAYS["graph"], WAYS["low"], WAYS["llvm"]], ids=["graph", "low", "llvm"])
@pytest.mark.parametrize("mode", PadMode)
def test_pad_with_along_a_named_dim(mode: PadMode, way: dict[str, Any]):
    source, result = "tensor<?x5xf32, #graph.dims<n, 5>>", "tensor<?x7xf32, #graph.dims<n + 7, 7>>"
    text = (
        f"graph.dim @n min 1 max 64\nfunc.func @main(%x: {source}) -> {result} {{\n"
        f"  %y = graph.pad_with {mode.value} %x low [3, 0] high [4, 2] : {source}\n"
        f"  func.return %y : {result}\n}}"
    )
    executable = tenon.compile(text, **way)
    for count in (1, 2, 3, 17):
        x = np.random.default_rng(count).standard_normal((count, 5)).astype(np.float32)
        wanted = np.pad(x, ((3, 4), (0, 2)), mode.value)  # pyright: ignore[reportCallIssue, reportArgumentType]
        np.testing.assert_array_equal(executable(x), wanted)


@pytest.mark.parametrize("way", [WAYS["graph"], WAYS["low"], WAYS["llvm"]], ids=["graph", "low", "llvm"])
def test_interior_pads_along_a_named_dim(way: dict[str, Any]):
    source = "tensor<?xf32, #graph.dims<n>>"
    result = "tensor<?xf32, #graph.dims<2 * max(0, n - 1) + n + 1>>"
    text = (
        f"graph.dim @n min 1 max 64\nfunc.func @main(%x: {source}, %v: tensor<f32>) -> {result} {{\n"
        f"  %y = graph.pad %x, %v low [1] high [0] interior [2] : {source}\n"
        f"  func.return %y : {result}\n}}"
    )
    executable = tenon.compile(text, **way)
    for count in (1, 2, 9):
        wanted = np.full(3 * count - 1, 7, np.float32)
        wanted[1::3] = np.arange(count)
        found = executable(np.arange(count, dtype=np.float32), np.float32(7))
        np.testing.assert_array_equal(found, wanted)
