"""Packing operands of contractions into panels changes no result."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context, graph
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.graph.packing import pack_panels
from tenon.passes.graph.packing.pack_panels import PackPanelsPass
from tenon.passes.pass_manager import PassError, PassManager
from tenon.test.unit.contractions import matmul
from xdsl.dialects.builtin import ModuleOp


def packed(text: str, **options: int) -> ModuleOp:
    module = parse_module(text)
    PassManager([PackPanelsPass(**options)]).run(context(), module)
    verify_module(module)
    return module


def panels(module: ModuleOp) -> list[str]:
    return [str(op.results[0].type) for op in module.walk() if "memory_mode" in op.attributes]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch):
    """Has everything packed that can be."""
    for name in vars(pack_panels):
        if name.startswith("LEAST_"):
            monkeypatch.setattr(pack_panels, name, 0)


CASES = {
    "whole panels": (matmul(9, 64, 5), ["tensor<4x5x16xf32>"]),
    "a last panel with zeros": (matmul(9, 37, 5), ["tensor<3x5x16xf32>"]),
    "transposed": (matmul(9, 37, 5, b="n, k"), ["tensor<3x5x16xf32>"]),
    "rows": (matmul(13, 53, 5, "k, m"), ["tensor<4x5x16xf32>", "tensor<3x5x5xf32>"]),
    "batched": (matmul(9, 32, 5, batch=3), ["tensor<3x2x5x16xf32>"]),
}


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("name", CASES)
def test_results_are_those_before(name: str):
    text, _ = CASES[name]
    rng = np.random.default_rng(0)
    (function,) = parse_module(text).body.ops
    shapes: list[tuple[int, ...]] = [type.get_shape() for type in function.function_type.inputs.data]  # pyright: ignore
    operands = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    module = packed(text, l2_nbytes=1)
    assert panels(module)
    np.testing.assert_array_equal(
        run_graph(module, "main", operands)[0], run_graph(parse_module(text), "main", operands)[0]
    )


@pytest.mark.usefixtures("eager")
def test_panels_are_as_wide_as_a_tile():
    assert panels(packed(matmul(96, 64, 5), l2_nbytes=1)) == ["tensor<4x5x16xf32>"]
    assert panels(packed(matmul(96, 192, 5), vector_nbytes=64, l2_nbytes=1))[0] in (
        "tensor<4x5x48xf32>",
        "tensor<6x5x32xf32>",
    )


def test_what_is_small_or_used_seldom_is_left_where_it_is():
    assert panels(packed(matmul(96, 64, 64))) == []
    assert panels(packed(matmul(8, 1024, 1024))) == []
    assert panels(packed(matmul(95, 1024, 1024))) == []
    assert panels(packed(matmul(96, 1024, 1024))) != []


def test_an_operand_is_as_large_as_one_element_of_its_batch():
    assert panels(packed(matmul(128, 500, 500))) != []
    assert panels(packed(matmul(128, 500, 500, batch=2))) != []
    assert panels(packed(matmul(128, 64, 128, batch=96))) == []


def test_rows_are_packed_where_they_are_contiguous_and_used_often():
    assert panels(packed(matmul(600, 128, 600, "k, m"))) == ["tensor<100x600x6xf32>"]
    assert panels(packed(matmul(600, 127, 600, "k, m"))) == []
    assert panels(packed(matmul(400, 128, 400, "k, m"))) == []
    assert panels(packed(matmul(600, 128, 600))) == []


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("extents", [(64, 96, 40), (67, 101, 40)])
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_products_of_two_packed_sides_have_the_bits_of_sched(extents: tuple[int, int, int], backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    m, n, k = extents
    text = matmul(m, n, k, "k, m")
    assert len(panels(packed(text, l2_nbytes=1))) == 2
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape).astype(np.float32) for shape in ((k, m), (k, n))]
    found = np.asarray(tenon.compile(text, backend=backend)(*operands))
    expected = np.asarray(tenon.compile(text, backend="reference", level="sched")(*operands))
    np.testing.assert_array_equal(found, expected)


def test_constants_are_packed_when_compiling():
    values = np.arange(64 * 200, dtype=np.float32).reshape(64, 200)
    constant = f'graph.constant dense<"0x{values.tobytes().hex()}"> : tensor<64x200xf32>'
    text = f"""func.func @main(%a: tensor<9x64xf32>) -> tensor<9x200xf32> {{
      %b = {constant}
      %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] : tensor<9x64xf32>, tensor<64x200xf32> -> tensor<9x200xf32>
      func.return %c : tensor<9x200xf32>
    }}"""
    module = packed(text)
    constants = [op for op in module.walk() if isinstance(op, graph.ConstantOp)]
    assert any(op.results[0].type.get_num_dims() == 3 for op in constants)  # pyright: ignore
    assert panels(module) == []
    a = np.eye(9, 64, dtype=np.float32)
    np.testing.assert_array_equal(run_graph(module, "main", [a])[0], values[:9])


@pytest.mark.usefixtures("eager")
def test_other_contractions_are_left_alone():
    products = matmul(9, 64, 5)
    for text in (products.replace("f32", "i32"), products.replace("] :", "] accumulate max :")):
        assert panels(packed(text, l2_nbytes=1)) == []


def test_options_are_checked():
    with pytest.raises(
        PassError,
        match="pack-panels: vector-nbytes 0, l1-nbytes 49152 and l2-nbytes 1048576 must be 1 or more",
    ):
        packed(matmul(9, 64, 5), vector_nbytes=0)
