"""Packing operands of contractions into panels changes no result."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context, graph, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.graph.packing import pack_panels
from tenon.passes.graph.packing.pack_convolutions import PackConvolutionsPass
from tenon.passes.graph.packing.pack_operands import PackOperandsPass
from tenon.passes.graph.packing.pack_panels import PackPanelsPass
from tenon.passes.graph.simplify_contractions import SimplifyContractionsPass
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.sched.mapping.collapse_axes import CollapseAxesPass
from tenon.passes.sched.planning.convert_graph_to_sched import ConvertGraphToSchedPass
from tenon.passes.sched.planning.infer_memory_modes import InferMemoryModesPass
from tenon.test.unit.contractions import matmul
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


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


def test_what_the_second_cache_holds_is_packed_where_it_is_used_oftener():
    size = {"l2_nbytes": 1 << 20}
    assert panels(packed(matmul(192, 300, 300), **size)) != []
    assert panels(packed(matmul(191, 300, 300), **size)) == []
    assert panels(packed(matmul(192, 256, 256), **size)) == []
    assert panels(packed(matmul(191, 512, 512), **size)) != []


def test_an_operand_is_as_large_as_one_element_of_its_batch():
    assert panels(packed(matmul(128, 500, 500))) != []
    assert panels(packed(matmul(128, 500, 500, batch=2))) != []
    assert panels(packed(matmul(128, 64, 128, batch=96))) == []


def test_rows_are_packed_where_they_are_contiguous_and_used_often():
    assert panels(packed(matmul(600, 128, 600, "k, m"), l2_nbytes=1 << 21)) == ["tensor<100x600x6xf32>"]
    assert panels(packed(matmul(600, 127, 600, "k, m"), l2_nbytes=1 << 21)) == []
    assert panels(packed(matmul(350, 128, 350, "k, m"), l2_nbytes=1 << 21)) == []
    assert panels(packed(matmul(600, 128, 600), l2_nbytes=1 << 21)) == []


def tiles(module: ModuleOp) -> list[str | None]:
    found = (op for op in module.walk() if isinstance(op, graph.ContractOp))
    return [None if op.tile is None else ", ".join(map(str, op.tile.data)) for op in found]


def test_the_tile_is_told_with_the_panels_that_it_was_chosen_for():
    assert tiles(packed(matmul(96, 1024, 1024))) == ["d0 = 6, d1 = 16 in panels"]
    assert tiles(packed(matmul(600, 128, 600, "k, m"), l2_nbytes=1 << 21)) == ["d0 = 6 in panels, d1 = 16"]
    assert tiles(packed(matmul(128, 500, 500, batch=2))) == ["d1 = 6, d2 = 16 in panels"]
    assert tiles(packed(matmul(95, 1024, 1024))) == [None]


def test_rows_that_stay_where_they_are_fill_the_registers_that_there_are():
    options = {"vector_nbytes": 64, "l2_nbytes": 1 << 21}
    assert tiles(packed(matmul(96, 1024, 1024, "k, m"), **options)) == ["d0 = 9, d1 = 48 in panels"]
    assert tiles(packed(matmul(600, 600, 600, "k, m"), **options)) == ["d0 = 8 in panels, d1 = 48 in panels"]


def test_rows_of_two_dims_are_left_open():
    text = """func.func @main(%a: tensor<20x768x30xf32>, %b: tensor<768x768xf32>) -> tensor<20x30x768xf32> {
      %c = graph.contract %a, %b maps [affine_map<(u, v, n, k) -> (u, k, v)>,
        affine_map<(u, v, n, k) -> (k, n)>, affine_map<(u, v, n, k) -> (u, v, n)>]
        : tensor<20x768x30xf32>, tensor<768x768xf32> -> tensor<20x30x768xf32>
      func.return %c : tensor<20x30x768xf32>
    }"""
    assert tiles(packed(text)) == ["d2 = 16 in panels"]


def test_a_contraction_with_a_tile_is_left_alone():
    module = packed(matmul(96, 1024, 1024))
    text = str(module)
    passes = [PackPanelsPass(), SimplifyContractionsPass(), PackConvolutionsPass(), PackOperandsPass()]
    PassManager(passes).run(context(), module)
    assert str(module) == text


def sums(module: ModuleOp, *passes: ModulePass) -> list[str | None]:
    PassManager([InferMemoryModesPass(), ConvertGraphToSchedPass(), *passes]).run(context(), module)
    verify_module(module)
    found = (op for op in module.walk() if isinstance(op, sched.ReduceOp))
    return [None if op.tile_shape is None else ", ".join(map(str, op.tile_shape.data)) for op in found]


def test_the_sum_has_the_tile_of_the_contraction():
    assert sums(packed(matmul(96, 1024, 1024))) == ["6, 16 in panels"]
    assert sums(packed(matmul(600, 128, 600, "k, m"), l2_nbytes=1 << 21)) == ["6 in panels, 16"]
    assert sums(packed(matmul(95, 1024, 1024))) == [None]
    assert sums(packed(matmul(96, 1024, 1024)), CollapseAxesPass()) == ["6, 16 in panels"]


def test_rows_that_are_cut_up_are_left_open():
    text = matmul(512, 768, 768).replace("-> tensor<512x768xf32> {", "-> tensor<8x64x768xf32> {")
    text = text.replace(
        "func.return %c : tensor<512x768xf32>",
        "%r = graph.reshape %c : tensor<512x768xf32> -> tensor<8x64x768xf32>\n"
        "func.return %r : tensor<8x64x768xf32>",
    )
    assert tiles(packed(text)) == ["d0 = 6, d1 = 16 in panels"]
    assert sums(packed(text)) == ["16 in panels"]


def test_what_is_not_loaded_lies_in_no_panels():
    text = matmul(96, 1024, 1024).replace("%b: tensor<1024x1024xf32>", "%z: tensor<f32>")
    text = text.replace("%c = graph", "%b = graph.constant dense<2.0> : tensor<1024x1024xf32>\n %c = graph")
    module = packed(text)
    assert tiles(module) == ["d0 = 6, d1 = 16 in panels"]
    assert sums(module) == [None]


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


def test_rows_of_frozen_weights_are_packed_where_all_columns_are_one_panel():
    text = matmul(50, 16, 600, "k, m")
    frozen = text.replace("%a: tensor<600x50xf32>", "%a: tensor<600x50xf32> {tenon.frozen}")
    assert frozen != text and panels(packed(text)) == []
    # 14 rows to a tile, of which the last one has 8.
    (type,) = panels(packed(frozen))
    assert type.startswith("tensor<") and type.count("x") == 3 and "x600x" in type
    a, b = (
        np.random.default_rng(0).integers(-4, 5, shape).astype(np.float32) for shape in ((600, 50), (600, 16))
    )
    np.testing.assert_array_equal(run_graph(packed(frozen), "main", [a, b])[0], a.T @ b)


@pytest.mark.usefixtures("eager")
def test_other_contractions_are_left_alone():
    products = matmul(9, 64, 5)
    for text in (products.replace("f32", "i16"), products.replace("] :", "] accumulate max :")):
        assert panels(packed(text, l2_nbytes=1)) == []


@pytest.mark.usefixtures("eager")
def test_of_integers_only_the_columns_are_packed():
    assert panels(packed(matmul(9, 64, 5).replace("f32", "i32"), l2_nbytes=1)) == ["tensor<4x5x16xi32>"]


def test_options_are_checked():
    with pytest.raises(
        PassError,
        match="pack-panels: vector-nbytes 0, l1-nbytes 49152 and l2-nbytes 1048576 must be 1 or more",
    ):
        packed(matmul(9, 64, 5), vector_nbytes=0)
