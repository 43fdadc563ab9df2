"""Packing operands of contractions changes no result, whatever they are views of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context, graph
from tenon.dialects.graph import LinearIndex
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.packing import pack_operands
from tenon.passes.graph.packing.contract_views import through_views
from tenon.passes.graph.packing.pack_operands import PackOperandsPass
from tenon.passes.pass_manager import PassManager
from tenon.test.unit.contractions import EXACT, IDS, Contraction, assert_same
from xdsl.dialects.builtin import ModuleOp

VIEWS = """
func.func @main(%a: tensor<6x9xf32>, %b: tensor<1x9x12xf32>) -> tensor<6x5xf32> {
  %p = graph.permute %b [2, 1, 0] : tensor<1x9x12xf32>
  %s = graph.slice %p offsets [1, 0, 0] sizes [5, 9, 1] strides [2, 1, 1] : tensor<12x9x1xf32>
  %f = graph.flip %s axes [0, 1] : tensor<5x9x1xf32>
  %w = graph.broadcast %f : tensor<5x9x1xf32> -> tensor<5x9x3xf32>
  %c = graph.contract %a, %w maps [affine_map<(m, n, k, z) -> (m, k)>, affine_map<(m, n, k, z) -> (n, k, z)>,
    affine_map<(m, n, k, z) -> (m, n)>] : tensor<6x9xf32>, tensor<5x9x3xf32> -> tensor<6x5xf32>
  func.return %c : tensor<6x5xf32>
}"""


def packed(text: str) -> ModuleOp:
    module = parse_module(text)
    PassManager([PackOperandsPass()]).run(context(), module)
    return module


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch):
    """Has everything packed that can be."""
    monkeypatch.setattr(pack_operands, "LEAST_ITERATIONS", 1)
    monkeypatch.setattr(pack_operands, "LEAST_USES", 0)
    monkeypatch.setattr(pack_operands, "LEAST_LANES", 2)


def copies(module: ModuleOp) -> int:
    return sum("memory_mode" in op.attributes for op in module.walk())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("case", EXACT, ids=IDS)
def test_results_are_those_before(case: Contraction):
    inputs = case.inputs()
    with np.errstate(all="ignore"):
        (wanted,) = run_graph(parse_module(case.text), "main", inputs)
        (found,) = run_graph(packed(case.text), "main", inputs)
    assert_same(found, wanted)


@pytest.mark.usefixtures("eager")
def test_a_contraction_is_packed_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pack_operands, "LEAST_USES", 2)
    module = packed(EXACT[3].text)
    assert copies(module) == 1
    text = str(module)
    PassManager([PackOperandsPass()]).run(context(), module)
    assert str(module) == text


@pytest.mark.usefixtures("eager")
def test_an_operand_that_repeats_a_dim_which_nothing_else_has_is_left_alone():
    assert copies(packed(VIEWS)) == 0


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("way", [{"backend": "reference"}, {"backend": "llvm"}], ids=["reference", "llvm"])
def test_views_are_looked_through(way: dict[str, Any]):
    text = VIEWS.replace("z) -> (n, k, z)", "z) -> (n, k, 1)").replace("(m, n, k, z)", "(m, n, k)")
    module = packed(text)
    assert copies(module) == 1
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((6, 9), (1, 9, 12)))
    wanted = a @ b[0].T[1:11:2][::-1, ::-1].T
    np.testing.assert_array_equal(run_graph(module, "main", [a, b])[0], wanted)
    np.testing.assert_array_equal(tenon.compile(text, **way)(a, b), wanted)


def test_through_views_gives_the_source_and_its_indices():
    module = parse_module(VIEWS)
    (op,) = (op for op in module.walk() if isinstance(op, graph.ContractOp))
    plain = [LinearIndex(((dim, 1),), 0) for dim in (0, 1, 2)]
    source, indices = through_views(op.inputs[1], plain)
    assert source.name_hint == "b"
    assert indices == [LinearIndex((), 0), LinearIndex(((1, -1),), 8), LinearIndex(((0, -2),), 9)]
