"""What was simplified is left as it is."""

import pytest
from tenon.dialects import context, graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.simplify_contractions import SimplifyContractionsPass
from xdsl.dialects.builtin import ModuleOp

MERGED = """
func.func @f(%x: tensor<2x64x96xf32>, %w: tensor<96x32xf32>) -> tensor<2x64x32xf32> {
  %r = graph.contract %x, %w maps [affine_map<(a, b, c, d) -> (a, b, d)>, affine_map<(a, b, c, d) -> (d, c)>,
      affine_map<(a, b, c, d) -> (a, b, c)>]
      : tensor<2x64x96xf32>, tensor<96x32xf32> -> tensor<2x64x32xf32>
  func.return %r : tensor<2x64x32xf32>
}
"""

TURNED = """
func.func @f(%x: tensor<64x96xf32>, %w: tensor<1x32x96xf32>) -> tensor<64x32xf32> {
  %one = graph.reshape %w : tensor<1x32x96xf32> -> tensor<32x96xf32>
  %t = graph.permute %one [1, 0] : tensor<32x96xf32>
  %r = graph.contract %x, %t maps [affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (c, b)>,
      affine_map<(a, b, c) -> (a, b)>] : tensor<64x96xf32>, tensor<96x32xf32> -> tensor<64x32xf32>
  func.return %r : tensor<64x32xf32>
}
"""

SPLIT = """
func.func @f(%x: tensor<6x4xf32>, %w: tensor<2x8xf32>) -> tensor<3x2xf32> {
  %t = graph.permute %x [1, 0] : tensor<6x4xf32>
  %s = graph.reshape %t : tensor<4x6xf32> -> tensor<8x3xf32>
  %r = graph.contract %s, %w maps [affine_map<(a, b, c) -> (c, a)>, affine_map<(a, b, c) -> (b, c)>,
      affine_map<(a, b, c) -> (a, b)>] : tensor<8x3xf32>, tensor<2x8xf32> -> tensor<3x2xf32>
  func.return %r : tensor<3x2xf32>
}
"""


def _contraction(module: ModuleOp) -> graph.ContractOp:
    (found,) = [op for op in module.walk() if isinstance(op, graph.ContractOp)]
    return found


@pytest.mark.parametrize("text", [MERGED, TURNED], ids=["merged", "turned"])
def test_a_contraction_is_rewritten_once(text: str) -> None:
    module, ctx = parse_module(text), context()
    before = _contraction(module)
    SimplifyContractionsPass().apply(ctx, module)
    once, simplified = str(module), _contraction(module)
    assert simplified is not before
    SimplifyContractionsPass().apply(ctx, module)
    assert _contraction(module) is simplified and str(module) == once


def test_a_reshape_that_makes_other_axes_stays_as_it_is() -> None:
    module, ctx = parse_module(SPLIT), context()
    for _ in range(2):
        SimplifyContractionsPass().apply(ctx, module)
    assert isinstance(_contraction(module).operands[0].owner, graph.ReshapeOp)
